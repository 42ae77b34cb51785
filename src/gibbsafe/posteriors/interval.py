"""A one-parameter posterior on an interval, and the exact privacy curve between two of them.

Subclasses state −log density and the log of its integral over a part of the interval. If the log density ratio of
two posteriors is monotone, as it is between neighbours in every one-parameter exponential family, the set where one exceeds e^ε
times the other is an end of the interval, and the hockey stick needs two masses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Self

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.protocols import ExactCurve, ExactPosterior

__all__ = ["IntervalPosterior"]

#: Halvings of the interval when the kink is located: beyond these the midpoint is an end.
HALVINGS = 200


class IntervalPosterior(ExactPosterior, ExactCurve):
    """Density ∝ e^{−U(θ)} on [low, high]."""

    low: float
    high: float

    @abstractmethod
    def values(self, thetas: Floats) -> Floats:
        """Return U at each row of ``thetas`` (k, 1); infinite outside the interval."""

    @abstractmethod
    def log_mass(self, low: float, high: float) -> float:
        """Return log ∫ e^{−U} over [low, high], a part of the interval."""

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The interval."""
        return np.array([self.low]), np.array([self.high])

    def log_density(self, theta: float) -> float:
        """Return the normalised log density."""
        return -float(self.values(np.array([[theta]]))[0]) - self.log_mass(self.low, self.high)

    def hockey_stick(self, other: Self, epsilon: float) -> float:
        """Return ∫(p − e^ε q)₊ where log p/q is monotone on the interval; kink by bisection, masses in closed form."""
        shift = other.log_mass(self.low, self.high) - self.log_mass(self.low, self.high)

        def excess(theta: float) -> float:
            at = np.array([[theta]])
            return float(other.values(at)[0] - self.values(at)[0]) + shift - epsilon

        inner = np.linspace(self.low, self.high, 5)[1:-1]  # ends may be infinite
        rising = excess(float(inner[-1])) > excess(float(inner[0]))
        kink = self._kink(excess, rising)
        part = (kink, self.high) if rising else (self.low, kink)
        if part[0] >= part[1]:
            return 0.0
        log_p = self.log_mass(*part) - self.log_mass(self.low, self.high)
        log_q = other.log_mass(*part) - other.log_mass(self.low, self.high)
        return max(0.0, math.exp(log_p) - math.exp(epsilon + log_q))

    def _kink(self, excess: object, rising: bool) -> float:
        assert callable(excess)
        below, above = (self.low, self.high) if rising else (self.high, self.low)  # excess is negative towards `below`
        for _ in range(HALVINGS):
            middle = below / 2 + above / 2
            if middle in (below, above):
                break
            if excess(middle) < 0:
                below = middle
            else:
                above = middle
        return above
