"""The negative binomial loss of a count over an exposure: a mean E·e^u, which is the loss at u + log E.

A record's response is one number that holds the count y and o = log E, |o| ≤ `FARTHEST`: `UNIT`·y + o + `UNIT`/2. It is read back
exactly but for the last digits of o. A shift of the predictor by a number of the record's own changes no constant of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import AnyFloats, Floats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.bregman import bregman
from gibbsafe.losses.centred import like_predictor
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss

__all__ = ["FARTHEST", "LARGEST_COUNT", "ExposedCountLoss", "packed"]

#: Logarithms of exposures beyond this are moved there; what separates two counts; the largest count that leaves room for o.
FARTHEST, UNIT, LARGEST_COUNT = 28.0, 64.0, 2**20


def packed(counts: Floats, exposures: Floats) -> Floats:
    """Return the responses of counts over exposures above 0."""
    return np.asarray(UNIT * counts + np.clip(np.log(exposures), -FARTHEST, FARTHEST) + UNIT / 2)


@dataclass(frozen=True)
class ExposedCountLoss(Loss):
    """f(u + log E, y) of the negative binomial loss f, for responses that `packed` made."""

    base: NegativeBinomialLoss
    margin = False
    self_concordance = 1.0
    quartic_deficit = 0.5
    quartic_excess = 1.0
    quintic_ratio = 1.0

    @property
    def lipschitz(self) -> float:
        """That of the loss without exposures."""
        return self.base.lipschitz

    @property
    def smoothness(self) -> float:
        """That of the loss without exposures."""
        return self.base.smoothness

    @property
    def granularity(self) -> float:
        """Lip times the largest response, of which o is a part and rounded with it."""
        return self.base.granularity + self.lipschitz * UNIT * (self.base.cap + 1)

    def apart(self, u: AnyFloats, y: AnyFloats | None) -> tuple[AnyFloats, AnyFloats]:
        """Return the predictor with log E added, and the counts."""
        assert y is not None
        counts = np.floor(y / UNIT)
        return np.asarray(u + like_predictor(u, y - UNIT * counts - UNIT / 2)), counts

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self.base.value(*self.apart(u, y))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self.base.slope(*self.apart(u, y))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self.base.curvature(*self.apart(u, y))

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self.base.third(*self.apart(u, y))

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self.base.fourth(*self.apart(u, y))


@bregman.register
def _(loss: ExposedCountLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    shifted, counts = loss.apart(u, y)
    return bregman(loss.base, shifted, step, counts)
