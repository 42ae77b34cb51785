"""The law of sums of whole-number noise with mass ∝ e^{−β|e|} each, and the exact test of a share.

A sum of m such numbers is a difference of two negative binomials of size m, since each of them is a difference of two geometric
numbers. Probabilities are sums of masses. What is cut off at the tails, and the rounding of very wide laws to a coarser unit,
count for the hypothesis that is tested: intervals err to the long side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import nbinom

from gibbsafe._types import Floats

__all__ = ["NoiseSum", "noise_sum", "share_interval"]

#: Mass that is cut off on each side of a law, and an upper bound on all that is missing of a sum, rounding included.
TAIL, LOST = 1e-13, 2e-12
#: The most places at which a law is kept; wider ones are kept in coarser units.
PLACES = 2**20
#: Shares that are tested before the ends of an interval are found by halving, and how often that is done.
GRID, HALVINGS = 33, 30


@dataclass(frozen=True, eq=False)
class NoiseSum:
    """Masses of a symmetric law at whole numbers −r, …, r times ``unit``; the noise is off from there by less than `blur`."""

    masses: Floats
    unit: int

    @property
    def reach(self) -> int:
        """The number r of places on either side."""
        return len(self.masses) // 2

    @cached_property
    def before(self) -> Floats:
        """The mass before each place, and all of it."""
        return np.concatenate([np.zeros(1), np.cumsum(self.masses)])

    @property
    def blur(self) -> float:
        """One unit, and nothing where units are single counts."""
        return float(self.unit) if self.unit > 1 else 0.0

    def quantile(self, level: float) -> float:
        """Return a q with P(|e| ≤ q) ≥ level, the least one but for the blur."""
        half = np.cumsum(self.masses[self.reach + 1 :])
        inside = self.masses[self.reach] + 2 * np.concatenate([np.zeros(1), half])
        return int(np.searchsorted(inside, level + LOST)) * self.unit + self.blur


@lru_cache(maxsize=256)
def noise_sum(beta: float, terms: int) -> NoiseSum:
    """Return the law of a sum of so many numbers with mass ∝ e^{−β|e|}.

    >>> noise_sum(0.5, 1).quantile(0.9)
    5.0
    """
    if terms == 0 or beta > 700:
        return NoiseSum(np.ones(1), 1)
    law = nbinom(terms, -math.expm1(-beta))
    low, high = int(law.ppf(TAIL)), int(law.isf(TAIL))
    unit = max(1, -(-(high - low + 1) // PLACES))
    edges = np.arange(low, high + unit + 1, unit)
    one = np.diff(law.cdf(edges - 1))
    both = np.maximum(fftconvolve(one, one[::-1]), 0.0)
    return NoiseSum((both + both[::-1]) / 2, unit)


def share_interval(found: tuple[float, float], noise: tuple[NoiseSum, NoiseSum], level: float) -> tuple[float, float]:
    """Return an interval that holds every share p = a/(a + b) that a test of size 1 − ``level`` admits, given noisy a and b.

    If p is the share then (1 − p)·a − p·b = 0, so what is found of it is noise alone, of known law (Fieller's way). All of [0, 1]
    where no share is admitted.
    """
    total = sum(found)
    middle = min(max(found[0] / total, 0.0), 1.0) if total > 0 else 0.5
    points = np.unique(np.append(np.linspace(0.0, 1.0, GRID), middle))
    admitted = np.flatnonzero([_admits(p, found, noise, level) for p in points])
    if not admitted.size:
        return 0.0, 1.0
    ends = []
    for last, step in ((admitted[0], -1), (admitted[-1], 1)):
        inside, outside = points[last], points[min(max(last + step, 0), len(points) - 1)]
        for _ in range(HALVINGS if inside != outside else 0):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if _admits(middle, found, noise, level) else (inside, middle)
        ends.append(float(outside))
    return ends[0], ends[1]


def _admits(p: float, found: tuple[float, float], noise: tuple[NoiseSum, NoiseSum], level: float) -> bool:
    """Whether noise alone is as far out as (1 − p)a − pb with probability above 1 − level."""
    weights = np.array([1 - p, p])
    seen = abs(weights[0] * found[0] - weights[1] * found[1]) - weights[0] * noise[0].blur - weights[1] * noise[1].blur
    if seen <= 0:
        return True
    steps = weights * [noise[0].unit, noise[1].unit]
    wide = int(np.argmax(steps))  # above 0
    first, second = noise[wide], noise[1 - wide]
    before = first.before
    places = np.arange(-second.reach, second.reach + 1) * steps[1 - wide]
    # P(w₁e₁ ≥ seen + w₂e₂) + P(w₁e₁ ≤ w₂e₂ − seen) for every e₂, ends included as far as rounding may have moved them
    upper = np.ceil((places + seen) / steps[wide] - 1e-6) + first.reach
    lower = np.floor((places - seen) / steps[wide] + 1e-6) + first.reach + 1
    upper, lower = (np.clip(each, 0, len(first.masses)).astype(np.intp) for each in (upper, lower))
    outside = float(second.masses @ (before[-1] - before[upper] + before[lower]))
    return outside + 2 * LOST > 1 - level
