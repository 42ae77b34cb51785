"""What samplers, audits and intervals ask of a posterior. A posterior declares what it offers by deriving from these.

Deriving is the declaration: an unrelated class that happens to have a method of the same name offers nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from gibbsafe._types import Floats

__all__ = ["ExactCurve", "ExactPosterior", "Posterior", "SmoothPosterior"]


class Posterior(ABC):
    """A density on p parameters, known up to a constant."""

    @abstractmethod
    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas``, up to a constant; infinite outside the support."""

    @property
    @abstractmethod
    def support(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of a box that holds the support, (p,) arrays."""

    @property
    def outlook(self) -> tuple[Floats, Floats]:
        """A public centre and scale to begin with when its mass is looked for, (p,) arrays."""
        lower, _ = self.support
        return np.zeros(len(lower)), np.ones(len(lower))


class SmoothPosterior(Posterior):
    """A posterior with a gradient everywhere, around a public centre, on all of space or on a ball."""

    prior_centre: Floats
    ball: float | None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of parameters."""

    @abstractmethod
    def gradients(self, thetas: Floats) -> Floats:
        """Return ∇U at each row of ``thetas``."""


class ExactPosterior(Posterior):
    """A posterior whose distribution is known; `gibbsafe.samplers.closed_form` knows how to draw from it."""


class ExactCurve(Posterior):
    """A posterior whose privacy curve against another of its type has a closed form."""

    @abstractmethod
    def hockey_stick(self, other: Self, epsilon: float) -> float:
        """Return ∫(p − e^ε q)₊, exactly but for rounding."""
