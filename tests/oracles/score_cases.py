"""Noisy scores: what a transcript spends on the worst of neighbours, by scores written down here once more.

Given the points and shares of a path that ran, the log-likelihood ratio of two data sets is that of a Gaussian shift with
μ² = Σ_t ‖q(x_t) − q′(x_t)‖²/σ_t²: that, and not the theorem, is held beside the claim.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np

import gibbsafe as gs
from gibbsafe.release.transcripts import path_of
from gibbsafe.theorems import get

from .draw import Generator, either, magnitude, size
from .suite import Case, case
from .theorem_cases import ADJACENCIES, hold_shift, temperature


@case("noisy-scores", 1)
def shifts(rng: Generator, made: Case) -> None:
    """One score that one record moves by 2L or L: μ = G√β, over all constants."""
    theorem, adjacency = get("noisy-scores"), str(either(rng, *ADJACENCIES))
    lipschitz = [magnitude(rng) for _ in range(int(rng.integers(1, 4)))]
    n, d = size(rng), size(rng, 1e3)
    constants: dict[str, Any] = {
        "lipschitz": tuple(lipschitz),
        "n": n,
        "maximum_n": n,
        "dimension": d,
        "smoothness": magnitude(rng),
    }
    constants["smoothness"] = min(constants["smoothness"], 1e3 * max(lipschitz))
    beta = temperature(rng, made, theorem, constants, adjacency)
    with mp.workdps(40):
        single = mp.sqrt(sum(mp.mpf(each) ** 2 for each in lipschitz))
        mu = (2 if adjacency == "replace-one" else 1) * single * mp.sqrt(beta)
    hold_shift(made, theorem, constants, adjacency, beta, mu, rng)


@case("langevin-trajectory", 1)
def steps(rng: Generator, made: Case) -> None:
    """All answers of a trajectory, each moved by 2C or C: μ = G√β, over all constants."""
    theorem, adjacency = get("langevin-trajectory"), str(either(rng, *ADJACENCIES))
    n, clip = size(rng), magnitude(rng)
    constants: dict[str, Any] = {"clip": clip, "n": n, "maximum_n": n, "dimension": size(rng, 1e3)}
    beta = temperature(rng, made, theorem, constants, adjacency)
    with mp.workdps(40):
        mu = (2 if adjacency == "replace-one" else 1) * mp.mpf(clip) * mp.sqrt(beta)
    hold_shift(made, theorem, constants, adjacency, beta, mu, rng)


def slope(name: str, model: Any, clip: float | None, u: float, y: float) -> float:
    """The slope of a record's loss at a predictor, straight from its formula; of the calibrated one divided by C."""
    if name == "LogisticRegression":
        logistic = -1 / (1 + math.exp(min(u, 700.0)))
        if clip is None:
            return logistic
        edge = math.inf if clip == 1 else math.log(clip / (1 - clip))
        return -math.exp(-u) if u >= edge else -1.0 if u <= -edge else logistic / clip
    if name == "PseudoHuberRegression":
        x = (u - y) / model.width
        return model.width * x / math.sqrt(1 + x * x)
    return model.quantile - 1 if y < u else model.quantile if y > u else 0.0


def sums(rows: np.ndarray, targets: np.ndarray, name: str, model: Any, clip: float | None, point: np.ndarray) -> np.ndarray:
    """Σ w ψ z over records."""
    total = np.zeros(len(point))
    for z, y in zip(rows, targets, strict=True):
        square = math.fsum(z * z)
        weight = 1.0 if clip is None else (square ** (clip - 1) if square > 0 else 0.0)
        value = slope(name, model, clip, math.fsum(z * point), float(y))
        total += weight * (-value if name == "QuantileRegression" else value) * z
    return total


def moments(rows: np.ndarray, clip: float | None, bound: float) -> np.ndarray:
    """L·Σ w zzᵀ."""
    squares = (rows * rows).sum(axis=1)
    weights = np.ones(len(rows)) if clip is None else np.where(squares > 0, np.maximum(squares, 1e-300) ** (clip - 1), 0.0)
    return np.asarray(bound * (rows * weights[:, None]).T @ rows)


@case("what runs: noisy scores", 0.6)
def transcripts(rng: Generator, made: Case) -> None:
    """A path that ran on one data set, and what its points and shares spend on the worst of a few neighbours."""
    name = str(either(rng, "LogisticRegression", "LogisticRegression", "PseudoHuberRegression", "QuantileRegression"))
    adjacency, k = str(either(rng, *ADJACENCIES)), int(either(rng, 1, 1, 2))
    options = {
        "PseudoHuberRegression": {"width": magnitude(rng, 0.1, 10)},
        "QuantileRegression": {"quantile": rng.uniform(0.05, 0.95)},
    }
    model = getattr(gs.models, name)(dimension=2, intercept=False, **options.get(name, {}))
    n, budget = int(rng.integers(2, 40)), gs.Budget(magnitude(rng, 0.05, 20.0), magnitude(rng, 1e-9, 1e-2))
    asked = {"uncertainty": either(rng, "auto", 0, 0.5)} | (
        {"loss": either(rng, "auto", "logistic")} if name == "LogisticRegression" else {}
    )
    made.setting = {"model": model.to_dict(), "budget": budget, "n": n, "adjacency": adjacency, "rows": k, **asked}
    plan = gs.plan(
        model, budget, n=n, adjacency=adjacency, purpose="estimate", mechanism="noisy-scores", rows_per_person=k, **asked
    )
    angles = rng.uniform(0, 2 * math.pi, (n + 1) * k)
    rows = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.choice([1.0, 1.0, 0.3, 1e-6], ((n + 1) * k, 1))
    labels = rng.integers(0, 2, (n + 1) * k)
    targets = labels if name == "LogisticRegression" else rng.standard_t(2, (n + 1) * k)
    given = (rows[: n * k], targets[: n * k])
    persons = np.arange(n * k) // k
    released = plan.release(given, generator=rng, progress=False, **({"persons": persons} if k > 1 else {}))
    path, rule, beta = path_of(plan, released.answers), plan.scores, plan.inverse_temperature
    signed = rows * (2 * labels - 1)[:, None] if name == "LogisticRegression" else rows
    bound = {"PseudoHuberRegression": lambda: model.width, "QuantileRegression": lambda: max(model.quantile, 1 - model.quantile)}
    limit = bound.get(name, lambda: 1.0)()
    asks = [*zip(path.points, path.shares, strict=True)] + ([(path.point, rule.point)] if rule.point else [])

    def spent(out: slice, into: slice | None) -> float:
        """μ² of these answers for the person ``out`` replaced by ``into``, or removed."""
        total = 0.0
        for point, share in asks:
            moved = sums(signed[out], targets[out], name, model, rule.clip, point)
            moved = moved - (0 if into is None else sums(signed[into], targets[into], name, model, rule.clip, point))
            total += beta * share * float(moved @ moved)
        if rule.moment:
            change = moments(rows[out], rule.clip, limit) - (0 if into is None else moments(rows[into], rule.clip, limit))
            total += beta * rule.moment * float((change**2).sum()) / plan.moment_ratio**2
        return total

    new = slice(n * k, (n + 1) * k)
    for person in rng.choice(n, min(n, 3), replace=False):
        out = slice(int(person) * k, int(person) * k + k)
        made.at_most(
            f"μ² of person {person}", spent(out, new if adjacency == "replace-one" else None), plan.guarantee.mu**2, 1e-12
        )
