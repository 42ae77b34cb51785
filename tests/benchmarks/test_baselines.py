"""Opponents do what their docstrings say: minimisers, noise, and accounting against quadrature."""

import math

import numpy as np
import pytest

from gibbsafe.privacy.profiles import gaussian_delta, gaussian_mu


def rows(n=400, d=3, seed=0):
    found = np.random.default_rng(seed).normal(size=(n, d))
    return found / np.maximum(1, np.linalg.norm(found, axis=1))[:, None]


def test_minimiser_has_no_gradient_even_under_a_strong_linear_term():
    from benchmarks.peers import baselines

    Z = rows()
    for ridge, linear in ((0.5, np.zeros(3)), (0.1, np.array([1e4, -1e3, 0.0]))):
        theta = baselines.minimise(Z, ridge, linear)
        gradient = -(1 / (1 + np.exp(np.minimum(Z @ theta, 700)))) @ Z + ridge * theta + linear
        assert np.abs(gradient).max() < 1e-4 * (1 + np.abs(linear).max())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_objective_perturbation_covers_rows_at_every_angle(epsilon):
    """δ of the worst corner of slopes, integrated over the plane of two rows at angle φ, stays below the claim (quadrature)."""
    from benchmarks.peers import baselines

    delta, ridge = 1e-4, 2.0
    sigma = baselines.objective_noise(epsilon, delta, ridge)
    rest = epsilon - math.log1p(0.25 / ridge)
    assert gaussian_delta(rest, 2 / sigma) == pytest.approx(delta, rel=1e-6)
    x = np.linspace(-9, 9, 1201)
    u = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)  # noise in units of sigma
    weight = np.exp(-0.5 * np.square(u).sum(axis=-1)) / (2 * math.pi) * (x[1] - x[0]) ** 2
    for angle in (0.3, 1.2, 2.0, 2.6, 3.0, math.pi):
        for length in (1.0, 0.6):
            z, other = np.array([1.0, 0.0]), length * np.array([math.cos(angle), math.sin(angle)])
            losses = [u @ v / sigma + v @ v / (2 * sigma**2) for v in (-z, other, other - z)]
            worst = np.maximum.reduce([np.zeros(u.shape[:2]), *losses])
            assert float((weight * np.maximum(0, -np.expm1(rest - worst))).sum()) <= delta * (1 + 1e-3)


def test_a_ridge_too_small_for_the_budget_is_refused():
    from benchmarks.peers import baselines

    assert baselines.objective_noise(0.1, 1e-6, 0.1) is None
    assert baselines.objective_perturbation(rows(), 0.1, 1e-6, ridge=0.1, seeds=[0]) is None


def test_output_perturbation_has_the_noise_of_its_sensitivity():
    """Six standard errors of a variance from 3 × 2,000 normals."""
    from benchmarks.peers import baselines

    Z = rows()
    found = baselines.output_perturbation(Z, 1.0, 1e-6, ridge=5.0, seeds=range(2000))
    scale = 2 / (5.0 * gaussian_mu(1.0, 1e-6))
    assert np.var(found - baselines.minimise(Z, 5.0)) == pytest.approx(scale**2, rel=6 * math.sqrt(2 / 6000))


def test_gradient_descent_approaches_the_fit_where_noise_is_small():
    from benchmarks.peers import baselines

    Z = rows(2000)
    found = baselines.gradient_descent(Z, 2000.0, 1e-3, steps=400, rates=[8.0, 16.0], seeds=[0, 1])
    assert found.shape == (2, 2, 3)
    assert np.abs(found - baselines.minimise(Z, 1e-6)).max() < 0.1


def test_adassp_approaches_least_squares():
    from benchmarks.peers import baselines

    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (200_000, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=200_000)
    settings = {"feature_norm": math.sqrt(0.5), "response_bound": 2.0, "generator": rng}
    assert np.abs(baselines.adassp(X, y, 3.0, 1e-6, **settings) - [1.0, -1.0]).max() < 0.05
