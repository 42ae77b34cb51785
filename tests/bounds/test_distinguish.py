"""What draws reveal, against exact binomials, exact tests and exact estimators."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from gibbsafe import ParameterError, PremiseError
from gibbsafe.bounds import (
    empirical_ball,
    error_of_any_test,
    family_reconstruction_error,
    lipschitz_distance,
    reconstruction_error,
    stochastic_distance,
)
from gibbsafe.models.families.beta_bernoulli import BetaBernoulli
from gibbsafe.posteriors.beta import BetaPosterior


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_lemma_12_for_two_cells_by_exact_binomials(n, chance):
    ball = empirical_ball(n, 0.01)
    counts = np.arange(n + 1)
    outside = 2 * np.abs(counts / n - chance) > ball.radius
    assert binom.pmf(counts, n, chance)[outside].sum() <= 0.01


def test_lemma_12_limits_the_cells():
    assert empirical_ball(100, 0.01).cells == 3
    assert empirical_ball(100, 1 / 16).cells == 2
    assert empirical_ball(100, 0.07).cells == 1


def test_theorem_13_only_if():
    """Posteriors nearer than the necessary distance are within the empirical radius, so they look alike."""
    for lipschitz, draws, failure in [(1.0, 50, 0.01), (3.0, 400, 1e-4), (0.2, 10_000, 0.05)]:
        need = lipschitz_distance(lipschitz, draws, failure)
        radius = math.sqrt(3 * math.log(1 / failure) / draws)
        assert need.distance >= radius / lipschitz * (1 - 1e-12) >= need.paper or need.paper == need.distance
        nearer = 0.999 * need.distance
        assert 2 * math.tanh(lipschitz * nearer / 2) < radius  # the largest ‖·‖₁ at that distance
        assert need.paper == pytest.approx(3 * math.log(1 / failure) / (4 * lipschitz * draws))


def test_theorem_13_with_few_draws_nothing_suffices():
    assert lipschitz_distance(1.0, 3, 1e-3).distance == math.inf


def test_theorem_13_is_not_a_sufficient_condition():
    """Erratum E11: a likelihood without the parameter gives one posterior for all data, however far apart."""
    prior, likelihood = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.9, 0.1]])
    posteriors = (likelihood * prior[:, None]) / (prior @ likelihood)
    assert np.abs(posteriors[:, 0] - posteriors[:, 1]).sum() == pytest.approx(0, abs=1e-15)


def test_theorem_13_case_2():
    need = stochastic_distance(rate=2.0, floor=0.5, ratio=3.0, draws=100, failure=0.01)
    assert need.distance == pytest.approx(3 * math.log(100) / (4 * 100 * 3 * 1.0))
    assert need.paper == pytest.approx(3 * math.log(100) / (2 * 100 * 3 * 2.5))


@pytest.mark.parametrize("draws", [1, 5, 30])
def test_no_test_beats_the_error_bound(draws):
    p, q = 0.4, 0.55
    counts = np.arange(draws + 1)
    exact = np.minimum(binom.pmf(counts, draws, p), binom.pmf(counts, draws, q)).sum()  # the best test's two errors
    divergence = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    assert 0 < error_of_any_test(divergence, draws) <= exact


def test_le_cam_for_trimmed_beta_posteriors():
    """No estimator of the number of successes is nearer than the bound in the worst case: two-point Bayes risk, exact."""
    n, trim = 40, (0.4, 0.6)
    bound = family_reconstruction_error(BetaBernoulli(trim=trim), n)
    assert bound == pytest.approx(reconstruction_error(2 * math.log(0.6 / 0.4), largest=n))
    posteriors = [BetaPosterior(1 + k, 1 + n - k, *trim) for k in range(n + 1)]
    exact = max(
        (b - a) / 2 * (1 - posteriors[b].hockey_stick(posteriors[a], 0.0)) for a in range(0, n, 4) for b in range(a + 1, n + 1, 3)
    )
    assert 0.4 < bound <= exact


def test_reconstruction_gets_easier_with_more_draws_and_bad_input_is_refused():
    few, many = (reconstruction_error(0.1, largest=100, draws=draws) for draws in (1, 20))
    assert few > many > 0
    assert reconstruction_error(0.0, largest=10) == pytest.approx(5.0)
    with pytest.raises(ParameterError, match=r"largest = 0\.5: must be at least one unit"):
        reconstruction_error(0.1, largest=0.5)
    with pytest.raises(PremiseError, match="trim its prior"):
        family_reconstruction_error(BetaBernoulli(), 10)
