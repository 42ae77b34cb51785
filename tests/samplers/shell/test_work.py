"""The shell sampler's worst case from public numbers: its two integrals by quadrature, and hostile data that stay below it."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import gamma, norm

from gibbsafe.data import Blocks
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss
from gibbsafe.samplers import GibbsPosterior
from gibbsafe.samplers.shell import sample as shell
from gibbsafe.samplers.shell.work import _log_envelope_mass, _target_deficit, largest_ratio, log_evaluations


def left(reach):
    return 2 * (math.exp(-reach) + reach - 1) / reach**2


@pytest.mark.parametrize("ratio", [0.05, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("p", [1, 3, 10, 30])
def test_the_envelope_is_no_lighter_than_the_bound_it_stands_for(p, ratio):
    """∫ exp(−½·2φ(xs)s²) over space, beside a standard normal: the laid-out shells weigh more, by not much."""
    log_sphere = math.log(2) - 0.5 * p * math.log(2) - float(gammaln(0.5 * p))

    def log_density(s):
        return log_sphere + (p - 1) * math.log(s) - 0.5 * left(ratio * s) * s**2

    grid = np.geomspace(1e-3, 1e4, 4000)
    top = max(log_density(s) for s in grid)
    inside = [s for s in grid if log_density(s) > top - 60]
    mass, _ = quad(lambda s: math.exp(log_density(s) - top), inside[0], inside[-1], points=[inside[len(inside) // 2]], limit=500)
    exact = top + math.log(mass)
    assert exact - 1e-6 <= _log_envelope_mass(p, ratio) <= exact + 2.5 + 0.35 * p * ratio


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.0011, 0.1, 1.0, 3.0])
def test_the_target_deficit_is_a_gaussian_mean(ratio):
    exact, _ = quad(lambda z: 2 * norm.pdf(z) * ((math.expm1(ratio * z) - ratio * z) / ratio**2 - z**2 / 2), 0, 30, limit=300)
    assert _target_deficit(ratio) >= exact * (1 - 1e-6) - 1e-9
    assert _target_deficit(ratio) <= 1.2 * exact + 1e-3


def test_more_parameters_and_wider_priors_cost_more():
    for p in (1, 2, 5, 20, 60):
        costs = [log_evaluations(p, x) for x in (1e-6, 1e-3, 0.03, 0.3, 1.0, 3.0)]
        assert costs == sorted(costs)
        assert log_evaluations(p, largest_ratio(p, 5.0)) <= 5.0
    assert log_evaluations(40, 0.1) > log_evaluations(20, 0.1)
    assert largest_ratio(3, 0.5) == 0.0


def hostile(kind, n, p, rng):
    rows = rng.standard_normal((n, p))
    if kind == "one row":
        rows[:] = np.eye(p)[0]
    elif kind == "one-hot":
        rows = np.eye(p)[rng.integers(p, size=n)]
    elif kind == "leverage":
        rows *= 1e-3
        rows[: p + 1] = np.vstack([np.eye(p), np.ones(p)])
    elif kind == "far":
        rows = np.abs(rows)
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.parametrize("kind", ["even", "one row", "one-hot", "leverage", "far"])
@pytest.mark.parametrize("loss", [LogisticLoss(), SoftHingeLoss(0.5), PseudoHuberLoss(1.5)], ids=str)
def test_hostile_data_stay_below_the_worst_case(kind, loss):
    """Mean evaluations a draw over 8 draws: geometric numbers of the largest mean allowed, summed, exceed this once in 1000."""
    rng = np.random.default_rng(7)
    for p, precision, beta in ((2, 1.0, 3.0), (3, 0.25, 0.5), (6, 30.0, 20.0)):
        rows = hostile(kind, 200, p, rng)
        targets = None if loss.margin else rng.standard_cauchy(200)
        if loss.margin:
            rows = rows * rng.choice([-1.0, 1.0], 200)[:, None]
        posterior = GibbsPosterior(Blocks(rows, targets), loss, beta, np.full(p, precision), np.full(p, 2.0))
        bound = math.exp(log_evaluations(p, loss.self_concordance / math.sqrt(precision)))
        counts = [shell.sample(posterior, 1, rng)[1].evaluated for _ in range(8)]
        assert np.sum(counts) <= bound * gamma.isf(1e-3, 8)
