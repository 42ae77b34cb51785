"""How far a Gaussian prior can have pulled the mean of the draws, by their covariance.

Let b = θ* − θ̂ be the pull, C the covariance of the draws, W = M the prior's precision, and |f‴| ≤ κf″ for the loss. The mean
curvature H̄ of the losses between θ̂ and θ* is at least H(1 − e^{−κr})/(κr) =: H/g(r) at distance r = |b|. Write ‖·‖ for the
norm by C⁻¹.

*Within a radius.* (βH̄ + M)b = M(θ* − c), so for |θ* − c| ≤ D: ‖b‖ ≤ g√λ(WCW)D, |b| ≤ ‖b‖√λ(C), λ the largest eigenvalue. With
q = κD√(λ(WCW)λ(C)) the distance solves 1 − e^{−κr} = q, so g = −ln(1 − q)/q. In a direction a, the linear part is at most |WCa|D,
and the rest at most (g − 1)√(aᵀCa)√λ(WCW)D.

*From where the draws are.* βH̄b = M(θ̂ − c) =: z, known from the draws. Let s = λ(W^½CW^½) < 1, so (βH)⁻¹ ⪯ C/(1 − s). The pull
along a is |aᵀCz| with a remainder of at most √(aᵀCa)√(zᵀCz)(s + g − 1)/(1 − s), and its length r at most
|Cz| + √(λ(C)zᵀCz)(s + g(r) − 1)/(1 − s): iterating from below finds the least r for which that is true, if there is one.

C is replaced by the covariance of N draws. λ is then too large on average, which is safe; the linear part grows by the lower
chi-square quantile of a variance (first rule), or by Student's quantile of a covariance's standard error (second rule).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, stdtrit

from gibbsafe._types import Floats

__all__ = ["Spread", "growth", "growth_at_root"]

#: Steps of the search for a root, and how far (in units of 1/κ) it goes: curvature is down by e⁻³⁰ there.
ROUNDS, FARTHEST = 10_000, 30.0


def growth(q: float) -> float:
    """Return g = −ln(1 − q)/q ≥ 1: what changing curvature can add to a pull whose linear bound is q, in units of 1/κ.

    >>> growth(0.0), round(growth(0.5), 4), growth(1.0)
    (1.0, 1.3863, inf)
    """
    if q <= 1e-9:
        return 1.0
    return -math.log1p(-q) / q if q < 1 else math.inf


def growth_at_root(near: float, wide: float) -> float:
    """Return g at the least root of x = near + wide·(g(x) − 1), g(x) = x/(1 − e^{−x}); infinite if there is none.

    The right-hand side increases with slope below ``wide``, so iterating from ``near`` climbs to the least root.

    >>> round(growth_at_root(0.5, 0.5), 4) == round(growth(0.5), 4), growth_at_root(1.0, 1.2)
    (True, inf)
    """
    x, factor = near, 1.0
    for _ in range(ROUNDS):
        factor = x / -math.expm1(-x) if x > 1e-9 else 1.0
        following = near + wide * (factor - 1)
        if following - x <= 1e-10 * following:
            return factor * (1 + 1e-5)
        if following > FARTHEST:
            break
        x = following
    return math.inf


@dataclass(frozen=True, eq=False)
class Spread:
    """The covariance of the draws as seen along directions a (one per row), and the prior's weight W per parameter."""

    mean: Floats
    covariance: Floats
    rows: Floats  # Ca
    along: Floats  # aᵀCa
    weight: Floats
    kappa: float
    draws: int
    quantile: float
    inflation: float
    widest: float  # λ(C)
    strongest: float  # s

    @classmethod
    def of(cls, scaled: Floats, directions: Floats, weight: Floats, kappa: float, level: float) -> Spread:
        """Estimate it from draws in scaled units."""
        draws, tail = len(scaled), (1 - level) / 2
        covariance = np.atleast_2d(np.cov(scaled, rowvar=False))
        rows = directions @ covariance
        root = np.sqrt(weight)
        return cls(
            mean=scaled.mean(axis=0),
            covariance=covariance,
            rows=rows,
            along=np.einsum("ij,ij->i", rows, directions),
            weight=weight,
            kappa=kappa,
            draws=draws,
            quantile=float(stdtrit(draws - 1, 1 - tail)),
            inflation=(draws - 1) / float(2 * gammaincinv((draws - 1) / 2, tail)),
            widest=_largest(covariance),
            strongest=_largest(covariance * root * root[:, None]),
        )

    def shrinkage_within(self, radius: float) -> Floats:
        """Return the bound along each direction where the truth is within ``radius`` of the prior's centre; perhaps infinite."""
        top = math.sqrt(_largest(self.covariance * self.weight * self.weight[:, None])) * radius
        more = growth(self.kappa * top * math.sqrt(self.widest)) - 1
        linear = self.inflation * np.linalg.norm(self.rows * self.weight, axis=1) * radius
        return np.asarray(linear + more * np.sqrt(self.along) * top)

    def shrinkage_from(self, centre: Floats) -> Floats:
        """Return the bound along each direction by the distance of the draws from the centre; perhaps infinite. Needs s < 1."""
        z = self.weight * (self.mean - centre)
        scale, left = math.sqrt(max(float(z @ self.covariance @ z), 0.0)), 1 - self.strongest
        wide = scale * math.sqrt(self.widest) / left
        near = float(np.linalg.norm(self.covariance @ z)) + self.strongest * wide
        more = growth_at_root(self.kappa * near, self.kappa * wide) - 1
        linear = np.abs(self.rows @ z)
        error = self.quantile * np.sqrt((self.along * scale**2 + linear**2) / (self.draws - 1))
        return np.asarray(linear + error + np.sqrt(self.along) * scale * (self.strongest + more) / left)


def _largest(matrix: Floats) -> float:
    return float(np.linalg.eigvalsh(matrix)[-1])
