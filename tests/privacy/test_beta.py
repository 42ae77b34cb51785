"""The exact profile of Beta posteriors, against mpmath and against quadrature of the densities themselves."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta as beta_law

import gibbsafe as gs
from gibbsafe.privacy import BetaBernoulliDP
from gibbsafe.privacy.beta import LARGEST_N, _one_direction, _tail, beta_bernoulli_delta

BUDGET = gs.Budget(1.0, 1e-5)


def exact_by_quadrature(epsilon, a, b, n, power):
    """Return the largest hockey stick over all neighbouring counts, by numerical integration of (p − e^ε q)₊."""
    worst = 0.0
    for k in range(n):
        more = beta_law(a + power * (k + 1), b + power * (n - 1 - k))
        fewer = beta_law(a + power * k, b + power * (n - k))
        for p, q in ((more, fewer), (fewer, more)):
            pieces = np.linspace(0, 1, 41)
            value = sum(
                quad(lambda x, p=p, q=q: max(0.0, p.pdf(x) - math.exp(epsilon) * q.pdf(x)), low, high, limit=200)[0]
                for low, high in itertools.pairwise(pieces)
            )
            worst = max(worst, value)
    return worst


@pytest.mark.parametrize(("a", "b", "n", "power"), [(2.0, 2.0, 3, 1.0), (3.0, 1.5, 4, 0.5), (1.5, 4.0, 2, 2.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_the_profile_is_the_integral_of_the_densities(a, b, n, power, epsilon):
    claimed = beta_bernoulli_delta(epsilon, a=a, b=b, n=n, inverse_temperature=power)
    assert claimed == pytest.approx(exact_by_quadrature(epsilon, a, b, n, power), abs=2e-6)


@settings(max_examples=40, deadline=None)
@given(
    a=st.floats(0.05, 50),
    b=st.floats(0.05, 50),
    n=st.integers(1, 40),
    power=st.floats(0.01, 3),
    epsilon=st.floats(0, 8),
)
def test_the_profile_never_understates_and_is_tight(a, b, n, power, epsilon):
    """Oracle: the same tails in 40 digits."""
    worst = mpmath.mpf(0)
    with mpmath.workdps(40):
        for k in range(n):
            for x, y in ((a + power * k, b + power * (n - 1 - k)), (b + power * k, a + power * (n - 1 - k))):
                odds = (mpmath.e**epsilon * mpmath.beta(x + power, y) / mpmath.beta(x, y + power)) ** (1 / mpmath.mpf(power))
                rest = 1 / (1 + odds)
                mine = mpmath.betainc(y, x + power, 0, rest, regularized=True)
                theirs = mpmath.betainc(y + power, x, 0, rest, regularized=True)
                worst = max(worst, mine - mpmath.e**epsilon * theirs)
    claimed = beta_bernoulli_delta(epsilon, a=a, b=b, n=n, inverse_temperature=power)
    assert claimed >= float(worst) * (1 - 1e-15)
    assert claimed <= float(worst) + 1e-8


def test_a_prior_that_puts_mass_at_the_ends_is_not_understated():
    """With a tiny prior the density ratio explodes where floats near 1 have no room; the profile must not call that mass 0."""
    guarantee = BetaBernoulliDP(0.001, 0.001, 1, 0.01)
    assert guarantee.delta(5.0) > 0.5
    assert guarantee.delta(700.0) > 0
    assert guarantee.delta(1e6) >= 0


def test_it_plans_and_calibrates_without_a_trim():
    made = gs.plan(gs.models.BetaBernoulli(), BUDGET, n=200, adjacency="replace-one")
    assert made.theorem.name == "beta-bernoulli"
    assert made.sampler == "closed-form"
    assert made.guarantee.delta(1.0) <= 1e-5
    colder = BetaBernoulliDP(1.0, 1.0, 200, made.inverse_temperature * 1.001)
    assert colder.delta(1.0) > 1e-5
    released = made.release(np.zeros(200), generator=np.random.default_rng(0))
    assert gs.verify(released)["theorem"]["name"] == "beta-bernoulli"


def test_more_draws_cost_more_and_stay_within_budget():
    one, many = (gs.plan(gs.models.BetaBernoulli(), BUDGET, n=50, adjacency="replace-one", draws=k) for k in (1, 4))
    assert many.inverse_temperature < one.inverse_temperature
    assert many.guarantee.delta(1.0) <= 1e-5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 50, "adjacency": "add-remove"}, "n: private under add-remove"),
        ({"n": LARGEST_N + 1, "adjacency": "replace-one"}, "at most"),
    ],
)
def test_what_the_profile_does_not_cover_is_refused(arguments, message):
    with pytest.raises(gs.GibbsafeError, match=message):
        gs.plan(gs.models.BetaBernoulli(), BUDGET, **arguments)


def test_no_pure_claim():
    with pytest.raises(gs.BudgetError, match="declare a trim"):
        gs.plan(gs.models.BetaBernoulli(), gs.Budget(1.0), n=50, adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="groups of 2"):
        BetaBernoulliDP(1.0, 1.0, 10, 1.0).group(2)


@pytest.mark.parametrize("log_odds", [-30.0, -5.0, -0.4, 0.0, 0.4, 5.0, 30.0])
@pytest.mark.parametrize(("a", "b"), [(0.05, 3.0), (3.0, 0.05), (2.0, 7.0), (40.0, 35.0)])
def test_tails_on_both_sides_of_the_middle(a, b, log_odds):
    with mpmath.workdps(40):
        below = mpmath.betainc(a, b, 0, 1 / (1 + mpmath.exp(-mpmath.mpf(log_odds))), regularized=True)
        expected = float(1 - below)
    assert float(_tail(np.array([a]), np.array([b]), np.array([log_odds]))[0]) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_what_a_complement_may_have_lost_counts_against_the_claim():
    """Where a small tail is one minus a large one, 1e-14 is added to mine and taken off theirs: more than they are wrong by."""
    a, b, power, log_odds = 1e-7, 1.0, 1e-7, -50.0
    with mpmath.workdps(40):
        epsilon = power * log_odds - mpmath.log(mpmath.beta(a + power, b) / mpmath.beta(a, b + power))
        share = 1 / (1 + mpmath.exp(-mpmath.mpf(log_odds)))
        mine, theirs = (1 - mpmath.betainc(x, y, 0, share, regularized=True) for x, y in ((a + power, b), (a, b + power)))
        exact = mine - mpmath.exp(epsilon) * theirs
    claimed = float(_one_direction(np.array([a]), np.array([b]), power, float(epsilon))[0])
    assert 2.5e-14 < claimed - float(exact) < 1e-13  # 1e-14 of mine and e^ε of theirs


def test_what_special_functions_may_have_lost_counts_against_the_claim():
    """A tail of almost 1: the relative allowance, 1e-10, is added to it."""
    a, b, power, epsilon = 1e-7, 1.0, 0.5, 1e-3
    with mpmath.workdps(40):
        odds = (mpmath.exp(epsilon) * mpmath.beta(a + power, b) / mpmath.beta(a, b + power)) ** (1 / mpmath.mpf(power))
        share = odds / (1 + odds)
        mine, theirs = (1 - mpmath.betainc(x, y, 0, share, regularized=True) for x, y in ((a + power, b), (a, b + power)))
        exact = mine - mpmath.exp(epsilon) * theirs
    claimed = float(_one_direction(np.array([a]), np.array([b]), power, epsilon)[0])
    assert 0.9e-10 < claimed - float(exact) < 1.2e-10
