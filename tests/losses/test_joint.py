"""Losses of several predictors: values and derivatives against mpmath, declared constants against search, transposes."""

import math

import mpmath as mp
import numpy as np
import pytest

from gibbsafe.losses.cumulative import CumulativeLoss
from gibbsafe.losses.softmax import SoftmaxLoss

START = (-1.2, 0.1, 1.5)
LOSSES = {
    "softmax": SoftmaxLoss(4),
    "softmax of three": SoftmaxLoss(3),
    "cumulative": CumulativeLoss(START, gap=0.4, reach=1.3, unit=1 / math.hypot(1.3, 1)),
    "cumulative, close": CumulativeLoss((-0.1, 0.1), gap=0.1, reach=0.2, unit=1 / math.hypot(0.2, 1)),
}
ALL = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
WIDTH = 3


def outcomes(loss):
    return loss.classes if isinstance(loss, SoftmaxLoss) else loss.predictors + 1


def softmax_formula(loss, v, y):
    """−log of the softmax of scores whose differences from the first are the differences of their first-order contrasts."""
    size, total = loss.classes, mp.fsum(v)
    lean = -(1 - 1 / mp.sqrt(size)) / (size - 1)
    scores = [-total / mp.sqrt(size)] + [x + lean * total for x in v]
    assert abs(mp.fsum(scores)) < mp.mpf(10) ** -30
    assert abs(mp.fsum(s * s for s in scores) - mp.fsum(x * x for x in v)) < mp.mpf(10) ** -25
    return mp.log(mp.fsum(mp.exp(s) for s in scores)) - scores[y]


def cumulative_formula(loss, v, y):
    """−log(σ(a) − σ(b)) where thresholds keep their distance, and the tangent of −log(1 − e^{−g}) below it."""
    above = [mp.inf, *(x - s for x, s in zip(v, loss.start, strict=True)), -mp.inf]
    a, b = above[y], above[y + 1]
    sigma = lambda x: mp.mpf(1) if x == mp.inf else mp.mpf(0) if x == -mp.inf else 1 / (1 + mp.exp(-x))  # noqa: E731
    if a - b >= loss.gap:
        return -mp.log(sigma(a) - sigma(b))
    tangent = -mp.log(1 - mp.exp(-mp.mpf(loss.gap))) - (a - b - loss.gap) / mp.expm1(loss.gap)
    return -mp.log(sigma(a)) - mp.log(sigma(-b)) + tangent


def formula(loss, v, y):
    return (softmax_formula if isinstance(loss, SoftmaxLoss) else cumulative_formula)(loss, [mp.mpf(x) for x in v], y)


@ALL
def test_values_slopes_and_curvatures_match_mpmath(loss):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((6, loss.predictors)) * np.array([0.1, 1, 1, 3, 3, 10])[:, None]
    with mp.workdps(40):
        for v in points:
            for y in range(outcomes(loss)):
                u, target = v[None], np.array([float(y)])
                assert float(loss.value(u, target)[0]) == pytest.approx(float(formula(loss, v, y)), rel=1e-10, abs=1e-13)
                for k, unit in enumerate(np.eye(loss.predictors)):
                    step = mp.mpf(10) ** -12
                    ends = [formula(loss, [x + s * step * e for x, e in zip(v, unit, strict=True)], y) for s in (1, -1)]
                    assert loss.slope(u, target)[0, k] == pytest.approx(float((ends[0] - ends[1]) / (2 * step)), abs=1e-8)
                moved = [loss.slope(u + s * 1e-6 * np.eye(loss.predictors), np.full(loss.predictors, y)) for s in (1, -1)]
                np.testing.assert_allclose(loss.curvature(u, target)[0], (moved[0] - moved[1]) / 2e-6, atol=1e-5)


@ALL
def test_scores_and_curvature_keep_their_bounds_and_come_near_them(loss):
    """Rows at the ends of their domain, parameters of all sizes, thresholds out of order among them."""
    rng = np.random.default_rng(1)
    size = loss.parameters(WIDTH)
    largest = steepest = 0.0
    reach, unit = (loss.reach, loss.unit) if isinstance(loss, CumulativeLoss) else (1.0, 1.0)
    for turn in range(300):
        x = rng.standard_normal(WIDTH - 1)
        row = np.append(x / np.linalg.norm(x) * reach, 1.0) * unit
        row /= 1.0 if isinstance(loss, CumulativeLoss) else np.linalg.norm(row)
        theta = rng.standard_normal(size) * 10 ** rng.uniform(-1, 2.5)
        for y in range(outcomes(loss)):
            target = np.array([float(y)])
            largest = max(largest, float(np.linalg.norm(loss.gradient(row[None], theta, target))))
            if turn % 3 == 0:
                bent = loss.hessian(row[None], theta / 30, target)
                values = np.linalg.eigvalsh(bent)
                assert values[0] > -1e-12
                steepest = max(steepest, float(values[-1]))
    assert 0.85 * loss.lipschitz < largest <= loss.lipschitz
    assert 0.3 * loss.smoothness < steepest <= loss.smoothness


@ALL
def test_vector_is_the_transpose_of_matrix_and_moments_bound_curvature(loss):
    rng = np.random.default_rng(2)
    theta, other = rng.standard_normal(loss.parameters(WIDTH)), rng.standard_normal((WIDTH, loss.predictors))
    assert theta @ loss.vector(other) == pytest.approx(np.sum(loss.matrix(theta, WIDTH) * other))
    rows, targets = rng.uniform(-0.5, 0.5, (40, WIDTH)), rng.integers(0, outcomes(loss), 40).astype(float)
    whole = loss.of_moment(rows.T @ rows)
    assert theta @ whole @ theta == pytest.approx(np.square(rows @ loss.matrix(theta, WIDTH)).sum())
    beside = np.column_stack([np.full(40, 2.0), targets])
    np.testing.assert_allclose(loss.gradient(rows, theta, beside), 2 * loss.gradient(rows, theta, targets))
    np.testing.assert_allclose(loss.totals(rows, theta[None], beside), 2 * loss.totals(rows, theta[None], targets))


@ALL
def test_slopes_by_rows_and_by_parameters_are_the_same(loss):
    rng = np.random.default_rng(3)
    rows, targets = rng.uniform(-0.5, 0.5, (40, WIDTH)), rng.integers(0, outcomes(loss), 40).astype(float)
    if isinstance(loss, CumulativeLoss):
        rows[:, -1] = loss.unit
    theta = 2 * rng.standard_normal(loss.parameters(WIDTH))
    slopes = loss.slope(rows @ loss.matrix(theta, WIDTH), targets)
    np.testing.assert_allclose(loss.gradient(rows, theta, targets), loss.vector(rows.T @ slopes), rtol=1e-9, atol=1e-9)
    size, steep = loss.facts(rows, theta, targets)
    assert ((size >= 0) & (size <= 1) & (steep >= 0) & (steep <= 1)).all()


def test_levels_share_out_their_probability():
    loss = LOSSES["cumulative"]
    u = 3 * np.random.default_rng(4).standard_normal((50, 3))
    chances = loss.chances(u)  # thresholds out of order among them
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    ordered = np.zeros((1, 3))
    np.testing.assert_allclose(np.exp([-loss.value(ordered, np.array([y]))[0] for y in range(4)]), loss.chances(ordered)[0])
