"""Intervals of families: coverage away from the trim, ends of the trim, few draws."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.population.family import _shrinkage

REPLACE = "replace-one"


def planned(model, n, draws, epsilon):
    return gs.plan(model, gs.Budget(epsilon, 1e-6), n=n, adjacency=REPLACE, draws=draws)


@pytest.mark.parametrize(("epsilon", "draws", "truth"), [(1.0, 5, 0.4), (10.0, 20, 0.7)])
def test_beta_bernoulli_is_covered_as_often_as_stated(coverage, epsilon, draws, truth):
    """300 releases: a true coverage of 0.9 falls outside [0.85, 0.98] with probability below 0.004."""
    plan = planned(gs.models.BetaBernoulli(trim=(0.2, 0.9)), 2000, draws, epsilon)
    assert 0.85 <= coverage(plan, lambda rng: (rng.random(2000) < truth).astype(int), [truth], 300) <= 0.98


def test_an_informative_prior_is_allowed_for(releases):
    plan = planned(gs.models.BetaBernoulli(alpha=30, beta=10, trim=(0.1, 0.95)), 2000, 8, 4.0)
    made = list(releases(plan, lambda rng: (rng.random(2000) < 0.5).astype(int), 100))
    assert np.mean([release.draws.mean() for release in made]) > 0.52
    assert np.mean([release.interval(0.9).covers([0.5]) for release in made]) >= 0.85


def test_the_pull_is_that_of_the_conjugate_mean():
    """Beta(a, b) with m tempered trials at share p: (a − (a + b)p)/(a + b + m) to first order."""
    model = gs.models.BetaBernoulli(alpha=6, beta=2, trim=(0.01, 0.99))
    plan = gs.plan(model, gs.Budget(2.0), n=1000, adjacency=REPLACE, draws=3)
    share, trials = 0.4, 400.0
    draws = np.random.default_rng(0).beta(6 + share * trials, 2 + (1 - share) * trials, (200_000, 1))
    assert _shrinkage(plan, draws)[0][0] == pytest.approx((6 - 8 * share) / (8 + trials), rel=0.05)


def test_rates_and_tables_are_covered(coverage):
    rate = planned(gs.models.ExponentialRate(trim=(0.5, 4.0), bound=8.0), 3000, 6, 6.0)
    assert coverage(rate, lambda rng: rng.exponential(1 / 1.5, 3000), [1.5], 100) >= 0.83
    shares = [0.2, 0.3, 0.5]
    states = planned(gs.models.Categorical(states=3, smallest_probability=0.05), 3000, 6, 6.0)
    assert coverage(states, lambda rng: rng.choice(3, 3000, p=shares), shares, 100) >= 0.83


def test_a_bounded_loss_uses_its_worst_gradient(coverage):
    """Welsch's loss is no likelihood: the location of contaminated records is covered, whatever the contamination."""
    plan = planned(gs.models.WelschLocation(scale=2.0, bounds=(-50.0, 50.0)), 1000, 5, 4.0)

    def data(rng):
        return np.where(rng.random(1000) < 0.1, 1e6 * rng.choice([-1.0, 1.0], 1000), rng.normal(3.0, 2.0, 1000))

    assert coverage(plan, data, [3.0], 40) >= 0.85


def test_near_the_trim_the_interval_reaches_its_end(releases):
    plan = planned(gs.models.BetaBernoulli(trim=(0.3, 0.7)), 3000, 10, 2.0)
    (release,) = releases(plan, lambda rng: (rng.random(3000) < 0.699).astype(int), 1)
    found = release.interval(0.9)
    assert found.upper[0] == 0.7
    assert found.lower[0] > 0.3
    assert found.covers([0.699]).all()


def test_data_that_say_nothing_give_the_whole_trim(releases):
    plan = planned(gs.models.BetaBernoulli(trim=(0.3, 0.7)), 3, 10, 0.5)
    (release,) = releases(plan, lambda rng: np.array([0, 1, 1]), 1)
    assert release.interval(0.9)["probability"] == (0.3, 0.7)


@pytest.mark.parametrize(
    ("model", "draws"), [(gs.models.BetaBernoulli(trim=(0.3, 0.7)), 2), (gs.models.FiniteFamily.bernoulli(0.1), 20)]
)
def test_few_draws_or_few_parameters_give_the_declared_range(releases, model, draws):
    (release,) = releases(planned(model, 500, draws, 1.0), lambda rng: (rng.random(500) < 0.5).astype(int), 1)
    found = release.interval(0.9)
    assert found.conservative
    assert "conservative" in str(found)
    ends = (0.3, 0.7) if draws == 2 else (0.1, 0.9)
    assert (found.lower[0], found.upper[0]) == ends


def test_a_family_has_no_radius(releases):
    plan = planned(gs.models.BetaBernoulli(trim=(0.3, 0.7)), 100, 5, 1.0)
    (release,) = releases(plan, lambda rng: np.array([0, 1] * 50), 1)
    with pytest.raises(gs.ParameterError, match="part of its declaration"):
        release.interval(0.9, radius=1.0)
