"""The posterior of a rate: a gamma distribution between trim points, with the exact privacy curve between two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from gibbsafe._types import Floats
from gibbsafe.posteriors.interval import IntervalPosterior
from gibbsafe.posteriors.log_concave import nodes
from gibbsafe.posteriors.trimmed import TrimmedGamma, log_gamma_mass

__all__ = ["GammaPosterior"]


@dataclass(frozen=True, eq=False)
class GammaPosterior(IntervalPosterior):
    """Density ∝ θ^{shape−1} e^{−rate·θ} on [low, high].

    >>> GammaPosterior(3.0, 2.0, 0.5, 2.0).hockey_stick(GammaPosterior(3.0, 2.5, 0.5, 2.0), 0.1)
    0.04814...
    """

    shape: float
    rate: float
    low: float
    high: float

    def values(self, thetas: Floats) -> Floats:
        """Return −(shape − 1) log θ + rate·θ."""
        theta = np.asarray(thetas)[:, 0]
        inside = (theta >= self.low) & (theta <= self.high)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(inside, self.rate * theta - (self.shape - 1) * np.log(theta), math.inf)

    def log_mass(self, low: float, high: float) -> float:
        """Return log ∫ θ^{shape−1} e^{−rate·θ} over [low, high]."""
        return log_gamma_mass(self.shape, self.rate, low, high)

    def hockey_stick(self, other: GammaPosterior, epsilon: float) -> float:
        """Return ∫(p − e^ε q)₊ = E_p(1 − e^{ε}q/p)₊; log q/p = c + s·x − r(eˣ − 1) at x = log(θ/mode) has at most two kinks.

        Both distributions' panels and the kinks cut the quadrature, and q/p is normalised on it: no masses are subtracted.
        """
        mine, theirs = (TrimmedGamma(each.shape, each.rate, self.low, self.high) for each in (self, other))
        mode = float(mine.mode[0])
        slope, rate_change = other.shape - self.shape, (other.rate - self.rate) * mode
        edges = np.concatenate([mine.edges()[0], theirs.edges()[0] + math.log(float(theirs.mode[0]) / mode)])
        edges = np.unique(np.clip(edges, mine.low[0], mine.high[0]))

        def log_ratio(x: Floats) -> Floats:
            return slope * x - rate_change * np.expm1(x)

        def integrate(cuts: Floats) -> tuple[Floats, Floats, float]:
            """Points, their log weights under p up to a constant, and the constant that normalises q/p."""
            points, weights = nodes(np.unique(np.concatenate([edges, cuts])))
            with np.errstate(divide="ignore"):
                log_weight = mine.heights(points, np.zeros(points.size, dtype=np.intp)) + np.log(weights)
            log_weight -= logsumexp(log_weight)
            return points, log_weight, float(logsumexp(log_weight + log_ratio(points)))

        turn = np.log(slope / rate_change) if slope * rate_change > 0 else edges[0]
        _, _, shift = integrate(np.empty(0))
        ends = np.unique(np.clip([edges[0], turn, edges[-1]], edges[0], edges[-1]))
        kinks = [
            brentq(lambda x: epsilon - shift + log_ratio(x), a, b, xtol=1e-15, rtol=1e-15)
            for a, b in pairwise(ends)
            if (epsilon - shift + log_ratio(a)) * (epsilon - shift + log_ratio(b)) < 0
        ]
        points, log_weight, shift = integrate(np.array(kinks))
        excess = -np.expm1(np.minimum(epsilon - shift + log_ratio(points), 0.0))
        return float(np.exp(log_weight) @ excess)
