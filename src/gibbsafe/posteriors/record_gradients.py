"""Gradients of the log-likelihood of one record in the parameters: by JAX, or by a function of NumPy that is given.

Rows are numbers, parameters a flat vector; forms say which of them a function sees under which name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.losses.differentiated import padded_length

__all__ = ["Field", "Form", "GivenGradients", "JaxGradients", "compiled_gradient", "compiled_values", "sealed"]

#: Numbers that gradients asked at once may take.
CELLS = 1 << 20
#: Of the parameters and one record, both by name.
Likelihood: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Field:
    """A name, and the shape of what it stands for: () for one number; ``whole`` for the code of a level."""

    name: str
    shape: tuple[int, ...] = ()
    whole: bool = False

    @property
    def size(self) -> int:
        """How many numbers it takes."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Form:
    """Fields one after another in a vector."""

    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(field.size for field in self.fields)

    def named(self, vector: Any, integer: Any = None) -> dict[str, Any]:
        """Return the fields of vectors (…, size) by name, each (…, *shape); whole ones as ``integer`` where that is given."""
        found, start = {}, 0
        for field in self.fields:
            part = vector[..., start : start + field.size].reshape((*vector.shape[:-1], *field.shape))
            found[field.name] = part.astype(integer) if field.whole and integer is not None else part
            start += field.size
        return found

    def flat(self, named: Mapping[str, Any], leading: tuple[int, ...] = ()) -> Floats:
        """Return named arrays (*leading, *shape) as vectors (*leading, size)."""
        parts = [np.asarray(named[field.name], dtype=np.float64).reshape((*leading, field.size)) for field in self.fields]
        return np.concatenate(parts, axis=-1) if parts else np.zeros((*leading, 0))


@lru_cache(maxsize=64)
def compiled_gradient(function: Likelihood, parameters: Form, record: Form) -> Any:
    """Return (thetas, rows) → (chains, rows, d), compiled once for a function and its forms."""
    import jax
    import jax.numpy as jnp

    def value(theta: Any, row: Any) -> Any:
        return function(parameters.named(theta), record.named(row, jnp.int32))

    return jax.jit(jax.vmap(jax.vmap(jax.grad(value), (None, 0)), (0, None)))


@lru_cache(maxsize=64)
def compiled_values(function: Likelihood, parameters: Form, record: Form) -> Any:
    """Return (thetas, rows) → (chains, rows) log-likelihoods."""
    import jax
    import jax.numpy as jnp

    def value(theta: Any, row: Any) -> Any:
        return function(parameters.named(theta), record.named(row, jnp.int32))

    return jax.jit(jax.vmap(jax.vmap(value, (None, 0)), (0, None)))


def _padded(rows: Floats, length: int) -> Floats:
    """Return rows with the last one repeated up to a length, so that few shapes are ever compiled."""
    return np.concatenate([rows, np.repeat(rows[-1:], length - len(rows), axis=0)])


@dataclass(frozen=True)
class JaxGradients:
    """Gradients by JAX, in double precision, one record at a time as the function sees it; always so many rows at once."""

    function: Likelihood
    parameters: Form
    record: Form

    def __call__(self, rows: Floats, thetas: Floats) -> Floats:
        """Return (chains, rows, d)."""
        return self._answer(compiled_gradient, rows, thetas)

    def values(self, rows: Floats, thetas: Floats) -> Floats:
        """Return log-likelihoods (chains, rows)."""
        return self._answer(compiled_values, rows, thetas)

    def _answer(self, compiled: Any, rows: Floats, thetas: Floats) -> Floats:
        import jax

        asked = compiled(self.function, self.parameters, self.record)
        points = _padded(thetas, padded_length(len(thetas)))
        chunk = self._chunk(len(points)) if rows.shape[1] else 1

        def found(some: Floats) -> Floats:
            return np.asarray(asked(points, _padded(some, chunk)), dtype=np.float64)[: len(thetas), : len(some)]

        with jax.enable_x64(True), jax.debug_nans(False), jax.debug_infs(False):
            return np.concatenate([found(rows[start : start + chunk]) for start in range(0, len(rows), chunk)], axis=1)

    def _chunk(self, points: int) -> int:
        """Return how many rows are asked at once: always so many, for one compiled for another number may round otherwise."""
        return 1 << int(math.log2(min(1024, max(16, CELLS // (points * self.parameters.size)))))


def sealed(values: Floats) -> Floats:
    """Return an array that nobody can write to: a function that tries fails, and records stay what they are."""
    view = values.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class GivenGradients:
    """Gradients by a function of NumPy: of one record, or with ``batched`` of a block of them, fields with an axis of rows."""

    function: Likelihood
    gradient: Likelihood
    parameters: Form
    record: Form
    batched: bool = False

    def __call__(self, rows: Floats, thetas: Floats) -> Floats:
        """Return (chains, rows, d)."""
        rows, thetas = sealed(rows), sealed(thetas)
        with np.errstate(all="ignore"):
            return np.stack([self._of_point(rows, self.parameters.named(theta)) for theta in thetas])

    def _of_point(self, rows: Floats, point: Mapping[str, Any]) -> Floats:
        if self.batched:
            try:
                return self._of_block(rows, point)
            except KeyboardInterrupt:
                raise
            except BaseException:  # at some record: the others count as they would without it
                return np.concatenate([self._or_zero(partial(self._of_block, row[None], point)).reshape(1, -1) for row in rows])
        return np.stack([self._or_zero(partial(self._of_record, row, point)) for row in rows])

    def _of_block(self, rows: Floats, point: Mapping[str, Any]) -> Floats:
        return self.parameters.flat(self.gradient(point, self.record.named(rows, np.int64)), (len(rows),))

    def _of_record(self, row: Floats, point: Mapping[str, Any]) -> Floats:
        return self.parameters.flat(self.gradient(point, self.record.named(row, np.int64)))

    def _or_zero(self, gradient: Callable[[], Floats]) -> Floats:
        """Return a record's gradient, 0 where the function fails: whether it does depends on the record, so nobody may see it."""
        try:
            return gradient()
        except KeyboardInterrupt:  # the curator's own
            raise
        except BaseException:
            return np.zeros(self.parameters.size)

    def values(self, rows: Floats, thetas: Floats) -> Floats:
        """Return log-likelihoods (chains, rows)."""
        points = [self.parameters.named(theta) for theta in thetas]
        records = [self.record.named(row, np.int64) for row in rows]
        with np.errstate(all="ignore"):
            return np.array([[float(self.function(point, each)) for each in records] for point in points])
