"""The prior of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive, real

__all__ = ["GaussianPrior"]


@dataclass(frozen=True)
class GaussianPrior:
    """Independent normal priors in the user's units: a precision and a centre, for all parameters or one per parameter.

    >>> GaussianPrior(precision=[1.0, 4.0]).precisions(2)
    array([1., 4.])
    """

    precision: float | tuple[float, ...]
    centre: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        for name, rule in (("precision", positive), ("centre", real)):
            value: object = getattr(self, name)
            if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
                if not len(value):
                    fail(name, value, "a number or a list of numbers")
                object.__setattr__(self, name, tuple(rule(name, entry) for entry in value))
            else:
                object.__setattr__(self, name, rule(name, value))

    def precisions(self, parameters: int) -> Floats:
        """Return the precision of every parameter."""
        return _spread("precision", self.precision, parameters)

    def centres(self, parameters: int) -> Floats:
        """Return the centre of every parameter."""
        return _spread("centre", self.centre, parameters)


def _spread(name: str, value: float | tuple[float, ...], parameters: int) -> Floats:
    array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if len(array) not in (1, parameters):
        fail(f"prior {name}", f"{len(array)} values", f"one, or one per parameter ({parameters})")
    return np.array(np.broadcast_to(array, (parameters,)))
