"""Ordinal regression: declared levels and thresholds, units, both adjacencies, intervals that cover.

Coverage: five parameters of a release count as about three independent ones; of 12 such at a true coverage of 0.9, fewer than
0.55 are covered with probability 5e-4.
"""

import numpy as np
import pytest
from scipy.special import expit

import gibbsafe as gs

LEVELS = ("bad", "fair", "good", "fine")
MODEL = gs.models.OrdinalRegression(
    dimension=2, bounds=((0, 2), (-1, 1)), levels=LEVELS, feature_names=("a", "b"), target="grade"
)
TRUTH = np.array([1.5, -0.5, 0.4, 1.8, 3.1])
N = 3000


def records(seed, n=N):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 2, n), rng.uniform(-1, 1, n)])
    return X, np.array(LEVELS)[np.digitize(X @ TRUTH[:2] + rng.logistic(size=n), TRUTH[2:])]


def estimate(seed=0, epsilon=2.0, adjacency="replace-one", model=MODEL):
    plan = gs.plan(model, gs.Budget(epsilon, 1e-6), n=N, adjacency=adjacency, purpose="estimate")
    return plan.release(records(seed), generator=np.random.default_rng(seed), progress=False)


def test_probabilities_are_differences_of_cumulative_ones():
    X = records(1, 20)[0]
    above = expit((X @ TRUTH[:2])[:, None] - TRUTH[2:])
    by_hand = -np.diff(np.column_stack([np.ones(20), above, np.zeros(20)]), axis=1)
    np.testing.assert_allclose(MODEL.predict_proba(X, TRUTH[None]), by_hand, atol=1e-12)
    assert (MODEL.predict(X, TRUTH[None]) == np.array(LEVELS)[by_hand.argmax(axis=1)]).all()
    np.testing.assert_allclose(MODEL.to_original(MODEL.from_original(TRUTH[None]))[0], TRUTH)
    assert (MODEL.units.reach(TRUTH[None]) >= np.abs(MODEL.from_original(TRUTH[None])) - 1e-12).all()
    assert MODEL.parameter_names == ("a", "b", "bad|fair", "fair|good", "good|fine")


def test_the_guess_is_where_scaled_parameters_are_0():
    np.testing.assert_allclose(MODEL.to_original(np.zeros((1, 5)))[0, 2:], MODEL.thresholds)
    np.testing.assert_allclose(MODEL.predict_proba([[1.0, 0.0]], MODEL.to_original(np.zeros((1, 5))))[0], 0.25)


def test_intervals_cover():
    held = [estimate(seed, 1.0).population(192).interval(0.9).covers(TRUTH) for seed in range(4)]
    assert np.mean(held) >= 0.55


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_estimates_come_near_and_are_verified(adjacency, tmp_path):
    made = estimate(adjacency=adjacency)
    assert np.abs(made.draws[0] - TRUTH).max() < 0.5
    made.save(tmp_path / "r.json")
    gs.verify(tmp_path / "r.json")
    found = made.predict_proba([[1.0, 0.0]], interval=0.9)
    assert ((found.lower <= found.probability) & (found.probability <= found.upper)).all()


def test_noise_that_puts_thresholds_out_of_order_leaves_probabilities():
    made = estimate(epsilon=0.01)
    chances = made.predict_proba(records(3, 50)[0])
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    jumbled = np.array([[1.0, 1.0, 3.0, -1.0, 0.0]])
    assert (MODEL.predict_proba(records(3, 50)[0], jumbled) >= 0).all()


def test_rows_per_person():
    plan = gs.plan(MODEL, gs.Budget(2.0, 1e-6), n=1000, adjacency="add-remove", purpose="estimate", rows_per_person=3)
    made = plan.release(records(2), persons=np.arange(N) // 3, generator=np.random.default_rng(3), progress=False)
    assert np.isfinite(made.draws).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"levels": ("a", "b")}, "at least three; use LogisticRegression"),
        ({"levels": ("a", "b", "a")}, "different states"),
        ({"thresholds": (1.0, 0.0)}, "thresholds = .*in increasing order"),
        ({"thresholds": (0.0, 0.0)}, "thresholds = .*in increasing order"),
        ({"thresholds": (0.0,)}, "2 numbers, one between each two levels"),
        ({"thresholds": (0.0, 30.0)}, "between -20 and 20"),
        ({"thresholds": (0.0, float("nan"))}, "thresholds = nan"),
        ({"gap": 3.0}, "gap = 3.*to the least distance of the thresholds"),
        ({"gap": 0.001}, "gap = 0.001.*from 0.05"),
        ({"intercept": False}, "thresholds stand in its place"),
    ],
)
def test_bad_declarations_are_refused_in_one_line(options, words):
    with pytest.raises(gs.ParameterError, match=words) as refusal:
        gs.models.OrdinalRegression(dimension=1, **({"levels": ("a", "b", "c")} | options))
    assert "\n" not in str(refusal.value)


def test_an_undeclared_level_is_refused():
    X, y = records(5)
    y[7] = "best"
    plan = gs.plan(MODEL, gs.Budget(1.0, 1e-6), n=N, adjacency="replace-one", purpose="estimate")
    with pytest.raises(gs.DomainError, match="grade: a record is not a declared class") as refusal:
        plan.release((X, y))
    assert "best" not in str(refusal.value)
