"""Asymptotic variances and PAC-Bayes bounds against closed forms, quadrature and enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from gibbsafe import ParameterError
from gibbsafe.bounds import (
    draw_variance,
    hinge_complexity,
    hinge_largest_b,
    oracle_risk,
    posterior_variance,
    risk_of_draw,
)


def test_posterior_variance_is_the_limit_of_tempered_beta_posteriors():
    chance, power, n = 0.3, 0.25, 1_000_000
    exact = beta_distribution(1 + power * n * chance, 1 + power * n * (1 - chance)).var()
    information = 1 / (chance * (1 - chance))
    assert posterior_variance(information, n=n, inverse_temperature=power)[0, 0] == pytest.approx(exact, rel=1e-4)


def test_draws_vary_around_the_truth_by_both_noises():
    rng = np.random.default_rng(3)
    n, power, draws, runs, chance = 4000, 0.2, 5, 4000, 0.4
    successes = rng.binomial(n, chance, runs)
    means = rng.beta(1 + power * successes, 1 + power * (n - successes), (draws, runs)).mean(axis=0)
    expected = draw_variance(1 / (chance * (1 - chance)), n=n, inverse_temperature=power, draws=draws)[0, 0]
    assert means.var() == pytest.approx(expected, rel=5 * math.sqrt(2 / runs))  # five standard errors


def test_information_must_be_a_precision():
    with pytest.raises(ParameterError, match="information"):
        posterior_variance([[1.0, 2.0], [2.0, 1.0]], n=10, inverse_temperature=1.0)


# Records (z, y) with z = ±1 and labels of P(y = z) = 0.8: a one-dimensional problem whose data sets can be enumerated.
RECORDS = [(z * y, (0.8 if z == y else 0.2) / 2) for z, y in itertools.product((-1, 1), repeat=2)]
THETA = np.linspace(-14, 14, 20_001)
STEP = THETA[1] - THETA[0]


def hinge(margin):
    return np.maximum(0.0, 1 - margin * THETA)


def risk():
    return sum(chance * hinge(margin) for margin, chance in RECORDS)


def data_sets(n):
    """Yield (number of margins +1, probability)."""
    up = sum(chance for margin, chance in RECORDS if margin > 0)
    for k in range(n + 1):
        yield k, math.comb(n, k) * up**k * (1 - up) ** (n - k)


@pytest.mark.parametrize(("n", "precision", "share"), [(3, 0.5, 0.7), (6, 0.2, 0.9), (10, 1.0, 0.5)])
def test_hinge_complexity_bounds_the_exact_moment(n, precision, share):
    b = share * hinge_largest_b(n=n, precision=precision, radius=1.0)
    prior = norm.pdf(THETA, scale=1 / math.sqrt(n * precision)) * STEP
    for sign in (1, -1):
        moment = sum(
            chance * float(prior @ np.exp(sign * b * (risk() - (k * hinge(1) + (n - k) * hinge(-1)) / n)))
            for k, chance in data_sets(n)
        )
        assert math.log(moment) <= hinge_complexity(b, n=n, precision=precision, radius=1.0, dimension=1)


def test_risk_bounds_fail_no_more_often_than_stated():
    n, precision, failure = 12, 0.3, 0.2
    b = 0.6 * hinge_largest_b(n=n, precision=precision, radius=1.0)
    prior = norm.pdf(THETA, scale=1 / math.sqrt(n * precision)) * STEP
    complexity = hinge_complexity(b, n=n, precision=precision, radius=1.0, dimension=1)
    failed = oracle_failed = 0.0
    oracle = oracle_risk(float(prior @ risk()), kl=0.0, complexity=complexity, b=b, failure=failure)  # the prior itself
    for k, chance in data_sets(n):
        empirical = (k * hinge(1) + (n - k) * hinge(-1)) / n
        posterior = prior * np.exp(-b * empirical)
        posterior /= posterior.sum()
        divergence = float(posterior @ np.log(np.maximum(posterior, 1e-300) / np.maximum(prior, 1e-300)))
        true = float(posterior @ risk())
        bound = risk_of_draw(float(posterior @ empirical), kl=divergence, complexity=complexity, b=b, failure=failure)
        failed += chance * (true > bound)
        oracle_failed += chance * (true > oracle)
    assert failed <= failure
    assert oracle_failed <= 2 * failure


def test_b_has_an_end():
    with pytest.raises(ParameterError, match="below √"):
        hinge_complexity(200.0, n=100, precision=1.0, radius=1.0, dimension=2)
