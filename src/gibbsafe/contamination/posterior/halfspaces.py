"""Posterior mass outside a box or an L1 ball: importance sampling of a union of half-spaces (Owen, Maximov, Chertkov 2019).

A plain cloud of particles would need far more than 1/δ of them; here every draw lies outside.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from gibbsafe._types import Floats
from gibbsafe.contamination.posterior.posterior import Laplace
from gibbsafe.errors import PremiseError

__all__ = ["Outside", "box_directions", "diamond_directions"]


def box_directions(d: int) -> Floats:
    """Return ±e_j: outside the box |θ − c|_∞ ≤ R is the union of these half-spaces."""
    return np.concatenate([np.eye(d), -np.eye(d)])


def diamond_directions(d: int) -> Floats:
    """Return all sign vectors: outside the L1 ball |θ − c|₁ ≤ R is the union of these half-spaces."""
    if d > 14:
        raise PremiseError(f"columns = {d}: the L1 ball has 2^{d} sides; at most 14 columns, or use method='sound'")
    return np.array(list(itertools.product((-1.0, 1.0), repeat=d)))


@dataclass(frozen=True, eq=False)
class Outside:
    """The mass outside {max_k v_kᵀ(θ − centre) ≤ R} as a function of R, with common random numbers."""

    posterior: Laplace
    centre: Floats
    directions: Floats
    log_total: float
    choice: Floats
    level: Floats
    normals: Floats
    drawn: dict[float, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, posterior: Laplace, centre: Floats, directions: Floats, generator: np.random.Generator, draws: int = 1000
    ) -> Outside:
        """Draw the common random numbers and the normalising constant."""
        d = len(posterior.mode)
        cloud = cloud_of(posterior, generator, 1000)
        log_weight = posterior.correction(cloud)
        top = log_weight.max()
        total = float(top + math.log(np.exp(log_weight - top).mean()))
        choice = (np.arange(draws) + generator.random(draws)) / draws
        return cls(posterior, centre, directions, total, choice, generator.random(draws), generator.standard_normal((draws, d)))

    def draw(self, radius: float) -> tuple[Floats, Floats]:
        """Return points outside, and weights whose sum estimates the posterior mass there; each radius is drawn once."""
        if radius not in self.drawn:
            self.drawn[radius] = self._draw(radius)
        return self.drawn[radius]

    def _draw(self, radius: float) -> tuple[Floats, Floats]:
        covariance = self.posterior.covariance
        v = self.directions
        image = v @ covariance
        spread = np.sqrt((image * v).sum(axis=1))
        level = (radius - v @ (self.posterior.mode - self.centre)) / spread
        mass = special.ndtr(-level)
        total = float(mass.sum())
        if total <= 0:
            return self.posterior.mode[None], np.zeros(1)
        cumulative = np.cumsum(mass) / total
        index = np.minimum(np.searchsorted(cumulative, self.choice), len(v) - 1)
        depth = -special.ndtri(np.maximum(self.level * mass[index], 1e-300))  # a normal above its level
        root = np.linalg.cholesky(covariance)
        free = self.normals @ root.T
        along = (free * v[index]).sum(axis=1) / spread[index]
        points = self.posterior.mode + free + ((depth - along) / spread[index])[:, None] * image[index]
        inside = (points - self.centre) @ v.T > radius * (1 - 1e-12)
        times = np.maximum(inside.sum(axis=1), 1)
        with np.errstate(under="ignore"):
            weight = total * np.exp(np.minimum(self.posterior.correction(points) - self.log_total, 60.0)) / times / len(points)
        return points, weight


def cloud_of(posterior: Laplace, generator: np.random.Generator, pairs: int) -> Floats:
    """Return antithetic draws from the normal approximation: odd moments vanish exactly."""
    root = np.linalg.cholesky(posterior.covariance)
    steps = generator.standard_normal((pairs, len(posterior.mode))) @ root.T
    return np.concatenate([posterior.mode + steps, posterior.mode - steps])
