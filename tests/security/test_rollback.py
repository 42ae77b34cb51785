"""Attack 2: give the budget back by restoring an old copy, deleting the write-ahead log, or deleting the ledger."""

import shutil
import sqlite3

import pytest

import gibbsafe as gs
from gibbsafe.ledger.anchor import anchor_at

from .conftest import POSTGRES, needs_postgres
from .test_ledger_edits import rewrite

BUDGET = gs.Budget(1.0, 1e-6)


@pytest.fixture(params=["file", "database"])
def anchor(request, tmp_path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    return str(place / "marks.jsonl") if request.param == "file" else f"sqlite:///{place / 'marks.db'}"


@pytest.fixture
def account(tmp_path, anchor):
    return gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one", anchor=anchor)


def refused(account, guarantee, message):
    with pytest.raises(gs.CertificateError, match=message):
        account.spend(guarantee, key="more")
    with pytest.raises(gs.CertificateError, match=message):
        gs.ledger.check(account)


def test_without_an_anchor_a_restored_copy_gives_the_budget_back(tmp_path, guarantee):
    """What an anchor is for; stated in docs/threats.md."""
    account = gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    account.spend(guarantee, key="k")
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    account.spend(guarantee, key="k")


def test_a_restored_copy_is_refused(tmp_path, account, guarantee):
    account.spend(guarantee, key="k0")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    account.spend(guarantee, key="k1")
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    refused(account, guarantee, "old copy was restored")
    # Whoever forgets to name the anchor meets it all the same: the opening names it.
    refused(gs.ledger.account(f"{tmp_path / 'ledger.db'}#clinic"), guarantee, "old copy was restored")


def test_a_deleted_write_ahead_log_is_noticed(tmp_path, account, guarantee):
    account.spend(guarantee, key="k0")
    holder = sqlite3.connect(tmp_path / "ledger.db")  # as a process that is charging: the log is not merged when others close
    holder.execute("SELECT count(*) FROM gibbsafe_entries").fetchall()
    account.spend(guarantee, key="k1")
    assert (tmp_path / "ledger.db-wal").stat().st_size > 0
    shutil.copy(tmp_path / "ledger.db", tmp_path / "torn.db")  # the file alone, without its log
    holder.close()
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    (tmp_path / "torn.db").rename(tmp_path / "ledger.db")
    refused(account, guarantee, "old copy was restored")


def test_a_deleted_ledger_is_not_opened_again(tmp_path, anchor, account, guarantee):
    account.spend(guarantee, key="k0")
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    with pytest.raises(gs.BudgetError, match="knows one of this name"):
        gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one", anchor=anchor)
    gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one")
    refused(gs.ledger.account(f"{tmp_path / 'ledger.db'}#clinic", anchor), guarantee, "another of the same name")


def test_a_consistent_rewrite_of_journal_and_head_is_caught_by_the_anchor(tmp_path, account, guarantee):
    from .conftest import around

    account.spend(guarantee, key="k0")
    with around(account.database.url).begin() as connection:
        rewrite(connection, "clinic", lambda k, body: body.update(who="somebody else") if k == 1 else None)
    refused(account, guarantee, "rewritten")


def test_where_the_anchor_is_must_be_known_without_the_ledger(tmp_path, anchor, account, guarantee):
    """Stated in docs/ledger.md: the place in the opening is rewritten with all the rest, the one that is passed is not."""
    import json

    from sqlalchemy import text

    from .conftest import around

    account.spend(guarantee, key="k0")
    with around(account.database.url).begin() as connection:
        rewrite(connection, "clinic", lambda k, body: body.update(anchor=None) if k == 0 else None)
        opening = json.loads(connection.execute(text("SELECT opening FROM gibbsafe_accounts")).scalar_one()) | {"anchor": None}
        written = json.dumps(opening, sort_keys=True, separators=(",", ":"))
        connection.execute(text("UPDATE gibbsafe_accounts SET opening = :o"), {"o": written})
    gs.ledger.account(f"{tmp_path / 'ledger.db'}#clinic").spend(guarantee, key="k1")
    refused(gs.ledger.account(f"{tmp_path / 'ledger.db'}#clinic", anchor), guarantee, "another of the same name")


def test_a_deleted_anchor_is_refused_too(tmp_path, anchor, account, guarantee):
    for file in (tmp_path / "elsewhere").iterdir():
        file.unlink()
    refused(account, guarantee, "has no mark")


def test_a_crash_between_charge_and_mark_leaves_the_ledger_usable(account, anchor, guarantee, monkeypatch):
    """The mark is behind the ledger then, never ahead; the charge is spent, and nothing was released under it."""
    kind = type(anchor_at(anchor))
    with monkeypatch.context() as broken:
        broken.setattr(kind, "append", lambda self, mark: (_ for _ in ()).throw(gs.GibbsafeError("anchor: full disk")))
        with pytest.raises(gs.GibbsafeError, match="entry 1 is charged, and nothing is released"):
            account.spend(guarantee, key="k0")
    account.spend(guarantee, key="k1")
    assert anchor_at(anchor).newest("clinic").entries == 3


def test_a_torn_line_of_an_anchor_does_not_stop_the_ledger(tmp_path, guarantee):
    path = tmp_path / "marks.jsonl"
    account = gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one", anchor=str(path))
    account.spend(guarantee, key="k0")
    path.write_bytes(path.read_bytes() + b'{"account":"clinic","entr')
    account.spend(guarantee, key="k1")
    assert anchor_at(str(path)).newest("clinic").entries == 3


def test_a_printed_mark_is_found_by_check(tmp_path, guarantee, capsys):
    import json

    account = gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one", anchor="-")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    account.spend(guarantee, key="k0")
    marks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [mark["entries"] for mark in marks] == [1, 2]
    gs.ledger.check(account, marks[-1]["head"])
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    with pytest.raises(gs.CertificateError, match="not in the chain"):
        gs.ledger.check(account, marks[-1]["head"])
    with pytest.raises(gs.ParameterError, match="hexadecimal"):
        gs.ledger.check(account, "latest")


def test_an_account_without_an_anchor_gets_one_later(tmp_path, anchor, guarantee):
    plain = gs.ledger.open_account(str(tmp_path / "ledger.db"), "clinic", BUDGET, adjacency="replace-one")
    account = gs.ledger.account(f"{tmp_path / 'ledger.db'}#clinic", anchor)
    refused(account, guarantee, "has no mark")
    account.begin_anchor()
    account.spend(guarantee, key="k")
    plain.spend(guarantee, key="l")
    account.begin_anchor()


def test_a_backup_has_what_is_in_the_log_and_is_no_way_back(tmp_path, account, guarantee):
    account.spend(guarantee, key="k0")
    holder = sqlite3.connect(tmp_path / "ledger.db")
    holder.execute("SELECT count(*) FROM gibbsafe_entries").fetchall()
    account.spend(guarantee, key="k1")
    (checked,) = gs.ledger.copy_ledger(account.database, tmp_path / "copy.db")
    holder.close()
    assert checked["entries"] == 3
    account.spend(guarantee, key="k2")
    with pytest.raises(gs.GibbsafeError, match="exists already"):
        gs.ledger.copy_ledger(account.database, tmp_path / "copy.db")
    with pytest.raises(gs.GibbsafeError, match="is an input"):
        gs.ledger.copy_ledger(account.database, tmp_path / "ledger.db", force=True)
    shutil.copy(tmp_path / "copy.db", tmp_path / "ledger.db")
    refused(account, guarantee, "old copy was restored")


def test_the_anchor_is_another_place_and_holds_no_password(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    for anchor, message in ((url, "another place"), ("postgresql://ana:s3cret@host/marks", "without a password")):
        with pytest.raises(gs.ParameterError, match=message) as refusal:
            gs.ledger.open_account(url, "clinic", BUDGET, adjacency="replace-one", anchor=anchor)
        assert "s3cret" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


@needs_postgres
def test_marks_of_a_postgresql_ledger_in_a_file(tmp_path, server, guarantee):
    from sqlalchemy import text

    from .conftest import around

    assert POSTGRES
    account = gs.ledger.open_account(server, "clinic", BUDGET, adjacency="replace-one", anchor=str(tmp_path / "marks"))
    account.spend(guarantee, key="k0")
    with around(server).begin() as connection:  # as its administrator could
        connection.execute(text("DELETE FROM gibbsafe_entries WHERE number = 1"))
        head = connection.execute(text("SELECT hash FROM gibbsafe_entries WHERE number = 0")).scalar_one()
        connection.execute(text("UPDATE gibbsafe_accounts SET entries = 1, spent_main = '0', head = :h"), {"h": head})
    refused(account, guarantee, "old copy was restored")


def test_the_same_on_the_command_line(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    opening = ("--epsilon", 1, "--delta", 1e-6, "--adjacency", "replace-one")
    spending = ("--mu", 0.1, "--adjacency", "replace-one")
    assert run("ledger", "open", "ledger.db#clinic", *opening, "--anchor", "marks")[0] == 0
    shutil.copy("ledger.db", "old.db")
    assert run("ledger", "spend", "ledger.db#clinic", "--key", "a", *spending)[0] == 0
    assert run("ledger", "anchor", "ledger.db#clinic")[0] == 0
    assert run("ledger", "backup", "ledger.db", "--out", "copy.db")[0] == 0
    shutil.copy("old.db", "ledger.db")
    for command in (("spend", "ledger.db#clinic", "--key", "b", *spending), ("check", "ledger.db#clinic")):
        code, _, err = run("ledger", *command)
        assert code == 1
        assert "old copy was restored" in err
        assert err.count("\n") == 1
    assert run("ledger", "open", "other.db#x", *opening, "--anchor", "-", "--json")[0] == 2
    code, out, _ = run("ledger", "grants", "--prefix", "ward")
    assert code == 0
    assert "CREATE ROLE ward_charger" in out
    assert run("ledger", "grants", "ledger.db", "--apply")[0] == 1
    assert run("ledger", "grants", "--prefix", "x; DROP TABLE y")[0] == 1


@pytest.mark.parametrize("victim", ["ledger.db", "patients.csv", "study.toml", "r.json", "."])
def test_marks_are_not_written_into_other_files(tmp_path, monkeypatch, run, victim):
    monkeypatch.chdir(tmp_path)
    assert run("init", "--example")[0] == 0
    assert run("release", "study.toml", "--data", "patients.csv", "--no-ledger", "--out", "r.json", "-q")[0] == 0
    terms = ("--epsilon", "1", "--delta", "1e-6", "--adjacency", "replace-one")
    assert run("ledger", "open", "ledger.db#c", *terms, "-q")[0] == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for command in (("anchor", "ledger.db#c"), ("open", "other.db#c", *terms)):
        code, _, err = run("ledger", *command, "--anchor", victim, "-q")
        assert (code, err.count("\n")) == (1, 1)
    assert not (tmp_path / "other.db").exists()
    assert {path: path.read_bytes() for path in before} == before


def test_one_document_also_where_the_account_prints_its_marks(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    terms = ("--epsilon", "1", "--delta", "1e-6", "--adjacency", "replace-one", "--anchor", "-", "-q")
    assert run("ledger", "open", "ledger.db#c", *terms)[0] == 0
    spend = ("ledger", "spend", "ledger.db#c", "--key", "k", "--mu", "0.01", "--adjacency", "replace-one")
    assert run(*spend, "--json")[0] == 2
    assert gs.ledger.account("ledger.db#c").status()["charges"] == 0
    assert run(*spend)[0] == 0
