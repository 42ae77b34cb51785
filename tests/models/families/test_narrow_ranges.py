"""Ranges over nearly nothing: differences of logarithms must not cancel below the exact value, in 50 digits."""

import mpmath as mp
import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe._numerics import log_excess
from gibbsafe.models.families.rate_family import single_range
from gibbsafe.posteriors.tables import log_odds_width
from gibbsafe.privacy import Adjacency
from gibbsafe.privacy.profiles import gaussian_delta

ADD = {"adjacency": Adjacency.ADD_REMOVE, "n": None, "rows_per_person": 1}


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(50):
        yield


def exact_single(low, high, power, t):
    low, high, t = mp.mpf(low), mp.mpf(high), mp.mpf(t)
    least = min(max(power / t, low), high) if t else high
    at = [theta * t - power * mp.log(theta) for theta in (low, high, least)]
    return max(at) - min(at)


@pytest.mark.parametrize("width", [1e-9, 1e-4, 0.1, 3.0, 1e6])
@pytest.mark.parametrize("balance", [0.0, 1e-12, 0.3, 0.9999999999, 1.0, 1.0000000001, 1.05, 40.0])
@pytest.mark.parametrize("low", [4.509480136650859e-06, 1.0, 86347.95145173969])
def test_single_range_is_a_close_upper_bound(low, width, balance):
    high, power = low * (1 + width), 0.5
    t = balance * power / low
    exact = exact_single(low, high, power, t)
    ours = single_range((low, high), power, (t, t))
    assert exact <= ours <= exact * (1 + mp.mpf(10) ** -11) + 2e-15 * power * width


@pytest.mark.parametrize("gap", [-0.999, -0.3, -1e-7, 1e-12, 0.009, 0.011, 5.0])
def test_log_excess_is_a_close_upper_bound(gap):
    exact = mp.mpf(gap) - mp.log(1 + mp.mpf(gap))
    assert exact <= log_excess(gap, 1 + gap) <= exact * (1 + mp.mpf(10) ** -12)


@pytest.mark.parametrize(("smallest", "states"), [(0.49999329240037915, 2), (0.333, 3), (0.25 - 1e-13, 4), (1e-300, 5)])
def test_width_of_a_table_close_to_the_uniform(smallest, states):
    exact = mp.log((1 - (states - 1) * mp.mpf(smallest)) / mp.mpf(smallest))
    assert exact <= log_odds_width(smallest, states) <= exact * (1 + mp.mpf(10) ** -14)


@pytest.mark.parametrize("trim", [(0.3, 0.3 + 1e-12), (1e-9, 1.1e-9), (0.9, 0.9000001), (1e-300, 1 - 1e-15)])
def test_ranges_of_a_narrow_proportion(trim):
    low, high = (mp.mpf(end) for end in trim)
    up, down = mp.log(high / low), mp.log((1 - low) / (1 - high))
    constants = gs.models.BetaBernoulli(trim=trim).constants(np.empty(0), **ADD)
    for exact, ours in ((up + down, constants.difference_range), (max(up, down), constants.loss_range)):
        assert exact <= ours <= exact * (1 + mp.mpf(10) ** -14)


def test_ranges_of_parameters_that_hardly_differ():
    close = 0.1 + 3e-12
    likelihood = ((0.1, 0.9), (close, 1 - close))
    constants = gs.models.FiniteFamily(points=(0.0, 1.0), likelihood=likelihood).constants(np.empty(0), **ADD)
    (a, b), (c, d) = ((mp.mpf(x) for x in row) for row in likelihood)
    assert abs(mp.log(a / b) - mp.log(c / d)) <= constants.difference_range
    assert max(abs(mp.log(a / c)), abs(mp.log(b / d))) <= constants.loss_range


@pytest.mark.parametrize(("epsilon", "mu"), [(500000171831.41864, 1e6), (246728525.2723545, 22209.31151927768), (2e6, 1981.0)])
def test_the_gaussian_profile_of_a_large_separation(epsilon, mu):
    e, m = mp.mpf(epsilon), mp.mpf(mu)
    exact = mp.erfc(-(m / 2 - e / m) / mp.sqrt(2)) / 2 - mp.exp(e) * mp.erfc((m / 2 + e / m) / mp.sqrt(2)) / 2
    assert exact <= gaussian_delta(epsilon, mu)


def test_the_gaussian_profile_of_the_smallest_separation():
    assert 0 < gaussian_delta(0.0, 5e-324) < 1e-300
