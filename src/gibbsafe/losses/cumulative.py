"""The cumulative logistic loss of one of K ordered levels: P(level > k) = σ(η_k), η_k = xᵀθ − τ_k, thresholds τ_1 < … < τ_{K−1}.

A record of level y lies between two thresholds. With a and b the predictors at the lower and the upper one (∞ and −∞ where there
is none), σ(a) − σ(b) = σ(a)σ(−b)(1 − e^{−(a−b)}), so −log P(y) is a sum of three convex functions of linear forms:

    f = softplus(−a) + softplus(b) + h(a − b),    h(g) = −log(1 − e^{−g}).

g = a − b is the distance of the two thresholds. Below the declared ``gap`` δ, h goes on as its tangent: f is then convex and
smooth on **all of space, thresholds out of order included**, and is the cumulative likelihood itself wherever thresholds are at
least δ apart. The parameters are θ and (τ_k − start_k)/c with c = 1 − e^{−δ}: a row is (x, c) with x of norm at most r.

**Lemma.** Let q = −h′(δ) = 1/(e^δ − 1): 1 + q = 1/c and cq = e^{−δ}. With A = σ(b), B = σ(−a) in [0, 1] and w = −h′(g) in [0, q]:

1. ∂f/∂a = −(B + w), ∂f/∂b = A + w: the gradient is (A − B)x in θ and c(B + w), −c(A + w) in the two thresholds, so its square is
   at most r²(A − B)² + c²(A + w)² + c²(B + w)². That is convex in (A, B, w) and largest at a corner: 2c²(1 + q)² = 2 at (1, 1, q)
   and r² + c²(1 + q)² + c²q² = r² + 1 + e^{−2δ} at (1, 0, q). Lowest and highest levels have r² + c² ≤ r² + 1.
   **L² = max(2, r² + 1 + e^{−2δ})**, times the square of the scale of rows.
2. The curvature is at most ¼ along each of the rows (x, −c e_a), (x, −c e_b), of square norm r² + c², and h″(δ) = q(1 + q) along
   their difference, of square norm 2c²: together at most ½(r² + c²) + 2e^{−δ}, c²q(1 + q) being e^{−δ}.
3. The distance g of two thresholds is the same for all records. `gradients` takes it from the parameters: the steep h′ is then
   computed once for every level, and its rounding moves the sums of neighbours apart by that of one record only (Lemma 18).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from gibbsafe._numerics import up
from gibbsafe._types import AnyFloats, Floats
from gibbsafe.losses.joint import JointLoss, apart

__all__ = ["CumulativeLoss"]


@dataclass(frozen=True)
class CumulativeLoss(JointLoss):
    """softplus(−a) + softplus(b) + h(a − b) of a record's level, a number from 0 to the number of thresholds.

    ``start`` are thresholds that parameters are measured from, ``gap`` is δ, ``reach`` r; the last column of a row is ``unit``,
    the scale of rows, and stands for the thresholds.

    >>> loss = CumulativeLoss((-1.0, 1.0), gap=1.0, reach=1.0, unit=0.5)
    >>> round(loss.lipschitz, 6), round(float(loss.value(np.zeros((1, 2)), np.ones(1))[0]), 6)
    (0.730639, 0.771937)
    """

    start: tuple[float, ...]
    gap: float
    reach: float
    unit: float

    @property
    def step(self) -> float:
        """c = 1 − e^{−δ}, what a unit of a threshold's parameter is worth."""
        return -math.expm1(-self.gap)

    @property
    def lipschitz(self) -> float:
        """√max(2, r² + 1 + e^{−2δ}) times the scale of rows."""
        return up(up(math.sqrt(max(2.0, self.reach**2 + 1 + math.exp(-2 * self.gap)))) * self.unit * (1 + 1e-15))

    @property
    def smoothness(self) -> float:
        """½(r² + c²) + 2e^{−δ} times the square of the scale of rows."""
        return up(((self.reach**2 + self.step**2) / 2 + 2 * math.exp(-self.gap)) * self.unit**2 * (1 + 1e-14))

    @property
    def size_form(self) -> Floats:
        """11ᵀ: the slope in the common predictor xᵀθ is A − B, where w drops out."""
        return np.ones((self.predictors, self.predictors))

    @property
    def predictors(self) -> int:  # type: ignore[override]
        """One per threshold."""
        return len(self.start)

    def parameters(self, width: int) -> int:
        """Coefficients, and thresholds."""
        return width - 1 + self.predictors

    def matrix(self, thetas: Floats, width: int) -> Floats:
        """The same coefficients for every predictor, and −c times its threshold."""
        made = np.empty((*thetas.shape[:-1], width, self.predictors))
        made[..., :-1, :] = thetas[..., : width - 1, None]
        made[..., -1, :] = -self.step * thetas[..., width - 1 :]
        return made

    def vector(self, matrices: Floats) -> Floats:
        """Sums over predictors, then −c times each threshold's."""
        return np.concatenate([matrices[..., :-1, :].sum(axis=-1), -self.step * matrices[..., -1, :]], axis=-1)

    def above(self, u: AnyFloats) -> AnyFloats:
        """Return η (…, thresholds)."""
        return np.asarray(u - np.array(self.start))

    def chances(self, u: AnyFloats) -> AnyFloats:
        """Return P(level) (…, levels); thresholds out of order are put in order, as sorted probabilities."""
        above = -np.sort(-expit(self.above(u)), axis=-1)
        ends = np.ones((*above.shape[:-1], 1))
        return -np.diff(np.concatenate([ends, above, 0 * ends], axis=-1), axis=-1)

    def distance(self, g: AnyFloats) -> tuple[AnyFloats, AnyFloats, AnyFloats]:
        """Return h, −h′ and h″ at distances g."""
        near = g < self.gap
        inside = np.maximum(g, self.gap)
        keep = -np.expm1(-inside)
        slope = np.exp(-inside) / keep
        value = -np.log(keep) + slope * np.maximum(self.gap - g, 0.0)
        return np.asarray(value), np.asarray(slope), np.where(near, 0.0, slope / keep)

    def _ends(self, u: AnyFloats, y: AnyFloats | None) -> tuple[AnyFloats, AnyFloats, np.ndarray]:
        """Return a, b, and the level of every value."""
        assert y is not None
        place = np.broadcast_to(y.astype(np.intp).reshape(-1, *(1,) * (u.ndim - 2)), u.shape[:-1])[..., None]
        infinite = np.full((*u.shape[:-1], 1), np.inf)
        padded = np.concatenate([infinite, self.above(u), -infinite], axis=-1)
        a, b = (np.take_along_axis(padded, place + more, axis=-1)[..., 0] for more in (0, 1))
        return a, b, place

    def gradients(self, rows: Floats, thetas: Floats, beside: Floats) -> Floats:
        """Return the sum of gradients at each of k parameters; distances of thresholds are taken from these."""
        weights, targets = apart(beside)
        thresholds = np.array(self.start) + self.unit * self.step * thetas[:, rows.shape[1] - 1 :]
        inner = self.distance(np.diff(thresholds, axis=1))[1]
        by_level = np.pad(inner, ((0, 0), (1, 1)))  # (k, levels): none at the lowest and the highest
        slopes = self._sloped(self.predicted(rows, thetas), targets, by_level.T[targets.astype(np.intp)])
        return self._gathered(rows, slopes * weights[:, None, None])

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """−log P(level)."""
        a, b, _ = self._ends(u, y)
        return np.asarray(np.logaddexp(0, -a) + np.logaddexp(0, b) + self.distance(a - b)[0])

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """−(B + w) at the lower threshold, A + w at the upper one."""
        a, b, _ = self._ends(u, y)
        return self._sloped(u, y, self.distance(a - b)[1])

    def _sloped(self, u: AnyFloats, y: AnyFloats | None, w: AnyFloats) -> AnyFloats:
        a, b, place = self._ends(u, y)
        made = np.zeros((*u.shape[:-1], self.predictors + 2))
        np.put_along_axis(made, place, -(expit(-a) + w)[..., None], axis=-1)
        np.put_along_axis(made, place + 1, (expit(b) + w)[..., None], axis=-1)
        return made[..., 1:-1]

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Bells at the two thresholds, and h″ along their difference."""
        a, b, place = self._ends(u, y)
        bend = self.distance(a - b)[2]
        levels = np.arange(-1, self.predictors + 1)
        lower, upper = (np.asarray(levels == place - 1 + more, dtype=np.float64)[..., 1:-1] for more in (0, 1))
        apart = lower - upper
        parts = ((expit(a) * expit(-a), lower), (expit(b) * expit(-b), upper), (bend, apart))
        return sum((size[..., None, None] * way[..., None] * way[..., None, :] for size, way in parts), np.zeros(()))

    def steepness(self, u: Floats, y: Floats) -> Floats:
        """The two bells, as a share of their largest sum."""
        a, b, _ = self._ends(u, y)
        return np.asarray(2 * (expit(a) * expit(-a) + expit(b) * expit(-b)))
