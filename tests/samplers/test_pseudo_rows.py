"""Rows made of a noisy second moment: the moment matched, declared structure exact, less noise left than was put in."""

import numpy as np
import pytest
from scipy.stats import norm

from gibbsafe.domains.row_shape import RowShape
from gibbsafe.samplers.pseudo_rows import _margins, normals, pseudo_rows, second_moment, symmetric

N = 5000
SCALE = 0.4


def declared(*, intercept=True, clipped=False):
    """Two numbers, one category of three levels, and a constant."""
    low, high = SCALE * np.array([-1.0, -1.0, 0, 0, 0]), SCALE * np.ones(5)
    return RowShape(low, high, ((2, 5),), SCALE * 3**0.5, clipped, SCALE if intercept else None)


def records(seed=0, *, intercept=True):
    rng = np.random.default_rng(seed)
    first = rng.uniform(-1, 1, N)
    numbers = np.column_stack([first, np.clip(0.6 * first + 0.3 * rng.standard_normal(N), -1, 1)])
    rows = np.column_stack([numbers, np.eye(3)[rng.choice(3, N, p=[0.6, 0.3, 0.1])]])
    return SCALE * (np.column_stack([rows, np.ones(N)]) if intercept else rows)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_second_moment_is_matched(intercept):
    shape, rows = declared(intercept=intercept), records(intercept=intercept)
    moment = rows.T @ rows
    made = pseudo_rows(moment, shape, N, normals(np.random.default_rng(1), 512, 5))
    found = made.T @ made / len(made)
    assert np.abs(found - moment / N).max() < (0.002 if intercept else 0.03)  # without a constant means of numbers are unknown
    if intercept:
        assert (made[:, -1] == SCALE).all()


def test_structure_that_is_declared_is_put_in_exactly():
    shape, rows = declared(), records()
    noisy = rows.T @ rows + 40 * symmetric(np.random.default_rng(2), 6)
    known = second_moment(noisy, 40.0, shape, N)
    assert known[-1, -1] == pytest.approx(N * SCALE**2)
    inside = known[2:5, 2:5]
    assert np.array_equal(inside, np.diag(np.diag(inside)))
    assert np.trace(inside) == pytest.approx(N * SCALE**2)  # every record has one level
    np.testing.assert_allclose(known[2:5, -1], np.diag(inside))  # z ∈ {0, h}: Σz² = h Σz


@pytest.mark.parametrize("scale", [30.0, 100.0])
def test_eigenvalues_are_nearer_without_their_noise(scale):
    """Twenty columns of little structure: the corrected moment is closer than the noisy one, on average over ten noises."""
    rng, size = np.random.default_rng(3), 20
    shape = RowShape(-np.ones(size), np.ones(size))
    root = rng.standard_normal((size, size)) / size
    moment = N * root @ root.T
    raw, kept = 0.0, 0.0
    for _ in range(10):
        noisy = moment + scale * symmetric(rng, size)
        raw += np.linalg.norm(noisy - moment)
        kept += np.linalg.norm(second_moment(noisy, scale, shape, N) - moment)
    assert kept < 0.9 * raw


def test_margins_have_the_mean_and_variance_asked_for():
    """By quadrature of low + (high − low)Φ(a + bg)."""
    shape = RowShape(np.array([-1.0, 0.0, -0.5]), np.array([1.0, 2.0, 0.5]))
    mean, variance = np.array([0.2, 0.3, -0.1]), np.array([0.3, 0.2, 0.15])
    place, slope = _margins(mean, variance, shape)
    nodes = np.linspace(-9, 9, 4001)
    weights = norm.pdf(nodes)
    values = shape.low + (shape.high - shape.low) * norm.cdf(place + slope * nodes[:, None])
    weights = weights / weights.sum()
    found = weights @ values
    np.testing.assert_allclose(found, mean, atol=2e-3)
    np.testing.assert_allclose(weights @ (values - found) ** 2, variance, atol=5e-3)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("moment", ["zero", "negative", "huge", "one direction"])
def test_rows_come_out_whatever_the_moment_says(moment, size):
    shape = RowShape(-np.ones(size), np.ones(size), constant=0.5)
    every = {
        "zero": np.zeros((size + 1, size + 1)),
        "negative": -1e6 * np.eye(size + 1),
        "huge": 1e12 * np.eye(size + 1),
        "one direction": np.ones((size + 1, size + 1)),
    }
    made = pseudo_rows(second_moment(every[moment], 1.0, shape, 10.0), shape, 10.0, normals(np.random.default_rng(0), 64, size))
    assert np.isfinite(made).all()
    assert made.shape == (64, size + 1)


def test_symmetric_noise_is_isotropic():
    drawn = np.array([symmetric(np.random.default_rng(seed), 3) for seed in range(4000)])
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    variance = drawn.var(axis=0)
    np.testing.assert_allclose(variance, 0.5 + 0.5 * np.eye(3), rtol=0.15)  # six standard errors
