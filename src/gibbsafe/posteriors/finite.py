"""The posterior over finitely many parameters: exact weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import logsumexp

from gibbsafe._types import Floats
from gibbsafe.posteriors.exact_law import ExactLaw, exact_law
from gibbsafe.posteriors.protocols import ExactCurve, ExactPosterior

__all__ = ["FinitePosterior"]


#: Beyond it e^ε is no number; a smaller factor overstates the difference.
LARGEST_LOG = 700.0


@dataclass(frozen=True, eq=False)
class FinitePosterior(ExactPosterior, ExactCurve):
    """Weights prior·exp(β Σ counts·log-likelihood) over finitely many parameters.

    The logarithms of prior and likelihood, β and the counts are taken for the exact numbers that they are as doubles; draws have
    exactly the weights of `law`, which differ from these by rounding to ``bits`` bits.
    """

    points: Floats
    log_prior: Floats
    log_likelihood: Floats
    counts: Floats
    inverse_temperature: float
    bits: int

    @cached_property
    def log_weights(self) -> Floats:
        """Logarithms of the weights, not normalised, in floating point: for densities and audits, never for draws."""
        return np.asarray(self.log_prior + self.inverse_temperature * (self.log_likelihood @ self.counts))

    @cached_property
    def law(self) -> ExactLaw:
        """The law of a draw: weights as whole numbers times powers of two, from exact logarithms."""
        seen = np.flatnonzero(self.counts)
        times = [int(self.counts[k]) for k in seen]
        beta = Fraction(self.inverse_temperature)
        exact = [
            Fraction(prior) + beta * sum((c * Fraction(x) for c, x in zip(times, row, strict=True)), Fraction(0))
            for prior, row in zip(self.log_prior.tolist(), self.log_likelihood[:, seen].tolist(), strict=True)
        ]
        return exact_law(exact, self.bits)

    @property
    def probabilities(self) -> Floats:
        """The posterior mass of each parameter."""
        return np.asarray(np.exp(self.log_weights - logsumexp(self.log_weights)))

    @property
    def support(self) -> tuple[Floats, Floats]:
        """From the smallest parameter to the largest."""
        return self.points.min(keepdims=True), self.points.max(keepdims=True)

    def values(self, thetas: Floats) -> Floats:
        """Return −log mass up to a constant, at the nearest parameter; infinite away from all of them."""
        gap = np.abs(np.asarray(thetas)[:, :1] - self.points)
        nearest = gap.argmin(axis=1)
        close = gap.min(axis=1) <= 1e-9 * max(1.0, float(np.abs(self.points).max()))
        return np.where(close, -self.log_weights[nearest], math.inf)

    def hockey_stick(self, other: Self, epsilon: float) -> float:
        """Return Σ(p − e^ε q)₊."""
        difference = self.probabilities - math.exp(min(epsilon, LARGEST_LOG)) * other.probabilities
        return float(np.maximum(difference, 0.0).sum())
