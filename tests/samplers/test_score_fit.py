"""Fitting expected scores to answers: the maximum of its density, the prior that answers choose, a linear case in closed form."""

import numpy as np
import pytest

from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.samplers.expected_scores import LabelLaw, ResidualLaw
from gibbsafe.samplers.score_fit import DEVIATIONS, FALLING, Expectation, Observation, best_fit

N, ROWS = 4000.0, 256
TRUTH = np.array([1.2, -0.7, 0.4])


def design(seed=0):
    rows = np.random.default_rng(seed).uniform(-1, 1, (ROWS, 3)) / 3**0.5
    return rows[None]


def observed(expectation, points, shares, *, noise=0.0, truth=TRUTH, seed=1):
    """Expected scores at the points, averaged by shares, with noise of this standard deviation."""
    asked = expectation.asked(points, shares)
    mean = expectation.scores(asked, truth[None, :, None])[0][0, :, 0]
    drawn = noise * np.random.default_rng(seed).standard_normal(3)
    return Observation(points, shares, mean + drawn, np.eye(3) * max(noise, 1e-3) ** 2)


@pytest.mark.parametrize("law", [LabelLaw(LogisticLoss()), LabelLaw(LogisticLoss(), 0.6), ResidualLaw(1.0, 1.0, 0.8)])
@pytest.mark.parametrize("far", [0.0, 3.0])
def test_the_truth_is_found_from_scores_at_points_far_from_it(law, far):
    """No noise but the data's own: neither linearisation nor the bias of an average over a path is left."""
    expectation = Expectation(design(), law, N)
    points = far * np.random.default_rng(2).standard_normal((8, 3))
    found = best_fit(expectation, observed(expectation, points, np.ones(8) / 8), 1.0, np.zeros(3))
    np.testing.assert_allclose(found.point, TRUTH, atol=0.03)
    assert found.deviation in DEVIATIONS


def test_jacobian_and_noise_are_those_of_the_rows():
    expectation = Expectation(design(), LabelLaw(LogisticLoss()), N)
    asked = expectation.asked(np.zeros((1, 3)), np.ones(1))
    mean, pull = expectation.scores(asked, TRUTH[None, :, None])
    step = 1e-5
    for k, unit in enumerate(np.eye(3)):
        shifted = [expectation.scores(asked, (TRUTH + s * unit)[None, :, None])[0][0, :, 0] for s in (step, -step)]
        np.testing.assert_allclose(expectation.jacobian(asked, pull)[0][:, k], -(shifted[0] - shifted[1]) / (2 * step), rtol=1e-6)
    p = 1 / (1 + np.exp(-design()[0] @ TRUTH))
    fisher = N / ROWS * (design()[0].T * (p * (1 - p))) @ design()[0]
    np.testing.assert_allclose(expectation.noise(TRUTH[None, :, None])[0], fisher, rtol=1e-9)
    assert mean.shape == (1, 3, 1)


def test_a_linear_law_is_ridge_regression():
    """Residuals of a slope far from its limits: (H V⁻¹ H + s⁻²)⁻¹ H V⁻¹ ȳ, by the evidence of s, until that has fallen."""
    expectation = Expectation(design(), ResidualLaw(1e6, 1e6, 1.0), N)
    expectation.dispersion = 1e-12
    seen = observed(expectation, np.zeros((1, 3)), np.ones(1), noise=300.0)
    found = best_fit(expectation, seen, 1.0, np.zeros(3))
    slopes = N / ROWS * design()[0].T @ design()[0]
    weights, fits = [], []
    for deviation in DEVIATIONS:
        precision = slopes @ slopes / 300.0**2
        both = precision + np.eye(3) / deviation**2
        fits.append(np.linalg.solve(both, -slopes @ seen.mean / 300.0**2))
        off = seen.mean + slopes @ fits[-1]
        value = -(off @ off / 300.0**2 + fits[-1] @ fits[-1] / deviation**2) / 2
        weights.append(value - 3 * np.log(deviation) - np.linalg.slogdet(both)[1] / 2)
        if weights[-1] < max(weights) - FALLING:
            break
    chances = np.exp(np.array(weights) - max(weights))
    np.testing.assert_allclose(found.point, chances @ np.array(fits) / chances.sum(), rtol=2e-2, atol=2e-3)


def test_answers_choose_how_wide_the_prior_is():
    expectation = Expectation(design(), LabelLaw(LogisticLoss()), N)
    small, large = (
        best_fit(expectation, observed(expectation, np.zeros((1, 3)), np.ones(1), truth=size * TRUTH), 1.0, np.zeros(3))
        for size in (0.1, 10.0)
    )
    assert small.deviation < large.deviation


def test_noise_alone_is_shrunk_to_the_centre():
    expectation = Expectation(design(), LabelLaw(LogisticLoss()), N)
    seen = observed(expectation, np.zeros((1, 3)), np.ones(1), noise=1e5, truth=np.zeros(3))
    assert np.abs(best_fit(expectation, seen, 1.0, np.zeros(3)).point).max() < 6
