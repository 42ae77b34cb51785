"""Kinds of tables: whatever holds the columns, the rows are the same."""

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.data.sources import as_table

STUDY = {
    "n": 60,
    "adjacency": "replace-one",
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "model": {"name": "LogisticRegression"},
    "columns": {"age": {"bounds": [0, 100]}, "ward": {"levels": ["a", "b"]}},
    "target": {"name": "died", "labels": ["no", "yes"]},
}
COLUMNS = {"age": list(range(60)), "ward": ["a", "b", "b"] * 20, "died": ["no", "yes"] * 30}


def draws_of(table):
    study = gs.Study.from_dict(STUDY)
    return study.release(table, generator=np.random.default_rng(0), progress=False).draws


@pytest.fixture(scope="module")
def expected():
    return draws_of(pa.table(COLUMNS))


def test_a_dict_of_columns(expected):
    assert (draws_of(COLUMNS) == expected).all()
    arrays = {name: np.array(values) for name, values in COLUMNS.items()}
    assert (draws_of(arrays) == expected).all()


def test_columns_of_different_lengths_are_one_line():
    with pytest.raises(gs.DomainError, match="not columns of one length by name"):
        as_table({"age": [1, 2], "ward": ["a"]})


def test_polars(expected):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(COLUMNS)
    categorical = frame.with_columns(polars.col("ward").cast(polars.Categorical), polars.col("died").cast(polars.Categorical))
    enum = frame.with_columns(polars.col("ward").cast(polars.Enum(["b", "a"])))
    for table in (frame, categorical, enum, frame.lazy(), enum.lazy()):
        assert (draws_of(table) == expected).all()


def test_duckdb(expected):
    duckdb = pytest.importorskip("duckdb")
    known = pa.table(COLUMNS)
    assert (draws_of(duckdb.from_arrow(known)) == expected).all()


def test_weights_are_refused_with_the_remedy():
    plan = gs.Study.from_dict(STUDY).plan()
    with pytest.raises(gs.ParameterError, match=r"weights.*repeat rows"):
        plan.release(COLUMNS, weights=np.ones(60))
