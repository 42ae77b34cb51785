"""The posterior of a likelihood of the user's own: its prior's pull, and sums of clipped gradients of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.posteriors.clipped import RecordGradients, clipped_sums
from gibbsafe.posteriors.protocols import SmoothPosterior
from gibbsafe.posteriors.record_gradients import Form, JaxGradients

__all__ = ["GaussianPull", "OwnPosterior", "PriorFunction", "Pull"]


class Pull(Protocol):
    """A public prior, as a chain feels it."""

    def moved(self, thetas: Floats, drift: Floats, step: float) -> Floats:
        """Return points after one step of this size: those of the prior, and a drift per unit of time."""


@dataclass(frozen=True, eq=False)
class GaussianPull:
    """Independent normals. Their part of a step is solved exactly, so that no precision is too large for a step.

    With a = e^{−hm} a point goes to c + a(θ − c) + ((1 − a)/m)·drift; for the prior alone and noise √(2/h) in the drift the
    chain's variance is tanh(hm/2)/(hm/2) of the prior's.
    """

    precision: Floats
    centre: Floats

    def moved(self, thetas: Floats, drift: Floats, step: float) -> Floats:
        """Return the points after one step."""
        shrunk = np.expm1(-step * self.precision)
        return np.asarray(self.centre + (1 + shrunk) * (thetas - self.centre) - shrunk / self.precision * drift)


@dataclass(frozen=True)
class PriorFunction:
    """A log density of the parameters by JAX; its gradient takes part in a step as it is."""

    function: Callable[[Mapping[str, Any]], Any]
    parameters: Form

    def moved(self, thetas: Floats, drift: Floats, step: float) -> Floats:
        """Return the points after one step; where the gradient is no number, it is 0."""
        gradient = np.nan_to_num(self.gradients(thetas), nan=0.0, posinf=0.0, neginf=0.0)
        return np.asarray(thetas + step * (drift + gradient))

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
    """∝ exp(β Σ log-likelihood) times a normal prior, as far as its clipped gradient tells.

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
