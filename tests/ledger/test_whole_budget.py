"""An account without a reserve admits the plan that spends all of it; claims without a currency are charged as (ε, δ)."""

from fractions import Fraction

import pytest

import gibbsafe as gs
from gibbsafe.ledger import open_account
from gibbsafe.ledger.caps import caps_for, claimed_delta
from gibbsafe.privacy import MetricDP


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (0.37, 3e-9), (5.0, 1e-12), (2.0, 0.05)])
@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_a_plan_that_spends_all_of_the_budget_is_admitted_once(tmp_path, epsilon, delta, dimension):
    budget = gs.Budget(epsilon, delta)
    account = open_account(f"sqlite:///{tmp_path}/l.db", "all", budget, adjacency="replace-one", reserve=0.0)
    made = gs.plan(gs.models.LogisticRegression(dimension=dimension), budget, n=1000, adjacency="replace-one")
    account.charge(made)
    with pytest.raises(gs.BudgetError, match="is left"):
        account.charge(made, key="again")


@pytest.mark.parametrize("currency", ["gaussian", "zcdp"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.01, 1e-4), (8.0, 1e-10)])
def test_caps_without_a_reserve_keep_the_budget(currency, epsilon, delta):
    caps = caps_for(gs.Budget(epsilon, delta), currency, 0.0)
    assert Fraction(claimed_delta(epsilon, currency, caps)) <= Fraction(delta)
    assert claimed_delta(epsilon, currency, caps) >= delta * (1 - 1e-9)


def test_an_untrimmed_beta_plan_is_charged_by_its_epsilon_and_delta(tmp_path):
    account = open_account(f"sqlite:///{tmp_path}/l.db", "beta", gs.Budget(2.0, 1e-4), adjacency="replace-one", currency="pure")
    made = gs.plan(gs.models.BetaBernoulli(), gs.Budget(1.0, 1e-6), n=50, adjacency="replace-one")
    account.charge(made)
    spent = account.status()["spent"]
    assert spent["delta"] == pytest.approx(1e-6)
    assert spent["epsilon"] == pytest.approx(1.0)


def test_a_metric_claim_is_charged_at_its_distance_under_replace_one(tmp_path):
    claim = MetricDP(0.25, "hamming")
    account = open_account(f"sqlite:///{tmp_path}/l.db", "metric", gs.Budget(1.0), adjacency="replace-one")
    account.spend(claim, key="metric", distance=2.0)
    assert account.status()["spent"]["epsilon"] == pytest.approx(0.5)
    other = open_account(f"sqlite:///{tmp_path}/l.db", "add", gs.Budget(1.0), adjacency="add-remove")
    with pytest.raises(gs.BudgetError, match="adjacency"):
        other.spend(claim, key="metric", distance=2.0)
