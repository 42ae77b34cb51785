"""Declared columns: what becomes of values inside and outside the domain, and that rows stay inside their radius."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.domains.column import Column
from gibbsafe.domains.encoding import Design

AGE = Column("age", bounds=(17, 90), scale="unit")
GAIN = Column("gain", bounds=(0, 99999), transform="log1p")
WARD = Column("ward", kind="category", levels=("a", "b", "?"), other="?", missing="b")


def test_numbers_are_clipped_then_transformed():
    np.testing.assert_allclose(GAIN.values([-5, 0, 99999, 1e300]), [0, 0, np.log(1e5), np.log(1e5)])
    assert np.isnan(GAIN.values([None], "replace")).all()
    assert np.isinf(GAIN.values([np.inf], "replace")).all()
    for outside in (None, np.inf):
        with pytest.raises(gs.DomainError, match=r"^column 'gain': .*declare missing = .* in the study"):
            GAIN.values([1.0, outside])
    np.testing.assert_allclose(Column("x", bounds=(0, 9), missing=3).values(pa.array([None, 1.0])), [3, 1])


@pytest.mark.parametrize("form", [list, np.array, pa.array, lambda v: pa.chunked_array([v[:2], v[2:]])])
def test_levels_known_unknown_and_missing(form):
    values = ["a", "zz", "b", "?", "a"]
    assert WARD.codes(form(values)).tolist() == [0, 2, 1, 2, 0]
    assert WARD.codes(pa.array(["a", None, ""])).tolist() == [0, 1, 1]
    dictionary = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["x", "b"]).dictionary_encode()])
    assert WARD.codes(dictionary).tolist() == [1, 0, 2, 1]


def test_undeclared_and_missing_levels_are_refused_without_a_fallback():
    strict = Column("ward", kind="category", levels=("a", "b"))
    with pytest.raises(gs.DomainError, match="no declared level") as refusal:
        strict.codes(["a", "c"])
    assert "'c'" not in str(refusal.value)
    with gs.showing_values(), pytest.raises(gs.DomainError, match="row 1 is 'c'"):
        strict.codes(["a", "c"])
    with gs.showing_values(), pytest.raises(gs.DomainError, match="row 0 is missing"):
        strict.codes([None])
    assert strict.codes(["a", "c"], on_invalid="replace").tolist() == [0, 0]
    empty = Column("ward", kind="category", levels=("", "b"))
    assert empty.codes(["", "b"]).tolist() == [0, 1]


@pytest.mark.parametrize(("levels", "values"), [((1, 2), [2.0, 1.0]), ((True, False), [False, True]), ((0.5, 1.5), [1.5, 0.5])])
def test_levels_need_not_be_texts(levels, values):
    assert Column("x", kind="category", levels=levels).codes(values).tolist() == [1, 0]


def test_adult_encoding_of_the_benchmarks():
    """Numbers to [0, 1], categories one-hot, rows clipped to √7.5: written out by hand."""
    design = Design((AGE, Column("gain", bounds=(0, 99999), transform="log1p", scale="unit"), WARD), np.sqrt(7.5))
    rows = design.encode(design.read({"age": [39, 17], "gain": [2174, 0], "ward": ["a", "x"]}))
    by_hand = [[22 / 73, np.log1p(2174) / np.log(1e5), 1, 0, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_allclose(rows, by_hand, rtol=1e-14)
    assert design.radius == np.sqrt(3)  # three columns: no row is longer


def test_centred_columns_are_those_of_a_box():
    columns = (Column("a", bounds=(0, 10)), Column("b", bounds=(-1, 1)))
    box = gs.domains.Box([(0, 10), (-1, 1)], 1.2)
    design = Design(columns, 1.2)
    matrix = np.random.default_rng(0).uniform(-3, 13, (50, 2))
    np.testing.assert_allclose(design.encode(matrix), box.encode(matrix), atol=1e-15)
    for name in ("offset", "scale", "radius", "dimension"):
        np.testing.assert_allclose(getattr(design, name), getattr(box, name))


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(numbers, numbers, st.sampled_from("ab?z")), min_size=1, max_size=20), st.floats(0.1, 3))
def test_rows_stay_inside_the_radius_whatever_they_were(rows, norm):
    model = gs.models.LogisticRegression.from_columns(
        (AGE, GAIN, WARD), Column("y", kind="label", levels=(0, 1)), {"row_norm": norm}
    )
    table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(("age", "gain", "ward"))})
    encoded = model.encode_features(table)
    assert (np.linalg.norm(encoded, axis=1) <= 1).all()


@given(st.lists(st.floats(-50, 50), min_size=6, max_size=6))
def test_draws_in_the_tables_units_predict_as_scaled_ones(parameters):
    """Coefficients per unit of each (transformed) column, undone exactly: rows inside every bound give the same predictor."""
    model = gs.models.LogisticRegression.from_columns((AGE, GAIN, WARD), Column("y", kind="label", levels=(0, 1)), {})
    scaled = np.array([parameters])
    original = model.to_original(scaled)
    np.testing.assert_allclose(model.from_original(original), scaled, atol=1e-9)
    table = {"age": [20.0, 80.0], "gain": [5.0, 70000.0], "ward": ["a", "?"]}
    by_hand = np.array([[20, np.log1p(5), 1, 0, 0, 1], [80, np.log1p(70000), 0, 0, 1, 1]]) @ original[0]
    np.testing.assert_allclose(model.encode_features(table) @ scaled[0], by_hand, rtol=1e-5, atol=1e-6)


def test_round_trips_and_unknown_keys():
    for column in (AGE, GAIN, WARD):
        assert Column.from_dict(column.to_dict()) == column
    with pytest.raises(gs.ParameterError, match="did you mean bounds"):
        Column.from_dict({"name": "x", "bound": [0, 1]})


def test_a_plan_with_columns_round_trips():
    model = gs.models.LogisticRegression.from_columns(
        (AGE, WARD), Column("y", kind="label", levels=("n", "p")), {"row_norm": 1.2}
    )
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=5, adjacency="replace-one")
    assert gs.Plan.from_json(plan.to_json()) == plan
    with pytest.raises(gs.ParameterError, match="left out"):
        gs.models.LogisticRegression(dimension=2, columns=(AGE, GAIN), radius=1.0)
    with pytest.raises(gs.ParameterError, match="dimension"):
        gs.models.LogisticRegression(dimension=3, columns=(AGE, GAIN))
