"""The loss of a row that stands for several identical records: f times how many there are.

Every sum over records that is linear in f or in one of its derivatives counts merged records by itself when its loss is this
one. The constants are those of a single record: ratios of derivatives (|f‴| ≤ κf″ and the like) are not changed by a factor, and
where a bound of f′ or f″ is summed over records the sum has the weights (`gibbsafe.data.blocks.weights_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gibbsafe._types import AnyFloats
from gibbsafe.losses.base import Loss

__all__ = ["WeightedLoss"]


@dataclass(frozen=True)
class WeightedLoss(Loss):
    """w·f(u, y), elementwise; the second argument has the columns (w) or (w, y), as `gibbsafe.data.blocks.beside_of` makes it."""

    loss: Loss
    margin: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", self.loss.margin)

    @property
    def lipschitz(self) -> float:
        """That of one record."""
        return self.loss.lipschitz

    @property
    def smoothness(self) -> float:
        """That of one record."""
        return self.loss.smoothness

    @property
    def self_concordance(self) -> float:
        """κ: a ratio, free of the weight."""
        return self.loss.self_concordance

    @property
    def quartic_deficit(self) -> float:
        """κ₄: a ratio, free of the weight."""
        return self.loss.quartic_deficit

    @property
    def quartic_excess(self) -> float:
        """K₄⁺: a ratio, free of the weight."""
        return self.loss.quartic_excess

    @property
    def quintic_ratio(self) -> float:
        """K₅: a ratio, free of the weight."""
        return self.loss.quintic_ratio

    @property
    def of_residual(self) -> bool:
        """That of one record."""
        return self.loss.of_residual

    @property
    def granularity(self) -> float:
        """That of one record."""
        return self.loss.granularity

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return _weight(u, y) * self.loss.value(u, _target(y))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return _weight(u, y) * self.loss.slope(u, _target(y))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return _weight(u, y) * self.loss.curvature(u, _target(y))

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return _weight(u, y) * self.loss.third(u, _target(y))

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return _weight(u, y) * self.loss.fourth(u, _target(y))

    def total(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Sum over all records, added in double precision whatever it is asked in."""
        values = self.loss.value(u, _target(y)).astype(np.float64, copy=False)
        return np.asarray(_columns(y)[:, 0].astype(np.float64, copy=False) @ values).astype(u.dtype, copy=False)

    def curvature_losses(self, reaches: AnyFloats, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Those of one record, as often as it stands there."""
        return _weight(u, y) * self.loss.curvature_losses(reaches, u, _target(y))


def _columns(y: AnyFloats | None) -> AnyFloats:
    assert y is not None
    return y


def _weight(u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
    """Weights in the precision of the predictor, as a column where it has many chains."""
    weights = _columns(y)[:, 0].astype(u.dtype, copy=False)
    return weights[:, None] if u.ndim == 2 else weights


def _target(y: AnyFloats | None) -> AnyFloats | None:
    columns = _columns(y)
    return columns[:, 1] if columns.shape[1] > 1 else None
