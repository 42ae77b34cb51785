"""Draws of θ* given a transcript: Hamiltonian steps on the exact density, many short chains at once.

The density is exp(−½(ȳ − F(θ))ᵀV⁻¹(ȳ − F(θ))) times a prior, F the expected score over a design of pseudo-rows
(`gibbsafe.samplers.score_fit`). Chains start from the normal approximation, which is nearly right where the data decide, and move
in its coordinates; each design has chains of its own, so that draws also show what is not known about the rows.

**Prior.** Every scaled parameter is s times a Student's t with four degrees of freedom, and s, common to all, is one of a grid
from twice to sixteen times the scale of the default radius, each as likely as any other. A fixed wide prior would push a fit of
many parameters outwards (there is more room far out); one that may become narrow would call parameters decided that no record
speaks of. Tails of t leave a single large parameter, an intercept say, to the answers. Effects of
groups have the normal prior that was declared for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.samplers.expected_scores import Asked
from gibbsafe.samplers.score_fit import Expectation

__all__ = ["Target", "approximated", "draw", "prior_draws"]

#: Degrees of freedom of the prior, and its scales in units of a typical parameter.
FREEDOM = 4.0
SCALES = 6.0 * 2.0 ** np.arange(0, 3.5, 0.5)
#: Steps of a trajectory; trajectories before draws are kept.
LEAPS, BURN = 4, 8
#: Steps towards the mode of each design.
CLIMBS = 3


@dataclass(frozen=True, eq=False)
class Target:
    """The log density of θ (designs, parameters, chains) and its gradient."""

    expectation: Expectation
    asked: Asked
    mean: Floats
    inverse: Floats  # V⁻¹
    unit: float
    own: Floats | None = None

    def __call__(self, truth: Floats) -> tuple[Floats, Floats]:
        """Return the log density per chain, and its gradient."""
        scores, pull = self.expectation.scores(self.asked, truth)
        off = self.mean[:, None] - scores
        weighted = np.matmul(self.inverse, off)
        prior, pulled = log_prior(truth, self.unit, self.own)
        back = self.expectation.pulled(self.asked, pull, weighted)
        return prior - (off * weighted).sum(axis=1) / 2, pulled - back


def log_prior(truth: Floats, unit: float, own: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the log density of the prior per chain, up to a constant, and its gradient.

    ``own``, where given, are precisions of parameters with a normal prior of their own; 0 for those whose scale is common.
    """
    if own is not None:
        common, declared = own == 0, own[:, None]
        value, slope = log_prior(truth[:, common], unit)
        pulled = -declared * truth
        pulled[:, common] = slope
        return value - (declared * truth**2).sum(axis=1) / 2, pulled
    square = truth**2
    values = _by_scale(square, unit)
    largest = values.max(axis=0)
    weights = np.exp(values - largest)
    total = weights.sum(axis=0)
    pulls = (1 / (FREEDOM * scale**2 + square) for scale in SCALES * unit)
    slope = sum(weight[:, None] * pull for weight, pull in zip(weights / total, pulls, strict=True))
    return largest + np.log(total), np.asarray(-(FREEDOM + 1) * truth * slope)


def _by_scale(square: Floats, unit: float) -> Floats:
    """Return the log density of θ, given θ² (designs, parameters, chains), under every scale: (scales, designs, chains)."""
    halves = ((FREEDOM + 1) / 2 * np.log1p(square / (FREEDOM * scale**2)).sum(axis=1) for scale in SCALES * unit)
    return np.array([-half - square.shape[1] * np.log(scale) for half, scale in zip(halves, SCALES * unit, strict=True)])


def prior_draws(found: Floats, unit: float, own: Floats | None = None) -> Floats:
    """Return for each draw of θ* (draws, parameters) one of the prior at the scale that this draw speaks for.

    That is what the prior alone would say of each parameter once the others have shown how large parameters are. Scaled units,
    the same every time.
    """
    generator = np.random.default_rng(0)
    if own is not None:
        made = generator.standard_normal(found.shape) / np.sqrt(np.where(own > 0, own, 1.0))
        made[:, own == 0] = prior_draws(found[:, own == 0], unit)
        return np.asarray(made)
    values = _by_scale(found.T[None] ** 2, unit)[:, 0]
    weights = np.exp(values - values.max(axis=0))
    reached = np.cumsum(weights / weights.sum(axis=0), axis=0)
    chosen = (generator.random(len(found)) > reached[:-1]).sum(axis=0)
    return np.asarray((SCALES * unit)[chosen][:, None] * generator.standard_t(FREEDOM, found.shape))


def approximated(target: Target, start: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return the normal approximation of every design: modes (designs, parameters, 1), and roots of covariances.

    Gauss–Newton steps from a common start, halved where they do not climb; ``prior`` is the standard deviation that stands for
    the prior in the curvature.
    """
    expectation, diagonal = target.expectation, np.full(len(start), prior**-2.0)
    if target.own is not None:
        diagonal = np.where(target.own > 0, target.own, diagonal)
    at = np.repeat(start[None, :, None], len(expectation.rows), axis=0)
    for turn in range(CLIMBS + 1):
        pull = expectation.scores(target.asked, at)[1]
        slopes = expectation.jacobian(target.asked, pull)
        curvature = np.matmul(np.matmul(expectation.turned(slopes), target.inverse), slopes) + np.diag(diagonal)
        if turn == CLIMBS:
            break
        value, gradient = target(at)
        move = np.linalg.solve(curvature, gradient)
        for _ in range(4):
            worse = target(at + move)[0] < value
            move = np.where(worse[:, None], move / 4, move)
        at = np.where((target(at + move)[0] >= value)[:, None], at + move, at)
    inverse = np.linalg.inv(curvature)
    return at, np.asarray(np.linalg.cholesky((inverse + inverse.transpose(0, 2, 1)) / 2))


def draw(target: Target, modes: Floats, root: Floats, generator: np.random.Generator, *, keep: int, chains: int) -> Floats:
    """Return (keep, designs, chains, parameters) draws, started from the normal approximation of each design."""
    designs, size = modes.shape[:2]
    shape = (designs, size, chains)
    back = root.transpose(0, 2, 1)
    at = modes + np.matmul(root, generator.standard_normal(shape))
    value, slope = target(at)
    step = np.full((designs, chains), 0.9 * size**-0.25)
    kept = []
    for turn in range(BURN + keep):
        moment = generator.standard_normal(shape)
        energy = value - (moment**2).sum(axis=1) / 2
        there, tilt = at, slope
        length = (step * generator.uniform(0.7, 1.2, step.shape))[:, None]
        for _ in range(LEAPS):
            moment = moment + length / 2 * np.matmul(back, tilt)
            there = there + length * np.matmul(root, moment)
            reached, tilt = target(there)
            moment = moment + length / 2 * np.matmul(back, tilt)
        with np.errstate(over="ignore", invalid="ignore"):
            taken = np.log(generator.random(step.shape)) < reached - (moment**2).sum(axis=1) / 2 - energy
        at, slope = np.where(taken[:, None], there, at), np.where(taken[:, None], tilt, slope)
        value = np.where(taken, reached, value)
        if turn < BURN:
            step = step * np.where(taken, 1.1, 0.6)
        else:
            kept.append(at.transpose(0, 2, 1))
    return np.array(kept)
