"""The prior that shuns sensitive parameters (Example 2), and a condition that every private posterior meets (Theorem 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad

from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive, real
from gibbsafe.theorems import lipschitz_metric

__all__ = ["IntervalPrior", "lipschitz_of_table", "lipschitz_prior", "lipschitz_weights", "meets_necessary_condition"]


def _table(likelihood: npt.ArrayLike) -> Floats:
    table = np.asarray(likelihood, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any() or np.abs(table.sum(axis=1) - 1).max() > 1e-9:
        fail("likelihood", table.shape, "a table of probabilities, one row of sum 1 per parameter")
    return table


def lipschitz_of_table(likelihood: npt.ArrayLike) -> Floats:
    """Return ℓ(θ) = max over outcomes of |ln p_θ(x) − ln p_θ(y)| per parameter: what replacing one record changes (Hamming).

    >>> lipschitz_of_table([[0.2, 0.8], [0.5, 0.5]]).round(6)
    array([1.386294, 0.      ])
    """
    table = _table(likelihood)
    with np.errstate(divide="ignore"):
        logs = np.log(table)
    return np.asarray(logs.max(axis=1) - logs.min(axis=1))


def lipschitz_weights(lipschitz: npt.ArrayLike) -> Floats:
    """Return the prior ξ ∝ e^{−ℓ(θ)} on finitely many parameters (Example 2); parameters with infinite ℓ get none.

    >>> lipschitz_weights([0.0, np.log(3.0)])
    array([0.75, 0.25])
    """
    values = np.asarray(lipschitz, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any() or not np.isfinite(values).any():
        fail("lipschitz", values.tolist(), "a list of constants, some of them finite")
    weights = np.exp(values.min() - values)
    return np.asarray(weights / weights.sum())


def _integral(lipschitz_at: Callable[[float], float], low: float, high: float) -> float:
    return float(quad(lambda theta: math.exp(-lipschitz_at(theta)), low, high, limit=200)[0])


@dataclass(frozen=True, eq=False)
class IntervalPrior:
    """The prior ξ ∝ e^{−ℓ(θ)} on an interval."""

    lipschitz_at: Callable[[float], float]
    low: float
    high: float
    normaliser: float

    def density(self, theta: float) -> float:
        """Return the density."""
        return math.exp(-self.lipschitz_at(theta)) / self.normaliser if self.low <= theta <= self.high else 0.0

    def mass(self, low: float, high: float) -> float:
        """Return the mass of an interval."""
        a, b = max(low, self.low), min(high, self.high)
        if a >= b:
            return 0.0
        return min(1.0, _integral(self.lipschitz_at, a, b) / self.normaliser)

    def mass_below(self, lipschitz: float, cells: int = 2000) -> float:
        """Return a lower bound on ξ(Θ_L) where ℓ has no local maximum inside: the mass of cells with both ends in Θ_L."""
        edges = np.linspace(self.low, self.high, cells + 1)
        inside = np.array([self.lipschitz_at(float(edge)) <= lipschitz for edge in edges])
        if not inside.any():
            return 0.0
        changes = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
        runs = zip(changes[::2], changes[1::2] - 1, strict=True)
        return min(1.0, sum(self.mass(float(edges[first]), float(edges[last])) for first, last in runs))


def lipschitz_prior(lipschitz_at: Callable[[float], float], interval: tuple[float, float]) -> IntervalPrior:
    """Return ξ ∝ e^{−ℓ(θ)} on an interval (Example 2, continuous): less mass where the likelihood is more sensitive.

    >>> prior = lipschitz_prior(lambda theta: theta, (0.0, 1.0))  # the exponential rate: ℓ(θ) = θ
    >>> round(prior.density(0.0), 6), round(prior.mass(0.0, 0.5), 6)
    (1.581977, 0.622459)
    """
    low, high = (real("interval", end) for end in interval)
    if low >= high:
        fail("interval", interval, "a pair (low, high) with low < high")
    total = _integral(lipschitz_at, low, high)
    return IntervalPrior(lipschitz_at, low, high, positive("mass of e^{-lipschitz}", total))


def meets_necessary_condition(likelihood: npt.ArrayLike, prior: npt.ArrayLike, lipschitz: float) -> bool:
    """Return whether a finite family could be 2L-private for one record (Theorem 6): every pair of outcomes must pass.

    If for some pair (x, y) both sup_θ ln p_θ(x)/p_θ(y) and ln φ(y)/φ(x) exceed L, their posteriors are farther apart than 2L.
    """
    table, weights = _table(likelihood), np.asarray(prior, dtype=np.float64)
    if weights.shape != (len(table),):
        fail("prior", weights.shape, f"one weight per parameter ({len(table)})")
    used = table[weights > 0]
    marginal = weights @ table
    for x in np.flatnonzero(marginal > 0):
        for y in np.flatnonzero(marginal > 0):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = float(np.nanmax(np.log(used[:, x]) - np.log(used[:, y])))
            marginals = math.log(marginal[y] / marginal[x])
            if x != y and not lipschitz_metric.meets_necessary_condition(
                log_likelihood_ratio=ratio, log_marginal_ratio=marginals, lipschitz=lipschitz, distance=1.0
            ):
                return False
    return True
