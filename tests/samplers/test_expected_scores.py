"""The law of slopes: its mean and square by Monte Carlo of records, its pull by differences."""

import numpy as np
import pytest
from scipy.special import expit

from gibbsafe.errors import PremiseError
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.losses.exposed import ExposedCountLoss
from gibbsafe.losses.kinked import PinballLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.samplers.expected_scores import CountLaw, LabelLaw, ResidualLaw, has_law, law_of

LOSSES = {
    "logistic": (LogisticLoss(), None),
    "calibrated": (LogisticLoss(), 0.6),
    "soft hinge": (SoftHingeLoss(0.5), None),
    "pseudo-Huber": (PseudoHuberLoss(0.7), None),
    "soft quantile": (SoftPinballLoss(0.3, 0.2), None),
    "quantile": (PinballLoss(0.8), None),
    "counts": (NegativeBinomialLoss(30, 2.0), None),
    "counts over exposures": (ExposedCountLoss(NegativeBinomialLoss(30, 2.0)), None),
}
POINTS, SHARES = np.array([-1.5, 0.2, 0.9, 2.0]), np.array([0.1, 0.4, 0.3, 0.2])
TRUTH = np.array([-2.0, -0.5, 0.0, 1.0, 2.5])


def mean_of(law, asked, truth):
    return law.mean_and_pull(asked, truth)[0]


def pull_of(law, asked, truth):
    return law.mean_and_pull(asked, truth)[1]


def asked_of(law, points=POINTS, shares=SHARES):
    """One design, as many rows as truths, all with the same predictors."""
    return law.averaged(np.broadcast_to(points, (1, len(TRUTH), len(points))).copy(), shares)


@pytest.mark.parametrize("name", LOSSES)
def test_pull_is_how_the_mean_falls(name):
    law, step = law_of(*LOSSES[name]), 1e-6
    asked, truth = asked_of(law), TRUTH[None, :, None]
    slope = (mean_of(law, asked, truth + step) - mean_of(law, asked, truth - step)) / (2 * step)
    np.testing.assert_allclose(pull_of(law, asked, truth), -slope, atol=1e-6)
    assert (pull_of(law, asked, truth) >= 0).all()


@pytest.mark.parametrize("name", ["logistic", "calibrated", "soft hinge"])
def test_labels_by_both_outcomes(name):
    """The expectation over a label ±1 of probability σ(t), of the slope in the unsigned predictor."""
    loss, clip = LOSSES[name]
    law = law_of(loss, clip)
    slope = loss.slope if clip is None else lambda u: loss.lipschitz * CalibratedScore(clip).slope(u.copy())
    p = expit(TRUTH)
    expected = [q * (SHARES @ slope(POINTS)) - (1 - q) * (SHARES @ slope(-POINTS)) for q in p]
    np.testing.assert_allclose(mean_of(law, asked_of(law), TRUTH[None, :, None])[0, :, 0], expected, rtol=1e-12)
    square = p * slope(TRUTH) ** 2 + (1 - p) * slope(-TRUTH) ** 2
    np.testing.assert_allclose(law.square(TRUTH), square)
    assert law.consistent == (name != "soft hinge")


@pytest.mark.parametrize("name", ["logistic", "calibrated"])
def test_scores_at_the_truth_are_zero_on_average(name):
    law = law_of(*LOSSES[name])
    for truth in TRUTH:
        asked = law.averaged(np.full((1, 1, 1), truth), np.ones(1))
        assert mean_of(law, asked, np.full((1, 1, 1), truth))[0, 0, 0] == pytest.approx(0.0, abs=1e-12)


def test_counts_by_simulation():
    """Means of 400,000 negative binomial records: within five standard errors."""
    loss, rng = LOSSES["counts"][0], np.random.default_rng(0)
    law, truth = law_of(loss, None), 0.7
    y = rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(truth)), 400_000).astype(float)
    slopes = sum(share * loss.slope(np.full(len(y), u), np.minimum(y, 30)) for share, u in zip(SHARES, POINTS, strict=True))
    expected = mean_of(law, asked_of(law), np.full((1, len(TRUTH), 1), truth))[0, 0, 0]
    assert slopes.mean() == pytest.approx(expected, abs=5 * slopes.std() / len(y) ** 0.5)


