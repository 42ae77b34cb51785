"""Estimated plans: what they choose, what they refuse, and that they are taken for nothing else."""

import json
from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.contamination.epsilon import tuning
from gibbsafe.contamination.epsilon.tuning import TRIES
from gibbsafe.contamination.model.declare import model_from_table, table_of

C = gs.contamination


def test_a_plan_states_its_simulation_and_nothing_proved(plan, budget):
    assert plan.estimate.epsilon <= budget.epsilon
    assert plan.estimate.delta == budget.delta
    assert plan.estimate.confidence >= budget.confidence
    assert plan.estimate.failure_probability == pytest.approx(budget.failure)
    assert plan.rate == 0.4
    assert not plan.chosen
    assert "Random DP, not proved" in str(plan)
    assert not hasattr(plan, "guarantee")
    assert np.array_equal(plan.again(3), plan.values[:3])


def test_the_rate_is_chosen_and_then_estimated_on_data_sets_the_search_never_saw(model, budget, monkeypatch):
    monkeypatch.setattr(tuning, "QUICK", {"repeats": 3, "quantile": 0.5, "confidence": 0.6})
    free = replace(model, rate=None)
    plan = gs.plan(free, replace(budget, epsilon=1.5), n=120, truth=30.0, repeats=12)
    assert plan.chosen
    assert 0.01 <= plan.rate <= 0.9
    assert plan.seed in range(1, TRIES + 1)  # the search has seed 0
    assert plan.confidence == pytest.approx(1 - 0.3 / TRIES)
    assert plan.estimate.confidence >= plan.confidence
    assert plan.estimate.epsilon <= 1.5


def test_several_draws_are_priced_together(model, budget, plan):
    many = gs.plan(model, replace(budget, epsilon=9.0), n=120, truth=30.0, repeats=8, draws=3)
    assert many.estimate.epsilon > 2 * plan.estimate.epsilon  # each at a third of δ
    assert any("3 draws together" in note for note in many.estimate.notes)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 1}, gs.ParameterError, "n = 1"),
        ({"n": None}, gs.ParameterError, "n = None"),
        ({"method": "paper"}, gs.ParameterError, "method"),
        ({"method": "gaussian"}, gs.ParameterError, "method"),
        ({"repeats": 2}, gs.ParameterError, "too few"),
        ({"draws": 0}, gs.ParameterError, "draws"),
        ({"truth": [1.0, 2.0]}, gs.ParameterError, "truth"),
        ({"truth": "posterior"}, gs.ParameterError, "truth"),
        ({"adjacency": "none"}, gs.ParameterError, "adjacency"),
    ],
)
def test_bad_requests_are_refused_in_one_line(model, budget, options, error, message):
    with pytest.raises(error, match=message) as refusal:
        gs.plan(model, budget, **{"n": 120, "truth": 30.0, "repeats": 8, **options})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("field", [{"epsilon": 0.0}, {"delta": 0.0}, {"failure": 1.0}, {"confidence": 0.0}, {"delta": True}])
def test_bad_budgets_are_refused(field):
    with pytest.raises(gs.ParameterError, match=next(iter(field))):
        gs.EstimatedBudget(**{"epsilon": 1.0, "delta": 1e-4, **field})


def test_budgets_and_models_of_the_other_kind_are_refused(model, budget):
    with pytest.raises(gs.BudgetError, match="contaminate more"):
        gs.plan(model, replace(budget, epsilon=0.01), n=120, truth=30.0, repeats=8)
    with pytest.raises(gs.PremiseError, match="is none; use"):
        gs.plan(gs.models.BernoulliLogit(), budget, n=120)
    with pytest.raises(gs.ParameterError, match="EstimatedBudget"):
        gs.plan(model, gs.Budget(1.0, 1e-6), n=120, adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="follows the unknown truth"):
        gs.plan(replace(model, contamination=C.CentredAtTruth(C.StudentT(5.0))), budget, n=120)
    sensitive = C.estimate_epsilon(model, data=np.arange(20.0), repeats=4, quantile=0.5, confidence=0.7)
    with pytest.raises(gs.PremiseError, match="private records"):
        budget.claim(sensitive)


def test_an_estimate_is_never_composed_amplified_or_charged_as_a_guarantee(plan):
    with pytest.raises(gs.GibbsafeError):
        gs.privacy.compose([plan.estimate, gs.privacy.PureDP(0.1)])
    for use in (lambda e: e.compose(2), lambda e: e.group(2), lambda e: e.amplify(0.5)):
        with pytest.raises(gs.PremiseError, match="estimated"):
            use(plan.estimate)
    with pytest.raises((gs.GibbsafeError, AttributeError, TypeError)):
        gs.Budget(10.0, 0.5).admits(plan.estimate)


def changed(value):
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + type(value)(1)
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value[:-1], changed(value[-1])] if value else ["x"]
    if isinstance(value, dict):
        return {**value, next(iter(value)): changed(next(iter(value.values())))}
    return 1


def test_a_plan_round_trips_and_what_was_altered_is_refused(plan):
    content = json.loads(plan.to_json())
    again = C.plan_from_dict(content)
    assert again.to_dict() == plan.to_dict()
    for field in set(content) - {"seed", "truth", "budget"}:  # another simulation, which `verify` runs again; a larger budget
        with pytest.raises(gs.CertificateError):
            C.plan_from_dict({**content, field: changed(content[field])})
    for field, value in (("epsilon", 0.1), ("delta", 1e-4), ("failure", 0.1), ("confidence", 0.99)):
        with pytest.raises(gs.CertificateError):
            C.plan_from_dict({**content, "budget": {**content["budget"], field: value}})
    for field in content:
        with pytest.raises(gs.CertificateError):
            C.plan_from_dict({name: value for name, value in content.items() if name != field})
    for odd in (None, [], {"format": "gibbsafe/plan/1"}):
        with pytest.raises(gs.CertificateError):
            C.plan_from_dict(odd)


@pytest.mark.parametrize(
    "model",
    [
        C.ContaminatedNormalMean(scale=2.0, space=(-50.0, 50.0), truncated=True, rate=0.2),
        C.ContaminatedLinearRegression(columns=3, scale=None),
        C.ContaminatedLogisticRegression(columns=2, contaminated=False),
        C.ContaminatedCauchyRegression(columns=2, contamination=None),
        C.ContaminatedCauchyRegression(columns=2, rate=0.1),
        C.ContaminatedQuantileRegression(columns=2, tau=0.3),
    ],
    ids=lambda model: model.name,
)
def test_models_are_declared_as_tables_and_back(model):
    again, options = model_from_table(json.loads(json.dumps(table_of(model))))
    assert table_of(again) == table_of(model)
    assert again.contamination == model.contamination
    assert options == {}
