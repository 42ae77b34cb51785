"""Rows are counted and persons capped in one place, and n counts persons where the unit of privacy is a person."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.data.blocks import Blocks
from gibbsafe.data.census import Census, PersonCap, Unit, array_rows
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.stream import count_rows, encode_records
from gibbsafe.models.location.bernoulli_logit import BernoulliLogit
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import get

BUDGET = gs.Budget(1.0, 1e-6)


def planned(n=10, cap=3, adjacency="replace-one", model=None, **options):
    return gs.plan(model or BernoulliLogit(), BUDGET, n=n, adjacency=adjacency, rows_per_person=cap, **options)


def as_table(outcomes, persons):
    return pa.table({"y": outcomes, "who": persons})


@pytest.mark.parametrize("rows_of_one", [1, 2, 3, 7])
@pytest.mark.parametrize("form", ["arrays", "table", "stream"])
def test_replacing_a_person_by_one_with_more_rows_is_no_refusal(rows_of_one, form):
    """Ten persons with one row each, n = 10; one of them is replaced by a person with several rows: a neighbour."""
    outcomes = np.ones(9 + rows_of_one, dtype=int)
    persons = np.concatenate([np.zeros(rows_of_one, dtype=int), np.arange(1, 10)])
    data, who = (outcomes, persons) if form == "arrays" else (as_table(outcomes, persons), "who")
    if form == "stream":
        data = pa.Table.from_batches(data.to_batches(max_chunksize=2))
    assert planned().release(data, persons=who, generator=np.random.default_rng(1)).draws.shape == (1, 1)
    with pytest.raises(gs.DomainError, match="not the n = 11 persons") as refusal:
        planned(11).release(data, persons=who)
    assert "10" not in str(refusal.value)


@dataclass(frozen=True, kw_only=True)
class ForgetsTheCap(BernoulliLogit):
    """A model whose author never heard of persons."""

    name = "ForgetsTheCap"

    def encode(self, data, options):
        column = data["y"].to_numpy() if hasattr(data, "column_names") else np.asarray(data)
        return Blocks(np.where(column == 1, 1.0, -1.0)[:, None])


def test_a_model_cannot_forget_the_cap():
    """The first three rows of each person count, whatever the model does; before, thirty of one person's did."""
    outcomes, persons = np.r_[np.ones(30, dtype=int), np.zeros(9, dtype=int)], np.r_[np.zeros(30, int), np.arange(1, 10)]
    draws = []
    for data, who in ((outcomes, persons), (as_table(outcomes, persons), "who"), (outcomes[27:], persons[27:])):
        made = planned(model=ForgetsTheCap()).release(data, persons=who, generator=np.random.default_rng(2))
        draws.append(made.draws)
    np.testing.assert_array_equal(draws[0], draws[2])
    np.testing.assert_array_equal(draws[1], draws[2])


@dataclass(frozen=True, kw_only=True)
class RepeatsRows(BernoulliLogit):
    """A model that makes two rows of each record: nobody could say whose they are."""

    name = "RepeatsRows"

    def encode(self, data, options):
        whole = super().encode(data, options)
        return Blocks(np.repeat(whole.rows, 2, axis=0))


def test_a_model_must_give_one_row_per_record():
    with pytest.raises(gs.GibbsafeError, match="one row per record"):
        planned(model=RepeatsRows(), cap=1).release(np.ones(10, dtype=int))


@pytest.mark.parametrize("missing", [None, math.nan, "", np.datetime64("NaT"), b""])
def test_rows_without_an_identifier_are_refused_or_left_out(missing):
    persons = np.array(["a", missing, "a", "b"], dtype=object)
    with pytest.raises(gs.DomainError, match="no identifier") as refusal:
        PersonCap(2).keep(persons)
    assert "1" not in str(refusal.value)
    cap = PersonCap(2, on_invalid="replace")
    assert cap.keep(persons).tolist() == [True, False, True, True]
    assert cap.persons == 2


def test_one_person_has_one_name_from_piece_to_piece():
    cap = PersonCap(1)
    kept = [cap.keep(np.array(piece, dtype=kind)) for piece, kind in (([1, 2], int), ([1.0, 3.0], float), ([1, "1"], object))]
    assert [each.tolist() for each in kept] == [[True, True], [False, True], [False, True]]


