"""Discrete states: how they are declared, encoded as small whole numbers, counted and sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Values
from gibbsafe._validate import count, fail
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.domains.column import Column, no_features
from gibbsafe.domains.numbers import equals
from gibbsafe.errors import DomainError

__all__ = ["check_states", "count_states", "encode_columns", "encode_states", "levels_of", "named_states", "sample_states"]

#: Most states of a variable: codes are kept in 16 bits.
MOST_STATES = 2**15 - 1
#: Rows of a table that are encoded together.
ENCODED_ROWS = 16_384


def check_states(name: str, states: object) -> tuple[object, ...]:
    """Return declared states; a whole number S stands for 0, …, S − 1."""
    if isinstance(states, int) and not isinstance(states, bool):
        if count(name, states, least=2) > MOST_STATES:
            fail(name, states, f"at most {MOST_STATES}")
        states = range(states)
    if isinstance(states, str) or not isinstance(states, Sequence):
        fail(name, states, "a number of states, or a list of them")
    listed = tuple(states)
    for state in listed:
        if not isinstance(state, str | bool | int | float) or (isinstance(state, float) and math.isnan(state)):
            fail(name, state, "a list of texts or numbers")
    if not 2 <= len(listed) <= MOST_STATES or len(set(listed)) != len(listed):
        fail(name, list(listed), f"2 to {MOST_STATES} different states")
    return listed


def named_states(name: str, value: object) -> list[tuple[str, object]]:
    """Return declared states by name, from a mapping or a list of pairs, as pairs with different names."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        fail(name, value, "a mapping from names, or a list of pairs")
    seen: set[str] = set()
    for node, _ in pairs:
        if not isinstance(node, str) or not node:
            fail(name, node, "named by texts that are not empty")
        if node in seen:
            fail(name, node, "declared once", "names must be different")
        seen.add(node)
    return [(node, each) for node, each in pairs]


def levels_of(features: Sequence[Column], target: Column | None, model: str) -> tuple[object, ...]:
    """Return the levels of a study's target column, for a model that reads nothing else."""
    no_features(features, model)
    if target is None or target.levels is None:
        fail("target", target and target.name, f"a category with levels for {model}")
    return target.levels


def encode_states(
    values: object, states: tuple[object, ...], on_invalid: str, name: str, first: int = 0, *, what: str = "state"
) -> npt.NDArray[np.int16]:
    """Return the position of every value among the declared states; others are refused, or read as the first.

    ``first`` is the number of the first value's row in what the user sees.
    """
    array = _as_column(values)
    if array.ndim != 1:
        raise DomainError(f"{name}: {array.ndim} axes, but states are one column")
    codes = _codes(array, states)
    unknown = codes < 0
    if unknown.any():
        if on_invalid != "replace":
            row = int(np.argmax(unknown))
            found = array[row : row + 1].tolist()[0]
            raise DomainError(
                f"{name}: a record is not a declared {what}; declare it or use on_invalid='replace'",
                private=f"row {first + row} is {found!r}",
            )
        codes[unknown] = 0
    return codes


def encode_columns(columns: Sequence[object], declared: Mapping[str, tuple[object, ...]], on_invalid: str) -> Values:
    """Return the codes (n, columns) of several columns, each with its name and declared states.

    Codes are kept column by column, as they are counted; rows are taken in pieces, so that an array of rows is read once.
    """
    if len(columns) != len(declared):
        raise DomainError(f"data: {len(columns)} columns, but {len(declared)} are declared")
    arrays = [_as_column(column) for column in columns]
    small = max(len(states) for states in declared.values()) < 128
    codes = np.empty((len(arrays), len(arrays[0])), dtype=np.int8 if small else np.int16).T
    for first in range(0, len(codes), ENCODED_ROWS):
        part = slice(first, first + ENCODED_ROWS)
        for place, (name, states) in enumerate(declared.items()):
            codes[part, place] = encode_states(arrays[place][part], states, on_invalid, name, first)
    return codes


def _as_column(values: Any) -> Values:
    """Return a column as a NumPy array, also one of an Arrow table."""
    return np.asarray(values.to_numpy() if hasattr(values, "chunks") else values)


def _codes(array: Values, states: tuple[object, ...]) -> npt.NDArray[np.int16]:
    """Return the position of every value, −1 for unknown ones."""
    if array.dtype.kind in "iu" and states == tuple(range(len(states))):  # codes already, as large tables have
        return np.where((array >= 0) & (array < len(states)), array, -1).astype(np.int16)
    codes = np.full(array.shape, -1, dtype=np.int16)
    for code, state in enumerate(states):
        codes[equals(array, state)] = code
    return codes


def count_states(data: RowBlocks, states: int) -> Floats:
    """Return how often each code occurs in the only column of encoded records."""
    return np.asarray(data.reduce(partial(_counts, states))[0], dtype=np.float64)


def _counts(states: int, rows: Values, _: object) -> tuple[Any]:
    return (np.bincount(rows[:, 0], minlength=states),)


def sample_states(probabilities: Floats, generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return one state per row of ``probabilities`` (rows, S)."""
    cumulated = np.cumsum(_normalised(probabilities), axis=1)
    picked = (generator.random(len(cumulated))[:, None] > cumulated).sum(axis=1)
    return np.asarray(np.minimum(picked, probabilities.shape[1] - 1))


def _normalised(probabilities: Floats) -> Floats:
    """Return released probabilities as exact distributions along the last axis: rounding to the grid undone."""
    return np.asarray(probabilities / probabilities.sum(axis=-1, keepdims=True))
