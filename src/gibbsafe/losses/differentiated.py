"""Derivatives of a scalar function by JAX (``gibbsafe[jax]``), in double precision, as functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gibbsafe._extras import require_extra
from gibbsafe._types import AnyFloats

__all__ = ["derivative_of", "padded_length"]


def padded_length(length: int) -> int:
    """Return the power of two to which arrays are padded, so that few shapes are ever compiled.

    >>> [padded_length(length) for length in (0, 1, 5, 8192)]
    [1, 1, 8, 8192]
    """
    return 1 << max(0, length - 1).bit_length()


def derivative_of(function: Callable[..., Any], order: int) -> Callable[[AnyFloats, AnyFloats], AnyFloats]:
    """Return the derivative in the first of two arguments, elementwise; compiled once per padded length."""
    require_extra("jax", "derivatives of a loss")

    @cache
    def compiled() -> Any:
        import jax

        made = function
        for _ in range(order):
            made = jax.grad(made)
        return jax.jit(jax.vmap(made))

    def answer(u: AnyFloats, y: AnyFloats) -> AnyFloats:
        import jax

        size = u.size
        room = np.zeros((2, padded_length(size)))
        room[0, :size], room[1, :size] = u.ravel(), np.broadcast_to(y, u.shape).ravel()
        with jax.enable_x64(True):
            found = np.asarray(compiled()(room[0], room[1]), dtype=np.float64)
        return np.array(found[:size]).reshape(u.shape)

    return answer
