"""What every registered model must do: round-trip, release what is inside its domain, refuse the rest, keep its budget exactly.

Kolmogorov–Smirnov statistics are compared with the quantile of false-alarm rate 1e-4 per test: about 25 of them make 0.25 % over
this file, and the seeds are fixed.
"""

import json
import math

import numpy as np
import pytest
from scipy.stats import kstwobign

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.models import MODELS, model_from_dict
from gibbsafe.models.capabilities import BoundedScores, IsLikelihood
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.population.gibbs import declares_likelihood

from ..examples import ADD, EXAMPLES, GIBBS, REPLACE, assemble, example_of, labels_alone, measured, records, vectors
from .plans import (
    ONE_PARAMETER,
    TWO_PARAMETERS,
    axes_for,
    density_on,
    draw,
    features_of,
    hockey_stick,
    neighbours,
    planned,
    planned_exactly,
    posterior_of,
)

BOTH = (REPLACE, ADD)
WITHOUT_N = [name for name in GIBBS if ADD in EXAMPLES[name].adjacencies]
CRITICAL = float(kstwobign.isf(1e-4))


def test_the_data_noise_of_every_model_is_known():
    for model in MODELS.values():
        assert issubclass(model, IsLikelihood | BoundedScores), f"{model.name} says nothing of its records' noise"


def test_simulating_records_does_not_make_a_loss_a_likelihood():
    """Overriding `simulate` shortened the intervals of a mere loss; the declaration alone decides."""

    class Simulating(gs.models.SoftHinge):
        def simulate(self, draw, rows, generator, features=None):
            return np.ones(rows)

    assert not declares_likelihood(Simulating(dimension=2))
    assert declares_likelihood(gs.models.LogisticRegression(dimension=2))
    assert not declares_likelihood(gs.models.WelschLocation(bounds=(0.0, 1.0)))


def test_every_model_has_an_example_and_is_public():
    assert set(MODELS) == set(EXAMPLES), "a model that is registered has an entry in tests/examples.py"
    assert set(MODELS) <= set(gs.models.__all__)
    for name, example in EXAMPLES.items():
        assert (example.link is None) != (example.draw is None), f"{name}: records come from a link or from a draw"
        assert {model.name for model in example.small.values()} == {name}


@pytest.mark.parametrize("model", [example.model for example in EXAMPLES.values()], ids=EXAMPLES)
def test_declarations_round_trip_through_json(model):
    again = model_from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert again.to_dict() == model.to_dict()
    with pytest.raises(TypeError):
        model_from_dict(model.to_dict() | {"unknown": 1})


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", GIBBS)
def test_plan_release_verify(name, adjacency, tmp_path):
    model = GIBBS[name]
    if adjacency not in EXAMPLES[name].adjacencies:
        with pytest.raises(gs.PremiseError, match="use replace-one"):
            planned(model, adjacency)
        return
    plan = planned(model, adjacency, draws=2)
    assert gs.Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee.delta(1.0) <= 1e-6
    assert plan.guarantee.epsilon(1e-6) > 0.99
    made = plan.release(records(model, 40), generator=np.random.default_rng(1))
    assert made.draws.shape == (2, model.parameters)
    path = tmp_path / "release.json"
    made.save(path)
    assert gs.verify(path) == made.certificate
    np.testing.assert_array_equal(gs.Release.load(path).draws, made.draws)
    for text in (str(plan), str(made.certificate), made.summary()):
        assert model.parameter_names[0] in text or model.name in text or "claim" in text
    gs.verify(plan.release(records(model, 40), generator=np.random.default_rng(1), storage="float32"))
    narrow, whole = (model.encode(records(model, 40), EncodingOptions(storage=kept)).rows for kept in ("float32", "float64"))
    np.testing.assert_allclose(narrow, whole, rtol=1e-6, atol=1e-7)  # the same rows, one decision of a sampler may differ


