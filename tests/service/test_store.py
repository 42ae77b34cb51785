"""The database: tables as the migrations make them, and one clear line when it does not answer, at every step."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("alembic")

from sqlalchemy.exc import OperationalError

from gibbsafe.service.refusals import Refusal
from gibbsafe.service.store import DOWN, Store
from gibbsafe.service.tables import metadata

from .test_authority import MAY, body_of, place


def test_migrations_make_the_tables_that_the_code_knows(tmp_path):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    store = Store(f"sqlite:///{tmp_path / 'desk.db'}")
    store.migrate()
    store.migrate()
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "desk_version"})
        assert compare_metadata(context, metadata) == []
    store.engine.dispose()


class Broken:
    """An engine whose connections break at the n-th transaction."""

    def __init__(self, engine, at):
        self.engine, self.left = engine, at

    def connect(self):
        self.left -= 1
        if self.left < 0:
            raise OperationalError("SELECT hidden", {}, Exception("server closed the connection at 10.0.0.7"))
        return self.engine.connect()

    def dispose(self):
        self.engine.dispose()


@pytest.mark.parametrize("at", range(3))
def test_a_database_that_goes_away_is_told_in_one_line(world, client, at):
    whole = world.desk.store.engine
    told = 0
    try:
        for cell in MAY:
            role = next(iter(MAY[cell]))
            world.desk.store.__dict__["engine"] = Broken(whole, at)
            path = "/api/v1" + place(world, cell[1], role, True)
            name = {"owner": "olga", "analyst": "ana", "auditor": "uma", "operator": "otto"}[role]
            answer = client.request(cell[0], path, headers=world.header(name), json=body_of(world, cell))
            assert answer.status_code in (200, 201, 409, 422, 503), (cell, answer.text)
            assert not any(each in answer.text for each in ("SELECT", "10.0.0.7"))
            told += answer.status_code == 503
            world.desk.store.__dict__["engine"] = whole
            world.restore() if cell[0] != "GET" else None
    finally:
        world.desk.store.__dict__["engine"] = whole
    assert told >= (len(MAY) if at == 0 else 10)


def test_a_ledger_that_goes_away_is_told_in_one_line(world, client):
    hidden = world.folder / "hidden"
    hidden.mkdir(exist_ok=True)
    for file in world.folder.glob("ledger.db*"):
        file.rename(hidden / file.name)
    try:
        answer = client.get(f"/api/v1/datasets/{world.ids['dataset of olga']}/ledger", headers=world.header("olga"))
        assert (answer.status_code, answer.json()["detail"]) == (503, DOWN)
        asked = world.desk.request(world.actor("olga"), world.ids["request of olga"])
        with pytest.raises(Refusal) as refused:
            world.desk.approve(world.actor("olga"), asked.id, asked.plan_sha256)
        assert refused.value.status == 503
        assert world.desk.request(world.actor("olga"), asked.id).state == "pending"
    finally:
        for file in hidden.glob("*"):
            file.rename(world.folder / file.name)


def test_a_ledger_that_was_altered_is_shown_as_broken(world):
    import sqlite3

    with sqlite3.connect(world.folder / "ledger.db") as connection:
        connection.execute("UPDATE gibbsafe_entries SET body = replace(body, 'to see', 'to SEE')")
    connection.close()
    seen = world.desk.book(world.actor("olga"), world.ids["dataset of olga"])
    assert not seen.verified
    assert seen.problem
    assert not seen.spending
