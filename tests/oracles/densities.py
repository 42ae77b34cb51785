"""Posteriors written down again from the papers: losses of one record, log densities of tempered posteriors on a line.

Nothing is imported from the library. Records come with multiplicities, so that a million equal rows cost no more than one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .adaptive import Line, LogDensity

Array = NDArray[np.float64]
#: Losses f(u, y) of a predictor u and a response y (labels ±1), each up to a constant that depends on y alone.
Loss = Callable[[Array, float], Array]


def softplus(x: Array) -> Array:
    """log(1 + e^x)."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def logistic(u: Array, y: float) -> Array:
    """log(1 + e^{−yu})."""
    return softplus(-y * u)


def soft_hinge(width: float) -> Loss:
    """h log(1 + e^{(1 − yu)/h})."""
    return lambda u, y: width * softplus((1 - y * u) / width)


def hinge(u: Array, y: float) -> Array:
    """max(0, 1 − yu)."""
    return np.maximum(0.0, 1 - y * u)


def pseudo_huber(width: float) -> Loss:
    """δ²(√(1 + (y − u)²/δ²) − 1), less its value at u = 0: stable however far y is."""

    def loss(u: Array, y: float) -> Array:
        # √(1+a²) − √(1+b²) = (a−b)(a+b)/(√(1+a²) + √(1+b²)), a = (y−u)/δ, b = y/δ
        a, b = (y - u) / width, y / width
        return -u * width * ((a + b) / (np.hypot(1.0, a) + math.hypot(1.0, b)))

    return loss


def pinball(quantile: float) -> Loss:
    """τr for r = y − u ≥ 0, (τ − 1)r below, less its value at u = 0."""

    def loss(u: Array, y: float) -> Array:
        # with r = y − u: τr + (−r)₊; (u − y)₊ − (−y)₊ without cancellation for far y
        kink = np.maximum(u, y) - max(0.0, y) if y > 0 else np.where(u > y, u, y)
        return -quantile * u + kink

    return loss


def soft_pinball(quantile: float, width: float) -> Loss:
    """τr + h log(1 + e^{−r/h}), r = y − u, less its value at u = 0."""

    def loss(u: Array, y: float) -> Array:
        if y < 0:  # h log(1 + e^{(u−y)/h}) = (u − y) + h log(1 + e^{(y−u)/h})
            bend = u + width * (softplus((y - u) / width) - softplus(np.array(y / width)))
        else:
            bend = width * (softplus((u - y) / width) - softplus(np.array(-y / width)))
        return -quantile * u + bend

    return loss


def negative_binomial(size: float) -> Loss:
    """r log(1 + μ/r) + y log(1 + r/μ) at the mean μ = e^u: −log of r^r μ^y/(r + μ)^{r+y}, less y log r."""
    return lambda u, y: (size + y) * softplus(u - math.log(size)) - y * (u - math.log(size))


def log_logistic(scale: float, event: bool) -> Loss:
    """−log of the density, or of the survival, of a log time y around u with logistic noise, less its value at u = 0."""

    def loss(u: Array, y: float) -> Array:
        # with v = (u − y)/s: softplus(−v) = (−v)₊ + log(1 + e^{−|v|}), and softplus(v) = softplus(−v) + v
        v, start = (u - y) / scale, -y / scale
        lower = np.maximum(-v, 0.0) - max(-start, 0.0) if abs(start) < 1e3 else (-u / scale if start < 0 else np.zeros_like(u))
        bent = np.log1p(np.exp(-np.abs(v))) - math.log1p(math.exp(-abs(start)))
        once = lower + bent
        return 2 * once + u / scale if event else once

    return loss


def squared(u: Array, y: float) -> Array:
    """½(y − u)², less its value at u = 0."""
    return u * (u / 2 - y)


@dataclass(frozen=True)
class Rows:
    """Records (z, y) with multiplicities."""

    rows: Sequence[tuple[float, float, float]] = ()

    def with_(self, *more: tuple[float, float, float]) -> Rows:
        """Add records (z, y, times)."""
        return Rows((*self.rows, *more))


@dataclass(frozen=True)
class Gibbs:
    """exp(−β Σ f(zθ, y)) N(θ; centre, 1/precision) on a line, or on [−ball, ball]."""

    loss: Loss
    beta: float
    precision: float
    centre: float = 0.0
    ball: float = math.inf
    kinks: Callable[[float, float], Sequence[float]] = field(default=lambda z, y: ())

    def log(self, data: Rows) -> LogDensity:
        """Return the log density up to a constant."""

        def density(theta: Array) -> Array:
            gap = theta - self.centre
            total = -0.5 * self.precision * gap * gap
            for z, y, times in data.rows:
                total = total - self.beta * times * self.loss(z * theta, y)
            return total

        return density

    def line(self, *datas: Rows) -> Line:
        """Return where to look: around the centre, and around the kinks and the prior-times-gradient balance of all data."""
        scale = 1 / math.sqrt(self.precision)
        kinks = [k for data in datas for z, y, _ in data.rows for k in self.kinks(z, y) if math.isfinite(k)]

        def terms(theta: Array) -> Array:
            total = 0.5 * self.precision * (np.abs(theta) + abs(self.centre)) * np.abs(theta - self.centre)
            for data in datas:
                for z, y, times in data.rows:
                    total = total + self.beta * times * (np.abs(self.loss(z * theta, y)) + np.abs(z * theta))
            return total

        return Line(-self.ball, self.ball, (self.centre, *kinks), scale, [k for k in kinks if abs(k) < self.ball], terms)


# -- densities in the coordinate where they are log-concave --------------------------------------------------------------


def log_sigmoid(u: Array) -> Array:
    """log 1/(1 + e^{−u})."""
    return -softplus(-u)


def beta_on_logits(a: float, b: float) -> LogDensity:
    """Beta(a, b) of θ as a density of u = logit θ: a·log σ(u) + b·log σ(−u)."""
    return lambda u: a * log_sigmoid(u) + b * log_sigmoid(-u)


def gamma_on_logs(shape: float, rate: float) -> LogDensity:
    """Gamma(shape, rate) of θ as a density of x = log θ: shape·x − rate·e^x."""
    return lambda x: shape * x - rate * np.exp(x)


def gamma(shape: float, rate: float, reference: float) -> LogDensity:
    """Gamma(shape, rate) of θ = reference + d as a density of the distance d, exact for narrow trims."""
    return lambda d: (shape - 1) * np.log1p(d / reference) - rate * d


def welsch(data: Sequence[tuple[float, float]], beta: float, scale: float) -> LogDensity:
    """exp(β Σ e^{−(x − θ)²/2s²}): records with multiplicities."""

    def density(theta: Array) -> Array:
        total = np.zeros_like(theta)
        for x, times in data:
            gap = (theta - x) / scale
            total = total + beta * times * np.exp(-0.5 * gap * gap)
        return total

    return density
