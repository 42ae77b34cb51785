"""Bregman differences D(u, a) = f(u + a) − f(u) − f′(u)a of the smooth losses, without cancellation.

For a small step a the difference is of order a², and a formula that subtracts losses would leave an error of order |f| or |a|.
Those below leave an error of at most `ROUNDING` units in the last place of ½·smoothness·a², for every u, a and target:

- **logistic**: with q = 1/(1 + e^u) and E(x) = eˣ − 1 − x ≥ 0, D = log(1 + (1−q)E(qa) + qE(−(1−q)a)); all terms are of one sign.
  For |a| > 1 the plain difference serves: its error, a few units of |a|, is below as many of a².
- **soft hinge, soft pinball** of width h: h times the logistic difference at u/h, a/h (lines drop out).
- **pseudo-Huber** of width δ, r and r′ the residuals over δ before and after, ρ = √(1 + r²): a²/(ρ(ρρ′ + 1 + rr′)), and where
  rr′ < −½ the equal δ²(ρ′ − (1 + rr′)/ρ).
- **squared**: a²/2.

`quick_bregman` is the plain difference where that is faster: its error is below `QUICK_ROUNDING`·|a|, so whoever compares it with
a threshold knows when the precise one has to decide.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from gibbsafe._types import AnyFloats
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import like_predictor
from gibbsafe.losses.kernels import logistic_slope
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.losses.weighted import WeightedLoss

__all__ = ["QUICK_ROUNDING", "ROUNDING", "bregman", "has_bregman", "quick_bregman"]


#: Errors of `bregman` in units 2⁻⁵³ · ½ · smoothness · a².
ROUNDING = 64.0
#: Errors of `quick_bregman` in units of |a|, for losses of a logistic shape.
QUICK_ROUNDING = 2.0**-47
#: Below this |x| the series of eˣ − 1 − x, above it expm1(x) − x.
SMALL = 0.0625


@singledispatch
def bregman(loss: Loss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    """D(u, step) ≥ 0, elementwise; arguments as those of the loss, ``step`` of the shape of ``u``.

    >>> bregman(LogisticLoss(), np.zeros(2), np.array([1e-9, 1.0]))
    array([1.25000000e-19, 1.20114507e-01])
    """
    raise PremiseError(f"{type(loss).__name__}: no Bregman difference is known; the proximal sampler needs a smooth loss")


def has_bregman(loss: Loss) -> bool:
    """Whether the differences of a loss are known."""
    return bregman.dispatch(type(loss)) is not bregman.dispatch(Loss)


def _excess(x: AnyFloats) -> AnyFloats:
    """eˣ − 1 − x for |x| ≤ 1, to about a hundred units in the last place of x²."""
    answer = np.expm1(x) - x
    small = np.abs(x) < SMALL
    if small.any():
        t = x[small]
        series = 1 + t / 3 * (1 + t / 4 * (1 + t / 5 * (1 + t / 6 * (1 + t / 7 * (1 + t / 8 * (1 + t / 9))))))
        answer[small] = 0.5 * t * t * series
    return np.asarray(answer)


def _logistic(u: AnyFloats, step: AnyFloats) -> AnyFloats:
    with np.errstate(over="ignore", under="ignore"):
        decay = np.exp(-np.abs(u))
        less = decay / (1 + decay)  # the smaller of q = 1/(1 + e^u) and 1 − q
        a = np.where(u >= 0, step, -step)  # by symmetry: D(u, a) = D(−u, −a), so that q is the smaller one
        near = np.clip(a, -1.0, 1.0)
        more = 1 - less
        answer = np.log1p(more * _excess(less * near) + less * _excess(-more * near))
        far = np.abs(step) > 1
        if far.any():
            at, rest = (np.broadcast_to(each, far.shape)[far] for each in (u, less))  # ``u`` may be a column
            answer[far] = _far(np.abs(at), rest, a[far])
    return np.asarray(answer)


def _far(size: AnyFloats, less: AnyFloats, a: AnyFloats) -> AnyFloats:
    """log(1 − q + q e^{−a}) + qa for |a| > 1 and q = 1/(1 + e^size) ≤ ½; q and e^{−|a|} may underflow."""
    away = np.abs(a)
    right = np.log1p(less * np.expm1(-away)) + less * away
    # a < 0: log(1 − q + q e^{|a|}) − q|a|, and for long steps (1 − q)|a| + log(q + (1 − q)e^{−|a|})
    left = np.log1p(less * np.expm1(np.minimum(away, 30.0))) - less * away
    long = (1 - less) * away + np.logaddexp(-size, -away) - np.log1p(np.exp(-size))
    return np.maximum(np.where(a > 0, right, np.where(away < 30, left, long)), 0.0)


@bregman.register
def _(loss: LogisticLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return _logistic(u, step)


@bregman.register
def _(loss: SoftHingeLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return loss.width * _logistic((u - 1) / loss.width, step / loss.width)


@bregman.register
def _(loss: SoftPinballLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return loss.width * _logistic((like_predictor(u, y) - u) / loss.width, -step / loss.width)


@bregman.register
def _(loss: SquaredLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return np.asarray(0.5 * np.square(step))


@bregman.register
def _(loss: PseudoHuberLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    width = loss.width
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        before = (like_predictor(u, y) - u) / width
        after = before - step / width
        root, root_after = np.hypot(1, before), np.hypot(1, after)
        product = before * after
        same_side = np.square(step) / (root * (root * root_after + 1 + product))
        across = width * width * (root_after - 1 / root - after * (before / root))
        answer = loss.smoothness * np.where(product < -0.5, across, same_side)  # 1 of the loss itself, more of a narrower score
    return np.nan_to_num(answer, nan=0.0, posinf=0.0)


@singledispatch
def quick_bregman(loss: Loss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    """`bregman` up to `QUICK_ROUNDING`·|step|, NaN or infinite where that overflows; ``u`` may be a column (rows, 1)."""
    return bregman(loss, u, step, y)


def _quick_logistic(u: AnyFloats, step: AnyFloats) -> AnyFloats:
    q = -logistic_slope(np.abs(u))  # at most ½ (by symmetry), so that 1 + q(e^{−a} − 1) does not cancel
    a = np.copysign(1.0, u) * step
    answer = np.expm1(-a)
    answer *= q
    np.log1p(answer, out=answer)
    a *= q
    answer += a
    return np.asarray(answer)


@quick_bregman.register
def _(loss: LogisticLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return _quick_logistic(u, step)


@quick_bregman.register
def _(loss: SoftHingeLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return loss.width * _quick_logistic((u - 1) / loss.width, step / loss.width)


@quick_bregman.register
def _(loss: SoftPinballLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    return loss.width * _quick_logistic((like_predictor(u, y) - u) / loss.width, -step / loss.width)


@bregman.register
def _(loss: WeightedLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    assert y is not None
    weights = y[:, 0]
    target = y[:, 1] if y.shape[1] > 1 else None
    return np.asarray((weights[:, None] if u.ndim == 2 else weights) * bregman(loss.loss, u, step, target))
