"""The exact hinge and pinball losses: one parameter or a refusal that names the smooth alternative."""

import math

import numpy as np
import pytest
from scipy.stats import kstwobign

import gibbsafe as gs
from gibbsafe.data import Blocks
from gibbsafe.losses.kinked import HingeLoss, PinballLoss
from gibbsafe.samplers import GibbsPosterior, inverse_cdf

KINKED = [
    (gs.models.Hinge, "SoftHinge"),
    (gs.models.QuantileRegression, "SoftQuantileRegression"),
]


@pytest.mark.parametrize(("model", "alternative"), KINKED)
def test_more_than_one_parameter_is_refused_with_the_smooth_alternative(model, alternative):
    for fields in ({"dimension": 2, "intercept": False}, {"dimension": 1}):
        with pytest.raises(gs.PremiseError, match=f"use {alternative}"):
            gs.plan(model(**fields), gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one")


@pytest.mark.parametrize(("model", "alternative"), KINKED)
@pytest.mark.parametrize("sampler", ["langevin", "shell"])
def test_smooth_samplers_are_refused(model, alternative, sampler):
    with pytest.raises(gs.PremiseError, match=f"none for {model.name}.*use {alternative}"):
        gs.plan(model(dimension=1, intercept=False), gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one", sampler=sampler)


@pytest.mark.parametrize("quantile", [0, 1, 1.5])
def test_a_quantile_lies_between_0_and_1(quantile):
    with pytest.raises(gs.ParameterError, match="quantile"):
        gs.models.QuantileRegression(dimension=1, intercept=False, quantile=quantile)


@pytest.mark.parametrize("loss", [HingeLoss(), PinballLoss(0.3)])
def test_slopes_are_subgradients(loss):
    rng = np.random.default_rng(1)
    u, v, y = (np.round(2 * rng.normal(size=500), 1) for _ in range(3))
    y = None if loss.margin else y
    assert (loss.value(v, y) >= loss.value(u, y) + loss.slope(u, y) * (v - u) - 1e-12).all()
    assert np.abs(loss.slope(u, y)).max() <= loss.lipschitz
    assert math.isinf(loss.smoothness)
    assert math.isinf(loss.self_concordance)


def test_pinball_values_are_shifted_only():
    rng = np.random.default_rng(2)
    u, y = rng.normal(size=(2, 300))
    plain = np.maximum(0.3 * (y - u), -0.7 * (y - u)) - np.maximum(0.3 * y, -0.7 * y)
    np.testing.assert_allclose(PinballLoss(0.3).value(u, y), plain, atol=1e-14)


@pytest.mark.parametrize("beta", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("centre", [0.0, 50.0])
@pytest.mark.parametrize("loss", [HingeLoss(), PinballLoss(0.3)], ids=["hinge", "pinball"])
def test_inversion_is_exact_at_kinks(loss, beta, centre):
    """Posteriors from far wider to far narrower than the pieces of the loss; false-alarm rate 1e-4 per test, 12 tests."""
    rng = np.random.default_rng(3)
    rows, y = rng.uniform(-1, 1, (30, 1)), np.round(rng.normal(size=30), 1)
    blocks = Blocks(rows) if loss.margin else Blocks(rows, y)
    posterior = GibbsPosterior(blocks, loss, beta, 0.05, centre)
    draws, diagnostics = inverse_cdf.sample(posterior, 6000, np.random.default_rng(4))
    assert diagnostics.mode_passes < 60
    assert diagnostics.log_acceptance <= 0
    x = np.sort(draws[:, 0])
    grid = np.linspace(x[0] - 8 * x.std(), x[-1] + 8 * x.std(), 200_001)
    values = np.concatenate([posterior.values(part[:, None]) for part in np.array_split(grid, 40)])
    density = np.exp(values.min() - values)
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    exact = np.interp(x, grid, cumulative / cumulative[-1])
    steps = np.arange(6001) / 6000
    statistic = math.sqrt(6000) * max((exact - steps[:-1]).max(), (steps[1:] - exact).max())
    assert statistic < kstwobign.isf(1e-4)


@pytest.mark.parametrize("rows", [np.zeros((0, 1)), np.zeros((5, 1)), np.ones((1, 1))])
def test_inversion_without_information(rows):
    draws, _ = inverse_cdf.sample(GibbsPosterior(Blocks(rows), HingeLoss(), 1.0, 1.0, 0.0), 50, np.random.default_rng(5))
    assert np.isfinite(draws).all()