@pytest.mark.parametrize("name", WITHOUT_N)
@pytest.mark.parametrize("adjacency", BOTH)
def test_people_with_several_rows_pay_for_them(name, adjacency):
    model = GIBBS[name]
    one, three = planned_exactly(model, adjacency), planned_exactly(model, adjacency, rows_per_person=3)
    same = planned_exactly(model, adjacency, rows_per_person=3, prior=gs.models.GaussianPrior(1.0))
    assert three.inverse_temperature < one.inverse_temperature
    assert same.guarantee.mu == pytest.approx(one.guarantee.mu, rel=1e-9)
    few = planned(model, adjacency, n=8, rows_per_person=3)
    made = few.release(records(model, 40), persons=np.arange(40) // 5, generator=np.random.default_rng(1))
    assert made.certificate["unit"] == "one person with at most 3 records"


# -- rule 1: what lies inside the domain is released ------------------------------------------------------------------

INSIDE = {
    "one row": (1, lambda X, y: (X, y)),
    "constant columns": (20, lambda X, y: (np.ones_like(X), y)),
    "all rows zero": (20, lambda X, y: (np.zeros_like(X), y)),
    "rows of 1e300": (20, lambda X, y: (X * 1e300, y)),
    "all responses equal": (20, lambda X, y: (X, np.ones_like(y))),
    "responses of 1e300": (20, lambda X, y: (X, y * 1e300)),
    "one response of -1e300": (20, lambda X, y: (X, np.where(np.arange(len(y)) == 7, -1e300, y))),
    "perfect fit": (20, lambda X, y: (X, X[:, 0])),
}


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("name", GIBBS)
def test_hostile_records_inside_the_domain_are_released(name, inside):
    model = GIBBS[name]
    n, change = INSIDE[inside]
    rng = np.random.default_rng(2)
    features = rng.uniform(-1, 1, (n, getattr(model, "dimension", 1)))
    data = assemble(model, *change(features, rng.normal(size=n)))
    made = planned(model, n=n).release(data, generator=np.random.default_rng(3))
    assert np.isfinite(made.draws).all()
    gs.verify(made)


@pytest.mark.parametrize(
    "name", [name for name, model in GIBBS.items() if EXAMPLES[name].link is measured and "langevin" in model.samplers]
)
@pytest.mark.parametrize("options", [{"sampler": "langevin"}, {"purpose": "estimate"}], ids=str)
def test_huge_responses_by_the_other_routes(name, options):
    model = GIBBS[name]
    features, response = records(model, 500)
    response[:9] *= 1e300
    made = planned(model, n=500, **options).release((features, response), generator=np.random.default_rng(3))
    assert np.isfinite(made.draws).all()


@pytest.mark.parametrize("name", WITHOUT_N)
def test_add_remove_releases_any_number_of_rows(name):
    model = GIBBS[name]
    for n in (0, 1, 5):
        data = records(model, max(n, 1))
        data = (data[0][:n], data[1][:n]) if isinstance(data, tuple) else data[:n]
        made = planned(model, "add-remove").release(data, generator=np.random.default_rng(3))
        assert np.isfinite(made.draws).all()


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", GIBBS)
def test_values_outside_the_domain_are_refused_or_replaced(name, bad):
    model = GIBBS[name]
    plan, data = planned(model), records(model, 40)
    if EXAMPLES[name].link is not labels_alone:
        features = features_of(model, data).copy()
        features[7, 0] = bad
        spoilt = (features, data[1]) if isinstance(data, tuple) else features
        with pytest.raises(gs.DomainError, match="row 7, column 0"):
            plan.release(spoilt, show_values=True)
        assert np.isfinite(plan.release(spoilt, on_invalid="replace", generator=np.random.default_rng(1)).draws).all()
    if EXAMPLES[name].link is not vectors:
        response = np.array(data[1] if isinstance(data, tuple) else data, dtype=object)
        response[8] = bad
        spoilt = (data[0], response) if isinstance(data, tuple) else response
        with pytest.raises(gs.DomainError, match="row 8"):
            plan.release(spoilt, show_values=True)
        assert np.isfinite(plan.release(spoilt, on_invalid="replace", generator=np.random.default_rng(1)).draws).all()


@pytest.mark.parametrize("name", GIBBS)
def test_wrong_forms_are_refused(name):
    model = GIBBS[name]
    plan, data = planned(model), records(model, 40)
    fewer = tuple(part[:-1] for part in data) if isinstance(data, tuple) else data[:-1]
    with pytest.raises(gs.DomainError, match="not the n = 40 records"):
        plan.release(fewer)
    for wrong in (None, (data, data, data), "records", np.zeros((40, 7))):
        with pytest.raises(gs.DomainError):
            plan.release(wrong)
    with pytest.raises(gs.DomainError):
        plan.release((features_of(model, data), np.array(["x"] * 40)))


# -- units ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [m for m in GIBBS.values() if isinstance(m, LinearModel) and m.loss.predictors == 1], ids=lambda m: m.name
)
def test_the_predictor_is_the_same_in_both_units(model):
    rng = np.random.default_rng(5)
    features = rng.uniform(0.3, 0.6, (5, model.dimension))
    scaled = rng.normal(size=(3, model.parameters))
    original = model.to_original(scaled)
    constant = original[:, -1] if model.intercept else 0.0
    by_original = features @ original[:, : model.dimension].T + constant
    by_scaled = model.encode_features(features) @ scaled.T + getattr(model, "response_centre", 0.0)
    np.testing.assert_allclose(by_original, by_scaled, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.from_original(original), scaled, rtol=1e-9, atol=1e-9)
    found, expected = model.predict(features, original), example_of(model).predicts(model, by_original)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    else:
        assert (found == expected).all()
    precision = np.linspace(1.0, 2.0, model.parameters)
    np.testing.assert_allclose(model.units.precision_from_original(model.units.precision_to_original(precision)), precision)


