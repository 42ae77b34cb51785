"""The whole flow on two data sets that differ in one record, with everything that is said, logged and stored kept.

What the sampler drew is replaced by one fixed draw after it has drawn: all else must then be the same to the last byte, hashes
and signatures included. Time, ids and secrets are those of the test's world.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import shutil
from dataclasses import replace
from unittest import mock

import numpy as np
from sqlalchemy import select
from starlette.testclient import TestClient

from gibbsafe.ledger.tables import accounts, entries
from gibbsafe.release import draw
from gibbsafe.service.application import create_app
from gibbsafe.service.tables import metadata

from .world import STUDY, build, write_table

__all__ = ["HOSTILE", "transcript"]

#: First rows of neighbouring tables: ordinary, at the ends, and what only an enemy would enter.
HOSTILE = {
    "other values": b"29.000000,0.100000,no,P0",
    "far outside": b"1e308,-1e308,no,P0",
    "not numbers": b"nan,inf,maybe,P0",
    "missing": b",,,",
    "words": b'"=cmd|x","DROP TABLE desk_users","<script>alert(1)</script>",P0',
    "a quoted line end": b'"1\n2",0.5,"y\r\nes",P0',
    "not UTF-8": b"\xff\xfe,\x80,no,P0",
    "a long text": b"5," + b"9" * 5000 + b",yes,P0",
}
#: Packages that log what they do when they are first used.
ONCE = ("matplotlib", "alembic")
QUESTIONS = ("release", "certificate", "report", "summary")


def fixed(plan, *arguments, _really=draw.carried_out):
    """Carry the plan out, and return one draw instead of what was drawn."""
    made = _really(plan, *arguments)
    assert made.answers is None
    return replace(made, on_grid=np.round(np.full_like(made.on_grid, 0.25) / plan.grid) * plan.grid)


def transcript(folder, first=None, releases=1):
    """Run the flow on a table with this first record; return every answer, the log, and what is stored outside the data."""
    for file in folder.glob("*"):
        if file.name not in ("desk.key", "desk.key.pub", "desk.key.secret"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    numbers = itertools.count(1)
    tokens = mock.patch("gibbsafe.ledger.accounts.secrets.token_hex", lambda size=16: f"{next(numbers):0{2 * size}x}")
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.addFilter(lambda record: not record.name.startswith(ONCE))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with tokens, mock.patch.object(draw, "carried_out", fixed):
            world = build(folder, tables=lambda path: table(path, first))
            said = list(flow(world, releases))
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    return said, log.getvalue().splitlines(), stored(world)


def table(path, first):
    write_table(path)
    if first is not None:
        head, _, *others = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([head, first, *others]))


def flow(world, releases):
    """Register, preview, submit, approve, release, ask, and look at everything; yield every answer."""
    with TestClient(create_app(world.settings, world.desk), raise_server_exceptions=False) as client:

        def call(who, method, path, body=None):
            answer = client.request(method, f"/api/v1{path}", headers=world.header(who), json=body)
            return answer, (method, path, answer.status_code, sorted(answer.headers.items()), answer.content)

        source = str(world.folder / "data" / "table.csv")
        stated = {"name": "tumours", "source": source, "study": STUDY, "epsilon": 3.0, "delta": 1e-6}
        answer, told = call("olga", "POST", "/datasets", stated)
        yield told
        dataset = answer.json()["id"]
        world.clock.time += world.settings.slot
        yield world.worker.step()
        yield call("ana", "GET", f"/datasets/{dataset}")[1]
        world.worker.clerk.step()
        yield call("ana", "POST", f"/datasets/{dataset}/preview", {"study": STUDY})[1]
        for draws in range(1, releases + 1):
            answer, told = call(
                "ana", "POST", f"/datasets/{dataset}/requests", {"study": STUDY | {"draws": draws}, "purpose": "x"}
            )
            yield told
            asked = answer.json()
            answer, told = call("olga", "POST", f"/requests/{asked['id']}/approval", {"plan_sha256": asked["plan_sha256"]})
            yield told
            due = answer.json()["due"]
            for time in range(due - 2 * world.settings.slot, due + 2 * world.settings.slot, world.settings.slot // 2):
                world.clock.time = float(time)
                yield world.worker.step()
                world.worker.clerk.step()
                yield call("ana", "GET", f"/requests/{asked['id']}")[1]
                yield call("uma", "GET", f"/datasets/{dataset}/ledger")[1]
            yield from (call("ana", "GET", f"/requests/{asked['id']}/{each}")[1] for each in QUESTIONS)
            rows = {"rows": [{"radius": 9.0, "texture": 0.5}]}
            yield call("ana", "POST", f"/requests/{asked['id']}/predictions", rows)[1]
        yield call("olga", "GET", f"/datasets/{dataset}")[1]
        yield call("otto", "GET", "/log")[1]


def stored(world):
    """Return every row of both databases but the keyed fingerprint, which is the worker's."""
    found = {}
    with world.desk.store.reading() as connection:
        for name, each in metadata.tables.items():
            columns = [column for column in each.c if column.name != "fingerprint"]
            found[name] = sorted(map(str, connection.execute(select(*columns)).all()))
    with world.desk.account_of(mock.Mock(account="x")).database.reading() as connection:
        for each in (accounts, entries):
            found[each.name] = sorted(map(str, connection.execute(select(each)).all()))
    world.desk.store.engine.dispose()
    world.worker.store.engine.dispose()
    return json.dumps(found)
