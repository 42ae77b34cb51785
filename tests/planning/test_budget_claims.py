"""No claim above its budget: refused when planned, when certified and when verified; the last digits included."""

import dataclasses
import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.privacy import GaussianDP, Guarantee
from gibbsafe.release.certificate import certify, check_certificate
from gibbsafe.theorems.langevin_last_iterate import last_iterate_mu

BUDGET = gs.Budget(1.0, 1e-6)
MODEL = gs.models.LogisticRegression(dimension=2)


def planned(**changes):
    return gs.plan(MODEL, BUDGET, n=100, adjacency="replace-one", **changes)


def hotter(plan, factor):
    """The plan with every temperature multiplied: one that no rule gives."""
    stages = tuple(dataclasses.replace(stage, inverse_temperature=stage.inverse_temperature * factor) for stage in plan.stages)
    return dataclasses.replace(plan, stages=stages)


class Crooked(Guarantee):
    """A broken profile, as numerics may give: it rises beyond ε = 0.5."""

    def __init__(self, adjacency=None):
        super().__init__(adjacency)

    def _delta(self, epsilon):
        return 1e-7 if 0.69 <= epsilon <= 0.71 or epsilon > 3 else 0.1

    def _group(self, size):
        return self


del Guarantee.registry["Crooked"]


def test_a_budget_states_its_own_epsilon_at_most():
    assert BUDGET.claim(GaussianDP(0.2)) < 1
    with pytest.raises(gs.BudgetError, match="above it"):
        BUDGET.claim(GaussianDP(0.24))
    with pytest.raises(gs.BudgetError, match="above it"):
        gs.Budget(0.7, 1e-6).claim(Crooked())  # δ(0.7) fits, but the ε at that δ is found to be 3


def test_plans_above_their_budget_are_neither_certified_nor_read():
    above = hotter(planned(), 1 + 1e-10)
    with pytest.raises(gs.BudgetError, match="above it"):
        certify(above, randomness="secure", storage="float64")
    with pytest.raises(gs.GibbsafeError):
        gs.Plan.from_dict(above.to_dict())


def test_a_stage_moved_by_less_than_the_files_tolerance_is_refused():
    estimate = planned(purpose="estimate")
    text = hotter(estimate, 1 + 9e-10).to_dict()
    with pytest.raises(gs.GibbsafeError, match="above it"):
        gs.Plan.from_dict(text)


def test_a_certificate_that_states_more_than_its_budget_is_refused():
    made = planned()
    stated = certify(made, randomness="secure", storage="float64").to_dict()
    assert stated["claim"]["epsilon"] <= BUDGET.epsilon
    check_certificate(stated, made)
    stated["claim"] = stated["claim"] | {"epsilon": BUDGET.epsilon * (1 + 1e-10)}
    with pytest.raises(gs.CertificateError, match="more than its budget"):
        check_certificate(stated, made)


def test_a_guarantee_whose_two_answers_disagree_is_refused():
    """δ at the budget's ε within it, ε at its δ above it: a profile like the one of small Beta shapes, which was false."""

    class Torn(gs.privacy.PureDP):
        def epsilon(self, delta):
            return 1.001 * BUDGET.epsilon

    torn = Torn(BUDGET.epsilon)
    assert BUDGET.admits(torn)
    with pytest.raises(gs.BudgetError, match="above it"):
        BUDGET.claim(torn)


@pytest.mark.parametrize("bits", [50, 51, 52])
def test_an_inverse_temperature_in_the_last_digits_above_the_largest_is_refused(bits):
    model = gs.models.BetaBernoulli(trim=(0.3, 0.9))
    largest = gs.plan(model, BUDGET, n=100, adjacency="replace-one").inverse_temperature
    asked = max(largest * (1 + 2.0**-bits), math.nextafter(largest, 1.0))
    claim = gs.theorems.get("bounded-range").guarantee(
        model.constants(np.empty(0), adjacency=gs.privacy.Adjacency.REPLACE_ONE, n=100, rows_per_person=1),
        inverse_temperature=asked,
        adjacency="replace-one",
    )
    if BUDGET.admits(claim):
        return  # the same guarantee to the last digit
    with pytest.raises(gs.BudgetError):
        gs.plan(model, BUDGET, n=100, adjacency="replace-one", inverse_temperature=asked)


@pytest.mark.parametrize("precision", [0.1, 1.0, 3.7, 1e5])
def test_plans_with_a_prior_in_the_users_units_come_back_from_files(precision):
    for radius in (0.3, 1.0, 7.7):
        model = gs.models.LogisticRegression(dimension=3, radius=radius)
        made = gs.plan(model, BUDGET, n=100, adjacency="replace-one", prior=precision)
        again = gs.Plan.from_json(made.to_json())
        assert again.inverse_temperature == made.inverse_temperature
        assert BUDGET.admits(again.guarantee)


def test_langevin_refuses_a_smoothness_below_the_strong_convexity():
    """m = 10 with M = 0.1, h = 0.19, 50 steps was priced at μ = 0.616; with the least true M = 10 it is 2.673."""
    with pytest.raises(gs.PremiseError, match="strong convexity"):
        last_iterate_mu(step=0.19, gap=2.0, strong_convexity=10.0, smoothness=0.1, steps=50)
    constants = {
        "lipschitz": 1.0,
        "convex": True,
        "smoothness": 0.25,
        "prior_precision": 10.0,
        "prior_smoothness": 0.1,
        "steps": 50,
        "step": 0.19,
        "n": 1,
        "dimension": 2,
        "slack": 1e-3,
    }
    for name in ("langevin-last-iterate", "langevin-steps"):
        with pytest.raises(gs.PremiseError, match="prior_smoothness"):
            gs.theorems.get(name).guarantee(constants, inverse_temperature=1e-3, adjacency="replace-one")
