"""Suprema over records and parameters: the reductions against brute force that knows nothing of them."""

import math

import numpy as np
import pytest
from scipy import optimize

import gibbsafe as gs
from gibbsafe.contamination.epsilon.suprema import logistic_rise, setting, spread

C = gs.contamination


def brute_force(log_d, boxes, rng, method, points=4000):
    """Largest value over boxes of any dimension: random points, then a local optimiser from the best."""
    low, high = np.array(boxes).T
    cloud = low + (high - low) * rng.random((points, len(low)))
    corners = np.array(np.meshgrid(*boxes, indexing="ij")).reshape(len(low), -1).T
    cloud = np.concatenate([cloud, corners])
    values = log_d(cloud)
    best = float(values.max())
    for index in np.argsort(values)[-2:]:
        found = optimize.minimize(lambda z: -float(log_d(z[None])[0]), cloud[index], bounds=boxes, method=method)
        best = max(best, -float(found.fun))
    return best


def random_problem(kind, rng):
    p, reach = float(rng.uniform(0.05, 0.9)), float(rng.choice([0.05, 0.5, 2.0, 6.0]) * rng.uniform(0.5, 1.5))
    scale = float(rng.uniform(0.5, 3))
    centre = np.array([rng.normal(), rng.normal()])
    if kind == "mean":
        density = C.StudentT(float(rng.uniform(2, 9)), float(rng.normal(0, 3)), float(rng.uniform(0.5, 6)))
        return C.NormalMean(scale=scale, prior_mean=0.0, contamination=density), p, reach, centre[:1]
    if kind == "linear":
        density = C.Cauchy(0.0, float(rng.uniform(0.5, 5)))
        return C.LinearRegression(columns=2, scale=scale, contamination=density), p, reach, centre
    if kind == "cauchy":
        density = C.Cauchy(float(rng.normal()), float(rng.uniform(0.5, 5)))
        return C.CauchyRegression(columns=2, scale=scale, contamination=density), p, reach, centre
    density = C.StudentT(2.0, 0.0, float(rng.uniform(1, 5)))
    return C.QuantileRegression(columns=2, tau=float(rng.uniform(0.1, 0.9)), contamination=density), p, reach, centre


@pytest.mark.parametrize("kind", ["mean", "linear", "cauchy", "quantile"])
@pytest.mark.parametrize("seed", range(40))
def test_reduction_agrees_with_brute_force(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    model, p, reach, centre = random_problem(kind, rng)
    at = setting(model, p, centre, None)
    up, down = spread(at, reach)
    width = 0.0 if kind == "mean" else abs(centre[1])

    def log_d(z):
        x, u, a = z[:, 0], centre[0] + z[:, 1], z[:, 2]
        log_g = model.contamination.log_density(x)
        return model.log_k(x, u + a, log_g, p) - model.log_k(x, u, log_g, p)

    far = reach + 14 * model.noise / (min(model.tau, 1 - model.tau) if kind == "quantile" else 1)
    boxes = [(centre[0] - width - far, centre[0] + width + far), (-width, width + 1e-12), (-reach, reach)]
    method = "Nelder-Mead" if kind == "quantile" else "L-BFGS-B"  # the first for kinks
    most = brute_force(log_d, boxes, rng, method)
    least = -brute_force(lambda z: -log_d(z), boxes, rng, method)
    assert up >= most - 1e-7
    assert down <= least + 1e-7
    short = 0.06 if kind == "quantile" else 0.02  # by how much random search may miss a sharp peak
    assert up == pytest.approx(most, abs=0.005 + short * up)
    assert down == pytest.approx(least, abs=0.005 - short * down)


@pytest.mark.parametrize("seed", range(40))
def test_logistic_closed_form(seed):
    rng = np.random.default_rng(seed)
    p, reach = float(rng.choice([0.0, rng.uniform(0.02, 0.9)])), float(rng.uniform(0.05, 8))
    low = float(rng.normal(0, 2))
    high = low + float(rng.uniform(0.1, 5))
    u = np.linspace(low, high, 40001)

    def log_k(v):
        return np.log((1 - p) / (1 + np.exp(-v)) + p / 2)

    grid = float((log_k(u + reach) - log_k(u)).max())
    assert logistic_rise(p, reach, low, high) == pytest.approx(grid, abs=1e-7)
    model = C.LogisticRegression(columns=2, contaminated=p > 0)
    centre = np.array([(low + high) / 2, (high - low) / 2])
    up, down = spread(setting(model, p, centre, None), reach)
    values = [log_k(side * (u + a)) - log_k(side * u) for side in (1, -1) for a in (-reach, reach)]
    assert up == pytest.approx(max(v.max() for v in values), abs=1e-7)
    assert down == pytest.approx(min(v.min() for v in values), abs=1e-7)


def test_cauchy_without_contamination_and_unknown_scale():
    model = C.CauchyRegression(columns=1, contaminated=False)
    up, down = spread(setting(model, 0.0, np.zeros(1), None), 1.4)
    assert (up, down) == pytest.approx((2 * math.asinh(0.7), -2 * math.asinh(0.7)))
    x = np.linspace(-50, 50, 200_001)
    brute = max(float((np.log1p(x**2) - np.log1p((x - a) ** 2)).max()) for a in np.linspace(-1.4, 1.4, 57))
    assert up == pytest.approx(brute, abs=1e-6)
    free = C.LinearRegression(columns=1, scale=None)
    at = setting(free, 0.3, np.array([0.2, 0.1]), None)
    up, down = spread(at, 0.8, (math.exp(-0.4), math.exp(0.6)))
    s = np.exp(np.linspace(-0.4, 0.6, 41))[:, None, None]
    a = np.linspace(-0.8, 0.8, 41)[None, :, None]
    r = np.linspace(-25, 25, 2001)[None, None, :]
    log_g = free.contamination.log_density(r + 0.2)
    ratio = free.log_k(r, a, log_g, 0.3, s) - free.log_k(r, np.zeros(1), log_g, 0.3, math.exp(0.1))
    assert up >= ratio.max() - 1e-9
    assert down <= ratio.min() + 1e-9
    assert (up, down) == pytest.approx((float(ratio.max()), float(ratio.min())), rel=5e-3)


def test_truncation_that_binds():
    model = C.NormalMean(scale=1.0, prior_mean=0.0, space=(-1.0, 2.0), truncated=True, contamination=C.StudentT(5.0), rate=0.3)
    up, down = spread(setting(model, 0.3, np.array([0.4]), None), 1.5)
    x, theta = np.linspace(-1, 2, 1501)[:, None], 0.4 + np.linspace(-1.5, 1.5, 1501)[None, :]
    log_g = model.contamination.log_density(x)
    ratio = model.log_k(x, theta, log_g, 0.3) - model.log_k(x, np.array(0.4), log_g, 0.3)
    assert (up, down) == pytest.approx((float(ratio.max()), float(ratio.min())), abs=2e-5)
    assert up >= ratio.max() - 1e-9


def test_far_records_neither_vanish_nor_overflow():
    model = C.NormalMean(prior_mean=0.0, contamination=C.StudentT(5.0))
    records = model.records(np.array([1e150, -1e150, 0.0]), np.ones((3, 1)))
    assert np.isfinite(model.log_k(records.x, np.zeros(3), records.log_g, 0.3)).all()
