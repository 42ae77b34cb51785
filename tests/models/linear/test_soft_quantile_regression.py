"""Soft quantile regression: the difference constant of whole rows, and quantiles that are quantiles."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.models import GaussianPrior

Soft = gs.models.SoftQuantileRegression
RELATION = gs.privacy.Adjacency


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.7, 0.95])
@pytest.mark.parametrize("radius", [0.2, 1.0, 4.0])
def test_the_difference_constant_in_original_units(quantile, radius):
    """max(2Mr, √(r² + 1)) for the column 1, and M√(r² + 1) for one record, under an isotropic prior in the user's units."""
    model, top = Soft(dimension=3, radius=radius, quantile=quantile, width=0.5), max(quantile, 1 - quantile)
    for adjacency, gap in (
        ("replace-one", max(2 * top * radius, math.hypot(radius, 1))),
        ("add-remove", top * math.hypot(radius, 1)),
    ):
        plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=100, adjacency=adjacency, prior=GaussianPrior(2.0), sampler="shell")
        assert plan.guarantee.mu == pytest.approx(plan.inverse_temperature * gap / math.sqrt(2.0), rel=1e-9)
    bare = Soft(dimension=3, radius=radius, quantile=quantile, intercept=False)
    plan = gs.plan(bare, gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one", prior=GaussianPrior(2.0), sampler="shell")
    assert plan.guarantee.mu == pytest.approx(plan.inverse_temperature * 2 * top * radius / math.sqrt(2.0), rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_price_covers_every_pair_of_slopes_under_any_prior(seed):
    """The true supremum, over a grid of slopes and the worst rows, against the declared blocks."""
    rng = np.random.default_rng(seed)
    quantile, radius = rng.uniform(0.05, 0.95), math.exp(rng.normal())
    model = Soft(dimension=2, radius=radius, quantile=quantile)
    s, t = np.meshgrid(*[np.linspace(-quantile, 1 - quantile, 201)] * 2)
    for m1, m2 in np.exp(rng.normal(0, 2, (20, 2))):
        blocks = model.constants(np.array([m1, m1, m2]), adjacency=RELATION.REPLACE_ONE, n=9, rows_per_person=1).gap_blocks(
            "replace-one"
        )
        true = ((np.abs(s) + np.abs(t)) ** 2 * radius**2 / m1 + (s - t) ** 2 / m2).max() * model.row_scale**2
        priced = blocks[0] ** 2 / m1 + blocks[1] ** 2 / m2
        assert true <= priced * (1 + 1e-12)
        if m2 == m1:
            assert true == pytest.approx(priced, rel=1e-9)


def test_a_response_change_alone_is_not_the_price():
    """The counterexample of theory §0: τ = 0.9, rows ±1, y = 50, β = m = 1: a price of G = 1 would be wrong."""
    relation = RELATION.REPLACE_ONE
    model = Soft(dimension=1, intercept=False, quantile=0.9)
    assert model.constants(np.ones(1), adjacency=relation, n=9, rows_per_person=1).gap(relation) == pytest.approx(1.8)


def test_half_of_the_responses_lie_below_the_median():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (20_000, 1))
    y = 3 * X[:, 0] + rng.standard_t(2, 20_000)
    for quantile in (0.5, 0.9):
        model = Soft(dimension=1, quantile=quantile, width=0.1)
        plan = gs.plan(model, gs.Budget(3.0, 1e-6), n=20_000, adjacency="replace-one", purpose="estimate")
        made = plan.release((X, y), generator=rng)
        assert (y < made.predict(X)).mean() == pytest.approx(quantile, abs=0.03)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"quantile": 0}, "quantile"),
        ({"quantile": 1.0}, "quantile"),
        ({"quantile": -0.5}, "quantile"),
        ({"quantile": float("nan")}, "quantile"),
        ({"width": 0}, "width"),
        ({"width": -1.0}, "width"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_bad_declarations(fields, words):
    with pytest.raises(gs.ParameterError, match=words):
        Soft(**{"dimension": 2, "quantile": 0.5} | fields)


def test_the_default_width_is_a_quarter_of_the_scale():
    assert Soft(dimension=2, scale=8.0).width == 2.0


def test_rounds_print_the_norm_that_was_proved():
    """Per block "1.27279, 0" would be false: the intercept's block reaches 0.7071."""
    plan = gs.plan(Soft(dimension=2, quantile=0.9), gs.Budget(1.0, 1e-6), n=50, adjacency="replace-one")
    assert plan.theorem.name == "proximal-last-iterate"
    said = [premise.statement for premise in plan.theorem.premises(plan.constants, plan.adjacency)]
    assert not any("per block" in sentence for sentence in said)
    assert any("has norm at most" in sentence for sentence in said)
