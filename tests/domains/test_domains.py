"""Clipping and encoding of hostile values, and refusals that name them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gibbsafe as gs
from gibbsafe.domains.ball import Ball, clip_rows
from gibbsafe.domains.box import Box
from gibbsafe.domains.interval import Interval
from gibbsafe.domains.labels import Categories, Labels

wild = st.floats(allow_nan=False, allow_infinity=False)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=wild),
    st.floats(1e-3, 1e3),
    st.sampled_from(["float64", "float32"]),
)
def test_clipped_rows_stay_inside_whatever_they_were(rows, radius, storage):
    with np.errstate(over="ignore"):
        stored = np.clip(rows, -3e38, 3e38).astype(storage)
    before = stored.astype(np.float64)
    after = clip_rows(stored.copy(), radius).astype(np.float64)
    assert (np.linalg.norm(after, axis=1) <= radius).all()
    with np.errstate(over="ignore"):
        short = np.linalg.norm(before, axis=1) <= radius * (1 - 2**-20)
    np.testing.assert_array_equal(after[short], before[short])


@given(
    hnp.arrays(np.float64, (4, 3), elements=wild),
    st.floats(1e-3, 1e3),
    st.booleans(),
    st.sampled_from(["float64", "float32"]),
)
def test_scaled_rows_with_intercept_have_norm_at_most_one(rows, radius, intercept, storage):
    for model in (
        gs.models.LogisticRegression(dimension=3, radius=radius, intercept=intercept),
        gs.models.LogisticRegression(dimension=3, bounds=[(-1, 1), (0, 5), (-radius, 0)], row_norm=1.2, intercept=intercept),
    ):
        encoded = model.encode_features(rows, storage=storage).astype(np.float64)
        assert encoded.shape == (4, model.parameters)
        assert (np.linalg.norm(encoded, axis=1) <= 1).all()
        lipschitz = model.constants(np.ones(model.parameters), adjacency=gs.Adjacency.REPLACE_ONE, n=4, rows_per_person=1).gap(
            "add-remove"
        )
        assert lipschitz == pytest.approx(1.0)


def test_direction_is_kept_when_a_huge_row_is_clipped():
    encoded = gs.models.LogisticRegression(dimension=2, intercept=False).encode_features([[3e300, 4e300]])
    np.testing.assert_allclose(encoded, [[0.6, 0.8]], rtol=1e-5)


def test_box_centres_each_column_on_its_bounds():
    box = Box([(0, 10), (-1, 1)])
    np.testing.assert_allclose(box.encode(np.array([[7.5, 0.0], [-3.0, 9.0]])), [[0.5, 0.0], [-1.0, 1.0]])
    assert box.radius == math.sqrt(2)
    assert Box([(0, 10), (-1, 1)], row_norm=1.0).radius == 1.0
    assert Box([(0, 10)], row_norm=7.0).radius == 1.0


def test_labels_are_declared_and_matched_exactly():
    np.testing.assert_array_equal(Labels(0, 1).encode([1, 0, 1.0]), [1, -1, 1])
    np.testing.assert_array_equal(Labels("<=50K", ">50K").encode([">50K"]), [1])
    for values in ([2, 0], ["1", "0"], [math.nan], [None]):
        with pytest.raises(gs.DomainError, match="declared labels 0, 1"):
            Labels(0, 1).encode(values)
    np.testing.assert_array_equal(Labels(0, 1).encode([2, 1], on_invalid="replace"), [-1, 1])
    np.testing.assert_array_equal(Labels("no", "yes").decode(np.array([True, False])), ["yes", "no"])


def test_categories():
    assert Categories(("a", "b", "?"), other="?").encode(["z", "b"]).tolist() == [[0, 0, 1], [0, 1, 0]]
    with gs.showing_values(), pytest.raises(gs.DomainError, match=r"level is not declared.*row 1 is 'z'"):
        Categories(("a", "b")).encode(["a", "z"])
    with pytest.raises(gs.ParameterError, match="other"):
        Categories(("a",), other="b")


@pytest.mark.parametrize(
    "build",
    [
        lambda: Interval(1, 1),
        lambda: Interval(2, 1),
        lambda: Interval(0, math.inf),
        lambda: Interval(math.nan, 1),
        lambda: Interval(-1.7e308, 1.7e308),
        lambda: Ball(0),
        lambda: Ball(3, 0.0),
        lambda: Ball(3, math.inf),
        lambda: Box([]),
        lambda: Box([(0, 1), (1, 0)]),
        lambda: Box([(0, 1, 2)]),
        lambda: Box([(0, 1)], row_norm=-1.0),
        lambda: Labels(1, 1),
        lambda: Labels(math.nan, 1),
        lambda: Labels((1, 2), 1),
        lambda: Categories(()),
        lambda: Categories(("a", "a")),
    ],
)
def test_bad_domains(build):
    with pytest.raises(gs.ParameterError, match="must be"):
        build()
