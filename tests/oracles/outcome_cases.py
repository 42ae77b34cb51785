"""Noisy scores of several predictors: what a transcript spends on neighbours, by gradients written down here once more.

The constants of Lemmas 17 and 18 are not used: scores of records are taken straight from the likelihood, in coordinates that are
made here from their definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import gibbsafe as gs
from gibbsafe.release.transcripts import path_of

from .draw import Generator, either, magnitude
from .suite import Case, case
from .theorem_cases import ADJACENCIES

Score = Callable[[np.ndarray, int, np.ndarray], np.ndarray]


def contrasts(classes: int) -> np.ndarray:
    """The orthonormal basis of scores that sum to 0 that is nearest to the differences from the first."""
    differences = np.vstack([-np.ones(classes - 1), np.eye(classes - 1)])
    values, vectors = np.linalg.eigh(differences.T @ differences)
    return np.asarray(differences @ (vectors / np.sqrt(values)) @ vectors.T)


def of_classes(classes: int) -> Score:
    """The gradient (p − e_y)ᵀC ⊗ z, predictor after predictor."""
    basis = contrasts(classes)

    def score(z: np.ndarray, y: int, point: np.ndarray) -> np.ndarray:
        scores = basis @ (point.reshape(classes - 1, len(z)) @ z)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        p[y] -= 1
        return np.ravel(np.outer(basis.T @ p, z))

    return score


def of_levels(start: tuple[float, ...], gap: float, scale: float) -> Score:
    """The gradient of −log(σ(a) − σ(b)), or where thresholds are too close of its continuation, in (θ, (τ − start)/c)."""
    step, last = 1 - math.exp(-gap), len(start)

    def sigma(x: float) -> float:
        return 1 / (1 + math.exp(-x)) if x > -700 else 0.0

    def score(z: np.ndarray, y: int, point: np.ndarray) -> np.ndarray:
        x, d = z[:-1], len(z) - 1
        at = [float(x @ point[:d]) - scale * step * float(point[d + k]) - start[k] for k in range(last)]
        by = np.zeros(last)
        if y > 0:
            by[y - 1] -= sigma(-at[y - 1])
        if y < last:
            by[y] += sigma(at[y])
        if 0 < y < last:
            apart = max(at[y - 1] - at[y], gap)
            by[y - 1] -= 1 / math.expm1(apart)
            by[y] += 1 / math.expm1(apart)
        return np.concatenate([by.sum() * x, -scale * step * by])

    return score


def drawn(rng: Generator) -> tuple[Any, Score, int]:
    """A model, its score and its number of outcomes."""
    outcomes = int(rng.integers(3, 6))
    if rng.random() < 0.5:
        return gs.models.MultinomialRegression(dimension=2, intercept=False, classes=outcomes), of_classes(outcomes), outcomes
    start = tuple(np.cumsum(rng.uniform(0.3, 2.0, outcomes - 1)) - 2.0)
    gap = float(rng.uniform(0.05, 0.3))
    model = gs.models.OrdinalRegression(dimension=2, levels=outcomes, thresholds=start, gap=gap)
    return model, of_levels(start, gap, 1 / math.sqrt(2)), outcomes


@case("what runs: noisy scores of several predictors", 0.5)
def transcripts(rng: Generator, made: Case) -> None:
    """A path that ran on one data set, and what its points and shares spend on the worst of a few neighbours."""
    model, score, outcomes = drawn(rng)
    adjacency, k = str(either(rng, *ADJACENCIES)), int(either(rng, 1, 1, 2))
    n, budget = int(rng.integers(2, 30)), gs.Budget(magnitude(rng, 0.05, 20.0), magnitude(rng, 1e-9, 1e-2))
    kept = float(either(rng, 0.0, 0.4))
    made.setting = {"model": model.to_dict(), "budget": budget, "n": n, "adjacency": adjacency, "rows": k, "kept": kept}
    plan = gs.plan(
        model, budget, n=n, adjacency=adjacency, purpose="estimate", mechanism="noisy-scores", rows_per_person=k, uncertainty=kept
    )
    angles = rng.uniform(0, 2 * math.pi, (n + 1) * k)
    rows = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.choice([1.0, 1.0, 0.3, 1e-6], ((n + 1) * k, 1))
    targets = rng.integers(0, outcomes, (n + 1) * k)
    persons = {"persons": np.arange(n * k) // k} if k > 1 else {}
    released = plan.release((rows[: n * k], targets[: n * k]), generator=rng, progress=False, **persons)
    ordered = model.name == "OrdinalRegression"
    encoded = np.column_stack([rows, np.ones(len(rows))]) / math.sqrt(2) if ordered else rows
    path, rule, beta = path_of(plan, released.answers), plan.scores, plan.inverse_temperature
    asks = [*zip(path.points, path.shares, strict=True)]
    asks += [(released.answers.asked, rule.point)] if rule.point else []
    bound = model.loss.lipschitz  # the unit in which the second moment is asked

    def spent(out: slice, into: slice | None) -> float:
        """μ² of these answers for the person ``out`` replaced by ``into``, or removed."""
        sides = [(out, 1.0)] + ([] if into is None else [(into, -1.0)])
        pairs = [(encoded[i], int(targets[i]), sign) for side, sign in sides for i in range(side.start, side.stop)]
        total = 0.0
        for point, share in asks:
            moved = sum(sign * score(z, y, point) for z, y, sign in pairs)
            total += beta * share * float(moved @ moved)
        change = bound * sum(sign * np.outer(z, z) for z, _, sign in pairs)
        return total + beta * rule.moment * float((change**2).sum()) / plan.moment_ratio**2

    new = slice(n * k, (n + 1) * k)
    for person in rng.choice(n, min(n, 3), replace=False):
        out = slice(int(person) * k, int(person) * k + k)
        made.at_most(
            f"μ² of person {person}", spent(out, new if adjacency == "replace-one" else None), plan.guarantee.mu**2, 1e-12
        )
