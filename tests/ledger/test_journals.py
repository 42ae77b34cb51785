"""Journals of estimated claims: no total, no proved release, and no estimate in an account that adds up."""

import numpy as np
import pytest
from sqlalchemy import create_engine

import gibbsafe as gs


@pytest.fixture(scope="module")
def estimated():
    model = gs.contamination.ContaminatedLogisticRegression(columns=1, rate=0.5)
    return gs.plan(model, gs.EstimatedBudget(5.0, 1e-2, failure=0.4, confidence=0.5), n=60, truth=[0.5], repeats=3)


@pytest.fixture
def journal(url):
    return gs.ledger.open_journal(url, f"journal-{np.random.default_rng().integers(10**12)}", seeded=True)


LABELS = np.arange(60) % 2.0


def test_a_release_is_noted_settled_and_adds_up_to_nothing(journal, estimated):
    released = estimated.release(LABELS, ledger=journal, generator=np.random.default_rng(0))
    status = journal.status()
    assert (status["estimates"], status["unreleased"]) == (1, 0)
    assert status["total"] is None
    assert "no total" in status["note"]
    assert not {"claim", "caps", "spent", "left", "share"} & set(status)
    noted = journal.entries()[1]
    assert noted["kind"] == "estimate"
    assert noted["estimate"] == estimated.estimate.to_dict()
    assert "cost" not in noted
    assert released.charge["entry"] == 1
    assert gs.ledger.check(journal)["status"] == "consistent"
    assert gs.ledger.export(journal)["entries"][0]["journal"] is True
    with pytest.raises(gs.BudgetError, match="nothing is sampled again"):
        estimated.release(LABELS, ledger=journal)
    with pytest.raises(gs.BudgetError, match="is released already"):
        journal.find_charge(released).settle(released)


def test_neither_kind_of_account_takes_the_other_kind_of_claim(journal, open_account, plan, estimated):
    account = open_account()
    with pytest.raises(gs.BudgetError, match="adds up proved ones only"):
        estimated.release(LABELS, ledger=account)
    with pytest.raises(gs.BudgetError, match="proved ones only"):
        account.spend(estimated.estimate, key="estimate")
    with pytest.raises(gs.BudgetError, match="no total"):
        plan.release(LABELS[:20], ledger=journal)
    with pytest.raises(gs.BudgetError, match="no total"):
        journal.spend(gs.privacy.PureDP(0.1).under("replace-one"), key="k")
    assert account.status()["charges"] == 0
    assert len(journal.entries()) == 1
    assert "not covered" in account.status()["not_covered"]


def test_adjacency_data_set_and_seeds_are_checked(url, estimated):
    strict = gs.ledger.open_journal(url, "strict", adjacency="add-remove")
    with pytest.raises(gs.BudgetError, match="adjacency"):
        strict.charge(estimated)
    with pytest.raises(gs.BudgetError, match="seeded"):
        estimated.release(LABELS, ledger=strict, generator=np.random.default_rng(0))
    bound = gs.ledger.open_journal(url, "bound", dataset="clinic")
    with pytest.raises(gs.BudgetError, match="dataset"):
        bound.charge(estimated)
    with pytest.raises(gs.BudgetError, match="open already"):
        gs.ledger.open_journal(url, "bound")


def test_a_refused_table_is_not_noted(journal, estimated):
    with pytest.raises(gs.DomainError):
        estimated.release(LABELS[:5], ledger=journal)
    assert len(journal.entries()) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE gibbsafe_entries SET body = replace(body, '\"epsilon\":', '\"epsilon\":0') WHERE kind = 'estimate'",
        "UPDATE gibbsafe_entries SET plan = replace(plan, '\"epsilon\":', '\"epsilon\":0') WHERE kind = 'estimate'",
        "UPDATE gibbsafe_entries SET kind = 'charge' WHERE kind = 'estimate'",
        "UPDATE gibbsafe_accounts SET opening = replace(opening, 'true', 'false')",
        "DELETE FROM gibbsafe_entries WHERE kind = 'release'",
    ],
)
def test_tampering_is_detected(tmp_path, estimated, statement):
    journal = gs.ledger.open_journal(f"sqlite:///{tmp_path / 'ledger.db'}", "estimates")
    estimated.release(LABELS, ledger=journal)
    with create_engine(f"sqlite:///{tmp_path / 'ledger.db'}").begin() as connection:
        connection.exec_driver_sql(statement)
    with pytest.raises(gs.CertificateError) as refusal:
        gs.ledger.check(journal)
    assert "\n" not in str(refusal.value)
