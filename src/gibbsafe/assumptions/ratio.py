"""C = sup over data sets and parameters of p_θ(x)/φ(x): likelihood over marginal likelihood, for n records.

C depends on n although c and L₀ do not: the paper's constants are for one record. Families whose likelihood depends on the data
through one number T have a log ratio r(T) = max_θ ln p_θ(T) − ln φ(T) with |r′| at most the width w of the natural parameter's
range; on a grid of spacing Δ it is nowhere above its largest grid value by more than wΔ/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

import numpy as np
from scipy.special import betaln, logit, logsumexp, xlogy

from gibbsafe._numerics import SLACK
from gibbsafe._validate import count, fail
from gibbsafe.models.families.beta_bernoulli import BetaBernoulli
from gibbsafe.models.families.family import Family
from gibbsafe.models.families.finite_family import FiniteFamily
from gibbsafe.models.families.rate_family import RateFamily
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.posteriors.gamma import GammaPosterior
from gibbsafe.privacy import Adjacency

__all__ = ["likelihood_ratio_bound"]

#: How many data sets are tried; the slope between them is bounded.
POINTS = 400


def likelihood_ratio_bound(family: Family, n: int) -> float | None:
    """Return ln C of a family for n records (an upper bound), or None where nobody has worked it out."""
    return _ratio_bound(family, count("n", n))


@singledispatch
def _ratio_bound(family: object, n: int) -> float | None:
    return fail("family", family, "a family of gibbsafe.models: a likelihood with a declared prior")


@_ratio_bound.register
def _(family: Family, n: int) -> None:
    """Nobody has worked it out; the families below are those for which it is known."""


@_ratio_bound.register
def _(family: FiniteFamily, n: int) -> float:
    """Return the exact maximum over counts of two outcomes; otherwise φ(x) ≥ ξ(θ)p_θ(x), the paper's (9)."""
    prior, table = np.array(family.prior), np.log(np.array(family.likelihood))
    if table.shape[1] == 2 and n * len(prior) <= 10_000_000:
        second = np.arange(n + 1)
        logs = table[:, :1] * (n - second) + table[:, 1:] * second
        return float((logs.max(axis=0) - logsumexp(logs, axis=0, b=prior[:, None])).max()) + SLACK
    return -math.log(float(prior.min())) * (1 + SLACK)


def _on_grid(ratio: Callable[[float], float], low: float, high: float, width: float, exact: int | None) -> float:
    """Return an upper bound on the maximum of a function with slope at most ``width``; whole numbers only where ``exact``."""
    if exact is not None and exact <= POINTS:
        values = [ratio(float(k)) for k in range(exact + 1)]
        return max(values) + SLACK
    grid = np.linspace(low, high, POINTS)
    values = [ratio(float(point)) for point in grid]
    return max(values) + width * float(grid[1] - grid[0]) / 2 + SLACK


@_ratio_bound.register
def _(family: BetaBernoulli, n: int) -> float:
    trials = n * family.trials
    a, b = family.trim or (0.0, 1.0)
    if family.trim is None:
        k = np.arange(trials + 1)
        best = xlogy(k, k / trials) + xlogy(trials - k, 1 - k / trials)
        return (
            float((best - betaln(family.alpha + k, family.beta + trials - k)).max() + betaln(family.alpha, family.beta)) + SLACK
        )
    prior = BetaPosterior(family.alpha, family.beta, a, b).log_mass(a, b)

    def ratio(successes: float) -> float:
        failures = trials - successes
        theta = min(max(successes / trials, a), b)
        posterior = BetaPosterior(family.alpha + successes, family.beta + failures, a, b).log_mass(a, b)
        return float(successes * math.log(theta) + failures * math.log1p(-theta) - posterior + prior)

    return _on_grid(ratio, 0.0, trials, float(logit(b) - logit(a)), trials)


@_ratio_bound.register
def _(family: RateFamily, n: int) -> float:
    (low, high), (first, last), power = family.trim, family.statistic_bounds, family.power * n
    prior = GammaPosterior(family.shape, family.rate, low, high).log_mass(low, high)

    def ratio(total: float) -> float:
        theta = min(max(power / total, low), high) if total > 0 else high
        posterior = GammaPosterior(family.shape + power, family.rate + total, low, high).log_mass(low, high)
        return power * math.log(theta) - theta * total - posterior + prior

    found = _on_grid(ratio, n * first, n * last, high - low, None)
    crude = family.constants(np.empty(0), adjacency=Adjacency.REPLACE_ONE, n=n, rows_per_person=1).likelihood_ratio_bound
    return found if crude is None else min(found, math.log(crude))
