"""Capabilities are declared by deriving, and a model that lies about one does not register."""

from dataclasses import dataclass

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.models.base import MODELS, register
from gibbsafe.models.capabilities import Capability, IsLikelihood, PredictsProbabilities, Simulates, StatesLean
from gibbsafe.models.families.family import Family
from gibbsafe.models.linear.soft_hinge import SoftHinge
from gibbsafe.planning.facts import default_radius, describe_prior, grid_of
from gibbsafe.posteriors.protocols import Posterior
from gibbsafe.release.certificate import declared_constants


@pytest.fixture(autouse=True)
def no_new_models():
    before = set(MODELS)
    yield
    assert set(MODELS) == before


def refused(words, cls):
    with pytest.raises(gs.GibbsafeError, match=words) as refusal:
        register(cls)
    assert "\n" not in str(refusal.value)


def test_a_capability_without_its_method_is_refused():
    class Lies(SoftHinge, Simulates):
        name = "Lies"

    refused("Lies: declares Simulates without simulate", Lies)


def test_a_method_of_another_form_is_refused():
    class Lies(SoftHinge, PredictsProbabilities):
        name = "Lies"

        def predict_proba(self, draws, features):
            return np.zeros((len(features), 2))

    refused(r"Lies.predict_proba: not called as PredictsProbabilities calls it, predict_proba\(self, features, draws\)", Lies)


def test_a_method_with_more_that_must_be_given_is_refused():
    class Lies(SoftHinge, Simulates):
        name = "Lies"

        def simulate(self, draw, rows, generator, features, seed):
            return np.zeros(rows)

    refused("Lies.simulate: not called as Simulates calls it", Lies)


def test_a_value_in_the_place_of_a_method_is_refused():
    class Lies(SoftHinge, Simulates):
        name = "Lies"
        simulate = 1.0

    refused("Lies.simulate: a method where Simulates has a value, or the other way round", Lies)


def test_a_capability_that_is_not_declared_is_refused():
    class Hides(SoftHinge):
        name = "Hides"

        def simulate(self, draw, rows, generator, features=None):
            return np.zeros(rows)

    refused("Hides: has simulate, but does not declare Simulates", Hides)


def test_a_model_that_is_not_whole_is_refused():
    class Half(gs.models.GibbsModel):
        name = "Half"

    refused("Half: is a model without .*loss", Half)


def test_a_model_whose_posterior_nobody_draws_from_is_refused():
    class Own(Posterior):
        """Neither a Gibbs posterior nor one in closed form."""

    class Undrawn(SoftHinge):
        name = "Undrawn"

        def posterior(self, data, stage, centre) -> "Own":
            return Own()

    refused("Undrawn.posterior: does not say which type of posterior it returns", Undrawn)  # Own is no name of the module
    Undrawn.posterior.__annotations__["return"] = Own
    refused("Undrawn: no sampler draws from its posterior, a Own", Undrawn)


def test_every_model_registers_again():
    for cls in list(MODELS.values()):
        assert register(cls) is cls
        assert any(issubclass(cls, capability) for capability in Capability.__subclasses__())


@dataclass(frozen=True, kw_only=True)
class Plain(gs.models.BernoulliLogit):
    """A registered model's twin that nobody registered: capabilities are those it derives from."""

    name = "Plain"

    def predict(self, features, draws):
        return np.zeros(len(features))


def test_a_method_that_is_there_but_not_declared_is_not_used():
    plan = gs.plan(Plain(), gs.Budget(1.0, 1e-6), n=4, adjacency="replace-one")
    made = plan.release(np.array([0, 1, 1, 0]), generator=np.random.default_rng(0))
    with pytest.raises(gs.GibbsafeError, match="predict: not defined"):
        made.predict(np.zeros((2, 1)))


# -- unknown kinds are errors ------------------------------------------------------------------------------------------


class Stranger(gs.models.Model):
    """A model of no kind."""

    name = "Stranger"
    parameter_names = ("theta",)
    constants = encode = posterior = to_dict = _shape = None


@pytest.mark.parametrize(
    "rule",
    [
        default_radius,
        lambda model: grid_of(model, ()),
        lambda model: describe_prior(model, None),
        lambda model: declared_constants(model, None, None),
    ],
)
def test_a_model_of_no_kind_is_refused_by_every_rule(rule):
    with pytest.raises(gs.PremiseError, match=r"Stranger: .*of no kind"):
        rule(Stranger())


def test_a_family_that_does_not_state_its_lean_has_no_interval():
    """The ladder over families took 0 for one it did not know: an interval around the wrong point, silently."""

    @dataclass(frozen=True, kw_only=True)
    class Unstated(Family, IsLikelihood):
        name = "Unstated"
        inner = gs.models.BetaBernoulli(trim=(0.3, 0.9))
        parameter_names = ("probability",)
        metric, resolution, ends = inner.metric, inner.resolution, inner.ends
        constants, encode, posterior, to_dict = inner.constants, inner.encode, inner.posterior, inner.to_dict
        corners, from_columns, simulate = inner.corners, inner.from_columns, inner.simulate

        def _shape(self):
            return self.inner._shape()

    assert not issubclass(Unstated, StatesLean)
    plan = gs.plan(Unstated(), gs.Budget(5.0), n=500, adjacency="replace-one", draws=5)
    made = plan.release(np.arange(500) % 2, generator=np.random.default_rng(0))
    with pytest.raises(gs.PremiseError, match="Unstated: does not state how its posterior mean leans"):
        made.interval(0.9)
    twin = gs.plan(Unstated.inner, gs.Budget(5.0), n=500, adjacency="replace-one", draws=5)
    assert twin.release(np.arange(500) % 2, generator=np.random.default_rng(0)).interval(0.9).lower[0] > 0.3