@pytest.mark.parametrize("name", [name for name in GIBBS if EXAMPLES[name].recovers is not None])
def test_a_loose_budget_recovers_the_line(name):
    """ε = 1000 on 1,200 rows: coefficients in the user's units within a tenth of the truth."""
    rng = np.random.default_rng(6)
    features = rng.uniform(0, 1, (1200, 2))
    response = 2 + features @ [3.0, -1.0] + 0.1 * rng.normal(size=1200)
    made = planned_exactly(GIBBS[name], n=1200, budget=gs.Budget(1000.0, 1e-3)).release(
        (features, response), generator=np.random.default_rng(7)
    )
    np.testing.assert_allclose(made.draws[0], [3.0, -1.0, 2.0 + 0.1 * EXAMPLES[name].recovers], atol=0.3)
    np.testing.assert_allclose(made.predict(features), response, atol=0.7)


# -- declared constants, attacked ---------------------------------------------------------------------------------------


def attack(model, seed):
    """Return encoded corner records, and the gradients of their losses at hostile parameters: (parameters, records, width)."""
    rng = np.random.default_rng(seed)
    d, far = getattr(model, "dimension", 1), 1e9
    corners = np.vstack(
        [far * np.eye(d), -far * np.eye(d), np.zeros((1, d)), rng.normal(size=(6, d)), far * rng.normal(size=(8, d))]
    )
    if d > 1:  # pairs of nearly equal rows, between which a far parameter tells
        angle = rng.uniform(0, 2 * math.pi, 6)[:, None] + np.array([-1e-3, 1e-3])
        corners = np.vstack([corners, far * np.column_stack([np.cos(angle.ravel()), np.sin(angle.ravel())])])
    features = np.repeat(corners, 3, axis=0)
    data = assemble(model, features, np.tile([1e6, -1e6, 0.1], len(corners)))
    blocks = model.encode(data, EncodingOptions())
    directions = rng.normal(size=(300, model.parameters))
    if (
        isinstance(model, LinearModel) and model.row_width == model.parameters and d > 1
    ):  # perpendicular to a row, intercept included: the sign of xᵀθ changes beside it
        chosen = model.encode_features(features)[rng.integers(len(features), size=150)]
        chosen /= np.maximum(np.linalg.norm(chosen, axis=1, keepdims=True), 1e-9)
        directions[150:] -= np.einsum("ij,ij->i", directions[150:], chosen)[:, None] * chosen
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.tile([1e-3, 1.0, 30.0, 1e6, 1e9], 60)[:, None] if model.ball is None else model.ball
    thetas = directions * lengths
    if model.loss.predictors > 1:  # record by record
        each = [model.loss.gradients(blocks.rows[[k]], thetas, blocks.targets[[k]]) for k in range(len(blocks.rows))]
        return np.stack(each, axis=1)
    slopes = model.loss.slope(blocks.rows @ thetas.T, blocks.targets)
    return slopes.T[:, :, None] * blocks.rows


LIPSCHITZ = {name: model for name, model in (GIBBS | ONE_PARAMETER).items() if example_of(model).lipschitz_share is not None}


@pytest.mark.parametrize("name", LIPSCHITZ)
def test_gradients_never_exceed_the_declared_constants(name):
    model = LIPSCHITZ[name]
    rng = np.random.default_rng(8)
    gradients = attack(model, 9)
    differences = gradients[:, :, None, :] - gradients[:, None, :, :]
    p = model.parameters
    precisions = [np.ones(p)] if model.ball else [np.ones(p), *np.exp(rng.normal(0, 2, (6, p)))]
    for precision in precisions:
        for adjacency, changes in (("add-remove", gradients), ("replace-one", differences)):
            constants = model.constants(precision, adjacency=gs.privacy.Adjacency(adjacency), n=10, rows_per_person=1)
            gaps, blocks = constants.gap_blocks(gs.privacy.Adjacency(adjacency)), np.atleast_1d(constants.prior_precision)
            allowed = math.sqrt(sum(gap**2 / m for gap, m in zip(gaps, blocks, strict=True)))
            largest = math.sqrt(float((np.square(changes) @ (1 / precision)).max()))
            assert largest <= allowed * (1 + 1e-12)
            if precision is precisions[0] and name in GIBBS:
                assert largest >= EXAMPLES[name].lipschitz_share * allowed, adjacency
            assert constants.gap(gs.privacy.Adjacency(adjacency)) >= float(np.linalg.norm(changes, axis=-1).max()) * (1 - 1e-12)


