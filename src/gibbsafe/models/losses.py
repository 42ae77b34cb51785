"""Convex scalar losses f(u, y) of a linear predictor u = zᵀθ, with the constants the theorems and samplers rely on.

Margin losses fold the label into the row (rows are y_i z_i) and take no target. For rows of norm at most R the Lipschitz
constant of θ ↦ f(zᵀθ, y) is R times `lipschitz` and its smoothness R² times `smoothness`. Constants bound how fast the
curvature can change, and are what makes exact rejection sampling possible (`gibbsafe.samplers.shell`):

- `self_concordance` κ:      |f'''| ≤ κ f'', so f(u+a) ≥ f + f'a + f'' (e^{−κ|a|} + κ|a| − 1)/κ²;
- `quartic_deficit` κ₄:      f''(u+x) ≥ f''(u) + f'''(u) x − κ₄ f''(u) x²/2 for every u and x, so
  f(u+a) ≥ f + f'a + f''a²/2 + f'''a³/6 − κ₄ f'' a⁴/24;
- `quartic_excess` K₄⁺, `quintic_ratio` K₅:      f'''' ≤ K₄⁺ f'' and |f'''''| ≤ K₅ f'', which bound the same remainder from above
  and the next one from both sides (`gibbsafe.samplers.squeeze`).

With T = tanh(u/2) the logistic loss has f'' = (1 − T²)/4, f'''' = f''(1 − 6f'') and |f'''''| = f''|T(3T² − 2)|: K₄⁺ = K₅ = 1.
The pseudo-Huber loss has f''''/f'' = 3(4t − 1)/(1 + t)² at t = x² (width 1), largest at t = 3/2, so K₄⁺ = 2.4, and
|f'''''|/f'' = 15|x||3 − 4t|/(1 + t)³, stationary where 4t² − 9t + 1 = 0, larger at the smaller root: K₅ = 9.322 at most.

For the logistic loss f''(u+x)/f''(u) = sech²(h+b)/sech²(b) with h = x/2, b = u/2, and the second bound is
sech²(h+b) ≥ sech²(b)(1 − 2h tanh b − h²), hence κ₄ = 1/2. Proof for b ≥ 0 (the rest by symmetry), T = tanh b, τ = tanh(b+h).
(1) h ≥ 0: τ ≤ T + h sech²b, so 1 − τ² ≥ sech²b − 2Th sech²b − h² sech⁴b. (2) −2b ≤ h < 0, k = −h: T − τ ≥ k sech²b and
T + τ ≥ max(0, 2T − k), and τ² = T² − (T−τ)(T+τ). (3) h < −2b: reflect to case (1) with h' = k − 2b; k² − h'² ≥ 2T(k + h').
For the pseudo-Huber loss f'' = (1 + x²)^{−3/2} and convexity of r ↦ (1+r)^{−3/2} gives κ₄ = 3 (in units of the width).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe.kernels import exp, logistic_gradient, logistic_slope

__all__ = ["LogisticLoss", "Loss", "PseudoHuberLoss", "SoftHingeLoss", "SoftPinballLoss"]

#: float64, or float32 where a caller only wants a quick estimate; losses answer in the precision they are asked in.
Floats: TypeAlias = npt.NDArray[Any]


def psi(r: npt.ArrayLike) -> Floats:
    """ψ(r) = ½ − (e^{−r} + r − 1)/r² = r/6 − r²/24 + …: increasing, concave, from 0 to ½ (r ≥ 0)."""
    r = np.asarray(r, dtype=np.float64)
    small = np.minimum(r, 0.25)
    series = np.zeros_like(r)
    for order in range(13, 0, -1):  # Σ_k (−1)^{k+1} r^k/(k+2)!
        series = small / (order + 2) * (1 - series)
    large = np.maximum(r, 0.25)
    return np.where(r < 0.25, 0.5 * series, 0.5 - (np.expm1(-large) + large) / large / large)


def psi_slope(r: npt.ArrayLike) -> Floats:
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
    def granularity(self) -> float:
        """g such that a computed value errs by at most 16 roundings of |f| + Lip|u| + g: the loss's own absolute scale."""
        return 1.0

    @abstractmethod
    def value(self, u: Floats, y: Floats | None = None) -> Floats:
        """Loss f, elementwise."""

    @abstractmethod
    def slope(self, u: Floats, y: Floats | None = None) -> Floats:
        """First derivative f' in u, elementwise."""

    @abstractmethod
    def curvature(self, u: Floats, y: Floats | None = None) -> Floats:
        """Second derivative f'' in u, elementwise."""

    @abstractmethod
    def third(self, u: Floats, y: Floats | None = None) -> Floats:
        """Third derivative f''' in u, elementwise."""

    @abstractmethod
    def fourth(self, u: Floats, y: Floats | None = None) -> Floats:
        """Fourth derivative f'''' in u, elementwise."""

    def total(self, u: Floats, y: Floats | None = None) -> Floats:
        """Sum of the losses over rows: the column sums of `value`."""
        return np.asarray(self.value(u, y).sum(axis=0))

    def total_and_slope(self, u: Floats, y: Floats | None = None) -> tuple[Floats, Floats]:
        """`total` and `slope` together, for losses that can share work between them."""
        return self.total(u, y), self.slope(u, y)

    def gradient(self, rows: Floats, theta: Floats, y: Floats | None = None) -> Floats:
        """Sum of f′(zᵀθ, y) z over the rows z of a block."""
        return np.asarray(np.dot(self.slope(rows @ theta, y), rows))

    def curvature_losses(self, reaches: Floats, u: Floats, y: Floats | None = None) -> Floats:
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


