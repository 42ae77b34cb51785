"""Divergences of posteriors against enumeration: finite parameter spaces, products of draws."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gibbsafe.assumptions import LipschitzLaw
from gibbsafe.assumptions.priors import lipschitz_of_table
from gibbsafe.bounds import lipschitz_gap, range_gap, stochastic_gap, total_variation_of

finite = st.floats(-1, 1, allow_nan=False)


def kl(p, q):
    return float(np.sum(p * np.log(p / q)))


def tv(p, q):
    return 0.5 * float(np.abs(p - q).sum())


def product(p, draws):
    return reduce(np.multiply.outer, [p] * draws).ravel()


@given(st.lists(finite, min_size=2, max_size=6), st.lists(finite, min_size=6, max_size=6), st.integers(1, 4))
def test_posteriors_of_bounded_range_stay_within_the_gap(logs, tilts, draws):
    p = np.exp(np.array(logs))
    p /= p.sum()
    tilt = 2 * np.array(tilts[: len(p)])
    q = p * np.exp(tilt)
    q /= q.sum()
    gap = range_gap(float(np.ptp(tilt)), draws)
    assert draws * kl(p, q) <= gap.kl * (1 + 1e-9) + 1e-15
    assert draws * kl(p, q) <= gap.kl_paper * (1 + 1e-9) + 1e-15
    assert tv(product(p, draws), product(q, draws)) <= gap.total_variation + 1e-9
    assert gap.total_variation <= gap.total_variation_paper


def test_one_draw_attains_the_total_variation_of_its_range():
    r = 1.2
    half = 1 / (1 + math.exp(r / 2))
    p, q = np.array([half, 1 - half]), np.array([1 - half, half])
    assert range_gap(2 * math.log((1 - half) / half)).total_variation == pytest.approx(tv(p, q), rel=1e-12)


def test_lipschitz_gap_is_the_range_gap_at_twice_the_reach():
    assert lipschitz_gap(0.7, 0.5) == range_gap(0.7 * (1 + 2**-50))
    gap = lipschitz_gap(1.0, 0.3)
    assert gap.kl == pytest.approx(0.045)
    assert gap.kl_paper == pytest.approx(0.6)
    assert gap.total_variation == pytest.approx(math.tanh(0.15))


def test_corrected_theorem_7_2():
    gap = stochastic_gap(rate=20.0, floor=0.1, ratio=1.5, distance=0.25)
    assert gap.kl == pytest.approx(0.1125, rel=1e-12)
    assert gap.total_variation == pytest.approx(0.23717082451262845, rel=1e-12)
    assert gap.kl_paper == pytest.approx(1.5 * 1.25 * 0.25)


def test_stochastic_gap_holds_for_every_neighbour_of_a_finite_bernoulli_family():
    chances, n = np.arange(1, 10) / 10, 6
    prior = np.full(9, 1 / 9)
    law = LipschitzLaw.finite(lipschitz_of_table(np.column_stack([1 - chances, chances])), prior)
    k = np.arange(n + 1)[:, None]
    likelihood = chances**k * (1 - chances) ** (n - k)
    marginal = likelihood @ prior
    ratio = float((likelihood / marginal[:, None]).max())
    posteriors = likelihood * prior / marginal[:, None]
    pair = law.steepest()
    gap = stochastic_gap(rate=pair.rate, floor=pair.floor, ratio=ratio, distance=1.0)
    worst = max(max(kl(p, q), kl(q, p)) for p, q in zip(posteriors[1:], posteriors[:-1], strict=True))
    assert 0 < worst <= gap.kl


@given(st.floats(0, 20))
def test_total_variation_of_a_divergence_is_a_probability_and_sound_for_gaussians(divergence):
    bound = total_variation_of(divergence)
    exact = math.erf(math.sqrt(2 * divergence) / 2 / math.sqrt(2))  # N(0,1) and N(μ,1), KL = μ²/2
    assert exact <= bound + 1e-12
    assert 0 <= bound <= 1
