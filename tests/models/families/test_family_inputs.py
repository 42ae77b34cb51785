"""What families refuse: declarations that cannot be priced, and records that are not declared. Nothing is released then."""

import math

import numpy as np
import pytest

import gibbsafe as gs

from ...examples import EXAMPLES, FAMILIES, RAIN, RATES, records
from ..plans import planned

M = gs.models
NETWORK = {"states": {"a": 2, "b": 2, "c": 3}, "smallest_probability": 0.1}


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: M.ExponentialRate(bound=1.0), "trim"),
        (lambda: M.ExponentialRate(trim=None, bound=1.0), "a pair"),
        (lambda: M.ExponentialRate(trim=(2.0, 0.2), bound=1.0), "a < b"),
        (lambda: M.ExponentialRate(trim=(-1.0, 0.2), bound=1.0), "a < b"),
        (lambda: M.LaplaceScale(trim=(0.0, 1.0), bound=1.0), "strictly above 0"),
        (lambda: M.NormalPrecision(trim=(1.0, math.inf), bound=1.0), "finite"),
        (lambda: M.NormalPrecision(trim=(1.0, 2.0), bound=0.0), "bound"),
        (lambda: M.NormalPrecision(trim=(1.0, 2.0), bound=1.0, location=math.nan), "location"),
        (lambda: M.ExponentialRate(trim=(1.0, 2.0), bound=1.0, shape=0.0), "shape"),
        (lambda: M.BetaBernoulli(trim=(0.9, 0.3)), "a < b"),
        (lambda: M.BetaBernoulli(trim=(0.1, 1.2)), "a < b"),
        (lambda: M.MultivariateNormalPrecision(dimension=4, bound=1.0, trim=(1, 2)), "declare 'diagonal'"),
        (lambda: M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0, 2)), "strictly above 0"),
        (lambda: M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(1, 2), mean=(1.0,)), "2 numbers"),
        (lambda: M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(1, 2), degrees_of_freedom=2), "at least 3"),
        (lambda: M.Categorical(states=3, smallest_probability=1 / 3), "below 1/3"),
        (lambda: M.Categorical(states=3, smallest_probability=0.0), "above 0"),
        (lambda: M.Categorical(states=("a", "a"), smallest_probability=0.1), "different states"),
        (lambda: M.Categorical(states=1, smallest_probability=0.1), "2 or above"),
        (lambda: M.Categorical(states="abc", smallest_probability=0.1), "list"),
        (lambda: M.Categorical(states=3, smallest_probability=0.1, concentration=-1.0), "concentration"),
        (lambda: M.BayesianNetwork(**NETWORK, parents={"a": ["b"], "b": ["c"], "c": ["a"]}), "free of cycles"),
        (lambda: M.BayesianNetwork(**NETWORK, parents={"a": ["a"]}), "free of cycles"),
        (lambda: M.BayesianNetwork(**NETWORK, parents={"a": ["d"]}), "a declared node"),
        (lambda: M.BayesianNetwork(**NETWORK, parents={"d": ["a"]}), "declared nodes"),
        (lambda: M.BayesianNetwork(**NETWORK, parents={"a": ["b", "b"]}), "named once"),
        (lambda: M.BayesianNetwork(**NETWORK, parents={"a": "b"}), "a list of nodes"),
        (lambda: M.BayesianNetwork(states=[("a", 2), ("a", 3)], smallest_probability=0.1), "declared once"),
        (lambda: M.BayesianNetwork(states={}, smallest_probability=0.1), "1 to 10,000 nodes"),
        (lambda: M.BayesianNetwork(states={"a": 2, "b": 10}, smallest_probability=0.1), "below 1/10"),
        (lambda: M.BayesianNetwork(states={"a": 2, "b": 2}, smallest_probability={"a": 0.1}), "one number per node"),
        (
            lambda: M.BayesianNetwork(
                states={f"x{k}": 100 for k in range(6)}, parents={"x0": [f"x{k}" for k in range(1, 6)]}, smallest_probability=1e-4
            ),
            "declare fewer parents",
        ),
        (lambda: FAMILIES["BayesianNetwork"].cell_guarantee("snow"), "one of rain, wet, slip"),
        (lambda: M.MarkovChain(states=2, length=0, smallest_probability=0.1), "1 or above"),
        (lambda: M.MarkovChain(states=2, length=3, smallest_probability=0.5), "below 1/2"),
        (lambda: M.MarkovChain(states=2, length=3, smallest_probability=0.1, time_names=("a", "b")), "3 different names"),
        (lambda: M.FiniteFamily.bernoulli(0.3), "whole number"),
        (lambda: M.FiniteFamily.bernoulli(0.5), "whole number"),
        (lambda: M.FiniteFamily(points=(1, 1), likelihood=((0.5, 0.5), (0.2, 0.8))), "different numbers"),
        (lambda: M.FiniteFamily(points=(1, 2), likelihood=((0.5, 0.5),)), "2 rows"),
        (lambda: M.FiniteFamily(points=(1, 2), likelihood=((0.5, 0.5), (0.0, 1.0))), "above 0"),
        (lambda: M.FiniteFamily(points=(1, 2), likelihood=((0.5, 0.5), (0.3, 0.8))), "add up to 1"),
        (lambda: M.FiniteFamily(points=(1, 2), likelihood=((0.5, 0.5), (0.3, 0.7)), prior=(1.0,)), "2 weights"),
        (lambda: planned(M.FiniteFamily(points=(1, 2), likelihood=((0.5, 0.5), (0.5, 0.5)))), "nothing to learn"),
        (lambda: M.Categorical.trimmed_for(gs.Budget(1e-300), states=3), "plan a tempered one"),
    ],
)
def test_declarations_that_are_refused(declare, message):
    with pytest.raises((gs.GibbsafeError, TypeError), match=message):
        declare()


