"""Declared outcomes: two labels of a response, the levels of a category."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Values
from gibbsafe._validate import fail
from gibbsafe.domains.numbers import equals
from gibbsafe.errors import DomainError

__all__ = ["Categories", "Labels", "check_labels"]


@dataclass(frozen=True)
class Labels:
    """Two labels, the second of which is the positive class.

    >>> Labels("no", "yes").encode(["yes", "no"])
    array([ 1., -1.])
    """

    negative: object
    positive: object

    def __post_init__(self) -> None:
        for name, label in (("negative", self.negative), ("positive", self.positive)):
            if not isinstance(label, str | bool | int | float) or (isinstance(label, float) and math.isnan(label)):
                fail(f"labels, {name}", label, "a string or a number")
        if self.negative == self.positive:
            fail("labels", (self.negative, self.positive), "two different values")

    def encode(self, values: object, on_invalid: str = "error") -> npt.NDArray[np.float64]:
        """Return ±1 per label; unknown labels are refused, or read as the negative one."""
        array = np.asarray(values)
        if array.ndim != 1:
            raise DomainError(f"y: {array.ndim} axes, but labels are one column")
        plus, minus = equals(array, self.positive), equals(array, self.negative)
        unknown = ~(plus | minus)
        if unknown.any() and on_invalid != "replace":
            row = int(np.argmax(unknown))
            found = array[row : row + 1].tolist()[0]
            refusal = f"y: a record is not one of the declared labels {self.negative!r}, {self.positive!r}"
            raise DomainError(refusal, private=f"row {row} is {found!r}")
        return np.where(plus, 1.0, -1.0)

    def decode(self, positive: npt.NDArray[np.bool_]) -> Values:
        """Return the declared label per truth value."""
        return np.where(positive, np.array([self.positive]), np.array([self.negative]))


@dataclass(frozen=True)
class Categories:
    """A column of declared levels, encoded one-hot; unknown levels go to ``other`` if that level is declared.

    >>> Categories(("a", "b")).encode(["b", "a"])
    array([[0., 1.], [1., 0.]])
    """

    levels: tuple[object, ...]
    other: object = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.levels or len(set(self.levels)) != len(self.levels):
            fail("levels", self.levels, "one or more different values")
        if self.other is not None and self.other not in self.levels:
            fail("other", self.other, f"one of the levels {self.levels}")

    def encode(self, values: object) -> npt.NDArray[np.float64]:
        """Return one column of 0 and 1 per level."""
        array = np.asarray(values)
        hot = np.stack([equals(array, level) for level in self.levels], axis=-1)
        unknown = ~hot.any(axis=-1)
        if unknown.any():
            if self.other is None:
                row = int(np.argmax(unknown))
                raise DomainError(
                    "a level is not declared; declare it or a catch-all level",
                    private=f"row {row} is {array[row : row + 1].tolist()[0]!r}",
                )
            hot[unknown, self.levels.index(self.other)] = True
        return hot.astype(np.float64)


def check_labels(labels: object) -> tuple[object, object]:
    """Return the labels as a pair, or refuse them."""
    if not isinstance(labels, tuple | list) or len(labels) != 2:
        fail("labels", labels, "a pair (negative, positive)")
    Labels(*labels)
    return labels[0], labels[1]
