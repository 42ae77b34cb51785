"""Paths of noisy scores: shares never exceed the budget, whatever is answered, and the answers give the path again."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.posteriors.stage import ScoreRule
from gibbsafe.samplers.noisy_scores import Answers, replay
from gibbsafe.samplers.score_path import MOST_SCORES, ScorePath
from gibbsafe.theorems.noisy_scores import REACH

RULE = ScoreRule(clip=None, rows=100, ridge=1.0, slope=0.25, scores=10, moment=0.08, facts=0.02, point=0.2, preconditioned=False)


def walk(path, answer):
    """Ask until the end; return the path."""
    while (asked := path.ask()) is not None:
        path.answer(answer(*asked))
    return path


@settings(max_examples=40)
@given(
    scores=st.integers(1, 60),
    moment=st.floats(0, 0.4),
    facts=st.floats(0, 0.1),
    point=st.floats(0, 0.49),
    size=st.sampled_from([0.0, 1.0, 1e3, 1e12, 1e300]),
    seed=st.integers(0, 10**6),
)
def test_shares_add_up_to_at_most_one_whatever_is_answered(scores, moment, facts, point, size, seed):
    rng = np.random.default_rng(seed)
    rule = ScoreRule(None, 100, 1.0, 0.25, scores, moment, facts, point, False)
    with np.errstate(over="ignore", invalid="ignore"):
        path = walk(ScorePath(rule, 3), lambda *_: size * rng.standard_normal(3))
    assert math.fsum([*path.shares, moment, facts, point]) <= 1
    assert math.fsum([*path.shares, moment, facts, point]) >= 1 - 1e-9 or not path.shares
    assert min(path.shares) >= 0
    assert scores <= len(path.shares) <= MOST_SCORES


def test_points_stay_within_reach():
    """The bound on rounding holds for points of this norm."""
    path = walk(ScorePath(RULE, 2), lambda *_: np.full(2, -1e30))
    assert max(np.linalg.norm(point) for point in path.points) <= REACH * (1 + 1e-12)


def test_a_quadratic_is_minimised():
    """Answers without noise: the mean of the points comes close to the minimiser of a well-conditioned quadratic."""
    truth = np.array([0.7, -0.3])
    rule = ScoreRule(None, 100, 1.0, 0.25, 60, 0.0, 0.0, 0.0, False)
    path = walk(ScorePath(rule, 2), lambda point, _: 25 * (point - truth))
    np.testing.assert_allclose(path.point, truth, atol=0.02)


def test_far_fits_make_the_path_longer_while_budget_is_left():
    far = walk(ScorePath(RULE, 2), lambda point, _: 25 * (point - 1000.0))
    near = walk(ScorePath(RULE, 2), lambda point, _: 25 * (point - 0.1))
    assert len(near.scores) == 10
    assert len(far.scores) > 50


@pytest.mark.parametrize("moment", [None, np.diag([50.0, 20.0, 1.0])])
def test_answers_give_the_path_again(moment):
    rng = np.random.default_rng(1)
    rule = ScoreRule(None, 100, 1.0, 0.25, 20, 0.1, 0.05, 0.15, moment is not None)
    path = walk(ScorePath(rule, 3, moment, 2.0), lambda point, _: 25 * (point - 3) + rng.standard_normal(3))
    again = replay(rule, LogisticLoss(), Answers(np.array(path.scores), moment), 2.0)
    np.testing.assert_array_equal(again.points, path.points)
    assert again.shares == path.shares
    for other in (path.scores[:-1], [*path.scores, path.scores[0]]):
        with pytest.raises(gs.PremiseError, match="scores than the rule asks"):
            replay(rule, LogisticLoss(), Answers(np.array(other), moment), 2.0)
