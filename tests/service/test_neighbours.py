"""Indistinguishability: neighbouring data sets give the same answers, logs and stored rows, byte by byte, but for the draws."""

from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from .neighbours import HOSTILE, transcript

#: The others are the audit's (`audits/service.py`).
QUICK = ("not numbers", "not UTF-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("neighbours")


@pytest.fixture(scope="module")
def usual(folder):
    return transcript(folder)


def test_the_flow_releases(usual):
    said, log, _ = usual
    paths = [each[1:3] for each in said if isinstance(each, tuple)]
    assert any(path.endswith("/release") and status == 200 for path, status in paths)
    assert all(status < 400 for _, status in paths)
    assert any("done" in line for line in log)


@pytest.mark.parametrize("row", QUICK)
def test_one_replaced_record_changes_no_byte(folder, usual, row):
    said, log, stored = transcript(folder, HOSTILE[row])
    for one, other in zip(usual[0], said, strict=True):
        assert one == other
    assert usual[1] == log
    assert usual[2] == stored


def test_a_difference_would_be_seen(folder, usual, monkeypatch):
    """A worker that says how many records it found at the edge is caught."""
    from gibbsafe.service import worker

    finish = worker.Worker._finish

    def talking(self, connection, job, state, note):
        says = job.kind == "release" and "1e308" in Path(job.source).read_text()
        finish(self, connection, job, state, "outside" if says else note)

    monkeypatch.setattr(worker.Worker, "_finish", talking)
    assert transcript(folder, HOSTILE["far outside"])[2] != usual[2]