def test_replacement_never_costs_less_than_removal():
    """Otherwise people with different numbers of rows would not be covered."""
    for model in LIPSCHITZ.values():
        ones = np.ones(model.parameters)
        both = [
            model.constants(ones, adjacency=relation, n=10, rows_per_person=1).gap(relation)
            for relation in (gs.privacy.Adjacency.REPLACE_ONE, gs.privacy.Adjacency.ADD_REMOVE)
        ]
        assert both[1] <= both[0] <= 2 * both[1] * (1 + 1e-12)


# -- soundness through the plan itself -----------------------------------------------------------------------------------


def worst_ratio(model, adjacency, points, budgets):
    """Largest δ(ε)/δ of exact posteriors of hostile neighbours under the plan, both directions."""
    worst = 0.0
    for epsilon, delta in budgets:
        plans = {n: planned_exactly(model, adjacency, n=n, budget=gs.Budget(epsilon, delta)) for n in (1, 20)}
        for first, second in neighbours(model, adjacency):
            plan = plans[len(first[1] if isinstance(first, tuple) else first)]
            posteriors = [posterior_of(plan, data) for data in (first, second)]
            axes = axes_for(plan, posteriors, points)
            p, q = (density_on(axes, posterior) for posterior in posteriors)
            worst = max(worst, hockey_stick(p, q, epsilon) / delta, hockey_stick(q, p, epsilon) / delta)
    return worst


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", ONE_PARAMETER)
def test_exact_neighbours_never_exceed_the_budget_in_one_dimension(name, adjacency):
    example = example_of(ONE_PARAMETER[name])
    if adjacency not in example.adjacencies:
        return
    worst = worst_ratio(ONE_PARAMETER[name], adjacency, 4001, [(0.1, 1e-3), (1.0, 1e-2), (1.0, 1e-5)])
    assert worst <= 1 + 1e-3
    assert worst > example.spent


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", TWO_PARAMETERS)
def test_exact_neighbours_never_exceed_the_budget_in_two_dimensions(name, adjacency):
    if adjacency not in example_of(TWO_PARAMETERS[name]).adjacencies:
        return
    worst = worst_ratio(TWO_PARAMETERS[name], adjacency, 201, [(1.0, 1e-2)])
    assert worst <= 1 + 2e-3


# -- draws against quadrature ---------------------------------------------------------------------------------------------


def ks(draws, axis, masses):
    """Kolmogorov–Smirnov statistic of draws against masses of cells around the points of an axis."""
    edges = np.append(axis - 0.5 * (axis[1] - axis[0]), axis[-1] + 0.5 * (axis[1] - axis[0]))
    exact = np.interp(np.sort(draws), edges, np.concatenate([[0], np.cumsum(masses)]))
    steps = np.arange(len(draws) + 1) / len(draws)
    return math.sqrt(len(draws)) * max((exact - steps[:-1]).max(), (steps[1:] - exact).max())


@pytest.mark.parametrize("n", [3, 80])
@pytest.mark.parametrize("name", ONE_PARAMETER)
def test_draws_follow_the_posterior_in_one_dimension(name, n):
    model = ONE_PARAMETER[name]
    plan, data = planned(model, n=n, budget=gs.Budget(20.0, 1e-3)), records(model, n, 21)
    draws = draw(plan, data, 8000, 22)[:, 0]
    axis = np.linspace(draws.min() - 6 * draws.std(), draws.max() + 6 * draws.std(), 40_001)
    assert ks(draws, axis, density_on([axis], posterior_of(plan, data))) < CRITICAL


@pytest.mark.parametrize("name", TWO_PARAMETERS)
def test_draws_follow_the_posterior_in_two_dimensions(name):
    model = TWO_PARAMETERS[name]
    plan, data = planned_exactly(model, n=40, budget=gs.Budget(20.0, 1e-3)), records(model, 40, 23)
    assert plan.sampler == ("closed-form" if "closed-form" in model.samplers else "shell")
    draws = draw(plan, data, 8000, 24)
    spread = draws.std(axis=0)
    axes = [np.linspace(c - 7 * s, c + 7 * s, 401) for c, s in zip(draws.mean(axis=0), spread, strict=True)]
    table = density_on(axes, posterior_of(plan, data)).reshape(401, 401)
    for k in range(2):
        assert ks(draws[:, k], axes[k], table.sum(axis=1 - k)) < CRITICAL


@pytest.mark.parametrize("model", GIBBS.values(), ids=GIBBS)
def test_without_a_public_n_no_constant_depends_on_it(model):
    precision = np.ones(model.parameters)
    try:
        declared = [
            model.constants(precision, adjacency=gs.privacy.Adjacency.ADD_REMOVE, n=n, rows_per_person=1) for n in (None, 3, 500)
        ]
    except gs.PremiseError:
        return  # such a model needs a public n, and says so
    assert declared[0] == declared[1] == declared[2]
