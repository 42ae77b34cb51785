"""Closed-form draws: the law against quadrature, and Langevin's law against the exact one for small steps.

Kolmogorov–Smirnov at a false-alarm rate of 1e-4 per test, seven tests, fixed seeds.
"""

import math

import numpy as np
import pytest
from scipy.stats import kstest, kstwobign, norm

import gibbsafe as gs
from gibbsafe.data import Blocks
from gibbsafe.losses.centred import CentredPseudoHuberLoss, CentredSoftPinballLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.soft_step import SoftHingeLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.samplers import SAMPLERS, GibbsPosterior, langevin
from gibbsafe.samplers.closed_form import sample


def test_draws_are_normal():
    posterior = NormalPosterior(np.array([1.0, -2.0]), np.array([4.0, 0.25]))
    seen = []
    draws, diagnostics = sample(posterior, 20_000, np.random.default_rng(1), lambda *report: seen.append(report[:2]))
    for k in range(2):
        law = norm(posterior.mean[k], posterior.precision[k] ** -0.5)
        assert math.sqrt(20_000) * kstest(draws[:, k], law.cdf).statistic < kstwobign.isf(1e-4)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 4 / math.sqrt(20_000)
    assert seen == [(20_000, 20_000)]
    np.testing.assert_array_equal(diagnostics.mode, posterior.mean)
    assert SAMPLERS["closed-form"].function is sample


def test_bad_posteriors():
    for mean, precision in (([0.0], [0.0]), ([0.0], [1.0, 1.0]), ([math.nan], [1.0])):
        with pytest.raises(gs.ParameterError):
            NormalPosterior(np.array(mean), np.array(precision))
    with pytest.raises(gs.ParameterError, match="draws"):
        sample(NormalPosterior(np.zeros(1), np.ones(1)), 0, np.random.default_rng(1))


LOSSES = [LogisticLoss(), SoftHingeLoss(0.3), CentredPseudoHuberLoss(0.7), CentredSoftPinballLoss(0.2, 0.3), SquaredLoss(10.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_langevin_with_small_steps_comes_close_to_the_posterior(loss):
    """One dimension: steps of 2 % of the inverse curvature, run for six times the slowest relaxation.

    The allowance is the quantile of false-alarm rate 1e-4 plus 0.005 for the chain's own bias, which is of the order of the step.
    (On a ball the chain's law has atoms at the boundary: see the tests of linear regression for its law step by step.)
    """
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, (30, 1))
    y = 1.5 * rows[:, 0] + 0.5 * rng.normal(size=30)
    blocks = Blocks(rows * np.sign(y)[:, None]) if loss.margin else Blocks(rows, y)
    posterior = GibbsPosterior(blocks, loss, 0.5, 1.0, 0.0)
    steepest = 0.5 * loss.smoothness * float(np.square(rows).sum()) + 1.0
    draws, _ = langevin.sample(posterior, 1500, np.random.default_rng(3), step=0.02 / steepest, steps=int(300 * steepest))
    grid = np.linspace(draws.min() - 3, draws.max() + 3, 20_001)
    values = posterior.values(grid[:, None])
    density = np.exp(values.min() - values)
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    statistic = kstest(draws[:, 0], lambda x: np.interp(x, grid, cumulative / cumulative[-1])).statistic
    assert statistic < kstwobign.isf(1e-4) / math.sqrt(1500) + 0.005