def _log_of_product(factors: Floats) -> Floats:
    """Sum of log(factors) over the first axis for factors in [1, 2]: one logarithm for many factors.

    A product of 64 factors cannot overflow, in single precision either, and its relative error of 64 roundings is an absolute
    error of the same size in the logarithm: one rounding per factor, as in a plain sum of logarithms.
    """
    group = 64
    grouped = len(factors) // group * group
    total = np.zeros(factors.shape[1:], dtype=factors.dtype)
    if grouped:
        shape = (group, grouped // group, *factors.shape[1:])
        total += np.log(np.multiply.reduce(factors[:grouped].reshape(shape), axis=0)).sum(axis=0)
    if grouped < len(factors):
        total += np.log(np.multiply.reduce(factors[grouped:], axis=0))
    return total


def _softplus_total(x: Floats) -> Floats:
    """Sum of log(1 + e^x) over the first axis, for any finite x."""
    size = np.abs(x)
    positive_part = np.maximum(x, 0).sum(axis=0)
    np.negative(size, out=size)
    exp(size, out=size)
    size += 1
    return np.asarray(positive_part + _log_of_product(size))


def _softplus(x: Floats) -> Floats:
    return np.asarray(np.maximum(x, 0) + np.log1p(exp(-np.abs(x))))


def _bell(x: Floats) -> tuple[Floats, Floats]:
    """Second and third derivative of log(1 + e^x)."""
    decay = exp(-np.abs(x))
    height = decay / (1 + decay) ** 2
    return height, height * np.copysign((1 - decay) / (1 + decay), -x)


def _bell_bend(x: Floats) -> Floats:
    """Fourth derivative of log(1 + e^x): h(1 − 6h) of the second, h."""
    height = _bell(x)[0]
    return np.asarray(height * (1 - 6 * height))


def _residual(u: Floats, y: Floats | None) -> Floats:
    """y − u, with targets repeated over chains; an overflow to infinity is a residual like any other."""
    assert y is not None
    with np.errstate(over="ignore"):
        return np.asarray((y[:, None] if u.ndim == 2 else y) - u).astype(u.dtype, copy=False)


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """f(u) = log(1 + e^{−u}), u = y zᵀθ with labels y = ±1 folded into the row."""

    margin = True
    lipschitz = 1.0
    smoothness = 0.25
    self_concordance = 1.0
    quartic_deficit = 0.5
    quartic_excess = 1.0
    quintic_ratio = 1.0

    def value(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return _softplus(-u)

    def slope(self, u: Floats, y: Floats | None = None) -> Floats:
        """f′ = −1/(1 + e^u)."""
        return logistic_slope(u)

    def gradient(self, rows: Floats, theta: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return logistic_gradient(rows, theta)

    def curvature(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return _bell(u)[0]

    def third(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return _bell(u)[1]

    def fourth(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return _bell_bend(u)

    def total(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return _softplus_total(-u)

    def total_and_slope(self, u: Floats, y: Floats | None = None) -> tuple[Floats, Floats]:
        """One exponential for both: with d = e^{−|u|}/(1 + e^{−|u|}), f' = −d for u ≥ 0 and d − 1 for u < 0."""
        negative = np.minimum(u, 0)
        decay = np.abs(u)
        np.negative(decay, out=decay)
        exp(decay, out=decay)
        factors = decay + 1
        total = _log_of_product(factors) - negative.sum(axis=0)
        np.divide(decay, factors, out=decay)
        np.subtract(0.5, decay, out=decay)
        np.copysign(decay, u, out=decay)
        return np.asarray(total), np.subtract(decay, 0.5, out=decay)


class _SoftStep(Loss):
    """A kink smoothed over a width h: h log(1 + e^x) and a line, where x = ±u/h and a constant (`_scaled`)."""

    width: float
    #: The sign of u in x.
    sign: float

    @abstractmethod
    def _scaled(self, u: Floats, y: Floats | None) -> Floats:
        """The argument x."""

    @property
    def smoothness(self) -> float:
        """1/(4h)."""
        return 0.25 / self.width

    @property
    def self_concordance(self) -> float:
        """1/h."""
        return 1 / self.width

    @property
    def quartic_deficit(self) -> float:
        """1/(2h²)."""
        return 0.5 / self.width**2

    @property
    def quartic_excess(self) -> float:
        """1/h²."""
        return 1 / self.width**2

    @property
    def quintic_ratio(self) -> float:
        """1/h³."""
        return 1 / self.width**3

    @property
    def granularity(self) -> float:
        """1 + h: the place of the kink and the width."""
        return 1 + self.width

    def curvature(self, u: Floats, y: Floats | None = None) -> Floats:
        return _bell(self._scaled(u, y))[0] / self.width

    def third(self, u: Floats, y: Floats | None = None) -> Floats:
        return self.sign * _bell(self._scaled(u, y))[1] / self.width**2

    def fourth(self, u: Floats, y: Floats | None = None) -> Floats:
        return _bell_bend(self._scaled(u, y)) / self.width**3


@dataclass(frozen=True)
class SoftHingeLoss(_SoftStep):
    """f(u) = h log(1 + e^{(1−u)/h}): the hinge loss smoothed over a width h; labels ±1 folded into the row."""

    width: float = 0.5
    margin = True
    lipschitz = 1.0
    sign = -1.0

    def __post_init__(self) -> None:
        _validate.positive("width", self.width)

    def _scaled(self, u: Floats, y: Floats | None = None) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray((1 - u) / self.width)

    def value(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        with np.errstate(over="ignore"):
            return self.width * _softplus(self._scaled(u))

    def slope(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return logistic_slope(-self._scaled(u))

    def gradient(self, rows: Floats, theta: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return logistic_gradient(rows, theta, 1.0, self.width)

    def total(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return np.asarray(self.width * _softplus_total(self._scaled(u)))


@dataclass(frozen=True)
class SoftPinballLoss(_SoftStep):
    """f(u, y) = τx + h log(1 + e^{−x/h}) of the residual x = y − u: the pinball loss of the τ-quantile smoothed over h."""

    quantile: float = 0.5
    width: float = 0.5
    margin = False
    sign = 1.0

    def __post_init__(self) -> None:
        _validate.open_probability("quantile", self.quantile)
        _validate.positive("width", self.width)

    @property
    def lipschitz(self) -> float:
        """max(τ, 1 − τ)."""
        return max(self.quantile, 1 - self.quantile)

    def _scaled(self, u: Floats, y: Floats | None) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(-_residual(u, y) / self.width)

    def value(self, u: Floats, y: Floats | None = None) -> Floats:
        """τx + h softplus(−x/h), written as max(τx, (τ−1)x) + h log(1 + e^{−|x|/h}) so that nothing cancels."""
        residual = _residual(u, y)
        with np.errstate(over="ignore"):
            kinked = np.maximum(self.quantile * residual, (self.quantile - 1) * residual)
            return np.asarray(kinked + self.width * np.log1p(exp(-np.abs(residual / self.width))))

    def slope(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return np.asarray(1 - self.quantile + logistic_slope(self._scaled(u, y)))


@dataclass(frozen=True)
class PseudoHuberLoss(Loss):
    """f(u, y) = δ²(√(1 + x²/δ²) − 1) of the residual x = y − u: quadratic within the width δ, linear beyond."""

    width: float = 1.0
    margin = False
    smoothness = 1.0

    def __post_init__(self) -> None:
        _validate.positive("width", self.width)

    @property
    def lipschitz(self) -> float:
        """δ."""
        return self.width

    @property
    def self_concordance(self) -> float:
        """1.5/δ: |f'''|/f'' = 3r/(δ(1 + r²)) at r = x/δ, largest at r = 1."""
        return 1.5 / self.width

    @property
    def quartic_deficit(self) -> float:
        """3/δ²."""
        return 3 / self.width**2

    @property
    def quartic_excess(self) -> float:
        """2.4/δ²."""
        return 2.4 / self.width**2

    @property
    def quintic_ratio(self) -> float:
        """9.322/δ³."""
        return 9.322 / self.width**3

    @property
    def granularity(self) -> float:
        """δ²: δ|x| is at most |f| + δ²."""
        return self.width**2

    def _scaled(self, u: Floats, y: Floats | None) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore"):
            ratio = np.asarray(_residual(u, y) / self.width)
            return ratio, np.hypot(1, ratio)

    def value(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        ratio, root = self._scaled(u, y)
        with np.errstate(over="ignore"):
            size = np.abs(ratio)
            # size/(1+root) lies in [0, 1]; where the ratio overflowed it is its limit 1.
            share = np.divide(size, 1 + root, where=~np.isinf(root), out=np.ones_like(size))
            return np.asarray(self.width**2 * size * share)

    def slope(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        ratio, root = self._scaled(u, y)
        finite = ~np.isinf(root)
        return -self.width * np.divide(ratio, root, where=finite, out=np.sign(ratio))

    def curvature(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        return np.asarray((1 / self._scaled(u, y)[1]) ** 3)

    def third(self, u: Floats, y: Floats | None = None) -> Floats:  # noqa: D102
        ratio, root = self._scaled(u, y)
        finite = ~np.isinf(root)
        direction = np.divide(ratio, root, where=finite, out=np.sign(ratio))
        return np.asarray(3 / self.width * direction * (1 / root) ** 4)

    def fourth(self, u: Floats, y: Floats | None = None) -> Floats:
        """3(4r² − 1)(1 + r²)^{−7/2}/δ² at r = x/δ."""
        ratio, root = self._scaled(u, y)
        finite = ~np.isinf(root)
        direction = np.divide(ratio, root, where=finite, out=np.sign(ratio))  # r/√(1 + r²)
        return np.asarray(3 / self.width**2 * (5 * np.square(direction) - 1) * (1 / root) ** 5)
