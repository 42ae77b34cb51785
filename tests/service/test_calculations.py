"""Calculations apart from the pages: the same answers, given up when they hang, refused when too many wait."""

import threading
import time

import pytest

pytest.importorskip("fastapi")

from gibbsafe.ledger.journal import canonical
from gibbsafe.service import calculations
from gibbsafe.service.calculations import Calculations, _Apart
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings
from gibbsafe.service.studies import planned

from .world import STUDY


@pytest.fixture
def settings(tmp_path):
    return Settings(f"sqlite:///{tmp_path / 'desk.db'}", f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "desk.key")


def test_another_process_plans_the_same_refuses_the_same_and_is_replaced_when_it_hangs(settings, monkeypatch):
    apart = _Apart()
    try:
        here = planned(STUDY, settings)
        assert canonical(apart.run(planned, STUDY, settings).to_dict()) == canonical(here.to_dict())
        with pytest.raises(Refusal, match="draws: at most") as refused:
            apart.run(planned, STUDY | {"draws": 10**6}, settings)
        assert refused.value.status == 422
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            apart.run(divmod, 1, 0)
        monkeypatch.setattr(calculations, "LONGEST", 0.2)
        first = apart._process.pid
        with pytest.raises(Refusal) as refused:
            apart.run(time.sleep, 60)
        assert refused.value.status == 503
        monkeypatch.setattr(calculations, "LONGEST", 60.0)
        assert apart._process.pid != first
        assert apart.run(abs, -1) == 1
    finally:
        apart.end()


def test_what_was_calculated_is_kept_and_what_was_refused_is_not(settings, monkeypatch):
    made = []
    monkeypatch.setattr(calculations, "planned", lambda study, given: made.append(study) or planned(study, given))
    desk = Calculations(settings)
    assert desk.plan(STUDY) is desk.plan(dict(reversed(STUDY.items())))
    for _ in range(2):
        with pytest.raises(Refusal):
            desk.plan(STUDY | {"draws": 10**6})
    assert len(made) == 3


def test_whoever_comes_when_too_many_wait_is_told_so(settings, monkeypatch):
    monkeypatch.setattr(calculations, "MOST_WAITING", 2)
    desk, going, go = Calculations(settings), threading.Event(), threading.Event()
    waiting = [threading.Thread(target=desk._alone, args=(lambda: (going.set(), go.wait(30)),)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    assert going.wait(30)
    while desk._held < 2:
        time.sleep(0.01)
    with pytest.raises(Refusal, match="many others") as refused:
        desk.plan(STUDY)
    go.set()
    for thread in waiting:
        thread.join()
    assert refused.value.status == 503
    assert desk.plan(STUDY) is not None


def test_previews_do_without_pictures_when_several_wait(settings):
    desk = Calculations(settings)
    plan = desk.plan(STUDY)
    desk._held = calculations.FEW + 1
    assert desk.rehearsal(STUDY, plan) is None
    desk._held = 0
    made = desk.rehearsal(STUDY, plan)
    desk._held = calculations.FEW + 1
    assert desk.rehearsal(STUDY, plan) is made is not None
