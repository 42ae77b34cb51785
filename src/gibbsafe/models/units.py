"""The public affine map between scaled parameters, in which everything is drawn, and the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats

__all__ = ["Units"]


@dataclass(frozen=True, eq=False)
class Units:
    """A factor per parameter; with ``offset``, the last parameter also carries what the features are measured from.

    In the user's units a parameter is scale_j θ_j, and the last one with an offset o scale θ − Σ_j o_j scale_j θ_j + centre.
    Nothing given is the identity.
    """

    scale: Floats | float = 1.0
    offset: Floats | None = None
    centre: float = 0.0

    def to_original(self, scaled: Floats) -> Floats:
        """Return draws (rows) in the user's units."""
        draws = np.array(np.atleast_2d(scaled), dtype=np.float64) * self.scale
        if self.offset is None:
            return np.asarray(draws)
        features = np.ascontiguousarray(draws[:, :-1])
        return np.column_stack([features, draws[:, -1] - features @ self.offset + self.centre])

    def from_original(self, original: Floats) -> Floats:
        """Return the inverse of `to_original`."""
        draws = np.array(np.atleast_2d(original), dtype=np.float64)
        if self.offset is not None:
            draws[:, -1] = (draws[:, -1] - self.centre) + draws[:, :-1] @ self.offset
        return np.asarray(draws / self.scale)

    def reach(self, draws: Floats) -> Floats:
        """Return, term by term, how large the sums in `from_original` grow: a bound for its rounding."""
        size = np.abs(draws)
        if self.offset is not None:
            size[:, -1] += size[:, :-1] @ np.abs(self.offset) + abs(self.centre)
        return np.asarray(size / self.scale)

    def precision_to_original(self, scaled: Floats) -> Floats:
        """Return prior precisions per parameter in the user's units; the last one's is that of the predictor at the offset."""
        return np.asarray(scaled / self.scale**2)

    def precision_from_original(self, original: Floats) -> Floats:
        """Return the inverse of `precision_to_original`."""
        return np.asarray(original / (1 / self.scale**2))
