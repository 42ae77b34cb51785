"""Public coordinates φ of a chain, θ = centre + s∘(Bφ): those in which a synthetic record tells as much of every direction.

Gradients in φ are Bᵀ(s∘g). They are shortened and rounded to a grid before they are turned, and the entries of B are multiples of
a coarse one, so that every product and sum of `turned` is exact in double precision: not a bit of a record's gradient depends on
where the record stands, whatever order a matrix product takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import fail, positive, real
from gibbsafe.posteriors.clipped import FINENESS, RecordGradients, clip_gradients

__all__ = ["Coordinates", "InCoordinates"]

#: Most parameters that are turned, beyond which they are only scaled; the grid of B and the largest entry, as powers of 2.
MOST_TURNED, GRID, LARGEST = 128, -12, 7
#: How many times the clip a gradient may have before it is turned, and the largest entry that is scaled, against overflow.
ROOM, HUGE = 256.0, 1e290
assert (1 - FINENESS) + (LARGEST - GRID) + math.log2(MOST_TURNED) <= 53


@dataclass(frozen=True)
class Coordinates:
    """The map: a centre, a scale per parameter, and B, or None for the identity.

    >>> made = Coordinates((1.0, 0.0), (2.0, 1.0))
    >>> made.parameters(np.array([[1.0, 1.0]])), made.turned(np.array([[1.0, 1.0]]), 9.0)
    (array([[3., 1.]]), array([[2., 1.]]))
    """

    centre: tuple[float, ...]
    scales: tuple[float, ...]
    turn: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def own(cls, centre: tuple[float, ...]) -> Coordinates:
        """Return the user's own, seen from the centre."""
        return cls(centre, (1.0,) * len(centre))

    @classmethod
    def evening(cls, centre: tuple[float, ...], information: Floats, floor: Floats) -> Coordinates:
        """Return those in which this information of a record, (d, d), is even; ``floor`` is added to it, a precision each.

        The mean square of a gradient stays what it is in the user's coordinates, so that a clip means the same.
        """
        held, whole = information + np.diag(floor), float(np.trace(information))
        scales = 1 / np.sqrt(np.diag(held))
        turn = None
        if 1 < len(centre) <= MOST_TURNED:
            values, vectors = np.linalg.eigh(held * np.outer(scales, scales))
            most = 2.0 ** (LARGEST - 1)
            root = np.minimum(1 / np.sqrt(np.maximum(values, 1e-300)), most)
            turn = np.round((vectors * root) @ vectors.T * 2.0**-GRID) * 2.0**GRID
        turned = scales[:, None] * (np.eye(len(scales)) if turn is None else turn)
        ratio = math.sqrt(whole / max(float(((information @ turned) * turned).sum()), 1e-300))
        rounded = tuple(float(f"{each:.6g}") for each in scales * ratio)
        return cls(centre, rounded, None if turn is None else tuple(map(tuple, turn.tolist())))

    @classmethod
    def from_dict(cls, data: Document, centre: tuple[float, ...]) -> Coordinates:
        """Read them from a file; refuse what could not be turned exactly."""
        size, turn = len(centre), data["turn"]
        scales = tuple(positive("scales", each) for each in data["scales"])
        if len(scales) != size:
            fail("coordinates", f"{len(scales)} scales", f"one per parameter ({size})")
        if turn is None:
            return cls(centre, scales)
        table = tuple(tuple(real("turn", each) for each in row) for row in turn)
        if size > MOST_TURNED or {len(row) for row in table} != {size} or len(table) != size:
            fail("coordinates", "a turn of another shape", f"one of {size} rows and columns")
        steps = np.array(table) * 2.0**-GRID
        if not np.array_equal(steps, np.round(steps)) or np.abs(steps).max() > 2.0 ** (LARGEST - GRID):
            fail("coordinates", "a turn", f"made of multiples of 2^{GRID} up to 2^{LARGEST}")
        return cls(centre, scales, table)

    def to_dict(self) -> JSON:
        """Return plain data; the centre is the chain's start, which a plan has."""
        return {"scales": list(self.scales), "turn": None if self.turn is None else [list(row) for row in self.turn]}

    @property
    def are_own(self) -> bool:
        """Whether they are the user's, seen from the centre."""
        return self.turn is None and set(self.scales) == {1.0}

    @cached_property
    def matrix(self) -> Floats:
        """A, θ = centre + Aφ, where parameters are turned."""
        turn = np.eye(len(self.scales)) if self.turn is None else np.array(self.turn)
        return np.asarray(np.array(self.scales)[:, None] * turn)

    def parameters(self, points: Floats) -> Floats:
        """Return θ for points (…, d); each by itself, to the last bit."""
        if self.turn is None:
            return np.asarray(np.array(self.centre) + np.array(self.scales) * points)
        flat = points.reshape(-1, points.shape[-1])
        moved = np.array([self.matrix @ point for point in flat]).reshape(points.shape)
        return np.asarray(np.array(self.centre) + moved)

    def turned(self, gradients: Floats, bound: float) -> Floats:
        """Return gradients (…, d) in φ, of at most a few hundred times the bound, those that are no numbers as they are."""
        if self.are_own:
            return gradients
        with np.errstate(all="ignore"):
            scaled = np.where(np.isfinite(gradients), np.clip(gradients, -HUGE, HUGE), np.nan) * np.array(self.scales)
        if self.turn is None:
            return np.asarray(scaled)
        return np.asarray(clip_gradients(scaled, ROOM * bound) @ np.array(self.turn))

    def against(self, gradients: Floats) -> Floats:
        """Return gradients (…, d) in φ of something public: as they are turned, with rounding."""
        return np.asarray(gradients * np.array(self.scales) if self.turn is None else gradients @ self.matrix)

    @property
    def reach(self) -> Floats:
        """How far each parameter moves as φ moves by 1 in its direction."""
        return np.array(self.scales) if self.turn is None else np.linalg.norm(self.matrix, axis=1)


@dataclass(frozen=True)
class InCoordinates:
    """Gradients of single records in φ, at points in φ."""

    of_records: RecordGradients
    coordinates: Coordinates
    bound: float

    def __call__(self, rows: Floats, thetas: Floats) -> Floats:
        """Return (chains, rows, d); here ``thetas`` are points in φ."""
        return self.coordinates.turned(self.of_records(rows, self.coordinates.parameters(thetas)), self.bound)
