"""The worker: charge before the first record, exactly once whatever kills it, and times that nothing in the data moves."""

import dataclasses
import os
import shutil

import pytest

pytest.importorskip("fastapi")

from gibbsafe.service import Desk
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.tables import datasets, jobs
from gibbsafe.service.worker import Worker

from .killing import STEPS, afterwards, kill_at, outcome
from .world import STUDY, write_table


def approved(world):
    """Approve the pending request; return it."""
    owner = world.actor("olga")
    asked = world.desk.request(owner, world.ids["request of olga"])
    return world.desk.approve(owner, asked.id, asked.plan_sha256)


def account(world):
    with world.desk.store.reading() as connection:
        row = connection.execute(datasets.select().where(datasets.c.id == world.ids["dataset of olga"])).one()
    return world.desk.account_of(row)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_worker_releases_once_or_never(world, step):
    asked = approved(world)
    world.clock.time = float(asked.due)
    world.desk.store.engine.dispose()
    world.worker.store.engine.dispose()
    assert kill_at(world.settings, step)
    afterwards(world.settings, world.clock)
    found = outcome(world.settings, account(world).name, [asked.id], world.desk, world.actor("ana"))
    assert found == {asked.id: STEPS[step]}
    if STEPS[step] == "lost":
        with pytest.raises(Refusal, match="none yet"):
            world.desk.release_file(world.actor("ana"), asked.id)


def test_a_worker_that_only_slept_samples_nothing_once_it_was_given_up(world):
    """It is given up between its claim and its charge, another worker releases, and then it wakes."""
    asked = approved(world)
    world.clock.time = float(asked.due)
    others = []

    def sleep(step):
        if step == "charge" and not others:
            others.append(afterwards(world.settings, world.clock))

    Worker(world.settings, sleep).step()
    found = outcome(world.settings, account(world).name, [asked.id], world.desk, world.actor("ana"))
    assert found == {asked.id: "released"}


def test_a_worker_s_own_clerk_leaves_what_was_just_claimed(world):
    """The clerk is a thread of the worker: it may look between the claim and everything that follows."""
    asked, looks = approved(world), []
    world.clock.time = float(asked.due)

    def look(step):
        looks.append(step)
        worker.clerk.recover(int(world.clock.time))

    worker = Worker(world.settings, look)
    assert worker.step()
    assert "claimed" in looks
    afterwards(world.settings, world.clock)
    found = outcome(world.settings, account(world).name, [asked.id], world.desk, world.actor("ana"))
    assert found == {asked.id: "released"}


def test_a_worker_that_slept_after_its_charge_releases_nothing(world):
    asked = approved(world)
    world.clock.time = float(asked.due)
    slept = []

    def sleep(step):
        if step == "sampled" and not slept:
            slept.append(afterwards(world.settings, world.clock))

    Worker(world.settings, sleep).step()
    afterwards(world.settings, world.clock)
    found = outcome(world.settings, account(world).name, [asked.id], world.desk, world.actor("ana"))
    assert found == {asked.id: "lost"}


def test_results_appear_when_they_are_due_and_late_ones_whole_slots_later(world):
    asked, slot = approved(world), world.settings.slot
    start = asked.due - slot
    assert start % slot == 0
    assert asked.due % slot == 0
    world.clock.time = start - 1.0
    assert not world.worker.step()
    world.clock.time = float(start)
    assert world.worker.step()
    world.worker.clerk.step()
    for time, state in ((start, "approved"), (asked.due - 1, "approved"), (asked.due, "released")):
        world.clock.time = float(time)
        seen = world.desk.request(world.actor("ana"), asked.id)
        assert (seen.state, seen.due) == (state, asked.due)


def test_a_late_result_slips_whole_slots(world):
    asked, slot = approved(world), world.settings.slot
    world.clock.time = asked.due + 2 * slot + 17.0
    told = world.desk.request(world.actor("ana"), asked.id).due
    assert world.worker.step()
    assert world.desk.request(world.actor("ana"), asked.id).due == told == asked.due + 3 * slot
    world.clock.time = asked.due + 3 * slot
    world.worker.clerk.step()
    seen = world.desk.request(world.actor("ana"), asked.id)
    assert (seen.state, seen.due % slot) == ("released", 0)


def test_times_of_the_queue_follow_from_stated_work_alone(world):
    first = approved(world)
    more = world.desk.submit(world.actor("ana"), world.ids["dataset of olga"], STUDY | {"draws": 3}, "more")
    second = world.desk.approve(world.actor("olga"), more.id, more.plan_sha256)
    assert second.due > first.due
    assert (second.due - first.due) % world.settings.slot == 0


