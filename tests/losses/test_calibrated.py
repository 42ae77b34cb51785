"""The calibrated score: the logistic model's own parameter, bounded by 1, for every clip."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.losses import kernels
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.losses.logistic import LogisticLoss

CLIPS = (0.5, 0.500001, 0.62, 0.9, 0.999999, 1.0)
MARGINS = np.concatenate([np.linspace(-40, 40, 8001), [-1e300, -800.0, 800.0, 1e300]])


def by_definition(u, clip):
    """The slope over C as its three pieces say, one number at a time."""
    edge = math.inf if clip == 1 else math.log(clip / (1 - clip))
    if u <= -edge:
        return -1.0
    if u >= edge:
        return -math.exp(-u)
    return -math.exp(-u) / (1 + math.exp(-u)) / clip if u > 0 else -1 / (1 + math.exp(u)) / clip


@pytest.mark.parametrize("clip", CLIPS)
def test_it_is_what_its_definition_says(clip):
    found = CalibratedScore(clip).slope(MARGINS.copy())
    expected = [by_definition(u, clip) for u in MARGINS]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("clip", CLIPS)
def test_its_minimiser_is_the_logistic_models_parameter(clip):
    """p ψ(u) = (1 − p) ψ(−u) at p = σ(u): the expected score vanishes at the true margin, whatever it is."""
    u = np.linspace(-30, 30, 3001)
    p = 1 / (1 + np.exp(-u))
    score = CalibratedScore(clip)
    np.testing.assert_allclose(p * score.slope(u.copy()), (1 - p) * score.slope(-u), atol=1e-15)


@pytest.mark.parametrize("clip", CLIPS)
def test_it_is_bounded_convex_and_as_smooth_as_it_says(clip):
    score = CalibratedScore(clip)
    slopes = score.slope(np.sort(MARGINS))
    assert slopes.min() >= -1
    assert slopes.max() <= 0
    assert (np.diff(slopes) >= -1e-15).all()
    u = np.linspace(-20, 20, 400_001)
    steepest = np.max(np.diff(score.slope(u.copy())) / np.diff(u))
    assert 0.99 * score.smoothness <= steepest <= score.smoothness * (1 + 1e-6)


def test_with_clip_one_it_is_the_logistic_loss():
    np.testing.assert_array_equal(CalibratedScore(1.0).slope(MARGINS.copy()), LogisticLoss().slope(MARGINS))
    np.testing.assert_array_equal(CalibratedScore(1.0).weights(np.eye(3)), np.ones(3))


@given(st.floats(0.5, 1.0), st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_no_row_of_norm_one_adds_more_than_one(clip, entries):
    row = np.array([entries]) / max(1.0, math.hypot(*entries) * (1 + 1e-15))
    weight = float(CalibratedScore(clip).weights(row)[0])
    assert weight * math.hypot(*row[0]) <= 1 + 1e-15 * (clip == 1)
    assert math.isfinite(weight)
    assert CalibratedScore(clip).weights(np.zeros((1, 2)))[0] == (1.0 if clip == 1 else 0.0)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("compiled", [True, False])
def test_sums_count_no_row_more_than_its_bound_however_small_it_is(clip, compiled, monkeypatch):
    """Squares of rows near 1e-162 lose their digits: once such a row added up to 1.2."""
    if not compiled:
        monkeypatch.setattr(kernels, "_COMPILED", False)
    rng, score = np.random.default_rng(0), CalibratedScore(clip)
    rows = rng.standard_normal((400, 3)) * 10.0 ** -np.linspace(0, 170, 400)[:, None]
    rows[:200, 1:] = 0  # one coordinate alone
    rows /= np.maximum(1, [math.hypot(*row) * (1 + 1e-15) for row in rows])[:, None]
    for point in (np.full(3, -900.0), rng.standard_normal(3)):
        weights = score.weights(rows)
        terms = np.array([score.gradient(row[None], point, weight[None]) for row, weight in zip(rows, weights, strict=True)])
        assert max(math.hypot(*term) for term in terms) <= 1
        counts = rng.integers(1, 5, 400).astype(float)
        np.testing.assert_allclose(score.gradient(rows, point, weights), terms.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(score.gradient(rows, point, weights * counts), counts @ terms, atol=1e-12)
        expected = [by_definition(u, clip) for u in rows @ point] * weights
        np.testing.assert_allclose(terms, expected[:, None] * rows, atol=1e-12)


@pytest.mark.parametrize("clip", [0.4, 1.1, math.nan])
def test_other_clips_are_refused(clip):
    with pytest.raises(gs.ParameterError, match="clip"):
        CalibratedScore(clip)
