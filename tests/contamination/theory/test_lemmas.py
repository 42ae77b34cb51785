"""Lemmas 2, 6 and 14, Propositions 1 and 3, beside brute force."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import gibbsafe as gs
from gibbsafe.contamination import (
    CentredAtTruth,
    ContaminatedCauchyRegression,
    ContaminatedLinearRegression,
    ContaminatedLogisticRegression,
    ContaminatedNormalMean,
    ContaminatedQuantileRegression,
    StudentT,
)
from gibbsafe.contamination.theory import (
    bracketing_entropy,
    entropy_integral,
    gradient_ratio,
    hellinger,
    identifiable_radius,
    log_ratio_bound,
    neighbour_bound,
    rho,
    rho_slope,
    root_lipschitz,
    strictly_adjacent_bound,
)

MODELS = {
    "mean": (ContaminatedNormalMean(contamination=StudentT(5.0, 0.5, 2.0)), np.array([0.3])),
    "mean at the truth": (ContaminatedNormalMean(scale=2.0, contamination=CentredAtTruth(StudentT(5.0))), np.array([0.3])),
    "linear": (ContaminatedLinearRegression(columns=2), np.array([0.5, -0.5])),
    "logistic": (ContaminatedLogisticRegression(columns=2), np.array([0.5, -0.5])),
    "Cauchy": (ContaminatedCauchyRegression(columns=2), np.array([0.5, -0.5])),
    "quantile": (ContaminatedQuantileRegression(columns=2, tau=0.3), np.array([0.5, -0.5])),
}


def test_lemma_2_is_half_the_root_of_the_fisher_information():
    assert root_lipschitz(ContaminatedCauchyRegression(columns=1)) == pytest.approx(math.sqrt(0.5) / 2, rel=1e-8)
    assert root_lipschitz(ContaminatedQuantileRegression(columns=1, tau=0.3)) == pytest.approx(math.sqrt(0.21) / 2, rel=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_root_lipschitz_holds(name):
    model, _ = MODELS[name]
    rng = np.random.default_rng(2)
    constant = root_lipschitz(model, 0.5)
    for _ in range(10):
        a = rng.normal(size=model.dimension)
        b = a + rng.uniform(-0.5, 0.5, model.dimension)
        w = np.sign(rng.normal(size=(1, model.dimension)))
        assert math.sqrt(2) * hellinger(model, a, b, w=w) <= constant * np.abs(a - b).max() + 1e-9


def test_entropy_integral():
    settings = {"dimension": 2, "radius": 10.0, "lipschitz": 0.7}
    u = np.geomspace(0.3**2 / 1024, 0.3, 20_001)
    values = [math.sqrt(bracketing_entropy(size, **settings)) for size in u]
    assert entropy_integral(0.3, **settings) == pytest.approx(integrate.trapezoid(values, u), rel=1e-4)
    assert bracketing_entropy(0.1, **settings) > bracketing_entropy(0.2, **settings)


@pytest.mark.parametrize("name", MODELS)
def test_lemma_6_rho_grows_no_faster(name):
    model, truth = MODELS[name]
    w = None if model.dimension == 1 else np.array([[1.0, 0.5], [1.0, -0.8], [1.0, 0.1]])
    for alpha in (0.5, 1.0):
        slope = rho_slope(model, truth, 0.4, alpha, w=w)
        rng = np.random.default_rng(3)
        for _ in range(8):
            step = rng.normal(size=model.dimension)
            step *= rng.uniform(0, 0.4) / np.linalg.norm(step)
            assert rho(model, truth, truth + step, alpha, w=w) <= slope * np.linalg.norm(step) + 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_lemma_14_bounds_every_log_ratio(name):
    """100 × 2,000 random parameters and records within the radius, at two rates."""
    model, truth = MODELS[name]
    rng = np.random.default_rng(4)
    radius = 0.3
    steepest = gradient_ratio(model, truth, radius)
    for p in (0.05, 0.4):
        bound, largest = log_ratio_bound(rate=p, gradient_ratio=steepest, radius=radius), 0.0
        for _ in range(100):
            step = rng.normal(size=model.dimension)
            theta = truth + radius * step / np.linalg.norm(step)
            w = np.ones((1, 1)) if model.dimension == 1 else np.array([[1.0, rng.uniform(-1, 1)]])
            u, v = float((w @ truth)[0]), float((w @ theta)[0])
            x = rng.integers(0, 2, 50).astype(float) if model.likelihood.labels else u + 4 * rng.standard_t(1, 2000)
            log_g = model.contamination.log_density(x, u)
            d = model.log_k(x, np.full(len(x), v), log_g, p) - model.log_k(x, np.full(len(x), u), log_g, p)
            largest = max(largest, float(np.abs(d).max()))
        assert 0.01 * bound < largest <= bound


def test_gradient_ratio_by_hand():
    """sup |x|φ(x)/t₅(x) is at x² = 1 + √6."""
    x = math.sqrt(1 + math.sqrt(6))
    exact = x * stats.norm.pdf(x) / stats.t.pdf(x, 5)
    assert gradient_ratio(ContaminatedNormalMean(contamination=StudentT(5.0)), 0.0, 0.0) == pytest.approx(exact, rel=1e-9)
    with pytest.raises(gs.PremiseError, match="without a density"):
        gradient_ratio(ContaminatedLogisticRegression(columns=2, contaminated=False), [0, 0], 0.1)
    with pytest.raises(gs.PremiseError, match="declare the scale"):
        gradient_ratio(ContaminatedLinearRegression(columns=2, scale=None), [0, 0, 0], 0.1)


@pytest.mark.parametrize("name", ["mean", "linear", "logistic"])
def test_proposition_3(name):
    """Within φ in Hellinger distance nothing is farther than ψ, and ψ falls to 0 with φ."""
    model, truth = MODELS[name]
    w = None if model.dimension == 1 else np.array([[1.0, 0.7], [1.0, -0.6]])
    found = [identifiable_radius(model, truth, phi, rate=0.3, w=w) for phi in (0.2, 0.05)]
    assert found[0] > found[1] > 0
    rng = np.random.default_rng(5)
    for _ in range(10):
        step = rng.normal(size=model.dimension)
        theta = truth + 1.1 * found[1] * step / np.linalg.norm(step)
        assert hellinger(model, truth, theta, rate=0.3, w=w) > 0.05
    assert identifiable_radius(model, truth, 0.99, rate=0.3, w=w) == math.inf
    if name == "mean":
        exact = math.sqrt(-8 * math.log(1 - 0.1**2))
        assert identifiable_radius(model, truth, 0.1) == pytest.approx(exact, rel=1e-6)


def posterior_pair(x, z, p=0.3):
    """Densities of two posteriors on a grid, by brute force, with log d(x; θ) and log d(z; θ)."""
    model = ContaminatedNormalMean(prior_scale=3.0, contamination=StudentT(5.0, 0.0, 3.0))
    theta = np.linspace(-12, 12, 20_001)
    common = np.array([0.2, -0.5, 1.0, 0.4, -1.2])

    def log_k(record):
        log_g = model.contamination.log_density(np.array([record]))
        return model.log_k(np.full(len(theta), record), theta, np.broadcast_to(log_g, theta.shape), p)

    base = model.log_prior(theta[:, None]) + sum(map(log_k, common))
    return theta, base, log_k(x), log_k(z)


@pytest.mark.parametrize(("x", "z"), [(4.0, -4.0), (0.0, 8.0), (2.0, 2.5)])
def test_proposition_1_holds_for_every_set(x, z):
    """The hockey stick of two posteriors at the claimed ε is at most the claimed δ, for (5), (7) and Remark 20."""
    theta, base, of_x, of_z = posterior_pair(x, z)
    for half_width in (0.8, 1.5, 3.0):
        inside = np.abs(theta) <= half_width
        at = np.argmin(np.abs(theta))
        gap = (of_x - of_x[at]) - (of_z - of_z[at])
        log_eta = float(np.abs(gap[inside]).max())
        wx, wz, wd = (np.exp(base + part) for part in (of_x - of_x[at], of_z - of_z[at], np.zeros_like(of_x)))
        claims = (
            neighbour_bound(log_eta, outside=wx[~inside].sum() / wx.sum(), evidence_ratio=wz.sum() / wx.sum()),
            neighbour_bound(log_eta, outside=wx[~inside].sum() / wx.sum(), outside_ratio=wz[~inside].sum() / wx.sum()),
        )
        p, q = wx / wx.sum(), wz / wz.sum()
        for claim in claims:
            assert np.maximum(p - math.exp(claim.epsilon) * q, 0).sum() <= claim.delta + 1e-12
        one = float(np.abs((of_x - of_x[at])[inside]).max())
        adjacent = strictly_adjacent_bound(2 * one, outside=p[~inside].sum(), outside_ratio=wd[~inside].sum() / wx.sum())
        assert np.maximum(p - math.exp(adjacent.epsilon) * wd / wd.sum(), 0).sum() <= adjacent.delta + 1e-12
        assert "not a privacy guarantee" in str(claims[0])
