"""Attack 7: learn about the data from the ledger or the release file; charge the wrong account; know the randomness."""

import hashlib
import json
import re

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe._json import canonical_bytes
from gibbsafe.planning.conditions import coarse


def made_plan(**options):
    model = gs.models.BernoulliLogit()
    return gs.plan(model, gs.Budget(0.3, 1e-6), **({"n": 20, "adjacency": "replace-one"} | options))


def test_stamps_are_days(opened):
    """When a release ends depends on the data, and so does when the next charge follows: neither is stored to the second."""
    account = opened()
    made_plan().release(np.arange(20) % 2, ledger=account)
    assert {entry["kind"] for entry in account.entries()} == {"opening", "charge", "release"}
    for entry in gs.ledger.export(account)["entries"]:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry["time"])
        assert not re.search(r"\d\d:\d\d", json.dumps(entry))


@pytest.mark.parametrize("guess", [1, 3, 5, 777, 1000, 123_457, 10**9 + 7])
def test_the_guess_of_n_is_nowhere_in_the_file(tmp_path, guess):
    plan = made_plan(n=guess, adjacency="add-remove")
    assert plan.n == coarse(guess)
    assert plan.n / guess in (0.25, 0.5, 1, 2, 4) or 0.5 <= plan.n / guess <= 2
    assert np.log2(plan.n) % 2 == 0
    plan.release(np.arange(21) % 2).save(tmp_path / "r.json")
    if guess > 100:
        assert str(guess) not in re.sub(r"[0-9a-f]{64}|\d+\.\d+", "", (tmp_path / "r.json").read_text())
    assert made_plan(n=plan.n, adjacency="add-remove").to_dict() == plan.to_dict()


@pytest.mark.parametrize("guess", [1000, 1, 4096, 1023, 1024.0, "1024", True])
def test_a_file_with_the_guess_itself_is_refused(guess, tmp_path):
    """Or with another number than the plan's: a plan under add-remove keeps a power of four."""
    plan = made_plan(n=1024, adjacency="add-remove")
    content = plan.to_dict() | {"n": guess}
    if guess in (1, 4096) and not isinstance(guess, bool):  # powers of four themselves
        assert gs.Plan.from_dict(content).n == guess
        return
    with pytest.raises(gs.CertificateError):
        gs.Plan.from_dict(json.loads(json.dumps(content)))
    altered = plan.release(np.arange(21) % 2).to_dict()
    altered["plan"]["n"] = guess
    altered |= {"sha256": hashlib.sha256(canonical_bytes({k: v for k, v in altered.items() if k != "sha256"})).hexdigest()}
    (tmp_path / "r.json").write_text(json.dumps(altered))
    with pytest.raises(gs.CertificateError, match="n"):
        gs.verify(tmp_path / "r.json")


def test_a_seeded_release_is_refused_unless_the_account_was_opened_for_such(opened):
    account = opened()
    with pytest.raises(gs.BudgetError, match="seeded"):
        made_plan().release(np.arange(20) % 2, ledger=account, generator=np.random.default_rng(0))
    assert account.status()["charges"] == 0
    tests = opened(seeded=True)
    made_plan().release(np.arange(20) % 2, ledger=tests, generator=np.random.default_rng(0))
    assert tests.status()["charges"] == 1


def test_estimators_with_a_known_state_are_refused_too(opened):
    pytest.importorskip("sklearn")
    account = opened()
    reference = f"{account.database.url}#{account.name}"
    options = {"epsilon": 0.2, "delta": 1e-7, "bounds": (-1, 1), "ledger": reference, "random_state": 0}
    estimator = gs.estimators.PrivateLogisticRegression(**options)
    with pytest.raises(gs.BudgetError, match="seeded"):
        estimator.fit(np.zeros((50, 2)), np.arange(50) % 2)


def test_an_account_is_bound_to_its_data_set(opened, guarantee):
    account = opened(dataset="clinic-2026")
    for wrong in (None, "clinic-2025", ""):
        with pytest.raises(gs.BudgetError, match="clinic-2026"):
            account.spend(guarantee, key="k", dataset=wrong)
        with pytest.raises(gs.BudgetError, match="clinic-2026"):
            account.charge(made_plan(), dataset=wrong)
    account.spend(guarantee, key="k", dataset="clinic-2026")
    with pytest.raises(gs.BudgetError, match="opened without one"):
        opened().spend(guarantee, key="k", dataset="clinic-2026")


def test_who_is_called_a_claim(opened, guarantee, run):
    account = opened()
    account.spend(guarantee, key="k", who="the minister")
    code, out, _ = run("ledger", "show", f"{account.database.url}#{account.name}")
    assert code == 0
    assert "claim" in out


def test_ledgers_of_before_are_still_read_and_charged(opened, guarantee, url):
    """An opening without anchor, data set and seeds, entries with a purpose and a time to the second."""
    from .conftest import around
    from .test_ledger_edits import rewrite

    account = opened()
    account.spend(guarantee, key="k")

    def older(number, body):
        for name in ("anchor", "dataset", "seeded", "id", "reason"):
            body.pop(name, None)
        body |= {"purpose": "before", "time": "2026-01-01T10:00:00+00:00"}

    from sqlalchemy import text

    with around(url).begin() as connection:
        rewrite(connection, account.name, older)
        row = connection.execute(text("SELECT opening FROM gibbsafe_accounts WHERE name = :n"), {"n": account.name}).scalar_one()
        kept = {name: value for name, value in json.loads(row).items() if name not in ("anchor", "dataset", "seeded")}
        values = {"o": json.dumps(kept, sort_keys=True, separators=(",", ":")), "n": account.name}
        connection.execute(text("UPDATE gibbsafe_accounts SET opening = :o WHERE name = :n"), values)
    account.spend(guarantee, key="l")
    assert gs.ledger.check(account)["entries"] == 3
