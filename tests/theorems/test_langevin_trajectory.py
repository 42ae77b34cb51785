"""A released trajectory is priced as its answers are: against the Gaussian mechanism, term by term, and by its own noise."""

import math

import pytest

import gibbsafe as gs
from gibbsafe.samplers.trajectory import noise_of
from gibbsafe.theorems import get

from ..own_gaussian import N, gaussian

THEOREM = get("langevin-trajectory")


@pytest.mark.parametrize(("adjacency", "factor"), [("replace-one", 2.0), ("add-remove", 1.0)])
@pytest.mark.parametrize("persons", [1, 3])
def test_every_answer_is_a_gaussian_mechanism(adjacency, factor, persons):
    """Σ (G/σ)² over all answers of all chains, G written down again: rounding adds less than 1e-6 of it."""
    model = gaussian(clip=0.7, chains=3, steps=40)
    plan = gs.plan(model, gs.Budget(3.0, 1e-6), n=50, adjacency=adjacency, rows_per_person=persons)
    (stage,) = plan.stages
    exact = math.sqrt(3 * 40) * factor * persons * 0.7 / noise_of(stage)
    assert exact <= plan.guarantee.mu <= exact * (1 + 1e-6 if adjacency == "replace-one" else 1.001)
    assert plan.guarantee.epsilon(1e-6) <= 3.0


@pytest.mark.parametrize("budget", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n", [1, 300, 10**6])
def test_the_noise_of_a_score_is_that_of_a_langevin_step(budget, n):
    (stage,) = gs.plan(gaussian(), gs.Budget(budget, 1e-6), n=n, adjacency="replace-one").stages
    assert stage.step * stage.chain.power * noise_of(stage) == pytest.approx(math.sqrt(2 * stage.step), rel=1e-9)
    assert 0 < stage.chain.power <= 1


def test_constants_that_are_not_clipped_are_not_priced():
    with pytest.raises(gs.PremiseError, match="clip"):
        THEOREM.guarantee({"lipschitz": 1.0, "n": N, "dimension": 2}, inverse_temperature=1.0, adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="add up exactly"):
        THEOREM.guarantee({"clip": 1.0, "n": 10**14, "dimension": 2}, inverse_temperature=1.0, adjacency="replace-one")
