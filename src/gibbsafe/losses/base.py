"""Convex scalar losses f(u, y) of a linear predictor u = zᵀθ, with the constants the theorems and samplers rely on.

Margin losses fold the label into the row (rows are y_i z_i) and take no target. For rows of norm at most R the Lipschitz
constant of θ ↦ f(zᵀθ, y) is R times `lipschitz` and its smoothness R² times `smoothness`. Constants bound how fast the
curvature can change, and are what makes exact rejection sampling possible (`gibbsafe.samplers.shell`); lemma 11 of
`docs/theory.md` proves those of every loss:

- `self_concordance` κ:      |f'''| ≤ κ f'', so f(u+a) ≥ f + f'a + f'' (e^{−κ|a|} + κ|a| − 1)/κ²;
- `quartic_deficit` κ₄:      f''(u+x) ≥ f''(u) + f'''(u) x − κ₄ f''(u) x²/2 for every u and x, so
  f(u+a) ≥ f + f'a + f''a²/2 + f'''a³/6 − κ₄ f'' a⁴/24;
- `quartic_excess` K₄⁺, `quintic_ratio` K₅:      f'''' ≤ K₄⁺ f'' and |f'''''| ≤ K₅ f'', which bound the same remainder from above
  and the next one from both sides (`gibbsafe.samplers.shell.squeeze`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from gibbsafe._types import AnyFloats, Floats

__all__ = ["Loss"]


def psi(r: npt.ArrayLike) -> AnyFloats:
    """ψ(r) = ½ − (e^{−r} + r − 1)/r² = r/6 − r²/24 + …: increasing, concave, from 0 to ½ (r ≥ 0)."""
    r = np.asarray(r, dtype=np.float64)
    small = np.minimum(r, 0.25)
    series = np.zeros_like(r)
    for order in range(13, 0, -1):  # Σ_k (−1)^{k+1} r^k/(k+2)!
        series = small / (order + 2) * (1 - series)
    large = np.maximum(r, 0.25)
    return np.where(r < 0.25, 0.5 * series, 0.5 - (np.expm1(-large) + large) / large / large)


def psi_slope(r: npt.ArrayLike) -> AnyFloats:
    """ψ'(r) = 2(e^{−r} + r − 1)/r³ − (1 − e^{−r})/r² = 1/6 − r/12 + …: from 1/6 to 0, decreasing."""
    r = np.asarray(r, dtype=np.float64)
    small = np.minimum(r, 0.5)
    series = np.zeros_like(r)
    for k in range(17, 0, -1):  # Σ_k (−r)^{k−1} k/(k+2)!
        series = k / math.factorial(k + 2) - small * series
    large = np.maximum(r, 0.5)
    exact = (2 * (np.expm1(-large) + large) / large + np.expm1(-large)) / large / large
    return np.where(r < 0.5, series, exact)


class Loss(ABC):
    """A convex function of the linear predictor. Arrays ``u`` are (rows,) or (rows, chains); targets are (rows,) or None."""

    #: Whether rows carry the label (rows are y_i z_i) and targets are None.
    margin: bool
    #: How many linear predictors of a record it is a function of (`gibbsafe.losses.joint` has those of several).
    predictors: int = 1

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Upper bound of |f'|."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Upper bound of f''."""

    @property
    @abstractmethod
    def self_concordance(self) -> float:
        """κ with |f'''| ≤ κ f''."""

    @property
    @abstractmethod
    def quartic_deficit(self) -> float:
        """κ₄ with f''(u+x) ≥ f''(u) + f'''(u) x − κ₄ f''(u) x²/2; letting x → 0, f'''' ≥ −κ₄ f''."""

    @property
    @abstractmethod
    def quartic_excess(self) -> float:
        """K₄⁺ with f'''' ≤ K₄⁺ f''."""

    @property
    @abstractmethod
    def quintic_ratio(self) -> float:
        """K₅ with |f'''''| ≤ K₅ f''."""

    @property
    def of_residual(self) -> bool:
        """Whether f(u, y) depends on y − u alone, up to a term of y: samplers may then move responses in place of predictors.

        False is always safe; True of a loss for which it is not would give draws of another posterior.
        """
        return False

    @property
    def granularity(self) -> float:
        """g such that a computed value errs by at most 16 roundings of |f| + Lip|u| + g: the loss's own absolute scale."""
        return 1.0

    @abstractmethod
    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Loss f, elementwise."""

    @abstractmethod
    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """First derivative f' in u, elementwise."""

    @abstractmethod
    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Second derivative f'' in u, elementwise."""

    @abstractmethod
    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Third derivative f''' in u, elementwise."""

    @abstractmethod
    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Fourth derivative f'''' in u, elementwise."""

    def of_moment(self, moment: Floats) -> Floats:
        """What a second moment of rows is for the parameters: itself, where each column has one."""
        return moment

    def of_columns(self, share: Floats) -> Floats:
        """What is said of each column of rows, said of each parameter."""
        return share

    def total(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Sum of the losses over rows: the column sums of `value`."""
        return np.asarray(self.value(u, y).sum(axis=0))

    def total_and_slope(self, u: AnyFloats, y: AnyFloats | None = None) -> tuple[AnyFloats, AnyFloats]:
        """`total` and `slope` together, for losses that can share work between them."""
        return self.total(u, y), self.slope(u, y)

    def gradient(self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Sum of f′(zᵀθ, y) z over the rows z of a block."""
        return np.asarray(np.dot(self.slope(rows @ theta, y), rows))

    def gradient_sums(self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None, block: int, chunk: int) -> Floats | None:
        """Return `gradient` of every chunk of rows (chunks, p), its blocks added from left to right; None where not compiled."""
        return None

    def curvature_losses(self, reaches: AnyFloats, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Upper bounds of sup_{0<|a|≤reach} ½f″(u) − D(a)/a², D(a) = f(u+a) − f(u) − f′(u)a, for reaches (k, rows).

        For short reaches |f‴| reach/6 + κ₄f″ reach²/24. For long ones the exact value: f″ is a symmetric bell, so on the side
        where it falls D(a)/a² = ∫₀¹ (1−t) f″(u+ta) dt decreases in |a|, and on the other side it is larger.
        """
        curvature, third = self.curvature(u, y), self.third(u, y)
        size, start, slope = np.abs(third) / 6, self.value(u, y), self.slope(u, y)
        fixed = np.abs(start) + self.lipschitz * np.abs(u) + self.granularity
        bounds = np.empty_like(reaches)
        for reach, bound in zip(reaches, bounds, strict=True):
            np.multiply(reach, size + self.quartic_deficit / 24 * curvature * reach, out=bound)
            scaled = self.self_concordance * reach
            if not scaled.size or scaled.max() <= 0.5:  # the Taylor bound is as good, and nothing cancels
                continue
            away = np.copysign(reach, -third)
            end, tilt = self.value(u + away, y), slope * away
            rounding = 1e-14 * (fixed + np.abs(end) + np.abs(tilt) + self.lipschitz * reach)
            exact = 0.5 * curvature - (end - start - tilt - rounding) / np.maximum(reach, 1e-100) ** 2
            np.minimum(bound, exact, out=bound, where=scaled > 0.5)
        return bounds


def residual(u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
    """y − u, with targets repeated over chains; an overflow to infinity is a residual like any other."""
    assert y is not None
    with np.errstate(over="ignore"):
        return np.asarray((y[:, None] if u.ndim == 2 else y) - u).astype(u.dtype, copy=False)
