"""The bounds on a prior's pull, against exact minimisers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from gibbsafe.population.shrinkage import Spread, growth, growth_at_root


def spread(covariance, weight, kappa, mean):
    """Return a Spread whose covariance is known rather than estimated."""
    d = len(covariance)
    root = np.sqrt(weight)
    return Spread(
        mean=mean,
        covariance=covariance,
        rows=covariance,
        along=np.diag(covariance).copy(),
        weight=weight,
        kappa=kappa,
        draws=10**9,
        quantile=1.7,
        inflation=1.0,
        widest=float(np.linalg.eigvalsh(covariance)[-1]),
        strongest=float(np.linalg.eigvalsh(covariance * root * root[:, None])[-1]),
    ), np.eye(d)


@given(st.integers(0, 10_000))
def test_quadratic_losses_are_pulled_by_no_more(seed):
    rng = np.random.default_rng(seed)
    d = 3
    A = rng.standard_normal((5, d))
    curvature = A.T @ A * rng.uniform(0.5, 20)
    weight = rng.uniform(0.1, 1.0, d)
    truth, centre = rng.standard_normal(d), np.zeros(d)
    covariance = np.linalg.inv(curvature + np.diag(weight))
    mean = covariance @ (curvature @ truth)
    seen, _ = spread(covariance, weight, 0.0, mean)
    pull = np.abs(truth - mean)
    assert (pull <= seen.shrinkage_within(float(np.linalg.norm(truth))) + 1e-9).all()
    if seen.strongest < 1:
        assert (pull <= seen.shrinkage_from(centre) + 1e-9).all()


@pytest.mark.parametrize("length", [0.5, 2.0, 4.0, 7.0])
@pytest.mark.parametrize("scale", [5.0, 30.0, 300.0])
def test_logistic_losses_are_pulled_by_no_more(length, scale):
    """The expected logistic loss over 400 rows of norm at most 1, exactly minimised with and without the prior."""
    rng = np.random.default_rng(9)
    d, m = 3, 0.3
    X = rng.standard_normal((400, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    truth = length * np.array([0.8, -0.6, 0.0])
    chance = expit(X @ truth)

    def potential(theta):
        u = X @ theta
        return scale * np.mean(np.logaddexp(0, u) - chance * u) + m / 2 * theta @ theta

    def slope(theta):
        return scale * X.T @ (expit(X @ theta) - chance) / 400 + m * theta

    found = minimize(potential, truth, jac=slope, method="BFGS", options={"gtol": 1e-10}).x
    weights = expit(X @ found) * expit(-X @ found)
    covariance = np.linalg.inv(scale * (X * weights[:, None]).T @ X / 400 + m * np.eye(d))
    seen, _ = spread(covariance, np.full(d, m), 1.0, found)
    pull = np.abs(truth - found)
    assert (pull <= seen.shrinkage_within(length) + 1e-9).all()
    assert seen.strongest < 1
    assert (pull <= seen.shrinkage_from(np.zeros(d)) + 1e-9).all()


def test_growth_solves_its_equation():
    for q in (0.1, 0.6, 0.95):
        distance = q * growth(q)  # κr
        assert -math.expm1(-distance) == pytest.approx(q)
    assert growth(1e-12) == 1.0
    assert growth(2.0) == math.inf


@given(st.floats(0, 2), st.floats(0, 2))
def test_growth_at_root_is_the_least_root(near, wide):
    found = growth_at_root(near, wide)
    grid = np.linspace(near, 30, 20_001)[1:]
    held = grid >= near + wide * (grid / -np.expm1(-grid) - 1)
    if math.isinf(found):
        assert not held[grid < 20].any()
    else:
        root = near + wide * (found - 1)
        assert not held[grid < root * (1 - 1e-4) - 1e-3].any()
        assert root >= near
