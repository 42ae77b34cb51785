"""Exact draws from a posterior whose distribution is known: it knows how to draw from itself.

The conjugate cases: a normal posterior with a public precision, and the families of `gibbsafe.models.family`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe.errors import ParameterError
from gibbsafe.privacy.profiles import gaussian_delta
from gibbsafe.samplers.diagnostics import Diagnostics, Progress

__all__ = ["ExactPosterior", "NormalPosterior", "sample"]

Floats: TypeAlias = npt.NDArray[np.float64]


class ExactPosterior(Protocol):
    """A posterior that draws from itself."""

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return independent exact draws, (count, p)."""

    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas``, up to a constant; infinite outside the support."""

    @property
    def support(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of a box that holds the support, (p,) arrays."""


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """Independent normals with these means and precisions, (p,) arrays."""

    mean: Floats
    precision: Floats

    def __post_init__(self) -> None:
        if self.mean.shape != self.precision.shape or self.mean.ndim != 1:
            raise ParameterError(f"precision: shape {self.precision.shape}, but the mean has shape {self.mean.shape}")
        if not np.isfinite(self.mean).all() or not (self.precision > 0).all():
            raise ParameterError("mean, precision: must be finite, and precisions above 0")

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return independent exact draws, (count, p)."""
        normals = generator.standard_normal((count, len(self.mean)))
        return np.asarray(self.mean + normals / np.sqrt(self.precision))

    def values(self, thetas: Floats) -> Floats:
        """Return ½ Σ_j precision_j (θ_j − mean_j)²."""
        return np.asarray(0.5 * np.square(thetas - self.mean) @ self.precision)

    @property
    def support(self) -> tuple[Floats, Floats]:
        """All of space."""
        return np.full(len(self.mean), -math.inf), np.full(len(self.mean), math.inf)

    def hockey_stick(self, other: NormalPosterior, epsilon: float) -> float:
        """Return ∫(p − e^ε q)₊ for two normals of the same precision: a Gaussian shift."""
        if not np.array_equal(self.precision, other.precision):
            raise ParameterError("precision: the two posteriors must share theirs")
        shift = float(np.linalg.norm((self.mean - other.mean) * np.sqrt(self.precision)))
        return gaussian_delta(epsilon, shift)


def sample(
    posterior: ExactPosterior, draws: int, generator: np.random.Generator, progress: Progress | None = None
) -> tuple[Floats, Diagnostics]:
    """Independent exact draws (draws, p), and diagnostics for the curator only."""
    _validate.count("draws", draws)
    started = time.perf_counter()
    thetas = posterior.draw(draws, generator)
    seconds = time.perf_counter() - started
    if progress is not None:
        progress(draws, draws, draws, seconds)
    diagnostics = Diagnostics(
        mode=getattr(posterior, "mean", None),
        proposals=draws,
        evaluated=draws,
        accepted=draws,
        mode_passes=1,
        certificates=("closed form",),
        setup_seconds=0.0,
        sampling_seconds=seconds,
        log_acceptance=0.0,
    )
    return thetas, diagnostics
