"""Draws from contaminated posteriors, and the trimmed contaminated likelihood."""

import math

import numpy as np
import pytest
from scipy import stats

import gibbsafe as gs
from gibbsafe.contamination.posterior.line import line_posterior
from gibbsafe.contamination.posterior.posterior import log_posterior

C = gs.contamination
MEAN = C.NormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)


@pytest.mark.parametrize("method", ["auto", "importance", "metropolis"])
def test_draws_of_the_mean_follow_the_posterior(method):
    """Kolmogorov–Smirnov against direct summation, at a false-alarm rate of 1e-4."""
    rng = np.random.default_rng(1)
    records = MEAN.contaminate(30 + 8 * rng.standard_normal(200), rng)
    theta = np.linspace(20, 42, 4001)
    log_density = log_posterior(MEAN, records, MEAN.p(200), theta[:, None])
    cumulative = np.cumsum(np.exp(log_density - log_density.max()))
    draws = C.sample_posterior(MEAN, records, 800, method=method, generator=rng, steps=300)
    assert draws.certificate["status"] == "heuristic"
    assert draws.certificate["randomness"] == "seeded"
    assert len(draws.certificate["not proved"]) == 2
    assert stats.kstest(draws.draws[:, 0], lambda x: np.interp(x, theta, cumulative / cumulative[-1])).pvalue > 1e-4


@pytest.mark.parametrize(
    "model",
    [
        C.LinearRegression(columns=2),
        C.LinearRegression(columns=1, scale=None),
        C.LogisticRegression(columns=2),
        C.CauchyRegression(columns=2),
        C.CauchyRegression(columns=1, scale=None),
        C.QuantileRegression(columns=2, tau=0.4),
    ],
    ids=lambda m: m.describe()[:40],
)
def test_regression_draws_surround_the_truth(model):
    rng = np.random.default_rng(2)
    truth = np.array([0.5, -0.5])
    records = model.contaminate(model.simulate(600, truth, rng), rng)
    for method in ("importance", "metropolis"):
        draws = C.sample_posterior(model, records, 200, method=method, generator=rng, steps=60).draws
        mean, spread = draws.mean(axis=0), draws.std(axis=0)
        assert np.all(np.abs(mean - truth) < 5 * spread)
        assert np.all(spread < 0.6)
    with pytest.raises(gs.ParameterError, match="method"):
        C.sample_posterior(model, records, 1, method="inverse-cdf")


def test_the_mode_is_found_far_from_where_contamination_sits():
    """k_p is not log-concave: with the truth far from g the search must start robustly."""
    rng = np.random.default_rng(6)
    truth = np.array([50.0, -40.0])
    for model in (C.LinearRegression(columns=2, prior_scale=100.0), C.CauchyRegression(columns=2, prior_scale=100.0)):
        records = model.contaminate(model.simulate(1500, truth, rng), rng)
        draws = C.sample_posterior(model, records, 50, generator=rng).draws
        assert np.all(np.abs(draws.mean(axis=0) - truth) < 1)


def test_trimmed_likelihood_is_priced_for_every_record():
    mean = C.TrimmedMean(bounds=(0.0, 100.0), scale=8.0, rate=0.3)
    assert mean.guarantee(1.0).range == pytest.approx(5.4, abs=0.05)
    student = C.TrimmedMean(bounds=(0.0, 100.0), scale=8.0, rate=0.3, density=C.StudentT(5.0, 50.0, 25.0))
    assert student.guarantee(1.0).range == pytest.approx(7.8, abs=0.1)
    assert mean.guarantee(1.0).range < student.guarantee(1.0).range
    assert mean.guarantee(1.0, "add-remove").range == pytest.approx(mean.guarantee(1.0).range / 2)
    beta = mean.calibrate(1.0)
    assert mean.guarantee(beta).epsilon(0.0) <= 1.0
    theta = np.linspace(0, 100, 801)
    rng = np.random.default_rng(3)
    data = rng.uniform(-50, 150, 20)
    base = beta * mean._log_likelihood(data, theta)
    laws = []
    for x in (-1e12, -40.0, 0.0, 50.0, 100.0, 1e12):
        log_density = base + beta * mean._log_likelihood(np.array([x]), theta)
        weight = np.exp(log_density - log_density.max())
        laws.append(np.log(weight / weight.sum()))
    assert max(float((a - b).max()) for a in laws for b in laws) <= 1.0
    draws = mean.sample(30 + 8 * rng.standard_normal(500), beta, 400, rng)
    assert abs(draws.mean() - 30) < 6


def test_logistic_uniform_fallback():
    """ε = 2 ln((2−p)/p) for labels contaminated by a fair coin, on random posteriors."""
    p = 0.4217
    bound = 2 * math.log((2 - p) / p)
    rng = np.random.default_rng(4)
    theta = np.linspace(-30, 30, 6001)
    k = np.stack([(1 - p) / (1 + np.exp(-s * theta)) + p / 2 for s in (1, -1)])
    for _ in range(50):
        base = np.exp(-0.5 * (theta / rng.uniform(0.5, 10)) ** 2)
        laws = [base * row / (base * row).sum() for row in k]
        assert float(np.log(laws[0] / laws[1]).max()) <= bound


def test_line_of_a_trimmed_parameter_keeps_to_its_bounds():
    model = C.NormalMean(prior_mean=0.0, parameter_bounds=(-1.0, 2.0), contamination=C.Envelope(-1.0, 2.0, 1.0), rate=0.3)
    rng = np.random.default_rng(5)
    records = model.contaminate(3.0 + rng.standard_normal(200), rng)
    line = line_posterior(model, records, 0.3)
    assert line.low >= -1
    assert line.high <= 2
    draws = C.sample_posterior(model, records, 100, generator=rng).draws
    assert np.all((draws >= -1) & (draws <= 2))