@pytest.mark.parametrize("what", ["vanished", "changed", "shorter", "outside", "a link", "no column"])
def test_a_file_that_is_not_the_registered_one_charges_nothing(world, what, tmp_path):
    path = world.folder / "data" / "table.csv"
    kept = tmp_path / "kept.csv"
    shutil.copy(path, kept)
    asked = approved(world)
    before = account(world).status()["charges"]
    try:
        if what == "vanished":
            path.unlink()
        elif what == "changed":
            write_table(path, "6.0,0.5,no,P0")
        elif what == "shorter":
            path.write_text("".join(kept.read_text().splitlines(keepends=True)[:-1]))
        elif what == "no column":
            path.write_text(kept.read_text().replace("radius", "radios"))
        else:
            inside = path.with_name("another owner's.csv")
            path.rename(inside)
            path.symlink_to(kept if what == "outside" else inside)
        world.clock.time = float(asked.due)
        while world.worker.step():
            pass
        world.clock.time += world.settings.slot
        seen = world.desk.request(world.actor("ana"), asked.id)
        assert seen.state == "failed"
        assert "nothing was charged" in seen.note
        assert account(world).status()["charges"] == before
    finally:
        path.unlink(missing_ok=True)
        path.with_name("another owner's.csv").unlink(missing_ok=True)
        shutil.copy(kept, path)


def test_what_fails_after_the_charge_says_nothing_of_why(world, monkeypatch, caplog):
    """A sampler that breaks on a record: the charge stands, and neither people nor logs learn more."""

    def broken(*arguments):
        raise ValueError("record 17.331733 is strange")

    monkeypatch.setattr("gibbsafe.release.draw.carried_out", broken)
    asked = approved(world)
    world.clock.time = float(asked.due)
    with caplog.at_level("DEBUG"):
        world.worker.step()
    world.clock.time += world.settings.slot
    seen = world.desk.request(world.actor("ana"), asked.id)
    assert seen.state == "failed"
    assert "charge, which stands" in seen.note
    assert "17.331733" not in seen.note + caplog.text
    assert "strange" not in caplog.text
    assert outcome(world.settings, account(world).name, [asked.id], world.desk, world.actor("ana")) == {asked.id: "lost"}


def test_a_ledger_that_does_not_answer_leaves_the_job_for_later(world, monkeypatch):
    from gibbsafe.errors import GibbsafeError
    from gibbsafe.ledger import Account

    asked = approved(world)
    world.clock.time = float(asked.due)
    with monkeypatch.context() as patched:
        patched.setattr(Account, "charge", lambda *a, **k: (_ for _ in ()).throw(GibbsafeError("ledger x: down")))
        with pytest.raises(GibbsafeError):
            world.worker.step()
    assert not world.worker.holding
    world.worker.clerk.step()
    while world.worker.step():
        pass
    world.clock.time += 2 * world.settings.slot
    world.worker.clerk.step()
    world.clock.time += world.settings.slot
    assert outcome(world.settings, account(world).name, [asked.id], world.desk, world.actor("ana")) == {asked.id: "released"}


def test_a_paused_data_set_waits(world):
    asked = approved(world)
    world.desk.pause_dataset(world.actor("olga"), world.ids["dataset of olga"], True)
    world.clock.time = float(asked.due)
    assert not world.worker.step()
    world.desk.pause_dataset(world.actor("olga"), world.ids["dataset of olga"], False)
    assert world.worker.step()


def test_a_data_set_whose_file_is_wrong_is_never_ready(empty):
    owner = empty.actor("olga")
    missing = str(empty.folder / "data" / "nothing.csv")
    made = empty.desk.register_dataset(owner, name="nothing", source=missing, study=STUDY, epsilon=1.0, delta=1e-6)
    empty.clock.time += 30
    empty.worker.step()
    empty.worker.clerk.step()
    assert empty.desk.dataset(owner, made.id).state == "new"  # how long a look takes is nobody's to know: it is told on the slot
    empty.clock.time += 30
    empty.worker.clerk.step()
    seen = empty.desk.dataset(owner, made.id)
    assert seen.state == "unreadable"
    assert "not there" in seen.note
    assert empty.desk.dataset(empty.actor("ana"), made.id).note == ""
    with pytest.raises(Refusal, match="cannot be read"):
        empty.desk.submit(empty.actor("ana"), made.id, STUDY, "to see")


def test_one_worker_on_sqlite(empty):
    from gibbsafe.errors import GibbsafeError
    from gibbsafe.service.locks import sole_worker

    with sole_worker(empty.settings.database) as alone:
        assert alone
        with pytest.raises(GibbsafeError, match="another one works"), sole_worker(empty.settings.database):
            pass


def test_jobs_are_counted_by_the_database_and_not_by_a_desk(world):
    """Another desk of the same database sees the same."""
    other = Desk(dataclasses.replace(world.settings))
    approved(world)
    with other.store.reading() as connection:
        assert connection.execute(jobs.select().where(jobs.c.state == "queued")).all()
    other.store.engine.dispose()
