"""Many draws from a narrow trim: what composition saves beside adding 2L per draw."""

import pytest

import gibbsafe as gs


@pytest.mark.parametrize(("draws", "share"), [(100, 0.32), (10_000, 0.05)])
def test_many_draws_of_a_trimmed_proportion_cost_a_fraction_of_the_papers_sum(draws, share):
    """θ in [0.4875, 0.5125], δ = 1e-9: the paper's Corollary 10 adds 2L per draw, L = logit 0.5125."""
    family = gs.models.BetaBernoulli(trim=(0.4875, 0.5125))
    constants = family.metric_constants()
    claim = gs.privacy.BoundedRange(constants.difference_range).compose(draws)
    paper = 2 * draws * constants.metric_lipschitz
    best = claim.epsilon(1e-9)
    assert best <= share * paper
    assert best == min(claim.epsilon(1e-9, route=route) for route in ("gaussian", "zcdp", "basic"))
    assert claim.delta(best) <= 1e-9


def test_a_plan_takes_that_route():
    family = gs.models.BetaBernoulli(trim=(0.4875, 0.5125))
    paper = 2 * 100 * family.metric_constants().metric_lipschitz
    plan = gs.plan(family, gs.Budget(0.32 * paper, 1e-9), n=1000, adjacency="replace-one", draws=100)
    assert plan.inverse_temperature >= 1
