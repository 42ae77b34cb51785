"""The posterior of a likelihood of the user's own: its prior's pull, and sums of clipped gradients of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.posteriors.clipped import RecordGradients, clipped_sums
from gibbsafe.posteriors.coordinates import Coordinates
from gibbsafe.posteriors.protocols import SmoothPosterior
from gibbsafe.posteriors.record_gradients import Form, JaxGradients

__all__ = ["GaussianPull", "OwnPosterior", "PriorFunction", "Pull"]


class Pull(Protocol):
    """A public prior, as a chain feels it in its coordinates."""

    def moved(self, points: Floats, drift: Floats, step: float) -> Floats:
        """Return points after one step of this size: those of the prior, and a drift per unit of time."""


@dataclass(frozen=True, eq=False)
class GaussianPull:
    """Independent normals. Their part of a step is solved exactly, so that no precision is too large for a step.

    Along an axis of precision m a point goes to aφ + ((1 − a)/m)·drift, a = e^{−hm}; for the prior alone and noise √(2/h) in the
    drift the chain's variance is tanh(hm/2)/(hm/2) of the prior's. The prior's centre is that of the coordinates.
    """

    coordinates: Coordinates
    precision: Floats

    @cached_property
    def _axes(self) -> tuple[Floats, Floats | None]:
        """Precisions of φ along its axes, and those axes; none where they are φ's own."""
        if self.coordinates.turn is None:
            return self.precision * np.square(self.coordinates.scales), None
        matrix = self.coordinates.matrix
        values, vectors = np.linalg.eigh(matrix.T @ (self.precision[:, None] * matrix))
        return np.maximum(values, 1e-300), vectors

    def moved(self, points: Floats, drift: Floats, step: float) -> Floats:
        """Return the points after one step."""
        precision, axes = self._axes
        if axes is not None:
            points, drift = points @ axes, drift @ axes
        shrunk = np.expm1(-step * precision)
        moved = (1 + shrunk) * points - shrunk / precision * drift
        return np.asarray(moved if axes is None else moved @ axes.T)


@dataclass(frozen=True)
class PriorFunction:
    """A log density of the parameters by JAX; its gradient takes part in a step as it is."""

    function: Callable[[Mapping[str, Any]], Any]
    parameters: Form
    coordinates: Coordinates

    def moved(self, points: Floats, drift: Floats, step: float) -> Floats:
        """Return the points after one step; where the gradient is no number, it is 0."""
        gradient = np.nan_to_num(self.gradients(self.coordinates.parameters(points)), nan=0.0, posinf=0.0, neginf=0.0)
        return np.asarray(points + step * (drift + self.coordinates.against(gradient)))

    def _as_likelihood(self, parameters: Mapping[str, Any], record: Mapping[str, Any]) -> Any:
        return self.function(parameters)

    def gradients(self, thetas: Floats) -> Floats:
        """Return ∇ log π at each row."""
        return JaxGradients(self._as_likelihood, self.parameters, Form(()))(np.zeros((1, 0)), thetas)[:, 0]

    def values(self, thetas: Floats) -> Floats:
        """Return log π at each row, up to a constant."""
        return JaxGradients(self._as_likelihood, self.parameters, Form(())).values(np.zeros((1, 0)), thetas)[:, 0]


@dataclass(frozen=True, eq=False)
class OwnPosterior(SmoothPosterior):
    """∝ exp(β Σ log-likelihood) times a normal prior, as far as its clipped gradient tells; in coordinates φ of a chain, or θ.

    ``values`` has no meaning where gradients are clipped, and is not offered.
    """

    data: RowBlocks
    of_records: RecordGradients
    bound: float
    inverse_temperature: float
    prior_precision: Floats
    prior_centre: Floats
    ball: float | None = None

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.prior_centre)

    @property
    def support(self) -> tuple[Floats, Floats]:
        """All of space."""
        end = np.full(self.dimension, math.inf)
        return -end, end

    def values(self, thetas: Floats) -> Floats:
        """Return the prior's part alone: clipped gradients have no potential."""
        return np.asarray(0.5 * np.square(thetas - self.prior_centre) @ self.prior_precision)

    def scores(self, thetas: Floats) -> Floats:
        """Return the sums of clipped gradients of −log-likelihood, at each row of ``thetas``."""
        return -clipped_sums(self.data, self.of_records, np.ascontiguousarray(thetas, dtype=np.float64), self.bound)

    def gradients(self, thetas: Floats) -> Floats:
        """Return β times the scores, and the prior's pull."""
        return np.asarray(self.inverse_temperature * self.scores(thetas) + self.prior_precision * (thetas - self.prior_centre))
