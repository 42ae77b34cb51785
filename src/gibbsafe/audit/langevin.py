"""The exact law of the certified Langevin sampler's last iterate, with one parameter.

θ ← Proj[θ − hU′(θ) + √(2h) ξ] from the prior's centre. The law after k steps is carried as weights on Gauss–Legendre nodes (and
on the two ends of the interval, where projection leaves atoms); the last step is left analytic, a mixture of normals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy.special import logsumexp, ndtr

from gibbsafe._types import Floats
from gibbsafe.audit.coordinates import coordinates_of
from gibbsafe.audit.curves import Direction, PrivacyCurve
from gibbsafe.audit.quadrature import Quadrature
from gibbsafe.errors import PremiseError
from gibbsafe.posteriors.protocols import Posterior
from gibbsafe.samplers.langevin import project

__all__ = ["LastIterate", "langevin_curve", "last_iterates"]

NODES, WEIGHTS = legendre.leggauss(10)
MOST_NODES = 4000


@dataclass(frozen=True, eq=False)
class LastIterate(Posterior):
    """Σ_j weight_j N(mean_j, sd²), projected to |θ| ≤ ball: a density inside and, with a ball, an atom at each end."""

    means: Floats
    weights: Floats
    sd: float
    ball: float | None
    lost: float

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The ball's interior, or all of space."""
        end = math.inf if self.ball is None else self.ball
        return np.array([-end]), np.array([end])

    @property
    def outlook(self) -> tuple[Floats, Floats]:
        """The mixture's mean and deviation, on all of space."""
        if self.ball is not None:
            return super().outlook
        mean = np.atleast_1d(self.weights @ self.means)
        spread = self.weights @ np.square(self.means - mean[0])
        return mean, 1 / np.sqrt(np.atleast_1d(1 / (self.sd**2 + spread)))

    def values(self, thetas: Floats) -> Floats:
        """Return −log density."""
        steps = (np.asarray(thetas)[:, :1] - self.means) / self.sd
        with np.errstate(divide="ignore"):
            return -np.asarray(logsumexp(-0.5 * steps**2, b=self.weights, axis=1))

    def atoms(self) -> Floats:
        """Return the mass at the lower and upper end."""
        if self.ball is None:
            return np.zeros(2)
        below = ndtr((-self.ball - self.means) / self.sd) @ self.weights
        above = ndtr((self.means - self.ball) / self.sd) @ self.weights
        return np.array([below, above])


def last_iterates(posteriors: tuple[Any, Any], step: float, steps: int) -> tuple[LastIterate, LastIterate]:
    """Return the law of the last iterate for two potentials."""
    sd, ball = math.sqrt(2 * step), posteriors[0].ball
    if ball is None:
        (low,), (high,) = coordinates_of(posteriors).box
        middle, reach = (low + high) / 2, 0.75 * (high - low) + 12 * sd
        low, high = middle - reach, middle + reach
    else:
        low, high = -ball, ball
    panels = math.ceil((high - low) / (1.5 * sd)) + 1
    if panels * len(NODES) > MOST_NODES:
        raise PremiseError(f"langevin: {panels * len(NODES):,} nodes for steps of size {step:.3g}; use estimate_lower_bound")
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    x, w = (edges[:-1, None] + half + half * NODES).ravel(), (half * WEIGHTS).ravel()
    first, second = (_propagated(posterior, step, steps, x, w) for posterior in posteriors)
    return first, second


def _propagated(posterior: Any, step: float, steps: int, x: Floats, w: Floats) -> LastIterate:
    sd, ball = math.sqrt(2 * step), posterior.ball

    def moved(thetas: Floats) -> Floats:
        return np.asarray(thetas - step * posterior.gradients(thetas[:, None])[:, 0])

    start = project(posterior.prior_centre[None], ball)[0]
    law = LastIterate(moved(start), np.ones(1), sd, ball, 0.0)
    states = x if ball is None else np.append(x, [-ball, ball])
    means = moved(states)
    kernel = np.exp(-0.5 * ((x[:, None] - means) / sd) ** 2) * (w[:, None] / (sd * math.sqrt(2 * math.pi)))
    if ball is not None:
        ends = np.stack([ndtr((-ball - means) / sd), ndtr((means - ball) / sd)])
        kernel = np.concatenate([kernel, ends])
    if steps == 1:
        return law
    inside = w * np.exp(-law.values(x[:, None])) / (sd * math.sqrt(2 * math.pi))
    weights = inside if ball is None else np.concatenate([inside, law.atoms()])
    for _ in range(steps - 2):
        weights = kernel @ weights
    return LastIterate(means, weights, sd, ball, abs(1 - float(weights.sum())))


def langevin_curve(posteriors: tuple[object, object], step: float, steps: int) -> PrivacyCurve:
    """Return the exact curve of last iterates: quadrature inside, sums over the atoms at the ends."""
    first, second = last_iterates(posteriors, step, steps)
    inside = Quadrature.of(first, second)
    lost = first.lost + second.lost

    def side(quadrature: Quadrature, p: LastIterate, q: LastIterate) -> Direction:
        atoms_p, atoms_q = p.atoms(), q.atoms()
        mass_p, mass_q = 1 - atoms_p.sum(), 1 - atoms_q.sum()

        def delta(epsilon: float) -> tuple[float, float]:
            smooth, error = quadrature.delta(epsilon + math.log(mass_q / mass_p))
            at_ends = np.maximum(atoms_p - math.exp(min(epsilon, 700.0)) * atoms_q, 0.0).sum()
            return mass_p * smooth + float(at_ends), error + 4 * lost

        return delta

    sides = side(inside, first, second), side(inside.reversed(), second, first)
    return PrivacyCurve(*sides, f"{steps} Langevin steps propagated on a mesh")
