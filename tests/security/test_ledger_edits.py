"""Attack 1: edit rows of the ledger and go on charging. Every edit is refused by the next charge, in one line."""

import hashlib
import json
import uuid

import numpy as np
import pytest
from sqlalchemy import text

import gibbsafe as gs

from .conftest import around, needs_postgres

ENTRY = "UPDATE gibbsafe_entries SET {} WHERE account = :name AND number = {}"
ACCOUNT = "UPDATE gibbsafe_accounts SET {} WHERE name = :name"

EDITS = {
    "main sum back to nothing": ACCOUNT.format("spent_main = '0'"),
    "main sum below nothing": ACCOUNT.format("spent_main = '-1'"),
    "main sum is no number": ACCOUNT.format("spent_main = 'much'"),
    "slack sum": ACCOUNT.format("spent_slack = '5'"),
    "failure sum": ACCOUNT.format("spent_failure = '5'"),
    "sum of 5,000 digits": ACCOUNT.format("spent_main = '" + "9" * 5000 + "'"),
    "counter": ACCOUNT.format("entries = 2"),
    "head": ACCOUNT.format("head = '" + "f" * 64 + "'"),
    "head of an earlier entry": "UPDATE gibbsafe_accounts SET entries = 2, head = (SELECT hash FROM gibbsafe_entries "
    "WHERE account = :name AND number = 1) WHERE name = :name",
    "larger cap": ACCOUNT.format("""opening = replace(opening, '"main":"', '"main":"9')"""),
    "larger budget": ACCOUNT.format("opening = replace(opening, '1e-06', '0.5')"),
    "opening that is no JSON": ACCOUNT.format("opening = '{'"),
    "opening that is a list": ACCOUNT.format("opening = '[]'"),
    "opening nested 100,000 deep": ACCOUNT.format("opening = '" + "[" * 100_000 + "'"),
    "opening without caps": ACCOUNT.format("opening = '{}'"),
    "format of another version": ACCOUNT.format("format = 'gibbsafe/ledger/9'"),
    "last entry deleted": "DELETE FROM gibbsafe_entries WHERE account = :name AND number = 5",
    "middle entry deleted": "DELETE FROM gibbsafe_entries WHERE account = :name AND number = 2",
    "all entries deleted": "DELETE FROM gibbsafe_entries WHERE account = :name",
    "cheaper guarantee": ENTRY.format("body = replace(body, '0.1177', '0.0001')", 2),
    "cheaper cost": ENTRY.format("""body = replace(body, '"main":"', '"main":"0')""", 2),
    "body that is no JSON": ENTRY.format("body = 'nothing'", 2),
    "body that is empty": ENTRY.format("body = ''", 4),
    "key": ENTRY.format("key = 'other'", 1),
    "no key": ENTRY.format("key = NULL", 1),
    "kind": ENTRY.format("kind = 'release'", 3),
    "unknown kind": ENTRY.format("kind = 'gift'", 3),
    "number": ENTRY.format("number = 77", 4),
    "negative number": ENTRY.format("number = -1", 1),
    "hash": ENTRY.format("hash = '" + "0" * 64 + "'", 4),
    "previous hash": ENTRY.format("previous = '" + "0" * 64 + "'", 3),
    "plan": ENTRY.format("plan = '{}'", 1),
    "no plan": ENTRY.format("plan = NULL", 1),
    "a plan for a spending": ENTRY.format("plan = '{}'", 2),
    "two entries exchanged": "UPDATE gibbsafe_entries SET number = CASE number WHEN 2 THEN 1002 ELSE 1003 END "
    "WHERE account = :name AND number IN (2, 3)",
    "an entry of its own": "INSERT INTO gibbsafe_entries (account, number, kind, key, body, previous, hash) "
    "VALUES (:name, 6, 'release', NULL, '{}', '', '')",
}


