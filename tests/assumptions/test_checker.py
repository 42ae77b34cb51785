"""The checker's constants against enumeration and quadrature, and its verdicts."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import beta as beta_function

import gibbsafe as gs
from gibbsafe.assumptions import (
    check,
    likelihood_ratio_bound,
    lipschitz_prior,
    lipschitz_weights,
    meets_necessary_condition,
)
from gibbsafe.assumptions.priors import lipschitz_of_table


@pytest.fixture(scope="module")
def untrimmed():
    return check(gs.models.BetaBernoulli(alpha=4, beta=4), n=8)


def test_lemma_21_constants(untrimmed):
    """c = 2^{1−2α}/B(α, α) at L₀ = 0 (α = 4: 1.09375), C = B(α, α)/B(α, α + n)."""
    assert untrimmed.law.steepest().rate == pytest.approx(1.09375, rel=0.03)
    assert math.exp(untrimmed.log_ratio) == pytest.approx(beta_function(4, 4) / beta_function(4, 12), rel=1e-9)
    two = likelihood_ratio_bound(gs.models.BetaBernoulli(alpha=2, beta=2), 8)
    assert math.exp(two) == pytest.approx(18.333333333333333, rel=1e-9)


def test_untrimmed_beta_holds_in_the_tail(untrimmed):
    family = gs.models.BetaBernoulli(alpha=4, beta=4)
    pair = untrimmed.constants
    for bound in np.linspace(0.01, 6, 60):
        assert family.prior_mass_below(float(bound)) >= pair.lower_bound(bound) - 1e-9
    assert pair.rate <= untrimmed.law.tail_rate <= 4.0  # logit θ has tails e^{−4|z|}


def test_verdicts_of_an_untrimmed_prior(untrimmed):
    assert untrimmed.lipschitz is None
    assert not untrimmed.applies("Theorem 8.1")
    assert untrimmed.applies("Assumption 2")
    assert untrimmed.applies("Theorem 7.2")
    assert not untrimmed.applies("Theorem 8.2")  # total variation above 1 says nothing: E16
    assert not untrimmed.applies("Corollary 9")
    with pytest.raises(gs.ParameterError, match="Theorem 99"):
        untrimmed.applies("Theorem 99")
    assert json.loads(json.dumps(untrimmed.to_dict()))["lipschitz"] is None
    assert "Theorem 8.1" in str(untrimmed)


def test_verdicts_of_a_narrow_trim():
    found = check(gs.models.ExponentialRate(trim=(0.1, 0.11), bound=1.0, rate=50.0), n=1)
    assert found.lipschitz == pytest.approx(0.11)
    assert all(found.applies(name) for name in ("Assumption 1", "Theorem 8.1", "Corollary 10.1", "Theorem 8.2"))


@pytest.mark.parametrize("n", [1, 7, 60])
def test_likelihood_ratio_of_rates_is_an_upper_bound_and_close(n):
    family = gs.models.ExponentialRate(trim=(0.2, 2.0), bound=1.0)
    low, high = family.trim
    normaliser = quad(lambda x: math.exp(-x), low, high)[0]

    def log_ratio(total):
        best = min(max(n / total, low), high) if total else high
        peak = n * math.log(best) - best * total
        scaled = quad(lambda x: math.exp(n * math.log(x) - x * total - x - peak), low, high, points=[best])[0]
        return -math.log(scaled / normaliser)

    exact = max(log_ratio(total) for total in np.linspace(0, n, 101))
    found = likelihood_ratio_bound(family, n)
    assert exact <= found <= exact + 0.01 * n
    assert likelihood_ratio_bound(family, 1) <= math.log(12.214027581601698) + 1e-9  # the lemma's C for one record


def test_likelihood_ratio_of_a_finite_family_by_enumeration():
    family = gs.models.FiniteFamily.bernoulli(0.25)
    theta, n = np.array([0.25, 0.5, 0.75]), 5
    k = np.arange(n + 1)[:, None]
    likelihood = theta**k * (1 - theta) ** (n - k)
    exact = (likelihood.max(axis=1) / likelihood.mean(axis=1)).max()
    assert math.exp(likelihood_ratio_bound(family, n)) == pytest.approx(exact, rel=1e-9)
    assert exact <= 3  # (9)


def test_finite_family_and_example_2():
    uniform = check(gs.models.FiniteFamily.bernoulli(0.05), n=10)
    assert uniform.lipschitz == pytest.approx(math.log(19))  # E12: not ln 20
    weights = lipschitz_weights(lipschitz_of_table(gs.models.FiniteFamily.bernoulli(0.05).likelihood))
    shy = check(gs.models.FiniteFamily.bernoulli(0.05, prior=tuple(weights)), n=10)
    assert shy.lipschitz == uniform.lipschitz  # "no effect on Assumption 1"
    assert shy.law.steepest().rate > 2 * uniform.law.steepest().rate


def test_lipschitz_prior_on_an_interval():
    def sensitivity(theta):
        return abs(math.log(theta / (1 - theta)))

    prior = lipschitz_prior(sensitivity, (0.1, 0.9))
    total = quad(prior.density, 0.1, 0.9, points=[0.5])[0]
    assert total == pytest.approx(1, rel=1e-8)
    assert prior.density(0.5) / prior.density(0.8) == pytest.approx(4.0)  # e^{−ℓ}: odds
    assert prior.density(0.95) == 0
    reach = math.log(0.7 / 0.3)
    assert prior.mass_below(reach) == pytest.approx(prior.mass(0.3, 0.7), abs=2e-3)
    assert prior.mass_below(reach) <= prior.mass(0.3, 0.7) + 1e-9
    with pytest.raises(gs.ParameterError, match="low < high"):
        lipschitz_prior(sensitivity, (0.9, 0.1))


def test_theorem_6_is_necessary():
    """Wherever the condition fails for L, the posteriors of some pair are indeed more than 2L apart."""
    rng = np.random.default_rng(6)
    failures = 0
    for _ in range(200):
        table = rng.dirichlet(np.ones(3), 4)
        prior = rng.dirichlet(np.ones(4))
        lipschitz = float(rng.uniform(0.1, 2.0))
        posterior = table * prior[:, None] / (prior @ table)
        ratios = np.log(posterior[:, :, None] / posterior[:, None, :])
        if not meets_necessary_condition(table, prior, lipschitz):
            failures += 1
            assert ratios.max() > 2 * lipschitz
    assert failures > 20
    assert meets_necessary_condition([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], 0.01)


def test_only_families_are_checked():
    with pytest.raises(gs.ParameterError, match="a family"):
        check(gs.models.GaussianMean(dimension=1), n=5)
    with pytest.raises(gs.ParameterError, match="one row of sum 1"):
        lipschitz_of_table([[0.5, 0.6]])
