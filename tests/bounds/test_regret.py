"""Regret bounds against simulation and enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.bounds import (
    average_error,
    best_restriction,
    change_of_prior,
    posterior_regret,
    private_prior_regret,
    query_regret,
)
from gibbsafe.models.families.beta_bernoulli import BetaBernoulli
from gibbsafe.privacy import BoundedRange


def test_lemma_11_holds_in_simulation_at_its_stated_probability():
    """5 questions of 8 responses at once, 40 draws; utilities near 0 or 1 with all means near ½, where errors are largest."""
    rng = np.random.default_rng(11)
    parameters, responses, questions, draws, failure = 30, 8, 5, 40, 0.2
    utilities = (rng.random((questions, parameters, responses)) < 0.5).astype(float)
    posterior = rng.dirichlet(np.ones(parameters))
    expected = np.einsum("p,qpr->qr", posterior, utilities)
    bound = query_regret(draws, responses=responses, failure=failure, questions=questions)
    single = average_error(draws, failure=failure, questions=responses * questions)
    regret_fails = error_fails = 0
    runs = 2000
    for _ in range(runs):
        chosen = rng.choice(parameters, draws, p=posterior)
        averages = utilities[:, chosen].mean(axis=1)
        picked = averages.argmax(axis=1)
        regret = expected.max(axis=1) - expected[np.arange(questions), picked]
        regret_fails += bool(regret.max() > bound)
        error_fails += bool(np.abs(averages - expected).max() > single)
    assert regret_fails <= error_fails
    assert error_fails / runs <= failure
    assert bound == pytest.approx(2 * math.sqrt(math.log(2 * responses * questions / failure) / (2 * draws)))


def test_without_the_union_bound_lemma_11_fails():
    """Erratum E14: Hoeffding for one response does not cover the largest of many."""
    rng = np.random.default_rng(14)
    draws, responses, failure, runs = 20, 400, 0.1, 400
    one = average_error(draws, failure=failure)
    all_of_them = average_error(draws, failure=failure, questions=responses)
    errors = np.array([np.abs(rng.binomial(draws, 0.5, responses) / draws - 0.5).max() for _ in range(runs)])
    assert (errors > one).mean() > 0.9
    assert (errors > all_of_them).mean() <= failure


logs = st.floats(-1, 1)


@given(st.lists(logs, min_size=3, max_size=3), st.lists(logs, min_size=3, max_size=3), st.lists(logs, min_size=3, max_size=3))
def test_change_of_prior_bounds_every_posterior(prior, change, likelihood):
    preferred = np.exp(prior)
    preferred /= preferred.sum()
    used = preferred * np.exp(change)
    used /= used.sum()
    eta = float(np.abs(np.log(preferred / used)).max())
    a, b = (p * np.exp(likelihood) / (p * np.exp(likelihood)).sum() for p in (preferred, used))
    bound = change_of_prior(eta)
    assert float(np.sum(a * np.log(a / b))) <= bound.kl + 1e-12
    assert float(np.abs(a - b).sum()) <= bound.distance + 1e-12
    assert bound.distance <= eta * (1 + 1e-9)
    assert bound.kl <= bound.kl_paper


def test_posterior_regret_is_attained():
    """ξ* = (p, 1−p) and ξ = (1−p, p) with the utility of guessing the parameter: regret 2p − 1 = ‖·‖₁/2·…, within the bound."""
    p = 0.8
    best, used = np.array([p, 1 - p]), np.array([1 - p, p])
    regret = best.max() - best[used.argmax()]
    assert regret == pytest.approx(0.6)
    assert regret <= posterior_regret(float(np.abs(best - used).sum()))
    assert private_prior_regret(0.1, 10_000, responses=2, failure=0.05) == pytest.approx(
        change_of_prior(0.1).regret + query_regret(10_000, responses=2, failure=0.05)
    )


def test_restriction_moves_posteriors_by_twice_the_mass_it_drops_on_average():
    chances, prior, n = np.array([0.1, 0.3, 0.5, 0.9]), np.array([0.2, 0.3, 0.4, 0.1]), 5
    kept = np.array([False, True, True, False])
    total = 0.0
    for k in range(n + 1):
        likelihood = math.comb(n, k) * chances**k * (1 - chances) ** (n - k)
        marginal = prior @ likelihood
        full = prior * likelihood / marginal
        total += marginal * np.abs(full - np.where(kept, full, 0) / full[kept].sum()).sum()
    assert total == pytest.approx(2 * prior[~kept].sum())


def test_theorem_17_planner_is_no_worse_than_any_number_of_draws():
    family = BetaBernoulli(alpha=200, beta=200)
    budget = gs.Budget(5.0, 1e-6)
    best = best_restriction(family.prior_mass_below, budget, responses=2, failure=0.05, largest_draws=300)
    claim = BoundedRange(2 * best.lipschitz).compose(best.draws)
    assert claim.epsilon(1e-6) <= 5.0
    assert best.regret == pytest.approx(best.regret_of_restriction + best.regret_of_draws)
    assert best.mass == pytest.approx(family.prior_mass_below(best.lipschitz))
    for draws in (1, 3, 10, 30, 60, 100, 150, 200, 250, 300):
        width = gs.theorems.get("bounded-range").calibrate(
            {"difference_range": 1.0}, budget, adjacency="replace-one", draws=draws
        )
        other = 2 * (1 - family.prior_mass_below(width / 2)) + query_regret(draws, responses=2, failure=0.05)
        assert best.regret_of_restriction + best.regret_of_draws <= other + 1e-9


def test_more_budget_never_hurts():
    family = BetaBernoulli(alpha=50, beta=50)
    regrets = [
        best_restriction(family.prior_mass_below, gs.Budget(eps, 1e-6), responses=2, failure=0.05, largest_draws=2000).regret
        for eps in (8.0, 64.0)
    ]
    assert 1 > regrets[0] > regrets[1] > 0