@pytest.fixture
def spent(opened, guarantee):
    """An account with a charged plan and three spendings: room is left."""
    account = opened(budget=gs.Budget(2.0, 1e-6))
    made = gs.plan(gs.models.BernoulliLogit(), gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one")
    account.charge(made, key="plan")
    for k in range(3):
        account.spend(guarantee, key=f"k{k}")
    return account


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_row_stops_the_next_charge(url, spent, guarantee, edit):
    spent.spend(guarantee, key="before")  # the account is whole, and has room
    with around(url).begin() as connection:
        connection.execute(text(EDITS[edit]), {"name": spent.name})
    for attempt in (lambda: spent.spend(guarantee, key="after"), spent.status, lambda: gs.ledger.check(spent)):
        with pytest.raises(gs.CertificateError) as refusal:
            attempt()
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 400


def test_there_are_at_least_21_edits():
    assert len(EDITS) >= 21


def test_bytes_that_are_no_text_are_refused(tmp_path, guarantee):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    account = gs.ledger.open_account(url, "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
    for content in ("CAST(x'ff' AS TEXT)", "x'00ff'", "7"):
        with around(url).begin() as connection:
            connection.execute(text(f"UPDATE gibbsafe_entries SET body = {content}"))
        with pytest.raises(gs.CertificateError):
            account.spend(guarantee, key="k")


def rewrite(connection, name, change):
    """Rewrite a journal as its owner could: change the bodies, then every hash, the head and the sums after them."""
    rows = connection.execute(text("SELECT * FROM gibbsafe_entries WHERE account = :n ORDER BY number"), {"n": name}).all()
    previous, main = "0" * 64, 0
    for row in rows:
        body = json.loads(row.body)
        change(row.number, body)
        main += int(body.get("cost", {"main": 0})["main"])
        written = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        head = hashlib.sha256((previous + written).encode()).hexdigest()
        statement = "UPDATE gibbsafe_entries SET body = :b, previous = :p, hash = :h WHERE account = :n AND number = :k"
        connection.execute(text(statement), {"b": written, "p": previous, "h": head, "n": name, "k": row.number})
        previous = head
    statement = "UPDATE gibbsafe_accounts SET head = :h, spent_main = :m WHERE name = :n"
    connection.execute(text(statement), {"h": previous, "m": str(main), "n": name})


def test_a_rewritten_chain_must_still_price_every_guarantee(url, spent, guarantee):
    with around(url).begin() as connection:
        rewrite(connection, spent.name, lambda k, body: body["cost"].update(main="1") if "cost" in body else None)
    with pytest.raises(gs.CertificateError, match="price"):
        spent.spend(guarantee, key="after")


def test_a_plan_is_charged_for_its_own_guarantee_and_no_other(url, spent, guarantee):
    """Not for another (ε, δ) at the plan's δ, either: an entry whose chain, price and sums all fit, but whose plan costs more."""
    cheap = gs.privacy.ApproximateDP(1e-6, 1e-6, adjacency="replace-one")
    price = gs.ledger.prices.price(cheap, gs.ledger.prices.Terms("gaussian", gs.Adjacency.REPLACE_ONE, "record")).to_dict()

    def undercharge(number, body):
        if body.get("key") == "plan":
            body |= {"guarantee": cheap.to_dict(), "cost": price}

    with around(url).begin() as connection:
        rewrite(connection, spent.name, undercharge)
        connection.execute(text(ACCOUNT.format(f"spent_failure = '{price['failure']}'")), {"name": spent.name})
    with pytest.raises(gs.CertificateError, match="the plan is not the one that was charged"):
        spent.spend(guarantee, key="after")


def test_an_exact_profile_is_charged_by_its_own_delta(opened):
    account = opened(budget=gs.Budget(8.0, 1e-3))
    plan = gs.plan(gs.models.BetaBernoulli(), gs.Budget(1.0, 1e-5), n=20, adjacency="replace-one")
    plan.release(np.arange(20) % 2, ledger=account)
    assert gs.ledger.check(account)["entries"] == 3


def test_a_consistent_rewrite_of_journal_and_head_is_not_seen_without_an_anchor(url, spent, guarantee):
    """Stated in docs/threats.md: only an anchor (test_rollback.py) or a head written down elsewhere finds this one."""
    with around(url).begin() as connection:
        rewrite(connection, spent.name, lambda k, body: body.update(who="somebody else") if k == 1 else None)
    spent.spend(guarantee, key="after")


# -- PostgreSQL: roles with the needed grants only -------------------------------------------------------------------------------


@pytest.fixture
def roles(server):
    """A database with grants; URLs of an owner, a charger and an auditor."""
    prefix, urls = f"g{uuid.uuid4().hex[:12]}", {}
    gs.ledger.apply_grants(gs.ledger.Database(server), prefix)
    gs.ledger.apply_grants(gs.ledger.Database(server), prefix)  # it may be run again
    with around(server).begin() as connection:
        for role in ("owner", "charger", "auditor"):
            connection.execute(text(f"CREATE ROLE {prefix}_{role}_login LOGIN IN ROLE {prefix}_{role}"))
            urls[role] = server.replace("gibbsafe@", f"{prefix}_{role}_login@")
    yield urls
    with around(server).begin() as connection:
        for role in ("owner", "charger", "auditor"):
            connection.execute(text(f"DROP OWNED BY {prefix}_{role}; DROP ROLE {prefix}_{role}_login, {prefix}_{role}"))


@needs_postgres
def test_each_role_does_its_own_job_and_no_other(roles, guarantee):
    budget = gs.Budget(1.0, 1e-6)
    for role in ("charger", "auditor"):
        with pytest.raises(gs.GibbsafeError, match="permission denied"):
            gs.ledger.open_account(roles[role], "clinic", budget, adjacency="replace-one")
    gs.ledger.open_account(roles["owner"], "clinic", budget, adjacency="replace-one")
    made = gs.plan(gs.models.BernoulliLogit(), gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one")
    made.release(np.arange(20) % 2, ledger=gs.ledger.account(f"{roles['charger']}#clinic"))
    auditor = gs.ledger.account(f"{roles['auditor']}#clinic")
    assert gs.ledger.check(auditor)["entries"] == 3
    with pytest.raises(gs.GibbsafeError, match="permission denied"):
        auditor.spend(guarantee, key="k")


#: What a charger tries once the cap is reached.
RAW = [
    "UPDATE gibbsafe_accounts SET spent_main = '0'",
    "UPDATE gibbsafe_accounts SET entries = 1, head = (SELECT hash FROM gibbsafe_entries WHERE number = 0)",
    "UPDATE gibbsafe_accounts SET opening = replace(opening, '1e-06', '0.5')",
    "UPDATE gibbsafe_entries SET body = replace(body, '0.1177', '0.0001')",
    "DELETE FROM gibbsafe_entries WHERE number = 4",
    "DELETE FROM gibbsafe_accounts",
    "TRUNCATE gibbsafe_entries",
    "INSERT INTO gibbsafe_accounts VALUES ('mine', 'gibbsafe/ledger/1', '{}', '0', '0', '0', 0, repeat('0', 64))",
    "INSERT INTO gibbsafe_entries VALUES ('clinic', 5, 'spend', 'x', '{}', NULL, '', '')",
    "ALTER TABLE gibbsafe_entries DISABLE TRIGGER ALL",
    "DROP TRIGGER gibbsafe_account ON gibbsafe_accounts",
]


@needs_postgres
def test_a_charger_cannot_spend_through_the_cap(roles, server, guarantee):
    gs.ledger.open_account(roles["owner"], "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
    account = gs.ledger.account(f"{roles['charger']}#clinic")
    admitted = 0
    for k in range(21):
        try:
            account.spend(guarantee, key=f"k{k}")
            admitted += 1
        except gs.BudgetError:
            with around(roles["charger"]).connect() as connection:
                for statement in RAW:
                    with pytest.raises(Exception, match=r"permission denied|must be owner|gibbsafe: "), connection.begin():
                        connection.execute(text(statement))
    assert admitted == 4
    assert gs.ledger.check(account)["entries"] == 5


def append(connection, body, *, head=None, spent="0", entry=None, counted=True):
    """Append an entry by hand, as a charger who knows the format would."""
    row = connection.execute(text("SELECT * FROM gibbsafe_accounts WHERE name = 'clinic' FOR UPDATE")).one()
    content = {"account": "clinic", "number": row.entries, "kind": "spend", "key": "mine", **body}
    written = json.dumps(content, sort_keys=True, separators=(",", ":"))
    made = hashlib.sha256((row.head + written).encode()).hexdigest()
    values = {"k": row.entries, "kind": content["kind"], "b": written, "p": row.head, "h": entry or made}
    values["key"] = content["key"]
    statement = "INSERT INTO gibbsafe_entries VALUES ('clinic', :k, :kind, :key, :b, NULL, :p, :h)"
    connection.execute(text(statement), values)
    update = "UPDATE gibbsafe_accounts SET entries = entries + 1, head = :h, spent_main = :s"
    if not counted:
        return
    connection.execute(text(update), {"h": head or made, "s": spent})


@needs_postgres
def test_the_triggers_hold_against_appending_by_hand(roles, guarantee):
    gs.ledger.open_account(roles["owner"], "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
    account = gs.ledger.account(f"{roles['charger']}#clinic")
    costs = {"cost": {"main": "5", "slack": "0", "failure": "0"}}
    huge = {"cost": {"main": "9" * 70, "slack": "0", "failure": "0"}}
    attempts = [
        (costs, {"spent": "0"}, "sums only grow"),
        (costs, {"spent": "6"}, "sums only grow"),
        ({"cost": {"main": "-5", "slack": "0", "failure": "0"}}, {"spent": "-5"}, "sums only grow"),
        (huge, {"spent": "9" * 70}, "cap would be passed"),
        (costs, {"spent": "5", "head": "f" * 64}, "follows its head"),
        (costs, {"spent": "5", "entry": "f" * 64}, "its hash must fit"),
        (costs | {"number": 0}, {"spent": "5"}, "what its text says"),
        (costs | {"kind": "gift"}, {"spent": "0"}, "unknown kind"),
        (costs, {"counted": False}, "does not count"),
    ]
    for body, options, message in attempts:
        with pytest.raises(Exception, match=message), around(roles["charger"]).begin() as connection:
            append(connection, body, **options)
    account.spend(guarantee, key="still whole")
    # One that the triggers let through, since they know no prices, is found by the next charge.
    with around(roles["charger"]).begin() as connection:
        row = connection.execute(text("SELECT spent_main FROM gibbsafe_accounts")).scalar_one()
        append(connection, costs | {"guarantee": guarantee.to_dict()}, spent=str(int(row) + 5))
    with pytest.raises(gs.CertificateError, match="price"):
        account.spend(guarantee, key="after")


@needs_postgres
def test_commits_are_on_disk_and_nobody_waits_for_ever(server, guarantee, monkeypatch):
    """A role configured to acknowledge before the disk does is overruled; a lock that is never released is given up."""
    account = gs.ledger.open_account(server, "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
    name = server.rsplit("/", 1)[1]
    with around(server).begin() as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    with account.database.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "1min"
    monkeypatch.setattr("gibbsafe.ledger.database.PATIENCE", 1)
    with around(server).begin() as connection:
        connection.execute(text("SELECT * FROM gibbsafe_accounts FOR UPDATE"))
        with pytest.raises(gs.GibbsafeError, match="lock timeout"):
            account.spend(guarantee, key="k")
    account.spend(guarantee, key="k")


def test_a_server_that_forgets_in_a_crash_is_refused():
    class Connection:
        def exec_driver_sql(self, statement):
            return self

        def scalar(self):
            return "off"

    with pytest.raises(gs.GibbsafeError, match="fsync = off"):
        gs.ledger.Database("postgresql://host/ledger")._configure_server(Connection())
