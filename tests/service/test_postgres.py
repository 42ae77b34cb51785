"""The desk on PostgreSQL (GIBBSAFE_TEST_POSTGRES): tables beside the ledger's, rows locked and passed over, workers killed."""

import os
import uuid
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("psycopg")

from sqlalchemy import create_engine, text

from gibbsafe.service.queue import claim_job
from gibbsafe.service.refusals import Refusal

from .killing import STEPS, afterwards, kill_at, outcome
from .test_worker import account, approved
from .world import STUDY, build, fill

POSTGRES = os.environ.get("GIBBSAFE_TEST_POSTGRES")
pytestmark = pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL server")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A filled desk in a database of its own."""
    name = f"desk_{uuid.uuid4().hex[:12]}"
    server = create_engine(POSTGRES.replace("postgresql://", "postgresql+psycopg://", 1), isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    world = fill(build(tmp_path_factory.mktemp("served"), database=POSTGRES.rsplit("/", 1)[0] + f"/{name}"))
    yield world
    world.desk.store.engine.dispose()
    world.worker.store.engine.dispose()
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


def another(world):
    """Submit and approve one more request."""
    asked = world.desk.submit(world.actor("ana"), world.ids["dataset of olga"], STUDY, "one more")
    return world.desk.approve(world.actor("olga"), asked.id, asked.plan_sha256)


def test_the_flow_and_its_ledger(served):
    assert served.desk.request(served.actor("ana"), served.ids["release of ana"]).state == "released"
    book = served.desk.book(served.actor("olga"), served.ids["dataset of olga"])
    assert book.verified
    assert [each.state for each in book.spending] == ["released"]


def test_two_workers_never_take_one_job(served):
    first, second = another(served), another(served)
    served.clock.time = float(second.due)
    with served.worker.store.writing() as one, served.worker.store.writing() as other:
        jobs = [claim_job(one, served.settings, "one"), claim_job(other, served.settings, "other")]
        assert claim_job(other, served.settings, "other") is None
        assert {job.request_id for job in jobs} == {first.id, second.id}
        one.rollback()
        other.rollback()
    while served.worker.step():
        pass
    served.worker.clerk.step()


@pytest.mark.parametrize("step", ["claimed", "charged", "sampled", "stored", "settled"])
def test_a_killed_worker_releases_once_or_never(served, step):
    asked = another(served)
    served.clock.time = float(asked.due)
    served.desk.store.engine.dispose()
    served.worker.store.engine.dispose()
    assert kill_at(served.settings, step)
    afterwards(served.settings, served.clock).store.engine.dispose()
    found = outcome(served.settings, account(served).name, [asked.id], served.desk, served.actor("ana"))
    assert found == {asked.id: STEPS[step]}


def test_what_a_client_sends_is_never_the_database_s_problem(served):
    for bad in ("\0", "\ud800", "x" * 300):
        with pytest.raises(Refusal) as refused:
            served.desk.authenticate(bad)
        assert refused.value.status == 401
        with pytest.raises(Refusal) as refused:
            served.desk.resume(bad)
        assert refused.value.status == 401


def test_a_server_that_is_gone_is_told_in_one_line(served):
    from gibbsafe.service import Desk

    gone = Desk(replace(served.settings, database="postgresql://gibbsafe@127.0.0.1:9/none"))
    with pytest.raises(Refusal) as refused:
        gone.authenticate("x")
    assert refused.value.status == 503


def test_the_pending_request_is_answered(served):
    assert approved(served).state == "approved"
