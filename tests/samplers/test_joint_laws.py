"""Expected scores of several predictors: against sums over simulated outcomes, and derivatives against differences."""

import numpy as np
import pytest

from gibbsafe.errors import PremiseError
from gibbsafe.losses.cumulative import CumulativeLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.softmax import SoftmaxLoss
from gibbsafe.samplers.joint_laws import JointExpectation, has_joint_law, joint_law_of

LOSSES = {"softmax": SoftmaxLoss(4), "cumulative": CumulativeLoss((-1.0, 0.0, 1.2), gap=0.4, reach=1.0, unit=0.7)}
ALL = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
N, ROWS, WIDTH = 900.0, 40, 3


def made(loss, designs=1):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.6, 0.6, (designs, ROWS, WIDTH))
    rows[..., -1] = 0.7
    truth = 0.5 * rng.standard_normal(loss.parameters(WIDTH))
    return JointExpectation(rows, joint_law_of(loss), N), rng.standard_normal((5, len(truth))), truth


def chances_of(loss, u):
    return loss.probabilities(u) if isinstance(loss, SoftmaxLoss) else loss.chances(u)


@ALL
def test_scores_and_their_noise_are_those_of_the_outcomes(loss):
    expectation, points, truth = made(loss)
    shares = np.array([1.0, 2.0, 3.0, 1.0, 3.0])
    found = expectation.scores(expectation.asked(points, shares), truth[None, :, None])[0][0, :, 0]
    rows = expectation.rows[0]
    chances = chances_of(loss, rows @ loss.matrix(truth, WIDTH))
    exact, noise = np.zeros(len(truth)), np.zeros((len(truth), len(truth)))
    for y in range(chances.shape[1]):
        for row, chance in zip(rows, chances[:, y], strict=True):
            target = np.array([float(y)])
            along = sum(s * loss.gradient(row[None], p, target) for p, s in zip(points, shares / 10, strict=True))
            exact += N / ROWS * chance * along
            there = loss.gradient(row[None], truth, target)
            noise += N / ROWS * chance * np.outer(there, there)
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(expectation.noise(truth[None, :, None])[0], noise, rtol=1e-8, atol=1e-8)


@ALL
def test_derivatives_match_differences(loss):
    expectation, points, truth = made(loss, designs=2)
    asked = expectation.asked(points, np.ones(5))
    both = np.stack([truth, truth / 2])
    pull = expectation.scores(asked, both[:, :, None])[1]
    slopes, step = expectation.jacobian(asked, pull), 1e-5
    for k, unit in enumerate(np.eye(len(truth))):
        ends = [expectation.scores(asked, (both + s * unit)[:, :, None])[0][..., 0] for s in (step, -step)]
        np.testing.assert_allclose(slopes[..., k], -(ends[0] - ends[1]) / (2 * step), atol=1e-5)
    along = np.random.default_rng(1).standard_normal((2, len(truth), 1))
    np.testing.assert_allclose(expectation.pulled(asked, pull, along), np.swapaxes(slopes, 1, 2) @ along, atol=1e-8)
    np.testing.assert_allclose(expectation.turned(slopes), np.swapaxes(slopes, 1, 2), atol=1e-8)


def test_a_loss_without_a_law_is_refused():
    assert not has_joint_law(LogisticLoss())
    with pytest.raises(PremiseError, match="law of its slopes is not known"):
        joint_law_of(LogisticLoss())
