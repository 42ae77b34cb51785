"""Every theorem prices the kinds it names, and no theorem registers that could not."""

from dataclasses import fields

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.privacy import Adjacency, PureDP
from gibbsafe.samplers import SAMPLERS
from gibbsafe.theorems import THEOREMS, Kind, Premise, priced_by
from gibbsafe.theorems.gaussian_dp import GaussianDPTheorem
from gibbsafe.theorems.theorem import Theorem, register

from ..examples import EXAMPLES


def refused(words, cls):
    before = dict(THEOREMS)
    with pytest.raises(gs.ParameterError, match=words) as refusal:
        register(cls)
    assert "\n" not in str(refusal.value)
    assert before == THEOREMS


def test_a_theorem_that_prices_a_kind_it_cannot_is_refused():
    class Boastful(GaussianDPTheorem):
        name = "boastful"
        kinds = (Kind.GIBBS, Kind.FAMILY)

    refused(r"theorem boastful: cannot price a likelihood .* \(convex: not declared", Boastful)


def test_a_theorem_that_names_no_kind_is_refused():
    class Aimless(Theorem):
        name, title, reference, kinds = "aimless", "", "", ()

        def premises(self, constants, adjacency):
            return (Premise("none"),)

        def _one_draw(self, constants, beta, adjacency):
            return PureDP(beta)

    refused("theorem aimless: names no kind", Aimless)


@pytest.mark.parametrize("name", THEOREMS)
def test_every_theorem_prices_the_kinds_it_names_and_no_other(name):
    theorem = THEOREMS[name]
    assert theorem.kinds
    for kind in Kind:
        assert theorem.covers(kind.declares, Adjacency.REPLACE_ONE) == (kind in theorem.kinds)


@pytest.mark.parametrize("model", [example.model for example in EXAMPLES.values()], ids=lambda model: model.name)
def test_a_model_declares_only_what_its_kind_can(model):
    """So that what a theorem finds of the kind is what it can find of its models."""
    precision = np.ones(model.parameters) if model.kind is Kind.GIBBS else np.empty(0)
    stated = model.constants(precision, adjacency=Adjacency.REPLACE_ONE, n=5, rows_per_person=1)
    for field in fields(stated):
        if getattr(stated, field.name) != field.default:
            assert getattr(model.kind.declares, field.name) is not None, field.name


@pytest.mark.parametrize("model", [example.model for example in EXAMPLES.values()], ids=lambda model: model.name)
def test_some_theorem_prices_every_sampler_of_every_model(model):
    for sampler in model.samplers:
        priced = priced_by(model.kind, sampler)
        assert priced
        assert all(theorem.sampler in (None, sampler) for theorem in priced)
        assert all(sampler in SAMPLERS for sampler in model.samplers)


def test_the_theorem_of_a_plan_is_one_of_its_kind():
    for model in (example.model for example in EXAMPLES.values()):
        plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=40, adjacency="replace-one")
        assert plan.theorem in priced_by(model.kind, plan.sampler)
