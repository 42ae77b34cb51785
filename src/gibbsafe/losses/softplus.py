"""log(1 + e^x), its sums and its derivatives, for any finite x: what smoothed kinks and the logistic loss are made of."""

from __future__ import annotations

import numpy as np

from gibbsafe._types import AnyFloats
from gibbsafe.losses.kernels import exp

__all__ = ["bell", "bell_bend", "log_of_product", "softplus", "softplus_total"]


def log_of_product(factors: AnyFloats) -> AnyFloats:
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


def softplus_total(x: AnyFloats) -> AnyFloats:
    """Sum of log(1 + e^x) over the first axis, for any finite x."""
    size = np.abs(x)
    positive_part = np.maximum(x, 0).sum(axis=0)
    np.negative(size, out=size)
    exp(size, out=size)
    size += 1
    return np.asarray(positive_part + log_of_product(size))


def softplus(x: AnyFloats) -> AnyFloats:
    """log(1 + e^x), elementwise, for any finite x."""
    return np.asarray(np.maximum(x, 0) + np.log1p(exp(-np.abs(x))))


def bell(x: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
    """Second and third derivative of log(1 + e^x)."""
    decay = exp(-np.abs(x))
    height = decay / (1 + decay) ** 2
    return height, height * np.copysign((1 - decay) / (1 + decay), -x)


def bell_bend(x: AnyFloats) -> AnyFloats:
    """Fourth derivative of log(1 + e^x): h(1 − 6h) of the second, h."""
    height = bell(x)[0]
    return np.asarray(height * (1 - 6 * height))
