"""Caps against the inequality they come from, recomputed with 50 digits; and the adversary that running sums let through."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.ledger.caps import Caps, caps_for, claimed_delta
from gibbsafe.ledger.units import as_float, cap_units, charge_units
from gibbsafe.privacy.profiles import zcdp_delta

BUDGETS = [(1.0, 1e-6), (0.1, 1e-3), (3.0, 1e-5), (8.0, 1e-10), (0.01, 1e-2), (2.0, 1e-18), (1.0, 1e-30)]


def exact_gdp_delta(epsilon, mu):
    with mpmath.workdps(50):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("reserve", [None, 0.0, 0.5])
def test_gaussian_caps_use_all_of_delta_and_never_more(epsilon, delta, reserve):
    caps = caps_for(gs.Budget(epsilon, delta), "gaussian", reserve)
    with mpmath.workdps(50):
        mu = mpmath.sqrt(mpmath.mpf(caps.main) / mpmath.mpf(2) ** 200)
        slack, failure = (mpmath.mpf(part) / mpmath.mpf(2) ** 200 for part in (caps.slack, caps.failure))
        total = exact_gdp_delta(epsilon, mu) + (1 + mpmath.exp(mpmath.mpf(epsilon))) * slack + failure
        assert total <= mpmath.mpf(delta)
        assert 1 - total / mpmath.mpf(delta) < 1e-9
        share = ((1 + mpmath.exp(mpmath.mpf(epsilon))) * slack + failure) / mpmath.mpf(delta)
    assert float(share) == pytest.approx(0.1 if reserve is None else reserve, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_zcdp_caps_use_all_of_delta_and_never_more(epsilon, delta):
    caps = caps_for(gs.Budget(epsilon, delta), "zcdp")
    total = zcdp_delta(epsilon, as_float(caps.main)) + (1 + np.exp(epsilon)) * as_float(caps.slack) + as_float(caps.failure)
    assert total <= delta * (1 + 1e-14)
    assert 1 - total / delta < 1e-9


def test_pure_caps_are_the_budget_itself():
    assert caps_for(gs.Budget(1.5), "pure") == Caps(cap_units(1.5), 0, 0)
    caps = caps_for(gs.Budget(1.0, 1e-6), "pure")
    assert as_float(caps.main) == 1.0
    total = (1 + np.e) * as_float(caps.slack) + as_float(caps.failure)
    assert total == pytest.approx(1e-6, rel=1e-9)
    assert claimed_delta(1.0, "pure", caps) <= 1e-6


def test_delta_zero_needs_a_pure_account():
    with pytest.raises(gs.BudgetError, match="currency pure"):
        caps_for(gs.Budget(1.0), "gaussian")


@given(st.lists(st.floats(0, 10), min_size=1, max_size=50))
def test_units_add_exactly_and_round_to_the_safe_side(amounts):
    total = sum(charge_units(amount) for amount in amounts)
    exact = sum((Fraction(amount) for amount in amounts), Fraction(0))
    assert 0 <= Fraction(total, 2**200) - exact <= Fraction(len(amounts), 2**200)
    assert cap_units(exact) <= total


# -- the two-branch adversary -----------------------------------------------------------------------------------------------
#
# Step 1: a μ₁-GDP release, seen as N(0, 1) or N(μ₁, 1). Step 2 is chosen by its outcome. After bad luck (a high privacy loss) all
# that is left is spent as μ₂-GDP. After good luck it is spent as slack γ: a release that is the same in both worlds, except that
# the world P moves probability γ into an event of probability γ and the world Q moves γ out of it: 2γ against 0. The exact δ of
# the pair is a sum of two integrals over the first outcome.


def exact_adversary(epsilon, first, second, slack, threshold):
    """δ(ε) of: x ~ N(0 or μ₁); above the threshold N(0 or μ₂), below it the event of probability 2γ or 0."""
    x = np.linspace(threshold, threshold + 30, 20_001)
    density_q = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    loss = first * x - first**2 / 2  # log p/q at the first outcome, p the world of N(μ₁, 1)
    remaining = np.maximum(epsilon - loss, -40)
    from scipy.special import ndtr

    high = np.where(
        second > 0,
        ndtr(second / 2 - remaining / second) - np.exp(remaining) * ndtr(-second / 2 - remaining / second),
        np.maximum(0, 1 - np.exp(remaining)),
    )
    bad = np.trapezoid(density_q * np.exp(loss) * high, x)
    p_low = ndtr(threshold - first)
    y = np.linspace(threshold - 30, threshold, 20_001)
    loss_y = first * y - first**2 / 2
    q = np.exp(-0.5 * y**2) / np.sqrt(2 * np.pi)
    rest = np.trapezoid(q * np.maximum(0, (1 - 2 * slack) * np.exp(loss_y) - np.exp(epsilon)), y)
    return bad + 2 * slack * p_low + rest


def worst_adversary(epsilon, square, slack):
    """The best that the adversary can do with Σμ² ≤ square and Σγ ≤ slack on either branch, over splits and thresholds."""
    best = 0.0
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.97):
        first, second = np.sqrt(square * share), np.sqrt(square * (1 - share))
        for threshold in np.linspace(-1, 4, 11):
            best = max(best, exact_adversary(epsilon, first, second, slack, threshold))
    return best


def test_the_adversary_stays_within_delta_under_the_caps():
    epsilon, delta = 0.1, 1e-3
    for reserve in (0.1, 0.5, 0.9):
        caps = caps_for(gs.Budget(epsilon, delta), "gaussian", reserve)
        assert worst_adversary(epsilon, as_float(caps.main), as_float(caps.slack)) <= delta * (1 + 1e-6)


def test_the_same_adversary_refutes_a_running_sum():
    """Tested against δ, a running sum lets each branch spend all of δ in its own coin: the two add up to more."""
    epsilon, delta = 0.1, 1e-3
    whole = gs.privacy.Budget(epsilon, delta)
    from gibbsafe.privacy.profiles import gaussian_mu

    square = gaussian_mu(whole.epsilon, whole.delta) ** 2
    best = 0.0
    for share in (0.5, 0.7, 0.9, 0.97):
        first = np.sqrt(square * share)
        left = (delta - float(exact_gdp_delta(epsilon, first))) / (1 + np.exp(epsilon))
        for threshold in np.linspace(-1, 4, 11):
            best = max(best, exact_adversary(epsilon, first, np.sqrt(square * (1 - share)), left, threshold))
    assert best > 1.5 * delta


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("currency", ["gaussian", "zcdp", "pure"])
def test_the_claim_counts_every_part_however_small(epsilon, delta, currency):
    caps = caps_for(gs.Budget(epsilon, delta), currency)
    claimed = Fraction(claimed_delta(epsilon, currency, caps))
    for part in ("slack", "failure"):
        assert claimed > Fraction(claimed_delta(epsilon, currency, Caps(**(vars(caps) | {part: 0}))))
    assert Fraction(delta) * Fraction(999_999_999, 1_000_000_000) <= claimed <= Fraction(delta)