def test_under_add_remove_nothing_is_compared():
    plan = planned(None, adjacency="add-remove")
    for rows in (0, 1, 7):
        made = plan.release(np.ones(rows, dtype=int), persons=np.arange(rows) // 2, generator=np.random.default_rng(1))
        assert made.certificate["n"] is None


# -- what n persons mean for constants ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [1, 3])
def test_langevin_is_priced_for_the_smoothest_and_the_steepest_table(cap):
    """Strong convexity of n rows at least, smoothness of n·k at most: stated by hand."""
    model = gs.models.LogisticRegression(dimension=2, radius=1.0)
    constants = model.constants(np.ones(3), adjacency=Adjacency.REPLACE_ONE, n=10, rows_per_person=cap)
    assert constants.row_bounds(Adjacency.REPLACE_ONE) == (10, 10 * cap)
    theorem, beta = get("langevin-last-iterate"), 0.5
    step, m, big = theorem._geometry(replace(constants, steps=5), beta, Adjacency.REPLACE_ONE)
    assert (m, big) == (1.0, pytest.approx(10 * cap * beta * 0.25 + 1))
    assert step <= 2 / (m + big)
    plan = planned(10, cap, model=model, sampler="langevin")
    stage = plan.stages[0]
    assert stage.step * (10 * cap * stage.inverse_temperature * 0.25 + max(stage.prior_precision)) < 2


@pytest.mark.parametrize(
    "model",
    [
        gs.models.LogisticRegression(dimension=2, radius=1.0),
        gs.models.LogisticRegression(dimension=1, radius=2.0, intercept=False),
        gs.models.SoftHinge(dimension=2, radius=0.2),
        gs.models.PseudoHuberRegression(dimension=2, radius=1.0),
        gs.models.LinearRegression(dimension=2, radius=1.0, response_bounds=(-1, 1)),
        gs.models.LinearRegression(dimension=1, radius=1.0, response_bounds=(-1, 1), intercept=False, parameter_radius=0.1),
        *(
            gs.models.SoftQuantileRegression(dimension=2, radius=r, quantile=q)
            for r in (0.1, 0.6, 1, 5)
            for q in (0.02, 0.5, 0.9)
        ),
        BernoulliLogit(),
    ],
    ids=lambda model: model.name,
)
@pytest.mark.parametrize("precisions", [(1.0, 1.0), (1.0, 9.0), (9.0, 1.0)])
def test_a_row_that_has_no_partner_costs_no_more_than_a_pair(model, precisions):
    """A person replaced by one with fewer rows: k times the difference covers it if a single row's gradient is below it."""
    weights = np.r_[np.full(max(model.parameters - 1, 1), precisions[0]), [precisions[1]] * (model.parameters > 1)]
    constants = model.constants(weights, adjacency=Adjacency.REPLACE_ONE, n=5, rows_per_person=3)
    blocks = np.atleast_1d(constants.prior_precision)
    pair, alone = (np.array(constants.gap_blocks(kind)) for kind in (Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE))
    for weight in (blocks, np.ones(len(blocks))):
        assert (alone**2 / weight).sum() <= (pair**2 / weight).sum() * (1 + 1e-12)


# -- counting without reading ------------------------------------------------------------------------------------------------


def test_rows_are_counted_by_form():
    assert array_rows([np.zeros((4, 2)), np.zeros(4)]) == 4
    assert array_rows([[[0.0, 1.0]] * 3, [0, 1, 1]]) == 3
    assert array_rows(([[0.0], [1.0]], [0, 1])) == 2
    assert array_rows([[0.0, 1.0], [2.0, 3.0]]) == 2
    assert array_rows([[0.0, 1.0], [2.0]]) == 2
    assert array_rows(({"age": [1, 2, 3]}, [0, 1, 0])) == 3
    with pytest.raises(gs.DomainError, match="arrays"):
        array_rows(5)
    table = pa.table({"a": [1, 2, 3]})
    assert count_rows(table) == 3
    assert count_rows(table.to_pandas()) == 3
    assert count_rows(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())) is None


def test_the_census_counts_what_it_admits():
    block = Blocks(np.zeros((3, 1)))
    census = Census(Unit(1, 6))
    census.admit(block, 3, None)
    with pytest.raises(gs.DomainError, match="not the n = 6 records"):
        census.close()
    census.admit(block, 3, None)
    census.close()
    with pytest.raises(gs.DomainError, match="not one identifier per row"):
        Census(Unit(2)).admit(block, 3, np.array(["a"]))
    with pytest.raises(gs.DomainError, match="identifier per row"):
        encode_records(BernoulliLogit(), np.ones(3, int), EncodingOptions(), unit=Unit(2))


def test_whole_numbers_beyond_the_doubles_are_numbers():
    """A value inside the domain is released: a long identifier-like number is clipped, not refused."""
    model = gs.models.LogisticRegression(dimension=1, bounds=((0, 1),), feature_names=("a",))
    plan = gs.plan(model, BUDGET, n=2, adjacency="replace-one")
    assert plan.release(pa.table({"a": [2**60 + 1, 0], "y": [0, 1]})).draws.shape == (1, 2)
