"""Attacks on transcripts of noisy scores: close to the claim, never above it, and above it where a constant is wrong."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.audit.transcripts import PARTS, claim_of, concentrated, flattened, transcripts_of

from .broken_transcripts import ADAPTIVE, BROKEN, DATA, MODEL, NEIGHBOUR, WORST, alone, attack, plan_of

#: How much of the claim every attack must show.
REACHED = 0.7


@pytest.mark.parametrize("part", PARTS)
def test_an_attack_on_each_part_comes_close_to_its_claim_and_not_above(part):
    """False alarm 1 %: the seed is fixed; more runs come closer."""
    plan = concentrated(plan_of(), part)
    claim = claim_of(plan, part).mu
    assert REACHED * claim <= attack(plan, WORST[part], part=part) <= claim


def test_a_whole_transcript_comes_close_to_its_claim():
    """A flipped response leaves the second moment's share alone."""
    plan = alone(plan_of(), scores=5)
    assert REACHED * plan.guarantee.mu <= attack(plan) <= plan.guarantee.mu


def test_shares_that_follow_answers_are_covered():
    """Large steps: how long the path becomes, and so the shares, differ from run to run."""
    plan = alone(plan_of(), **ADAPTIVE)
    paths = transcripts_of(plan, DATA, 60, np.random.default_rng(1))
    assert len({int(np.isfinite(path).sum()) for path in paths}) > 5
    assert REACHED * plan.guarantee.mu <= attack(plan) <= plan.guarantee.mu


def test_under_add_remove_as_well():
    plan = alone(plan_of(adjacency="add-remove"), scores=3)
    removed = DATA[0][1:], DATA[1][1:]
    assert REACHED * plan.guarantee.mu <= attack(plan, (DATA, removed)) <= plan.guarantee.mu


@pytest.mark.parametrize("broken", BROKEN, ids=lambda function: function.__name__)
def test_a_planted_bug_is_caught(broken, monkeypatch):
    assert broken(monkeypatch)


def test_parts_share_the_claim():
    plan = plan_of()
    assert math.hypot(*(claim_of(plan, part).mu for part in PARTS)) == pytest.approx(plan.guarantee.mu)
    assert claim_of(concentrated(plan, "moment"), "moment").mu == pytest.approx(plan.guarantee.mu * math.sqrt(0.98))


def test_a_row_holds_the_whole_transcript():
    release = plan_of().release(DATA, generator=np.random.default_rng(0), progress=False)
    row = flattened(release.answers)
    whole = [getattr(release.answers, name) for name in ("scores", "moment", "facts", "last", "asked")]
    assert np.array_equal(row[np.isfinite(row)], np.concatenate([np.ravel(each) for each in whole]))


def test_a_whole_audit_runs():
    plan = plan_of(gs.models.BernoulliLogit(), gs.Budget(8.0, 1e-6), n=50)
    found = gs.audit.audit_plan(plan, draws=60, effort=20, progress=False)
    assert not found.refuted
    assert found.neighbours.curve is None
    with pytest.raises(gs.PremiseError, match="noisy scores"):
        gs.audit.exact_curve(plan, found.neighbours.data, found.neighbours.neighbour)
    assert math.isfinite(found.bound.mu)


def test_parts_are_named():
    with pytest.raises(gs.GibbsafeError, match="part"):
        concentrated(gs.plan(MODEL, gs.Budget(1.0, 1e-6), n=16, adjacency="replace-one"), "curve")
    assert NEIGHBOUR is WORST["path"][1]
