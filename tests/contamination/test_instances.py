"""One data set at a time: the sound version against exact privacy curves, and the printed version's counterexample."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.contamination.epsilon.instance_line import LineInstance, literal_epsilon
from gibbsafe.contamination.epsilon.instance_regression import RegressionInstance
from gibbsafe.contamination.epsilon.suprema import setting
from gibbsafe.contamination.posterior.line import line_posterior
from gibbsafe.contamination.posterior.posterior import laplace, log_posterior

C = gs.contamination


class Oracle:
    """Exact posteriors on a grid, written without the library: (1−p)N(x; θ, s²) + p g(x)."""

    def __init__(self, model, p, records, points=6001):
        reach = 9 * model.prior_scale
        self.theta = np.linspace(model.prior_mean - reach, model.prior_mean + reach, points)
        self.model, self.p = model, p
        self.log_base = -0.5 * ((self.theta - model.prior_mean) / model.prior_scale) ** 2 + sum(self.log_k(x) for x in records)

    def log_k(self, x):
        s = self.model.scale
        f = np.exp(-0.5 * ((x - self.theta) / s) ** 2) / (s * math.sqrt(2 * math.pi))
        return np.log((1 - self.p) * f + self.p * math.exp(float(self.model.contamination.log_density(np.array(x)))))

    def law(self, *extra):
        log_density = self.log_base + sum((self.log_k(x) for x in extra), np.zeros(len(self.theta)))
        weight = np.exp(log_density - log_density.max())
        return weight / weight.sum()

    def stick(self, one, two, epsilon):
        return float(np.clip(one - math.exp(epsilon) * two, 0, None).sum())


def random_instance(seed):
    rng = np.random.default_rng([17, seed])
    n = int(rng.integers(2, 9))
    density = C.StudentT(5.0, float(rng.normal()), float(rng.uniform(1, 4)))
    model = C.NormalMean(
        scale=1.0, prior_mean=0.0, prior_scale=3.0, contamination=density, rate=float(rng.uniform(0.1, 0.8)), space=(-6.0, 6.0)
    )
    x = np.clip(rng.normal(rng.normal(), 1.0, n), -6, 6)
    return model, model.records(x, np.ones((n, 1))), float(rng.choice([0.003, 0.01, 0.05])), rng


def pairs(rng):
    ends = [-6.0, 6.0, 0.0, *rng.uniform(-6, 6, 3)]
    return [(x, z) for x in ends for z in ends if x != z]


@pytest.mark.parametrize("block", range(5))
def test_sound_version_is_never_violated(block):
    """125 random small data sets, both directions of every pair, strict adjacency as well."""
    for seed in range(25 * block, 25 * block + 25):
        model, records, delta, rng = random_instance(seed)
        p = model.rate
        line = line_posterior(model, records, p)
        instance = LineInstance.of(model, line.without(model, records, p), p, line.mode, None)
        phi = instance.radius(delta, worst=True)
        epsilon = instance.separate(phi, "replace-one")
        oracle = Oracle(model, p, records.x[:-1], points=1501)
        laws = {x: oracle.law(x) for pair in pairs(rng) for x in pair}
        worst = max(oracle.stick(laws[x], laws[z], epsilon) for x in laws for z in laws if x != z)
        assert worst <= delta * (1 + 1e-4), seed
        if seed % 5 == 0:
            strict, base = instance.separate(phi, "add-remove"), oracle.law()
            worst = max(max(oracle.stick(law, base, strict), oracle.stick(base, law, strict)) for law in laws.values())
            assert worst <= delta * (1 + 1e-4), seed


def test_printed_version_is_violated():
    """E21: three zeros, δ = 0.01; the exact curve at the printed ε̂ reaches 0.051, and other small data sets do the same."""
    model = C.NormalMean(prior_mean=0.0, prior_scale=3.0, contamination=C.StudentT(5.0, 0.0, 3.0), rate=0.2, space=(-5.0, 5.0))
    records = model.records(np.zeros(3), np.ones((3, 1)))
    epsilon = C.epsilon_of(model, records, 0.01, "paper", truth=np.zeros(1))
    assert epsilon == pytest.approx(4.6935363, rel=1e-5)
    oracle = Oracle(model, 0.2, [0.0, 0.0])
    forward = oracle.stick(oracle.law(0.0), oracle.law(-5.0), epsilon)
    reverse = oracle.stick(oracle.law(-5.0), oracle.law(0.0), epsilon)
    assert forward <= 0.01
    assert reverse == pytest.approx(0.0513, abs=2e-4)
    sound = C.epsilon_of(model, records, 0.01, "sound")
    assert oracle.stick(oracle.law(-5.0), oracle.law(0.0), sound) <= 0.01
    violated = 0
    for seed in range(40):
        model, records, delta, rng = random_instance(seed)
        line = line_posterior(model, records, model.rate)
        printed = literal_epsilon(model, records, line, model.rate, np.zeros(1), delta=delta, particles=None, generator=rng)
        oracle = Oracle(model, model.rate, records.x[:-1], points=1501)
        laws = [oracle.law(x) for x in (-6.0, 6.0, 0.0)]
        violated += max(oracle.stick(a, b, printed) for a in laws for b in laws) > delta
    assert violated >= 1


def test_exact_curve_matches_an_independent_grid():
    rng = np.random.default_rng(3)
    model = C.NormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)
    records = model.contaminate(30 + 8 * rng.standard_normal(300), rng)
    delta = 1e-3
    exact = C.epsilon_of(model, records, delta, "exact")
    p = model.p(300)
    theta = np.linspace(20, 40, 4001)

    def law(extra):
        x = np.append(records.x[:-1], extra)
        log_g = model.contamination.log_density(x)
        f = np.exp(-0.5 * ((x[:, None] - theta) / 8) ** 2) / (8 * math.sqrt(2 * math.pi))
        log_density = np.log((1 - p) * f + p * np.exp(log_g)[:, None]).sum(axis=0) - 0.5 * ((theta - 40) / 40) ** 2
        weight = np.exp(log_density - log_density.max())
        return weight / weight.sum()

    laws = [law(x) for x in np.arange(-5.0, 66.0, 5.0)]
    worst = max(float(np.clip(a - math.exp(exact) * b, 0, None).sum()) for a in laws for b in laws)
    assert worst <= delta * 1.001
    assert worst >= 0.9 * delta
    order = [C.epsilon_of(model, records, delta, method) for method in ("exact", "tight", "sound")]
    assert order == sorted(order)
    assert C.epsilon_of(model, records, delta, "gaussian") == pytest.approx(exact, rel=0.1)
    for method in ("exact", "tight", "sound", "gaussian"):
        assert C.epsilon_of(model, records, delta, method, adjacency="add-remove") < C.epsilon_of(model, records, delta, method)


def test_interpolant_and_masses_against_direct_evaluation():
    rng = np.random.default_rng(4)
    model = C.NormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)
    for n in (60, 400, 5000):
        records = model.contaminate(30 + 8 * rng.standard_normal(n), rng)
        line = line_posterior(model, records, model.p(n))
        theta = line.mode + line.deviation * np.linspace(-6, 6, 101)
        direct = log_posterior(model, records, model.p(n), theta[:, None])
        surrogate = line.log_density(theta)
        gap = (direct - direct[50]) - (surrogate - surrogate[50])
        assert np.abs(gap).max() < 1e-5
        instance = LineInstance.of(model, line, model.p(n), line.mode, None)
        phi = instance.radius(1e-3, worst=False)
        fine = np.linspace(line.low, line.high, 40_001)
        density = np.exp(line.log_density(fine))
        outside = density[np.abs(fine - line.mode) > phi].sum() / density.sum()
        assert outside == pytest.approx(1e-3, rel=3e-3)


@given(st.floats(-2, 2), st.floats(0.2, 3), st.floats(0.1, 0.9), st.floats(0.05, 1.5))
def test_privacy_is_invariant_under_reparametrisation(x, stretch, p, epsilon):
    """Proposition 31 with E27 (the Jacobian belongs to the prior alone), for ψ = sinh(stretch·θ)/stretch."""
    theta = np.linspace(-12, 12, 24_001)
    psi = np.sinh(stretch * theta) / stretch
    g = C.StudentT(5.0, 0.0, 3.0)

    def likelihood(value, location):
        return (1 - p) * np.exp(-0.5 * (value - location) ** 2) / math.sqrt(2 * math.pi) + p * math.exp(
            float(g.log_density(np.array(value)))
        )

    def stick(points, weights, location):
        one, two = (weights * likelihood(value, location) for value in (x, x + 1.5))
        one, two = one / one.sum(), two / two.sum()
        return float(np.clip(one - math.exp(epsilon) * two, 0, None).sum())

    step = np.gradient(theta)
    plain = stick(theta, np.exp(-0.5 * theta**2 / 4) * step, theta)
    # in ψ: density of the prior times dψ, with θ = asinh(stretch·ψ)/stretch put back into the likelihood
    back = np.arcsinh(stretch * psi) / stretch
    jacobian = 1 / np.sqrt(1 + (stretch * psi) ** 2)
    moved = stick(psi, np.exp(-0.5 * back**2 / 4) * jacobian * np.gradient(psi), back)
    assert moved == pytest.approx(plain, rel=1e-3, abs=1e-7)


@settings(max_examples=25)
@given(st.floats(-2, 2), st.floats(0.1, 0.9), st.floats(0.05, 1.0))
def test_privacy_ignores_what_data_cannot_identify(x, p, epsilon):
    """Proposition 32: θ = ψ₁ + ψ₂ with normal priors has the curve of θ under the prior of the sum."""
    axis = np.linspace(-8, 8, 241)
    one, two = np.meshgrid(axis, axis)
    g = C.StudentT(5.0, 0.0, 3.0)

    def stick(prior, location):
        laws = []
        for value in (x, x + 1.5):
            f = np.exp(-0.5 * (value - location) ** 2) / math.sqrt(2 * math.pi)
            laws.append(prior * ((1 - p) * f + p * math.exp(float(g.log_density(np.array(value))))))
        a, b = (law / law.sum() for law in laws)
        return float(np.clip(a - math.exp(epsilon) * b, 0, None).sum())

    theta = np.linspace(-12, 12, 2401)
    joint = stick(np.exp(-0.5 * one**2 - 0.5 * two**2), one + two)
    assert joint == pytest.approx(stick(np.exp(-0.25 * theta**2), theta), rel=1e-2, abs=3e-5)


REGRESSIONS = {
    "linear": C.LinearRegression(columns=2),
    "logistic": C.LogisticRegression(columns=2),
    "cauchy": C.CauchyRegression(columns=2, contaminated=False),
    "quantile": C.QuantileRegression(columns=2, tau=0.4),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression_bounds_hold_on_a_grid(name):
    """Two coefficients: sound and tight bounds against hockey sticks of random and corner records on a fine grid."""
    model = REGRESSIONS[name]
    rng = np.random.default_rng(8)
    n, delta, truth = 120, 0.01, np.array([0.5, -0.5])
    p = model.p(n)
    records = model.contaminate(model.simulate(n, truth, rng), rng)
    base = records.without_last()
    posterior = laplace(model, base, p, truth)
    spread = np.sqrt(np.diag(posterior.covariance))
    axes = [m + 8 * s * np.linspace(-1, 1, 161) for m, s in zip(posterior.mode, spread, strict=True)]
    grid = np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)
    log_base = log_posterior(model, base, p, grid)
    laws = []
    for x in (0.0, 1.0) if model.likelihood.labels else (-4.0, -1.5, 0.0, 1.5, 4.0):
        for w in ([1.0, 1.0], [1.0, -1.0]):
            log_g = model.contamination.log_density(np.array(x)) if model.contamination else np.array(0.0)
            log_density = log_base + model.log_k(np.array(x), grid @ np.array(w), log_g, p)
            weight = np.exp(log_density - log_density.max())
            laws.append(weight / weight.sum())
    for method in ("sound", "tight"):
        instance = RegressionInstance(posterior, setting(model, p, posterior.mode, truth), np.random.default_rng(0))
        epsilon = instance.bound(delta, "replace-one", coupled=method == "tight")
        worst = max(float(np.clip(a - math.exp(epsilon) * b, 0, None).sum()) for a in laws for b in laws)
        assert worst <= delta
        assert instance.bound(delta, "add-remove", coupled=method == "tight") < epsilon


@pytest.mark.parametrize("name", ["linear", "logistic", "cauchy"])
def test_surrogate_error_at_the_boundary_is_what_is_claimed(name):
    model = REGRESSIONS[name]
    rng = np.random.default_rng(9)
    records = model.contaminate(model.simulate(4000, np.array([0.5, -0.5]), rng), rng)
    posterior = laplace(model, records, model.p(4000), np.array([0.5, -0.5]))
    assert posterior.surrogate
    root = np.linalg.cholesky(posterior.covariance)
    for size, most in ((1.0, 1e-3), (4.0, 0.05)):
        angle = np.linspace(0, 2 * math.pi, 24)
        points = posterior.mode + size * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ root.T
        direct = log_posterior(model, records, model.p(4000), points) - log_posterior(
            model, records, model.p(4000), posterior.mode[None]
        )
        assert np.abs(posterior.log_ratio(points) - direct).max() < most
        assert posterior.error_at(points) == pytest.approx(np.abs(posterior.log_ratio(points) - direct).max())


def test_unknown_scale_is_estimated_too():
    model = C.LinearRegression(columns=1, scale=None)
    rng = np.random.default_rng(5)
    truth = np.array([0.3, 0.2])
    records = model.contaminate(model.simulate(300, truth, rng), rng, truth=truth)
    assert C.epsilon_of(model, records, 1e-3, "paper", truth=truth) > 0
    assert C.epsilon_of(model, records, 1e-3, "sound", truth=truth) > 0
    with pytest.raises(gs.PremiseError, match="known scale"):
        C.epsilon_of(model, records, 1e-3, "tight", truth=truth)