def test_residuals_are_between_their_limits_and_as_steep_as_told():
    law = ResidualLaw(0.3, 0.7, 2.0)
    far = law.averaged(np.full((1, 1, 1), 0.0), np.ones(1))
    assert mean_of(law, far, np.full((1, 1, 1), -1e9))[0, 0, 0] == pytest.approx(0.7)
    assert mean_of(law, far, np.full((1, 1, 1), 1e9))[0, 0, 0] == pytest.approx(-0.3)
    assert pull_of(law, far, np.zeros((1, 1, 1)))[0, 0, 0] == pytest.approx(2.0)
    assert law.steep(1.0, np.zeros(3), np.zeros(3)).curvature(np.zeros(1), np.zeros(1))[0] == pytest.approx(1.0)


def test_bins_of_a_path_keep_its_mean():
    """Residuals are averaged over bins of predictors: shares add up, and a slope that is nearly linear is kept."""
    rng = np.random.default_rng(1)
    law, points, shares = ResidualLaw(1.0, 1.0, 0.5), rng.normal(0, 0.5, 60), rng.random(60)
    nodes, weights = law.averaged(points.reshape(1, 1, -1), shares)
    assert weights.sum() == pytest.approx(1.0)
    assert (nodes * weights).sum() == pytest.approx(shares @ points / shares.sum())
    exact = shares @ (0.5 * points / np.sqrt(1 + (0.5 * points) ** 2)) / shares.sum()
    assert mean_of(law, (nodes, weights), np.zeros((1, 1, 1)))[0, 0, 0] == pytest.approx(exact, abs=2e-3)


def test_curvature_is_the_derivative_of_the_slope():
    law, step = LabelLaw(LogisticLoss(), None), 1e-5
    u = np.array([-1.0, 0.3, 2.0])
    difference = [
        mean_of(law, law.averaged(np.reshape(u + s, (1, 3, 1)), np.ones(1)), TRUTH[None, :3, None]) for s in (step, -step)
    ]
    np.testing.assert_allclose(law.curvature(u, TRUTH[:3]), (difference[0] - difference[1])[0, :, 0] / (2 * step), rtol=1e-4)


def test_unknown_laws_are_refused():
    assert not has_law(SquaredLoss(1.0))
    with pytest.raises(PremiseError, match="law of its slopes"):
        law_of(SquaredLoss(1.0), None)
    assert isinstance(law_of(*LOSSES["counts"]), CountLaw)


@pytest.mark.parametrize("offset", [-6.0, -0.3, 0.0, 1.2])
def test_exposures_are_as_large_as_slopes_are_steep(offset):
    """One exposure for all is found again, and makes the counts that it would: those of a predictor moved by it."""
    loss = NegativeBinomialLoss(30, 2.0)
    law, plain = law_of(ExposedCountLoss(loss), None), CountLaw(loss)
    steepness = float(np.mean(plain.curvature(TRUTH + offset, TRUTH + offset)))
    found = law.steep(steepness, TRUTH, TRUTH)
    assert found.offset == pytest.approx(offset, abs=1e-6)
    truth = TRUTH[None, :, None]
    moved = mean_of(plain, asked_of(plain, POINTS + offset), truth + offset)
    np.testing.assert_allclose(mean_of(found, asked_of(found), truth), moved, atol=1e-6)
    assert plain.steep(steepness, TRUTH, TRUTH) is plain


def test_slopes_steeper_or_flatter_than_any_exposure_makes_them():
    law = law_of(ExposedCountLoss(NegativeBinomialLoss(30, 2.0)), None)
    steepest, flattest = law.steep(1e9, TRUTH, TRUTH), law.steep(0.0, TRUTH, TRUTH)
    assert 0 < steepest.offset < 28
    assert flattest.offset == -28
