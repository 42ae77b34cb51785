"""Private means of unbounded data by other methods, each with its own accounting: what Hu et al. (2026) compare with.

Written from the published descriptions. All are worst-case guarantees under replace-one, unlike the estimated ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import count, positive
from gibbsafe.privacy import ConcentratedDP, Guarantee, PureDP

__all__ = ["Mean", "SortedRecords", "clipped_mean_after_quantiles", "coinpress", "gaussian_mean", "laplace_mean"]


@dataclass(frozen=True)
class Mean:
    """A private mean and what it costs."""

    value: float
    guarantee: Guarantee


class SortedRecords:
    """Records sorted once, so that counts and clipped means cost a search instead of a pass."""

    def __init__(self, x: Floats) -> None:
        self.x = np.sort(np.asarray(x, dtype=np.float64))
        self.sums = np.concatenate([[0.0], np.cumsum(self.x)])

    def __len__(self) -> int:
        return len(self.x)

    def clipped_mean(self, low: float, high: float) -> float:
        """Return the mean of the records clipped to [low, high]."""
        a, b = (int(i) for i in np.searchsorted(self.x, (low, high)))
        return float((a * low + (len(self) - b) * high + self.sums[b] - self.sums[a]) / len(self))

    def below(self, value: float) -> int:
        """Return how many records are at most ``value``."""
        return int(np.searchsorted(self.x, value, side="right"))


def laplace_mean(records: SortedRecords, low: float, high: float, epsilon: float, generator: np.random.Generator) -> Mean:
    """Return the mean clipped to [low, high] plus Laplace noise of scale (high − low)/(nε): pure ε."""
    noise = (high - low) / (len(records) * positive("epsilon", epsilon))
    return Mean(records.clipped_mean(low, high) + float(generator.laplace(0, noise)), PureDP(epsilon))


def gaussian_mean(records: SortedRecords, low: float, high: float, rho: float, generator: np.random.Generator) -> Mean:
    """Return the clipped mean plus normal noise: sensitivity Δ = (high − low)/n, standard deviation Δ/√(2ρ), ρ-zCDP."""
    noise = (high - low) / (len(records) * math.sqrt(2 * positive("rho", rho)))
    return Mean(records.clipped_mean(low, high) + noise * float(generator.standard_normal()), ConcentratedDP(rho))


def coinpress(
    records: SortedRecords,
    steps: int,
    rho: float,
    generator: np.random.Generator,
    *,
    centre: float = 0.0,
    radius: float = 300.0,
    scale: float = 1.0,
    failure: float = 0.01,
) -> Mean:
    """Return the mean of normal data of known scale by shrinking an interval (CoinPress; Biswas et al. 2020): ρ-zCDP.

    Every step clips to the present interval widened by the reach of a normal record, adds normal noise, and centres a smaller
    interval at the result. The last step has three quarters of ρ, the others share the rest. The data's scale must be passed:
    with the default 1 on wider data the interval never shrinks and the error stops falling with n.
    """
    n, t = len(records), count("steps", steps)
    log = math.log(1 / failure)
    tail = math.sqrt(1 + 2 * math.sqrt(log) + 2 * log)  # a normal exceeds it with probability below `failure` (Laurent, Massart)
    shares = [rho] if t == 1 else [rho / 4 / (t - 1)] * (t - 1) + [3 * rho / 4]
    middle, half = centre, radius
    for share in shares:
        reach = half + scale * tail
        noise = 2 * reach / n / math.sqrt(2 * share)
        middle = records.clipped_mean(middle - reach, middle + reach) + noise * float(generator.standard_normal())
        half = tail * math.hypot(scale / math.sqrt(n), noise)
    return Mean(middle, ConcentratedDP(rho))


def _noisy_quantile(
    records: SortedRecords, rank: float, generator: np.random.Generator, *, low: float, high: float, steps: int, noise: float
) -> float:
    """Return a point whose rank is near ``rank``: binary search with noisy counts."""
    for _ in range(steps):
        middle = (low + high) / 2
        if records.below(middle) + noise * float(generator.standard_normal()) < rank:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def clipped_mean_after_quantiles(
    records: SortedRecords,
    rho: float,
    generator: np.random.Generator,
    *,
    low: float = -300.0,
    high: float = 300.0,
    offset: float = 2.0,
    steps: int = 10,
) -> Mean:
    """Return the mean clipped between two private quantiles (after Huang, Liang, Yi 2021): ρ-zCDP.

    Each quantile has a quarter of ρ, its binary search ``steps`` noisy counts; the mean has the other half. The ranks aimed at
    lie ``offset`` noise standard deviations inside the sample. That constant decides everything: with 1 the search oversteps
    the data now and then and the interval explodes; with 3 the method is as good as CoinPress.
    """
    noise = math.sqrt(steps / (2 * rho / 4))
    depth = offset * noise
    bottom = _noisy_quantile(records, depth, generator, low=low, high=high, steps=steps, noise=noise)
    top = _noisy_quantile(records, len(records) - depth, generator, low=low, high=high, steps=steps, noise=noise)
    if top <= bottom:
        bottom, top = low, high
    return Mean(gaussian_mean(records, bottom, top, rho / 2, generator).value, ConcentratedDP(rho))
