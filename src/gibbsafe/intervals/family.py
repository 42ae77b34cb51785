"""Intervals for families, whose prior is part of the declaration.

With covariance C of the draws, data noise is about βC and draw noise C/N, as for every likelihood. A declared prior π pulls the
mean by C∇log π to first order, and C∇log π is the covariance of the parameter with log π (Stein's identity for a normal posterior):
it is taken over the draws. Where the interval comes near the end of the trim the posterior is no longer normal but piles up there:
the interval is then extended to the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t

from gibbsafe.intervals.gibbs import declares_likelihood
from gibbsafe.intervals.result import Array, Intervals
from gibbsafe.models.finite_family import FiniteFamily
from gibbsafe.models.model import EncodingOptions

if TYPE_CHECKING:
    from gibbsafe.plan import Plan
    from gibbsafe.release import Release

__all__ = ["family_intervals"]

#: An interval within this many posterior standard deviations of a trim point is extended to it.
NEAR = 2.0


def family_intervals(release: Release, level: float, dispersion: float | None) -> Intervals:
    """Return intervals from the draws' spread where there are at least three draws, else the declared trim.

    Finitely many parameters are never nearly normal: their intervals are the declared range.
    """
    plan, draws = release.plan, release.draws
    lower_end, upper_end = _support(plan)
    if len(draws) < 3 or not declares_likelihood(plan.model) or isinstance(plan.model, FiniteFamily):
        remedy = "" if isinstance(plan.model, FiniteFamily) else "; plan three draws or more"
        least = f"the parameter lies inside the declared trim; nothing else: conservative{remedy}"
        return Intervals(level, release.parameters, lower_end, upper_end, {}, True, (least,))
    factor = plan.rows_per_person * (1.0 if dispersion is None else dispersion)
    middle, variance = draws.mean(axis=0), draws.var(axis=0, ddof=1)
    data, drawn = plan.inverse_temperature * factor * variance, variance / len(draws)
    shrinkage = np.abs(_pull(plan, draws))
    half = shrinkage + float(t.ppf((1 + level) / 2, len(draws) - 1)) * np.sqrt(data + drawn)
    lower, upper, margin = middle - half, middle + half, NEAR * np.sqrt(variance)
    lower = np.where(lower - margin <= lower_end, lower_end, lower)
    upper = np.where(upper + margin >= upper_end, upper_end, upper)
    parts = {"data_noise": np.sqrt(data), "draw_noise": np.sqrt(drawn), "shrinkage": shrinkage}
    told = (
        "the parameter lies inside the declared trim",
        "records are independent and follow the declared likelihood" + (f", {factor:g} times as noisy" if factor != 1 else ""),
        "the posterior is nearly normal away from the trim; its spread is estimated from the draws",
    )
    return Intervals(level, release.parameters, lower, upper, parts, False, told)


def _support(plan: Plan) -> tuple[Array, Array]:
    """Return the ends of the declared parameters."""
    lower, upper = _prior(plan).support
    ends = [np.broadcast_to(np.asarray(end, dtype=np.float64), (plan.model.parameters,)) for end in (lower, upper)]
    return np.array(ends[0]), np.array(ends[1])


def _prior(plan: Plan):  # type: ignore[no-untyped-def]
    """Return the declared prior as a posterior in which one public record counts for nothing."""
    stage = replace(plan.stages[-1], inverse_temperature=1e-300)
    blocks = plan.model.encode(plan.model.corners()[0], EncodingOptions())
    return plan.model.posterior(blocks, stage, np.zeros(plan.model.parameters))


def _pull(plan: Plan, draws: Array) -> Array:
    """Return C∇log π: the covariance over the draws of each parameter with the log density of the prior."""
    log_prior = -_prior(plan).values(draws)
    return np.asarray((draws - draws.mean(axis=0)).T @ (log_prior - log_prior.mean()) / (len(draws) - 1))
