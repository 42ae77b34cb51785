"""Every endpoint against its own schema: no server error, no answer of another shape, no private value in any byte."""

import contextlib
import io
import logging

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

from .shapes import attack
from .world import CANARIES

CASES = 500  # of which a few are lost to operations without anything to get wrong


@contextlib.contextmanager
def logged():
    """Keep everything that is logged, at every level."""
    text, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(text)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def stored(world):
    """Return every byte that is stored outside of the data."""
    files = [file for file in world.folder.rglob("*") if file.is_file() and file.parent.name != "data"]
    assert {"desk.db", "ledger.db", "desk.key"} <= {file.name for file in files}
    return b"".join(file.read_bytes() for file in files)


def test_every_endpoint_keeps_to_its_schema(world, application):
    with logged() as log:
        seen = attack(world, application, CASES)
    assert seen.cases >= CASES * 0.8
    assert seen.statuses[200]
    assert seen.statuses[401]
    assert seen.statuses[403]
    assert seen.statuses[404]
    assert seen.statuses[422]
    assert not seen.wrong, seen.wrong[:5]
    assert not any(canary in log.getvalue() or canary.encode() in stored(world) for canary in CANARIES)


def test_the_canaries_are_in_the_data(world):
    text = (world.folder / "data" / "table.csv").read_text()
    assert all(canary in text for canary in CANARIES)