REFUSED = [(name, *case) for name in FAMILIES for case in EXAMPLES[name].refused]


def test_every_family_refuses_something():
    assert {name for name, *_ in REFUSED} == set(FAMILIES)


@pytest.mark.parametrize(("name", "bad", "message"), REFUSED)
def test_records_outside_the_support_are_refused_or_replaced(name, bad, message):
    plan, data = planned(FAMILIES[name]), records(FAMILIES[name], 40)
    spoilt = data.astype(float) if isinstance(bad, float) else data.astype(object)
    spoilt[(7, 0) if spoilt.ndim == 2 else 7] = bad
    with pytest.raises(gs.DomainError, match=message):
        plan.release(spoilt, show_values=True)
    with pytest.raises(gs.DomainError) as refusal:
        plan.release(spoilt)
    assert "row" not in str(refusal.value)
    assert repr(bad) not in str(refusal.value)
    made = plan.release(spoilt, on_invalid="replace", generator=np.random.default_rng(1))
    assert np.isfinite(made.draws).all()


def test_counts_and_codes_must_be_whole():
    binomial = M.BetaBernoulli(trim=(0.2, 0.8), trials=5)
    with pytest.raises(gs.DomainError, match=r"not a whole number from 0 to 5.*row 1 is 2.5"):
        planned(binomial, n=2).release(np.array([1.0, 2.5]), show_values=True)
    with pytest.raises(gs.DomainError, match=r"not a declared state.*row 1 is 1.5"):
        planned(M.Categorical(states=3, smallest_probability=0.1), n=2).release(np.array([1.0, 1.5]), show_values=True)


@pytest.mark.parametrize("name", FAMILIES)
def test_wrong_forms_are_refused(name):
    plan, data = planned(FAMILIES[name]), records(FAMILIES[name], 40)
    with pytest.raises(gs.DomainError, match="not the n = 40 records"):
        plan.release(data[:-1])
    for wrong in (None, (data, data, data), "records", np.zeros((40, 7)), np.zeros((40, 2, 2))):
        with pytest.raises(gs.DomainError):
            plan.release(wrong)


@pytest.mark.parametrize("name", RATES)
def test_records_beyond_the_bound_are_clipped(name):
    model = FAMILIES[name]
    plan = planned(model, n=3)
    beyond, at = (np.array([0.0, 0.1, end]) for end in (1e300, model.bound))
    draws = [plan.release(data, generator=np.random.default_rng(2)).draws for data in (beyond, at)]
    np.testing.assert_array_equal(*draws)


def test_a_parent_may_be_declared_after_its_child():
    late = M.BayesianNetwork(states={"wet": 2, "rain": 2}, parents={"wet": ["rain"]}, smallest_probability=0.1)
    assert late.order == ("rain", "wet")
    assert late.children("rain") == ("wet",)
    assert M.BayesianNetwork(**RAIN, smallest_probability=0.1).connectivity == (3, 2, 1)
