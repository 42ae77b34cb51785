"""Profiles against 60-digit arithmetic: never below, never far above, no warning anywhere in the documented range."""

import math
import random

import mpmath as mp
import pytest

from gibbsafe._numerics import FLOOR, SLACK, greatest, least
from gibbsafe.privacy.profiles import (
    bounded_range_delta,
    corollary_8_delta,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    mu_of_pure,
    pure_delta,
    zcdp_delta,
)


def exact_gaussian(epsilon, mu):
    epsilon, mu = mp.mpf(epsilon), mp.mpf(mu)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.e**epsilon * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(80):
        yield


def points(seed, number):
    rng = random.Random(seed)
    for _ in range(number):
        mu = 10 ** rng.uniform(-8, 3)
        yield 10 ** rng.uniform(-6, 3), mu
        yield max(0.0, mu * mu / 2 + mu * rng.uniform(-3, 37)), mu


def test_gaussian_profile_is_a_close_upper_bound():
    for epsilon, mu in points(seed=1, number=700):
        exact = exact_gaussian(epsilon, mu)
        ours = gaussian_delta(epsilon, mu)
        assert ours >= min(exact, 1)
        if exact > 1e-300:
            assert ours <= exact * (1 + 2 * SLACK * max(1, mu / 50))
        else:
            assert ours <= max(1e-299, float(exact) * 2)


def test_gaussian_profile_never_underflows_to_zero():
    assert gaussian_delta(1e3, 1e-8) == FLOOR
    assert gaussian_delta(1e-6, 1e3) == 1.0
    assert gaussian_delta(0.0, 0.0) == 0.0


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12, 1e-6, 0.01, 0.5])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3])
def test_mu_is_the_last_one_within_budget(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert exact_gaussian(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, math.nextafter(mu, math.inf)) > delta
    assert exact_gaussian(epsilon, mu * (1 + 1e-10)) > delta


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.5])
@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.3, 1.0, 7.0, 1e3])
def test_epsilon_never_understates(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_gaussian(epsilon, mu) <= delta
    if epsilon > 0:
        assert exact_gaussian(epsilon * (1 - 1e-9) - 1e-13 * mu, mu) > delta


@pytest.mark.parametrize(
    "pure",
    [
        1e-12,
        1e-8,
        1e-6,
        9.9e-5,
        1e-4,
        0.00010362416107382551,
        0.00010644295302013424,
        1.1e-4,
        1.6e-4,
        1e-3,
        0.0199,
        0.0201,
        0.1,
        1.0,
        10.0,
        100.0,
        1e3,
    ],
)
def test_pure_to_gaussian_is_rounded_up(pure):
    mu = mu_of_pure(pure)
    tail = 1 / (1 + mp.e ** mp.mpf(pure))
    assert mp.ncdf(-mp.mpf(mu) / 2) <= tail
    assert mp.ncdf(-mp.mpf(mu) * (1 - mp.mpf(10) ** -11) / 2) > tail


@pytest.mark.parametrize("width", [1e-6, 0.1, 1.2, 30.0, 1e3])
@pytest.mark.parametrize("share", [0.0, 1e-6, 0.3, 0.999999, 1.0, 2.0])
def test_pure_and_range_profiles(width, share):
    epsilon = width * share
    e, r = mp.mpf(epsilon), mp.mpf(width)
    inside = epsilon < width
    exact_range = (1 - mp.e ** (-(r - e) / 2)) ** 2 / (1 - mp.e**-r) if inside else 0
    exact_pure = (1 - mp.e ** -(r - e)) / (1 + mp.e**-r) if inside else 0
    for ours, exact in ((bounded_range_delta(epsilon, width), exact_range), (pure_delta(epsilon, width), exact_pure)):
        assert min(exact, 1) <= ours <= exact * (1 + 1e-9) + mp.mpf(10) ** -18


@pytest.mark.parametrize("rho", [5e-17, 1e-10, 1e-4, 0.02, 1.0, 50.0])
@pytest.mark.parametrize("reach", [0.0, 0.5, 3.0, 10.0, 37.0])
def test_zcdp_profile_is_between_the_gaussian_one_and_bun_steinke(rho, reach):
    mu = math.sqrt(2 * rho)
    epsilon = rho + reach * mu
    ours = zcdp_delta(epsilon, rho)
    assert ours >= exact_gaussian(epsilon, mu) * (1 - mp.mpf(10) ** -12)
    assert ours <= max(FLOOR, math.exp(-((epsilon - rho) ** 2) / (4 * rho))) * (1 + 1e-9)


def test_zcdp_profile_is_the_infimum_over_orders():
    rho, epsilon = 0.02, 0.5
    orders = [1 + 10 ** (k / 200 - 2) for k in range(760)]
    grid = min(math.exp((a - 1) * (a * rho - epsilon)) * (1 - 1 / a) ** a / (a - 1) for a in orders)
    assert grid * (1 - 1e-3) <= zcdp_delta(epsilon, rho) <= grid * (1 + 1e-11)


def test_bisection_finds_adjacent_floats():
    assert least(lambda x: x > 0.3) == math.nextafter(0.3, 1)
    assert greatest(lambda x: x < 0.3) == math.nextafter(0.3, 0)
    assert least(lambda x: False) == math.inf
    assert greatest(lambda x: True) == math.inf
    assert greatest(lambda x: False) == 0.0


@pytest.mark.parametrize(("mu", "delta"), [(0.2, 1e-3), (0.05, 1e-6), (0.3, 0.05)])
def test_corollary_8_inverts_its_own_formula(mu, delta):
    """ε = μ√(1 + 2 ln 1/δ), as printed, for ε ≤ 1."""
    epsilon = mu * math.sqrt(1 + 2 * math.log(1 / delta))
    assert epsilon <= 1
    assert corollary_8_delta(epsilon, mu**2 / 2) == pytest.approx(delta, rel=1e-9)
    assert corollary_8_delta(2.0, mu**2 / 2) == corollary_8_delta(1.0, mu**2 / 2)
