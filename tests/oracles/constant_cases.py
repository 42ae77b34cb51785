"""Declared constants of what has no curve on a line: squared loss on a ball, precision matrices, larger tables."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np

import gibbsafe as gs

from .draw import Generator, either, magnitude, size
from .suite import Case, case
from .theorem_cases import ADJACENCIES, budget_of


def unit(rng: Generator, d: int) -> np.ndarray:
    """Return a random direction."""
    return np.array([1.0]) * rng.choice([-1, 1]) if d == 1 else (v := rng.normal(size=d)) / np.linalg.norm(v)


@case("squared loss on a ball", 0.4)
def squared(rng: Generator, made: Case) -> None:
    """Gradients of differences of ½(y − xᵀθ)² at the corners, over the angle between row and parameter."""
    d, radius, half = int(rng.integers(1, 4)), magnitude(rng), magnitude(rng)
    low = float(either(rng, -half, 0.0))
    ball = half * magnitude(rng, 1e-6, 1e6)
    adjacency, rows, n = "replace-one", int(either(rng, 1, 3)), size(rng, 1e3) + 3
    model = gs.models.LinearRegression(
        dimension=d, radius=radius, intercept=False, response_bounds=(low, half), parameter_radius=ball
    )
    made.setting = {"model": model.to_dict(), "rows": rows}
    constants = model.constants(np.ones(d), adjacency=gs.privacy.Adjacency.of(adjacency), n=n, rows_per_person=rows)
    (declared,), (single,) = constants.difference_lipschitz, constants.lipschitz
    largest = max(abs(low), half)
    worst = alone = 0.0
    for cosine in (1.0,) if d == 1 else np.linspace(0.0, 1.0, 201):
        # rows at the angles ±arccos to θ: their gradients (Bs ± Y)(s, ±√(1 − s²)) differ most across
        slope = ball * cosine + largest
        worst = max(worst, 2 * slope * math.sqrt(max(0.0, 1 - cosine**2)))
        alone = max(alone, slope)
    if d == 1:
        ends = [(x, y) for x in np.linspace(-1, 1, 41) for y in (-largest, largest)]
        gradients = np.array([(x * t - y) * x for x, y in ends for t in (ball,)])
        worst = float(gradients.max() - gradients.min())
    made.at_most("gradient of a difference", rows * worst, declared, 1e-12 * worst)
    made.at_most("gradient", rows * alone, single, 1e-12 * alone)


@case("precision matrices", 0.4)
def matrices(rng: Generator, made: Case) -> None:
    """The range of ½ tr A(yyᵀ − xxᵀ) over c₁I ≤ A ≤ c₂I, attained on the eigenvectors, against a plan's pure ε."""
    adjacency, d = str(either(rng, *ADJACENCIES)), int(rng.integers(1, 4))
    low, bound = magnitude(rng, 1e-6, 1e6), magnitude(rng, 1e-6, 1e6)
    trim = (low, low * (1 + magnitude(rng, 1e-6, 1e6)))
    mean = tuple((bound * 0.3 * unit(rng, d)).tolist()) if rng.random() < 0.5 else None
    model = gs.models.MultivariateNormalPrecision(dimension=d, bound=bound, trim=trim, mean=mean)
    rows, n = int(either(rng, 1, 3)), size(rng, 1e4) + 3
    plan = gs.plan(model, gs.Budget(budget_of(rng).epsilon), n=n, adjacency=adjacency, rows_per_person=rows)
    made.setting = {"model": model.to_dict(), "adjacency": adjacency, "rows": rows, "beta": plan.inverse_temperature}
    centre = np.zeros(d) if mean is None else np.array(mean)
    ranges = []
    for _ in range(6):
        x = bound * unit(rng, d) if centre.any() and rng.random() < 0.5 else -bound * _towards(centre, rng, d)
        y = bound * unit(rng, d) * float(either(rng, 0.0, 1.0)) if rng.random() < 0.7 else _across(x, rng, d)
        outer = [np.outer(v - centre, v - centre) for v in (x, y)]
        change = outer[0] / 2 if adjacency == "add-remove" else (outer[1] - outer[0]) / 2
        if adjacency == "replace-one":
            ranges.append((trim[1] - trim[0]) * float(np.abs(np.linalg.eigvalsh(change)).sum()))
        else:
            ranges.append(_single(trim, float(np.trace(change)), d))
    made.at_most(
        "range", plan.inverse_temperature * rows * max(ranges), plan.guarantee.epsilon(0.0), 1e-13 * plan.guarantee.epsilon(0.0)
    )


def _towards(centre: np.ndarray, rng: Generator, d: int) -> np.ndarray:
    return centre / np.linalg.norm(centre) if centre.any() else unit(rng, d)


def _across(x: np.ndarray, rng: Generator, d: int) -> np.ndarray:
    """Return a vector of the same length at a right angle to ``x`` (or its mirror image on a line)."""
    if d == 1:
        return -x
    other = rng.normal(size=d)
    other -= (other @ x) / (x @ x) * x
    return other / np.linalg.norm(other) * np.linalg.norm(x)


def _single(trim: tuple[float, float], half_square: float, d: int) -> float:
    """The range over eigenvalues in the trim of half_square·a₁ − ½Σ log a: one eigenvalue along the record, others free."""
    with mp.workdps(50):
        low, high, t = mp.mpf(trim[0]), mp.mpf(trim[1]), mp.mpf(half_square)
        least = min(max(1 / (2 * t), low), high)
        along = [t * a - mp.log(a) / 2 for a in (low, high, least)]
        return float(max(along) - min(along) + (d - 1) * mp.log(high / low) / 2)


@case("larger tables", 0.5)
def larger(rng: Generator, made: Case) -> None:
    """Networks and chains with several states: the range of a record's log-likelihood ratio, all factors at opposite ends."""
    adjacency, states = str(either(rng, *ADJACENCIES)), int(rng.integers(2, 7))
    smallest = magnitude(rng, 1e-12, 0.999 / states) if rng.random() < 0.7 else (1 - magnitude(rng, 1e-12, 0.1)) / states
    model: Any
    kind, factors = str(either(rng, "network", "chain", "categorical")), 1
    if kind == "network":
        factors = int(rng.integers(1, 6))
        nodes = [f"v{k}" for k in range(factors)]
        parents = {node: nodes[max(0, k - 1) : k] for k, node in enumerate(nodes)}
        model = gs.models.BayesianNetwork(states=dict.fromkeys(nodes, states), parents=parents, smallest_probability=smallest)
    elif kind == "chain":
        factors = int(rng.integers(1, 20))
        model = gs.models.MarkovChain(states=states, length=factors, smallest_probability=smallest)
    else:
        model = gs.models.Categorical(states=states, smallest_probability=smallest)
    rows, n = int(either(rng, 1, 4)), size(rng, 1e4) + 4
    plan = gs.plan(model, gs.Budget(budget_of(rng).epsilon), n=n, adjacency=adjacency, rows_per_person=rows)
    made.setting = {"model": model.to_dict(), "adjacency": adjacency, "rows": rows, "beta": plan.inverse_temperature}
    with mp.workdps(50):
        width = mp.log((1 - (states - 1) * mp.mpf(smallest)) / mp.mpf(smallest))
        reach = plan.inverse_temperature * rows * factors * width * (2 if adjacency == "replace-one" else 1)
    # in other contexts each factor and its counterpart are free; in one context they share a table: 2w as well
    made.at_most("range", reach, plan.guarantee.epsilon(0.0))
