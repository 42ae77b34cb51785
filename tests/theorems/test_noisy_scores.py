"""Noisy scores: the price by an independent route, rounding against exact sums, and that it is reached."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.data.blocks import Blocks
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.posteriors.stage import ScoreRule
from gibbsafe.samplers.noisy_scores import Records
from gibbsafe.theorems import Constants, get
from gibbsafe.theorems.noisy_scores import BLOCK_ROWS, MOST_ROWS, moment_gap, rounding, score_gap

THEOREM = get("noisy-scores")
BOTH = ("replace-one", "add-remove")


def constants(lipschitz=1.0, rows=1000, dimension=5, **more):
    return Constants(
        lipschitz=lipschitz,
        n=rows,
        dimension=dimension,
        smoothness=0.25 * lipschitz if isinstance(lipschitz, float) else 0.25,
        **more,
    )


@pytest.mark.parametrize(("adjacency", "factor", "of_moment"), [("replace-one", 2.0, math.sqrt(2)), ("add-remove", 1.0, 1.0)])
@given(
    lipschitz=st.floats(1e-3, 1e3),
    beta=st.floats(1e-9, 1e3),
    rows=st.integers(1, 10**7),
    dimension=st.integers(1, 1000),
)
def test_the_price_is_never_below_and_close_above(adjacency, factor, of_moment, lipschitz, beta, rows, dimension):
    told = constants(lipschitz, rows, dimension)
    mu = THEOREM.guarantee(told, inverse_temperature=beta, adjacency=adjacency).mu
    exact = Fraction(factor) * Fraction(lipschitz)
    assert Fraction(mu) ** 2 >= exact**2 * Fraction(beta)
    assert mu <= factor * lipschitz * math.sqrt(beta) * 1.03
    assert moment_gap(told, gs.Adjacency.of(adjacency)) >= of_moment * lipschitz


@pytest.mark.parametrize("adjacency", BOTH)
def test_blocks_of_lipschitz_constants_count_together(adjacency):
    together = score_gap(constants((0.6, 0.8)), gs.Adjacency.of(adjacency))
    assert together == pytest.approx(score_gap(constants(1.0), gs.Adjacency.of(adjacency)), rel=1e-12)
    assert together >= (2.0 if adjacency == "replace-one" else 1.0)


@pytest.mark.parametrize("adjacency", BOTH)
def test_rows_of_a_person_count_each(adjacency):
    model = gs.models.LogisticRegression(dimension=2)
    asked = {"n": 500, "adjacency": adjacency, "purpose": "estimate", "mechanism": "noisy-scores"}
    plans = [gs.plan(model, gs.Budget(1.0, 1e-6), rows_per_person=k, **asked) for k in (1, 3)]
    prices = [plan.inverse_temperature for plan in plans]
    assert prices[0] / prices[1] == pytest.approx(9, rel=1e-3)


def test_calibration_spends_the_budget_and_never_more():
    for adjacency in BOTH:
        for epsilon in (0.01, 1.0, 10.0):
            budget = gs.Budget(epsilon, 1e-6)
            beta = THEOREM.calibrate(constants(), budget, adjacency=adjacency)
            assert budget.admits(THEOREM.guarantee(constants(), inverse_temperature=beta, adjacency=adjacency))
            assert not budget.admits(THEOREM.guarantee(constants(), inverse_temperature=beta * (1 + 1e-9), adjacency=adjacency))


@pytest.mark.parametrize("dimension", [1, 7])
def test_rounding_of_sums_is_within_its_bound(dimension):
    """Sums of terms of every size and sign against exact ones, in orders that round badly."""
    rng = np.random.default_rng(0)
    rule = ScoreRule(None, 1, 1.0, 0.25, 1, 0.0, 0.0, 0.0, False)
    for rows in (1, 100, 3 * BLOCK_ROWS + 5):
        z = rng.standard_normal((rows, dimension)) * 10.0 ** rng.uniform(-8, 0, (rows, 1))
        z /= np.maximum(1.0, np.linalg.norm(z, axis=1, keepdims=True)) * (1 + 1e-15)
        point = rng.standard_normal(dimension) * 30
        found = Records(Blocks(np.ascontiguousarray(z[np.argsort(-np.abs(z[:, 0]))])), LogisticLoss(), rule).score(point)
        margins = [math.fsum(float(a) * float(b) for a, b in zip(row, point, strict=True)) for row in z]
        slopes = [-1 / (1 + math.exp(u)) if u < 700 else 0.0 for u in margins]
        exact = [math.fsum(s * float(row[j]) for s, row in zip(slopes, z, strict=True)) for j in range(dimension)]
        bound = rounding(rows, dimension, lipschitz=1.0, smoothness=0.25)
        assert np.linalg.norm(found - exact) <= bound


def test_flipping_one_label_reaches_the_claim():
    """C = ½ at the start: a row of norm 1 moves the score by 2, all that is claimed but for rounding."""
    rule = ScoreRule(0.5, 1, 1.0, 1.0, 1, 0.0, 0.0, 0.0, False)
    row = np.array([[0.6, 0.8]])
    moved = Records(Blocks(row), LogisticLoss(), rule).score(np.zeros(2)) - Records(Blocks(-row), LogisticLoss(), rule).score(
        np.zeros(2)
    )
    gap = score_gap(constants(rows=1, dimension=2), gs.Adjacency.REPLACE_ONE)
    assert np.linalg.norm(moved) <= gap
    assert np.linalg.norm(moved) >= gap * (1 - 1e-6)


def test_two_different_rows_reach_the_moments_claim():
    rule = ScoreRule(None, 1, 1.0, 1.0, 1, 0.1, 0.0, 0.0, False)
    moments = [Records(Blocks(row[None]), LogisticLoss(), rule).moment() for row in np.eye(2)]
    gap = moment_gap(constants(rows=1, dimension=2), gs.Adjacency.REPLACE_ONE)
    assert gap * (1 - 1e-6) <= np.linalg.norm(moments[0] - moments[1]) <= gap


def test_what_is_not_declared_or_too_large_is_refused():
    with pytest.raises(gs.PremiseError, match="lipschitz: not declared"):
        THEOREM.premises(Constants(n=10, dimension=2), gs.Adjacency.REPLACE_ONE)
    with pytest.raises(gs.PremiseError, match="so many rows"):
        THEOREM.premises(constants(rows=10**13, dimension=100), gs.Adjacency.REPLACE_ONE)
    (named,) = [p for p in THEOREM.premises(constants(), gs.Adjacency.ADD_REMOVE) if f"{MOST_ROWS:,}" in p.statement]
    assert not named.checked
