"""The calibrated loss of a margin: the logistic model's parameter at a lower price per record.

For C in [½, 1] and c = log(C/(1 − C)) the slope, divided by C so that it lies in [−1, 0], is

    −1                for u ≤ −c
    −1/(C(1 + e^u))   for |u| < c
    −e^{−u}           for u ≥ c:

continuous, increasing (the loss is convex), and C = 1 is the logistic loss. **Fisher consistent**: with p = σ(u), the probability
of a margin's sign under the logistic model, p·ψ(u) = (1 − p)·ψ(−u) for every u, so that its minimiser is the logistic model's
parameter. (|u| < c: p(1 − p)/C on both sides. u ≥ c: p·e^{−u} = 1 − p, and ψ(−u) = −1.) A row counts w(z) = ‖z‖^{−2(1−C)} times:
w‖z‖ = ‖z‖^{2C−1} ≤ 1 for rows of norm at most 1, and 0 for rows of zeros. At C = ½ no conditionally unbiased score with
contributions bounded by 1 has more expected curvature: Σ min(p, 1 − p) zzᵀ/‖z‖.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import AnyFloats, Floats
from gibbsafe._validate import fail, real
from gibbsafe.losses.kernels import calibrated_gradient, calibrated_sums, exp, logistic_slope

__all__ = ["CalibratedScore"]

#: Rows whose squares sum to less count as zeros: below, squares lose digits, and a weight could be too large for its row.
SMALLEST = 2.0**-1000


@dataclass(frozen=True)
class CalibratedScore:
    """The slope ψ of the calibrated loss with clip C, and the weights of rows.

    >>> CalibratedScore(0.5).slope(np.array([-3.0, 0.0, 1.0])).round(6)
    array([-1.      , -1.      , -0.367879])
    """

    clip: float

    def __post_init__(self) -> None:
        if not 0.5 <= real("clip", self.clip) <= 1:
            fail("clip", self.clip, "from 0.5 to 1")

    @property
    def _edge(self) -> float:
        return math.inf if self.clip == 1 else math.log(self.clip / (1 - self.clip))

    @property
    def smoothness(self) -> float:
        """The largest slope of ψ: ¼/C in the middle, 1 − C = e^{−c}·C … at the edge, whichever is larger."""
        return max(0.25 / self.clip if self._edge > 0 else 0.0, math.exp(-self._edge))

    def slope(self, u: AnyFloats) -> AnyFloats:
        """Return ψ, elementwise: from −1 to 0."""
        if self.clip == 1:
            return logistic_slope(u)
        inner, outer = self.sides(u)
        return np.where(u > 0, inner, outer)

    def sides(self, u: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
        """Return ψ(|u|) = −e·m and ψ(−|u|) = −m, elementwise: e = e^{−|u|} and m = min(1, 1/(C(1 + e)))."""
        e = np.abs(u)
        np.negative(e, out=e)
        exp(e, out=e)
        m = e + 1
        m *= -self.clip
        np.divide(1.0, m, out=m)
        np.maximum(m, -1.0, out=m)
        e *= m
        return e, m

    def curvature(self, u: AnyFloats) -> AnyFloats:
        """Return ψ′, elementwise: from 0 to `smoothness`."""
        p = -logistic_slope(u)
        middle = p * (1 - p) / self.clip
        if self.clip == 1:
            return np.asarray(middle)
        return np.where(u >= self._edge, np.exp(-np.maximum(u, 0.0)), np.where(u <= -self._edge, 0.0, middle))

    def weights(self, rows: AnyFloats) -> Floats:
        """Return w(z) = ‖z‖^{−2(1−C)} of each row, 0 of a row of zeros for C < 1; w‖z‖ ≤ 1, rounding included, where ‖z‖ ≤ 1."""
        if self.clip == 1:
            return np.ones(len(rows))
        squares = np.einsum("ij,ij->i", rows, rows)
        counted = squares >= SMALLEST
        return np.where(counted, np.power(np.where(counted, squares, 1.0), self.clip - 1.0) * (1 - 2.0**-42), 0.0)

    def gradient(self, rows: AnyFloats, theta: AnyFloats, counts: AnyFloats) -> AnyFloats:
        """Return Σ c ψ(zᵀθ) z over the rows z, c how often each counts: its weight, times the records it stands for."""
        compiled = calibrated_gradient(rows, theta, counts, self.clip)
        return np.dot(self.slope(rows @ theta) * counts, rows) if compiled is None else compiled

    def gradient_sums(self, rows: AnyFloats, theta: Floats, counts: Floats, block: int, chunk: int) -> Floats | None:
        """Return `gradient` of every chunk of rows (chunks, p), its blocks added from left to right; None where not compiled."""
        return calibrated_sums(rows, theta, counts, block, chunk, self.clip)
