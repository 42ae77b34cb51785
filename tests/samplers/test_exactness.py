"""Draws against quadrature in one and two dimensions, and against importance sampling in twenty.

Kolmogorov-Smirnov statistics are compared with the asymptotic quantile of false-alarm rate 1e-4 per test; about 150 tests
make 1.5 % over the file, and the seeds are fixed.
"""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstwobign

from gibbsafe.data import Blocks
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.samplers import SAMPLERS, GibbsPosterior
from gibbsafe.samplers.newton import find_mode

CRITICAL = float(kstwobign.isf(1e-4))
DRAWS = 8000


def posterior_of(loss, n, p, beta, precision, seed, kind="noisy"):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, p))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    if kind == "collinear":
        rows[:] = rows[:, :1] / np.sqrt(p)
    signal = rows @ np.linspace(3, -2, p)
    targets = None
    if loss.margin:
        noise = 0 if kind == "separable" else generator.logistic(size=n)
        signs = np.ones(n) if kind == "one label" else np.where(signal + noise > 0, 1.0, -1.0)
        rows = rows * signs[:, None]
    else:
        targets = signal + generator.standard_t(3, n)
    return GibbsPosterior(Blocks(rows, targets), loss, beta, precision, np.linspace(0.5, -0.5, p))


def ks(draws, grid, cumulative):
    ordered = np.sort(draws)
    exact = np.interp(ordered, grid, cumulative)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return np.sqrt(len(ordered)) * max((exact - steps[:-1]).max(), (steps[1:] - exact).max())


def grid_around(posterior, points, reach=12.0):
    mode = find_mode(posterior)
    spread = np.sqrt(np.diagonal(np.linalg.inv(mode.hessian)))
    return [np.linspace(c - reach * s, c + reach * s, points) for c, s in zip(mode.centre, spread, strict=True)]


def weighted_cdf(values, weights):
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return values[order], (total - 0.5 * weights[order]) / total[-1]


ONE = [
    (LogisticLoss(), 200, 0.5, 0.3, "noisy"),
    (LogisticLoss(), 1, 10.0, 0.05, "noisy"),
    (LogisticLoss(), 0, 1.0, 2.0, "noisy"),
    (LogisticLoss(), 30, 10.0, 0.01, "separable"),
    (LogisticLoss(), 30, 2.0, 0.02, "one label"),
    (SoftHingeLoss(0.1), 40, 1.0, 0.1, "noisy"),
    (PseudoHuberLoss(0.2), 25, 4.0, 0.01, "noisy"),
    (SoftPinballLoss(0.8, 0.1), 25, 2.0, 0.05, "noisy"),
    (LogisticLoss(), 50, 1e-4, 1e-4, "noisy"),
]


@pytest.mark.parametrize("sampler", ["shell", "inverse-cdf"])
@pytest.mark.parametrize("case", ONE, ids=str)
def test_one_dimension_against_quadrature(sampler, case):
    loss, n, beta, precision, kind = case
    posterior = posterior_of(loss, n, 1, beta, precision, 21, kind)
    (grid,) = grid_around(posterior, 200_001, 40.0)
    potential = np.concatenate([posterior.values(part[:, None]) for part in np.array_split(grid, 50)])
    density = np.exp(potential.min() - potential)
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    draws, diagnostics = SAMPLERS[sampler].function(posterior, DRAWS, np.random.default_rng(22), None)
    assert draws.shape == (DRAWS, 1)
    assert diagnostics.log_acceptance <= 0
    assert ks(draws[:, 0], grid, cumulative / cumulative[-1]) < CRITICAL
    values, heights = weighted_cdf(potential, density)
    assert ks(posterior.values(draws), values, heights) < CRITICAL


TWO = [
    (LogisticLoss(), 300, 0.3, [0.2, 0.5], "noisy"),
    (LogisticLoss(), 60, 5.0, [0.01, 0.3], "separable"),
    (LogisticLoss(), 100, 1.0, [0.05, 0.05], "collinear"),
    (SoftHingeLoss(0.2), 50, 1.0, [0.1, 2.0], "noisy"),
    (PseudoHuberLoss(0.3), 40, 2.0, [0.05, 0.2], "noisy"),
    (SoftPinballLoss(0.2, 0.3), 40, 1.0, [0.3, 0.1], "noisy"),
]


@pytest.mark.parametrize("case", TWO, ids=str)
def test_two_dimensions_against_quadrature(case):
    loss, n, beta, precision, kind = case
    posterior = posterior_of(loss, n, 2, beta, np.array(precision), 31, kind)
    axes = grid_around(posterior, 801, 14.0)
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    potential = np.concatenate([posterior.values(part) for part in np.array_split(mesh, 400)])
    density = np.exp(potential.min() - potential)
    table = density.reshape(801, 801)
    draws, diagnostics = SAMPLERS["shell"].function(posterior, DRAWS, np.random.default_rng(32), None)
    assert diagnostics.log_acceptance <= 0
    for axis in range(2):
        marginal = table.sum(axis=1 - axis)
        cumulative = np.concatenate([[0], np.cumsum(0.5 * (marginal[1:] + marginal[:-1]))])
        assert ks(draws[:, axis], axes[axis], cumulative / cumulative[-1]) < CRITICAL
    values, heights = weighted_cdf(potential, density)
    assert ks(posterior.values(draws), values, heights) < CRITICAL


@pytest.mark.parametrize("draws", [1500])
@pytest.mark.parametrize(
    ("loss", "n", "beta"), [(LogisticLoss(), 800, 0.5), (LogisticLoss(), 3000, 0.05), (SoftHingeLoss(0.7), 800, 0.3)], ids=str
)
def test_twenty_dimensions_against_importance_sampling(loss, n, beta, draws):
    posterior = posterior_of(loss, n, 20, beta, 0.3, 41)
    generator = np.random.default_rng(42)
    mode = find_mode(posterior)
    factor = np.linalg.cholesky(np.linalg.inv(mode.hessian))
    # Student t with 30 degrees of freedom: heavier than the posterior, so the weights are bounded.
    scale = np.sqrt(30 / generator.chisquare(30, 60_000))
    normals = generator.standard_normal((60_000, 20)) * scale[:, None]
    reference = mode.centre + normals @ factor.T
    potential = np.concatenate([posterior.values(part) for part in np.array_split(reference, 300)])
    log_weights = -potential + 0.5 * 50 * np.log1p(np.square(normals).sum(axis=1) / 30)
    weights = np.exp(log_weights - logsumexp(log_weights))
    effective = 1 / np.square(weights).sum()
    assert effective > 3000
    exact, _ = SAMPLERS["shell"].function(posterior, draws, np.random.default_rng(43), None)
    shrink = np.sqrt(effective / (effective + draws))  # two-sample statistic
    for j in range(20):
        assert ks(exact[:, j], *weighted_cdf(reference[:, j], weights)) * shrink < CRITICAL
    assert ks(posterior.values(exact), *weighted_cdf(potential, weights)) * shrink < CRITICAL
