"""Langevin steps of which every one is released: the noise of a private score is the noise of the step.

In public coordinates φ (`posteriors.coordinates`) every chain begins at 0, the public start, and moves by
φ ← φ − h(p·s − ∇log π(φ)), s the noisy sum of clipped gradients of −log-likelihood at φ, σ its noise and h = 2/(pσ)²: the step of
the Langevin diffusion of (likelihood)ᵖ × prior. Steps, their number and the noise are fixed in advance; what they cost is proved
by `theorems.langevin_trajectory` for every data set and every function. All chains move together, one pass over the records per
step.

The answers s are all that leaves the data. Points follow from them, so `replay` gives them again, and the last ones of each
chain, its draws.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.posteriors.coordinates import Coordinates
from gibbsafe.posteriors.own import OwnPosterior, Pull
from gibbsafe.posteriors.stage import ChainRule, Stage
from gibbsafe.progress import Progress
from gibbsafe.samplers.langevin import SECONDS_BETWEEN_REPORTS
from gibbsafe.samplers.noisy_scores import on_grid

__all__ = ["PROVED", "TRAJECTORY", "Walk", "noise_of", "replay", "split_r_hat", "walk"]

TRAJECTORY = "langevin-trajectory"
#: What a certificate says of the mechanism.
PROVED = (
    "every step is a noisy sum of clipped gradients at a point that depends on earlier answers only, and all are released; "
    "their privacy is proved for every data set. The law of the draws is that of a chain: it is not proved to be the posterior"
)


@dataclass(frozen=True, eq=False)
class Walk:
    """The answers (steps, chains, parameters), and the points in φ that they led to, of the same shape."""

    scores: Floats
    points: Floats

    @property
    def asked(self) -> Floats:
        """The points at which answers were given: the start first."""
        return np.concatenate([np.zeros_like(self.points[:1]), self.points[:-1]])

    def draws(self, rule: ChainRule, coordinates: Coordinates) -> Floats:
        """Return the parameters at the kept points of the first chain, then of the second and so on."""
        kept = self.points[len(self.points) - rule.kept :]
        return coordinates.parameters(np.ascontiguousarray(kept.transpose(1, 0, 2)).reshape(-1, self.points.shape[2]))


def noise_of(stage: Stage) -> float:
    """Return σ, the standard deviation of the noise in every answer: KT of them have precision β together."""
    rule, steps = _rule_of(stage)
    return math.sqrt(rule.chains * steps / stage.inverse_temperature)


def walk(
    posterior: OwnPosterior,
    pull: Pull,
    stage: Stage,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> Walk:
    """Return every answer and every point. The number of steps and their noise do not depend on the data."""
    rule, steps = _rule_of(stage)
    sigma, started = noise_of(stage), time.perf_counter()
    at = np.zeros((rule.chains, len(rule.start)))
    scores, points, reported = [], [], started
    for k in range(1, steps + 1):
        answer = on_grid(posterior.scores(at) + sigma * generator.standard_normal(at.shape), sigma)
        at = _moved(pull, stage, at, answer)
        scores.append(answer)
        points.append(at)
        now = time.perf_counter()
        if progress is not None and (now - reported > SECONDS_BETWEEN_REPORTS or k == steps):
            progress(k * stage.draws // steps, stage.draws, k, now - started)
            reported = now
    return Walk(np.array(scores), np.array(points))


def replay(pull: Pull, stage: Stage, scores: Floats) -> Walk:
    """Return the walk that gave these answers."""
    rule, steps = _rule_of(stage)
    if scores.shape != (steps, rule.chains, len(rule.start)):
        raise PremiseError(f"trajectory: answers of shape {scores.shape}, but the plan has {steps} steps of {rule.chains} chains")
    at, points = np.zeros((rule.chains, len(rule.start))), []
    for answer in scores:
        at = _moved(pull, stage, at, answer)
        points.append(at)
    return Walk(scores, np.array(points))


def split_r_hat(chains: Floats) -> Floats:
    """Return split R-hat per parameter of draws (chains, draws, parameters): near 1 where the halves of all chains agree.

    Post-processing of what was released. Not a number where chains are shorter than four.

    >>> split_r_hat(np.random.default_rng(0).standard_normal((2, 1000, 1))).round(2)
    array([1.])
    """
    half = chains.shape[1] // 2
    if half < 2:
        return np.full(chains.shape[2], np.nan)
    parts = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((half - 1) / half + between / np.maximum(within, 1e-300)))


def _moved(pull: Pull, stage: Stage, at: Floats, answer: Floats) -> Floats:
    rule, _ = _rule_of(stage)
    assert stage.step is not None
    moved = pull.moved(at, -rule.power * answer, stage.step)
    # Far beyond any prior: a point stays a number, whatever a prior's gradient does.
    return np.clip(np.nan_to_num(moved, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST), -FARTHEST, FARTHEST)


#: No point is further out than this in any coordinate.
FARTHEST = 1e12


def _rule_of(stage: Stage) -> tuple[ChainRule, int]:
    if stage.chain is None or stage.steps is None or stage.step is None:
        raise PremiseError("stage: has no chain to release")
    return stage.chain, stage.steps
