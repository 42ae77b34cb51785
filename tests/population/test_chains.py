"""Draws of the true parameter: against the normal law where scores are linear, and a prior whose slope is its derivative."""

import numpy as np
import pytest

from gibbsafe.population import chains
from gibbsafe.population.chains import Target, draw, log_prior, prior_draws
from gibbsafe.samplers.expected_scores import ResidualLaw
from gibbsafe.samplers.score_fit import Expectation

N = 3000.0


def linear_target(unit=1e4):
    """Slopes far from their limits and a prior of no weight: θ is normal with precision H V⁻¹ H around H⁻¹ȳ."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (2, 128, 3))
    rows[1] = rows[0]
    expectation = Expectation(rows, ResidualLaw(1e9, 1e9, 1.0), N)
    slopes = N / 128 * rows[0].T @ rows[0]
    root = rng.standard_normal((3, 3))
    variance = 400.0**2 * (np.eye(3) + root @ root.T / 3)
    middle = np.array([0.5, -1.0, 2.0])
    asked = expectation.asked(np.zeros((1, 3)), np.ones(1))
    target = Target(expectation, asked, -slopes @ middle, np.linalg.inv(variance), unit)
    return target, middle, np.linalg.inv(slopes @ np.linalg.inv(variance) @ slopes)


def test_linear_scores_give_the_normal_law():
    """Chains started from a law twice as wide come to the right one: means and variances of 3,200 correlated draws.

    If 2,000 of them are worth independent ones, a mean is off by 0.1 standard deviations with probability 1e-5, and an entry of
    the covariance by 0.15 variances with less than 1e-5.
    """
    target, middle, covariance = linear_target()
    modes = np.repeat(middle[None, :, None], 2, axis=0)
    root = np.repeat(np.linalg.cholesky(4 * covariance)[None], 2, axis=0)
    found = draw(target, modes, root, np.random.default_rng(1), keep=100, chains=16).reshape(-1, 3)
    deviation = np.sqrt(np.diag(covariance))
    assert (np.abs(found.mean(axis=0) - middle) < 0.1 * deviation).all()
    np.testing.assert_allclose(
        np.cov(found.T) / np.outer(deviation, deviation), covariance / np.outer(deviation, deviation), atol=0.15
    )


def test_the_gradient_is_the_densitys():
    target, middle, _ = linear_target(unit=0.5)
    at = np.repeat((middle + 0.3)[None, :, None], 2, axis=0)
    _, slope = target(at)
    for k, unit in enumerate(np.eye(3)):
        step = 1e-5 * unit[None, :, None]
        difference = (target(at + step)[0] - target(at - step)[0]) / 2e-5
        np.testing.assert_allclose(slope[:, k], difference, rtol=1e-5, atol=1e-6)


def test_the_prior_is_a_mixture_of_scales():
    at = np.array([[[0.1], [3.0], [-40.0]]])
    value, slope = log_prior(at, 1.0)
    each = [
        np.sum(-(chains.FREEDOM + 1) / 2 * np.log1p(at[0, :, 0] ** 2 / (chains.FREEDOM * s**2))) - 3 * np.log(s)
        for s in chains.SCALES
    ]
    assert value[0, 0] == pytest.approx(np.logaddexp.reduce(each))
    for k in range(3):
        step = np.zeros_like(at)
        step[0, k, 0] = 1e-5
        difference = (log_prior(at + step, 1.0)[0] - log_prior(at - step, 1.0)[0])[0, 0] / 2e-5
        assert slope[0, k, 0] == pytest.approx(difference, rel=1e-4)


def test_draws_of_the_prior_are_the_same_every_time_and_scale_with_the_unit():
    found = np.random.default_rng(2).standard_normal((50, 2))
    np.testing.assert_array_equal(prior_draws(found, 1.0), prior_draws(found, 1.0))
    np.testing.assert_allclose(prior_draws(3 * found, 3.0), 3 * prior_draws(found, 1.0))
