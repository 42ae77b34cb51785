"""Draws of θ* given a transcript: Hamiltonian steps on the exact density, many short chains at once.

The density is exp(−½(ȳ − F(θ))ᵀV⁻¹(ȳ − F(θ))) times a prior, F the expected score over a design of pseudo-rows
(`gibbsafe.samplers.score_fit`). Chains start from the normal approximation, which is nearly right where the data decide, and move
in its coordinates; each design has chains of its own, so that draws also show what is not known about the rows.

**Prior.** Every scaled parameter is s times a Student's t with four degrees of freedom, and s, common to all, is one of a grid
from the scale of the default radius to sixteen times that, each as likely as any other. A fixed wide prior would push a fit of
many parameters outwards (there is more room far out); one that may become narrow would call parameters decided that no record
speaks of. Tails of t leave a single large parameter, an intercept say, to the answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.samplers.expected_scores import Asked
from gibbsafe.samplers.score_fit import Expectation

__all__ = ["Target", "draw", "prior_draws"]

#: Degrees of freedom of the prior, and its scales in units of a typical parameter.
FREEDOM = 4.0
SCALES = 3.0 * 2.0 ** np.arange(0, 4.5, 0.5)
#: Steps of a trajectory; trajectories before draws are kept.
LEAPS, BURN = 5, 10


@dataclass(frozen=True, eq=False)
class Target:
    """The log density of θ (designs, parameters, chains) and its gradient."""

    expectation: Expectation
    asked: Asked
    mean: Floats
    inverse: Floats  # V⁻¹
    unit: float

    def __call__(self, truth: Floats) -> tuple[Floats, Floats]:
        """Return the log density per chain, and its gradient."""
        scores, pull = self.expectation.scores(self.asked, truth)
        off = self.mean[:, None] - scores
        weighted = np.matmul(self.inverse, off)
        prior, pulled = log_prior(truth, self.unit)
        back = np.matmul(self.expectation.transposed, np.matmul(self.expectation.rows, weighted) * pull)
        return prior - (off * weighted).sum(axis=1) / 2, pulled - back


def log_prior(truth: Floats, unit: float) -> tuple[Floats, Floats]:
    """Return the log density of the prior per chain, up to a constant, and its gradient."""
    square = truth**2
    each, slopes = [], []
    for scale in SCALES * unit:
        spread = FREEDOM * scale**2
        each.append(-(FREEDOM + 1) / 2 * np.log1p(square / spread).sum(axis=1) - truth.shape[1] * np.log(scale))
        slopes.append(-(FREEDOM + 1) * truth / (spread + square))
    values = np.array(each)
    largest = values.max(axis=0)
    weights = np.exp(values - largest)
    total = weights.sum(axis=0)
    slope = sum(weight[:, None] * each_slope for weight, each_slope in zip(weights / total, slopes, strict=True))
    return largest + np.log(total), np.asarray(slope)


def prior_draws(unit: float, parameters: int, draws: int) -> Floats:
    """Return draws of the prior in scaled units, the same every time."""
    generator = np.random.default_rng(0)
    scales = unit * generator.choice(SCALES, (draws, 1))
    return np.asarray(scales * generator.standard_t(FREEDOM, (draws, parameters)))


def draw(target: Target, start: Floats, covariance: Floats, generator: np.random.Generator, *, keep: int, chains: int) -> Floats:
    """Return (keep, designs, chains, parameters) draws, started from the normal approximation."""
    root = np.linalg.cholesky(covariance)
    designs, size = len(target.expectation.rows), len(start)
    shape = (designs, size, chains)
    at = start[:, None] + np.matmul(root, generator.standard_normal(shape))
    value, slope = target(at)
    step = np.full((designs, chains), 0.75 * size**-0.25)
    kept = []
    for turn in range(BURN + keep):
        moment = generator.standard_normal(shape)
        energy = value - (moment**2).sum(axis=1) / 2
        there, tilt = at, slope
        length = (step * generator.uniform(0.7, 1.2, step.shape))[:, None]
        for _ in range(LEAPS):
            moment = moment + length / 2 * np.matmul(root.T, tilt)
            there = there + length * np.matmul(root, moment)
            reached, tilt = target(there)
            moment = moment + length / 2 * np.matmul(root.T, tilt)
        with np.errstate(over="ignore", invalid="ignore"):
            taken = np.log(generator.random(step.shape)) < reached - (moment**2).sum(axis=1) / 2 - energy
        at, slope = np.where(taken[:, None], there, at), np.where(taken[:, None], tilt, slope)
        value = np.where(taken, reached, value)
        if turn < BURN:
            step = step * np.where(taken, 1.1, 0.6)
        else:
            kept.append(at.transpose(0, 2, 1))
    return np.array(kept)
