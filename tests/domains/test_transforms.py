"""Numbers made into several columns, dates, products: by what is declared alone, row by row, of norm at most 1 each."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

import gibbsafe as gs
from gibbsafe.domains import Column, Design
from gibbsafe.domains.interaction import read_interactions

AGE = Column("age", bounds=(0, 100))
SPLINE = Column("smooth", column="age", bounds=(0, 100), transform="spline", knots=(40, 60))
BINS = Column("band", column="age", bounds=(0, 100), transform="bins", edges=(18, 65))
WARD = Column("ward", kind="category", levels=("a", "b", "c"), other="c")
MONEY = Column("money", bounds=(-1e6, 1e6), transform="signed-log")
SINCE = Column("since", bounds=("2020-01-01", "2020-12-31"), origin="2020-01-01")
POLY = Column("curve", column="age", bounds=(0, 100), transform="poly", degree=2, nodes=(0, 20, 50, 90))
COLUMNS = (POLY, AGE, SPLINE, BINS, WARD, MONEY, SINCE)


def design(*interactions, columns=COLUMNS):
    return Design(columns, None, read_interactions(interactions, columns))


def table(rows, seed=0):
    random = np.random.default_rng(seed)
    days = np.datetime64("2019-12-01") + random.integers(0, 500, rows).astype("timedelta64[D]")
    return {
        "age": random.uniform(-20, 120, rows),
        "ward": random.choice(["a", "b", "z"], rows).tolist(),
        "money": random.normal(0, 1e6, rows),
        "since": pa.array(days),
    }


def by_gram_schmidt(age):
    """Polynomials orthogonal over POLY's nodes, longest 1 together on a fine grid: from powers, by an independent route."""
    nodes, grid = np.array(POLY.nodes), np.linspace(0, 100, 200_001)
    one = [points - nodes.mean() for points in (nodes, grid, age)]
    tilt = (nodes**2 @ one[0]) / (one[0] @ one[0])
    two = [points**2 - np.mean(nodes**2) - tilt * line for points, line in zip((nodes, grid, age), one, strict=True)]
    unit = [np.column_stack([a / np.linalg.norm(one[0]), b / np.linalg.norm(two[0])]) for a, b in zip(one, two, strict=True)]
    return unit[2] / np.linalg.norm(unit[1], axis=1).max() / (1 + 1e-9)


def test_the_encoding_is_a_hand_made_matrix_to_the_last_bit():
    both = design("age:ward", "smooth:ward", "age:money")
    raw = table(200)
    age = np.clip(raw["age"], 0, 100)
    clipped = np.clip(raw["money"], -1e6, 1e6)
    money = np.sign(clipped) * np.log1p(np.abs(clipped))
    knots = np.array([0.0] * 4 + [40, 60] + [100.0] * 4)
    smooth = BSpline.design_matrix(age, knots, 3).toarray()
    band = np.column_stack([age < 18, (age >= 18) & (age < 65), age >= 65]).astype(float)
    ward = np.column_stack([[w == "a" for w in raw["ward"]], [w == "b" for w in raw["ward"]], [w == "z" for w in raw["ward"]]])
    ward = ward.astype(float)
    days = (np.asarray(raw["since"]).astype("datetime64[D]") - np.datetime64("2020-01-01")).astype(float)
    days = np.clip(days, 0.0, 365.0)
    products = [age[:, None] * ward, np.hstack([smooth[:, [k]] * ward for k in range(6)]), (age * money)[:, None]]
    curve = by_gram_schmidt(age)
    assert np.allclose(both.read(raw)[:, :2], curve, rtol=1e-12, atol=1e-13)
    curve = both.read(raw)[:, :2]
    by_hand = np.column_stack([curve, age, smooth, band, ward, money, days, *products])
    assert (both.read(raw) == by_hand).all()
    top = np.log1p(1e6)
    scaled = [curve, (age - 50) * (2 / 100), smooth, band, ward, money * (2.0 / (2 * top)), (days - 182.5) * (2 / 365)]
    scaled += [products[0] * (1 / 100), products[1], products[2] * (1 / (100 * top))]
    assert (both.encode(both.read(raw)) == np.clip(np.column_stack(scaled), -1, 1)).all()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 1000), row=st.integers(0, 19), other=st.integers(1001, 2000))
def test_neighbouring_tables_encode_every_other_row_alike(seed, row, other):
    whole = design("age:ward", "smooth:ward", "ward:band", "curve:ward")
    raw, foreign = table(20, seed), table(20, other)
    neighbour = {
        name: pa.concat_arrays([values[:row], foreign[name][row : row + 1], values[row + 1 :]])
        if isinstance(values, pa.Array)
        else [*values[:row], foreign[name][row], *values[row + 1 :]]
        for name, values in raw.items()
    }
    same = (whole.encode(whole.read(raw)) == whole.encode(whole.read(neighbour))).all(axis=1)
    assert np.delete(same, row).all()


