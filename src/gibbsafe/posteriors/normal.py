"""Independent normals: the posterior of a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import ParameterError
from gibbsafe.posteriors.protocols import ExactCurve, ExactPosterior
from gibbsafe.privacy.profiles import gaussian_delta

__all__ = ["NormalPosterior"]


@dataclass(frozen=True, eq=False)
class NormalPosterior(ExactPosterior, ExactCurve):
    """Independent normals with these means and precisions, (p,) arrays."""

    mean: Floats
    precision: Floats

    def __post_init__(self) -> None:
        if self.mean.shape != self.precision.shape or self.mean.ndim != 1:
            raise ParameterError(f"precision: shape {self.precision.shape}, but the mean has shape {self.mean.shape}")
        if not np.isfinite(self.mean).all() or not (self.precision > 0).all():
            raise ParameterError("mean, precision: must be finite, and precisions above 0")

    def values(self, thetas: Floats) -> Floats:
        """Return ½ Σ_j precision_j (θ_j − mean_j)²."""
        return np.asarray(0.5 * np.square(thetas - self.mean) @ self.precision)

    @property
    def support(self) -> tuple[Floats, Floats]:
        """All of space."""
        return np.full(len(self.mean), -math.inf), np.full(len(self.mean), math.inf)

    @property
    def outlook(self) -> tuple[Floats, Floats]:
        """Its own mean and deviations."""
        return self.mean, 1 / np.sqrt(self.precision)

    def hockey_stick(self, other: Self, epsilon: float) -> float:
        """Return ∫(p − e^ε q)₊ for two normals of the same precision: a Gaussian shift."""
        if not np.array_equal(self.precision, other.precision):
            raise ParameterError("precision: the two posteriors must share theirs")
        shift = float(np.linalg.norm((self.mean - other.mean) * np.sqrt(self.precision)))
        return gaussian_delta(epsilon, shift)
