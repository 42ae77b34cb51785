"""Linear quantile regression with the pinball loss smoothed over a public width."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._types import JSON
from gibbsafe._validate import open_probability, positive
from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import CentredSoftPinballLoss
from gibbsafe.models.base import register
from gibbsafe.models.linear.regressor import LinearRegressor

__all__ = ["LinearQuantileModel", "SoftQuantileRegression"]


@dataclass(frozen=True, kw_only=True)
class LinearQuantileModel(LinearRegressor):
    """A numeric response whose slopes f′ in the predictor lie in [−τ, 1 − τ]: the pinball loss of the τ-quantile, or smoothed.

    ``scale`` is a public guess of the spread of the response, the unit of the default prior radius.

    **Difference constants.** Let M = max(τ, 1−τ), |z| ≤ r, and s, s′ be the slopes at the two records (z, 1), (z′, 1). The
    gradient of the difference is (sz − s′z′, s − s′), with norms at most (|s| + |s′|)r and |s − s′| in its two blocks. With prior
    precisions m₁, m₂ its squared size is at most the convex function (|s| + |s′|)²r²/m₁ + (s − s′)²/m₂, largest at a corner of
    equal signs, (M, M) or (M, 0), or of opposite ones, (τ, 1−τ): the price is max(4M²r²/m₁, r²/m₁ + 1/m₂), and for m₁ = m₂ = 1
    its root is max(2Mr, √(r² + 1)). Per block it is declared as 2Mr and √max(0, 1 − (4M²−1)r²), whose sum of squares over
    precisions is at least that maximum wherever m₂ ≥ m₁, and as 2Mr and 1 otherwise. Without an intercept the first block is
    all: 2Mr = 2L. Whole rows are replaced: pricing a change of the response alone would be wrong. Under addition or removal the
    constant is M times the norm of the row.
    """

    quantile: float = 0.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "quantile", open_probability("quantile", self.quantile))
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def parameter_scale(self) -> float:
        """The declared scale of the response."""
        return self.scale

    def _difference_blocks(self, precisions: list[float]) -> tuple[float, ...] | None:
        if not self.intercept:
            return None
        double, r = 2 * max(self.quantile, 1 - self.quantile), self.domain.radius
        of_features, of_intercept = precisions
        constant = 1.0 if of_intercept < of_features else math.sqrt(max(0.0, 1 - (double**2 - 1) * r**2))
        return self.row_scale * double * r, self.row_scale * constant

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(quantile=self.quantile, scale=self.scale)


@register
@dataclass(frozen=True, kw_only=True)
class SoftQuantileRegression(LinearQuantileModel):
    """Conditional quantiles with loss τr + h log(1 + e^{−r/h}) of the residual r = y − xᵀθ: 1/(4h)-smooth, |f‴| ≤ f″/h.

    ``quantile`` is τ; ``width`` is h, public and in the response's units (default: a quarter of ``scale``): the loss exceeds the
    pinball loss by at most h log 2. **No bound on the response is needed**; any finite y is admitted. See `LinearQuantileModel`
    for scale and difference constants, `LinearModel` for the rest.

    >>> model = SoftQuantileRegression(dimension=2, quantile=0.9, width=0.1)
    >>> model.loss.lipschitz, model.loss.smoothness
    (0.9, 2.5)
    """

    name = "SoftQuantileRegression"
    width: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", self.scale / 4 if self.width is None else positive("width", self.width))

    @property
    def loss(self) -> Loss:
        """Smoothed pinball loss of the residual, measured from its value at 0."""
        assert self.width is not None
        return CentredSoftPinballLoss(self.quantile, self.width)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return super().to_dict() | {"width": self.width}
