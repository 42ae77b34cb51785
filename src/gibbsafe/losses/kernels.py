"""The inner loops of a pass over the records, by the fastest code at hand.

That is `gibbsafe.losses._kernels`, a little C that pip builds where it finds a compiler; without it, and for single functions in
float32, it is NumPy and SciPy. Both do the same sums; exponentials agree to two units in the last place. Compiled sums take rows
of float32 as they are, widen them in cache, and add in float64.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from gibbsafe._types import AnyFloats, Floats

try:
    from gibbsafe.losses import _kernels

    _COMPILED = True
except ImportError:
    _COMPILED = False

__all__ = [
    "calibrated_gradient",
    "calibrated_sums",
    "exp",
    "is_compiled",
    "logistic_gradient",
    "logistic_slope",
    "logistic_sums",
]


def is_compiled() -> bool:
    """Whether the compiled loops are there; they change how long a pass takes, and roundings."""
    return _COMPILED


def _serves(x: AnyFloats) -> bool:
    return is_compiled() and x.dtype == np.float64


def exp(x: AnyFloats, out: AnyFloats | None = None) -> AnyFloats:
    """e^x, elementwise, in the precision of ``x``.

    >>> exp(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """
    return np.asarray((_kernels.exp if _serves(x) else np.exp)(x, out=out))


def logistic_slope(x: AnyFloats) -> AnyFloats:
    """−1/(1 + e^x), the derivative of log(1 + e^{−x}), elementwise, in the precision of ``x``.

    >>> logistic_slope(np.array([0.0, -800.0]))
    array([-0.5, -1. ])
    """
    return np.asarray(_kernels.logistic_slope(x) if _serves(x) else -expit(-x))


def logistic_gradient(rows: AnyFloats, theta: AnyFloats, centre: float = 0.0, width: float = 1.0) -> AnyFloats:
    """Σ_i −z_i/(1 + exp((z_iᵀθ − centre)/width)) over the rows z_i: compiled, it reads each row from memory once.

    >>> logistic_gradient(np.eye(2), np.zeros(2))
    array([-0.5, -0.5])
    """
    if _serves(rows):
        return np.asarray(_kernels.logistic_sums(rows, theta, *_at_once(rows), centre, width)[0])
    with np.errstate(over="ignore"):
        return np.asarray(np.dot(logistic_slope((rows @ theta - centre) / width), rows))


def logistic_sums(  # noqa: PLR0917 - a kernel's arguments
    rows: AnyFloats, theta: Floats, block: int, chunk: int, centre: float = 0.0, width: float = 1.0
) -> Floats | None:
    """Return `logistic_gradient` of every chunk of rows, its blocks added from left to right; None where nothing is compiled."""
    return _kernels.logistic_sums(rows, theta, block, chunk, centre, width) if is_compiled() else None


def calibrated_gradient(rows: AnyFloats, theta: AnyFloats, counts: AnyFloats, clip: float) -> AnyFloats | None:
    """Σ_i c_i ψ(z_iᵀθ) z_i of `gibbsafe.losses.calibrated`, each row read once; None where nothing is compiled for it."""
    return np.asarray(_kernels.calibrated_sums(rows, theta, counts, *_at_once(rows), clip)[0]) if _serves(rows) else None


def calibrated_sums(  # noqa: PLR0917 - a kernel's arguments
    rows: AnyFloats, theta: Floats, counts: Floats, block: int, chunk: int, clip: float
) -> Floats | None:
    """Return `calibrated_gradient` of every chunk of rows, its blocks added from left to right."""
    return _kernels.calibrated_sums(rows, theta, counts, block, chunk, clip) if is_compiled() else None


def _at_once(rows: AnyFloats) -> tuple[int, int]:
    """All rows as one block of one chunk."""
    return max(len(rows), 1), max(len(rows), 1)