def test_every_term_has_norm_at_most_one_and_bounds_hold():
    whole = design("age:ward", "smooth:money", "age:money", "ward:band", "age:ward:money", "curve:money")
    encoded = whole.encode(whole.read(table(500)))
    low, high = whole.encoded_ends()
    assert (encoded >= low).all()
    assert (encoded <= high).all()
    ends = np.cumsum([term.width for term in whole._terms])
    for block in np.split(encoded, ends[:-1], axis=1):
        assert np.linalg.norm(block, axis=1).max() <= 1 + 1e-12
    for first, after in whole.groups():
        hot = encoded[:, first:after]
        assert ((hot == 1).sum(axis=1) == 1).all()
        assert ((hot == 0).sum(axis=1) == after - first - 1).all()


def test_names_say_what_a_column_is():
    assert design("age:ward").names[:13] == (
        *("curve~1", "curve~2", "age", "smooth~1", "smooth~2", "smooth~3", "smooth~4", "smooth~5", "smooth~6"),
        *("band=..18", "band=18..65", "band=65..", "ward=a"),
    )
    assert design("age:ward").names[-3:] == ("age:ward=a", "age:ward=b", "age:ward=c")


def test_entries_that_are_no_numbers_are_replaced_or_refused():
    with pytest.raises(gs.DomainError, match="declare missing"):
        BINS.design([np.nan, 3.0])
    model = gs.models.LogisticRegression(dimension=9, columns=(SPLINE, BINS), target="y")
    rows = model.encode_features({"age": [np.nan, 30.0]}, on_invalid="replace")
    assert np.isfinite(rows).all()
    filled = Column("band", bounds=(0, 100), transform="bins", edges=(18, 65), missing=20)
    assert filled.design([np.nan]).tolist() == [[0.0, 1.0, 0.0]]


def test_dates_of_every_kind_are_days():
    days = [datetime.date(2020, 1, 11), None, datetime.date(2020, 3, 1)]
    texts = ["2020-01-11", "", "2020-03-01"]
    column = Column("since", bounds=(0, 366), origin="2020-01-01", missing=5)
    for raw in (pa.array(days), pa.array(texts), texts, pa.array(days).cast(pa.timestamp("ns")), pa.chunked_array([texts])):
        assert column.values(raw).tolist() == [10.0, 5.0, 60.0]
    assert column.values(["nonsense"], "replace").tolist() == [5.0]
    assert SINCE.bounds == (0.0, 365.0)
    for wrong, message in ((["nonsense"], "no date"), ([3.0], "numbers where dates are declared")):
        with pytest.raises(gs.DomainError, match=message) as refusal:
            column.values(wrong)
        assert "nonsense" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transform": "spline", "knots": [40, 130]}, "knots = .*inside the bounds"),
        ({"transform": "spline"}, "knots = None: must be declared for spline"),
        ({"transform": "bins", "edges": [60, 40]}, "edges = .*increasing"),
        ({"transform": "bins", "edges": "x"}, "edges"),
        ({"transform": "bins", "edges": [0]}, "inside the bounds"),
        ({"transform": "poly", "nodes": [3, 5]}, "degree = None: must be a whole number from 1 to 1"),
        ({"transform": "poly", "degree": 2}, "nodes = None: must be declared for poly"),
        ({"transform": "poly", "nodes": [3, 101], "degree": 1}, "inside the bounds"),
        ({"degree": 2}, "left out without transform = 'poly'"),
        ({"edges": [3]}, "left out without transform = 'bins'"),
        ({"transform": "center"}, "one of log1p"),
        ({"origin": "2020-02-30"}, "a date like"),
        ({"charge": "mine"}, "as 'gibbsafe bounds' wrote it"),
        ({"column": 3}, "the name of a column"),
    ],
)
def test_wrong_declarations_are_one_line(options, message):
    with pytest.raises(gs.ParameterError, match=message):
        Column("age", bounds=(0, 100), **options)
    if "transform" in options:
        with pytest.raises(gs.ParameterError):
            Column("age", **options)


@pytest.mark.parametrize("texts", [["age:sex"], ["age"], ["age:age"], ["age:ward", "ward:age"], "age:ward", [3]])
def test_wrong_interactions_are_one_line(texts):
    with pytest.raises(gs.ParameterError, match="interactions"):
        read_interactions(texts, COLUMNS)


def test_files_keep_it_all():
    model = gs.models.LogisticRegression(
        dimension=design("age:ward").dimension, columns=COLUMNS, interactions=("age:ward",), target="y"
    )
    from gibbsafe.models import model_from_dict

    again = model_from_dict(model.to_dict())
    assert again == model
    assert again.domain.names == model.domain.names


def test_a_table_without_rows_is_encoded():
    whole = design("age:ward", "smooth:ward")
    none = {"age": [], "ward": [], "money": [], "since": pa.array([], pa.date32())}
    assert whole.encode(whole.read(none)).shape == (0, whole.dimension)
