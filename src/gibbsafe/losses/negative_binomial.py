"""The negative binomial loss of a count: −log-likelihood of a mean e^u with a known dispersion.

A negative binomial count y of mean μ and size r has −log p(y) = r log(1 + μ/r) + y log(1 + r/μ) + constant(y). With μ = e^u and
t = u − log r this is

    f(u, y) = r log(1 + e^t) + y log(1 + e^{−t}) = (y + r) log(1 + e^t) − y t,

a softplus of weight y + r and a line.

**Lemma.** For 0 ≤ y ≤ cap and r > 0, with σ the logistic function:

1. f′ = rσ(t) − yσ(−t) lies in [−y, r], so |f′| ≤ max(cap, r); both ends are approached, at u → −∞ and u → ∞.
2. f″ = (y + r)σ(t)σ(−t) ≤ (cap + r)/4, attained at t = 0 and y = cap.
3. f − (y + r)·softplus(t) is a line, so every ratio of higher derivatives to f″ is that of a softplus, whatever y and r are:
   |f‴| ≤ f″, f″(u+x) ≥ f″(u) + f‴(u)x − f″(u)x²/4, f'''' ≤ f″, |f'''''| ≤ f″ (`gibbsafe.losses.base`).

A record's gradient in θ is f′z, so on rows of norm at most 1 one record moves the gradient by at most max(cap, r) when it is
added, and by twice that when it is replaced. **A bound on counts is needed**: without a cap f′ has no lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import AnyFloats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.bregman import bregman
from gibbsafe.losses.centred import like_predictor
from gibbsafe.losses.kernels import logistic_slope
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.softplus import bell, bell_bend, softplus

__all__ = ["NegativeBinomialLoss"]


@dataclass(frozen=True)
class NegativeBinomialLoss(Loss):
    """r log(1 + e^t) + y log(1 + e^{−t}), t = u − log r, for counts y in [0, cap] and ``dispersion`` r; at least 0."""

    cap: float
    dispersion: float = 1.0
    margin = False
    self_concordance = 1.0
    quartic_deficit = 0.5
    quartic_excess = 1.0
    quintic_ratio = 1.0

    def __post_init__(self) -> None:
        _validate.positive("cap", self.cap)
        _validate.positive("dispersion", self.dispersion)

    @property
    def lipschitz(self) -> float:
        """max(cap, r)."""
        return max(self.cap, self.dispersion)

    @property
    def smoothness(self) -> float:
        """(cap + r)/4."""
        return 0.25 * (self.cap + self.dispersion)

    @property
    def granularity(self) -> float:
        """max(cap, r)·(1 + |log r|): t is a difference of u and log r, rounded."""
        return self.lipschitz * (1 + abs(math.log(self.dispersion)))

    def _shifted(self, u: AnyFloats) -> AnyFloats:
        return np.asarray(u - np.asarray(math.log(self.dispersion), dtype=u.dtype))

    def _weight(self, u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
        return np.asarray(like_predictor(u, y) + np.asarray(self.dispersion, dtype=u.dtype))

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Two terms of one sign: nothing cancels."""
        t = self._shifted(u)
        return np.asarray(self.dispersion * softplus(t) + like_predictor(u, y) * softplus(-t))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """rσ(t) − yσ(−t)."""
        t = self._shifted(u)
        return np.asarray(like_predictor(u, y) * logistic_slope(t) - self.dispersion * logistic_slope(-t))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """The softplus's, times y + r."""
        return np.asarray(self._weight(u, y) * bell(self._shifted(u))[0])

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """The softplus's, times y + r."""
        return np.asarray(self._weight(u, y) * bell(self._shifted(u))[1])

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """The softplus's, times y + r."""
        return np.asarray(self._weight(u, y) * bell_bend(self._shifted(u)))


@bregman.register
def _(loss: NegativeBinomialLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return np.asarray(loss._weight(u, y) * bregman(LogisticLoss(), loss._shifted(u), step))
