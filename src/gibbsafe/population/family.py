"""Intervals for families, whose prior is part of the declaration.

With covariance C of the draws, data noise is about βC and draw noise C/N, as for every likelihood. A declared prior π pulls the
mean by C∇log π to first order, and C∇log π is the covariance of the parameter with log π (Stein's identity for a normal
posterior): it is taken over the draws. The mean of a skewed likelihood leans away from its maximum in the same way
(`StatesLean`). Both are taken back, and the error of their estimate counts as noise. The prior's share in the posterior's
precision, s = C/V₀ with V₀ the variance of the prior on its trim, makes all of these larger by 1/(1 − s), as in
`gibbsafe.population.shrinkage`. Where s is above a half the data say too little: the interval is the trim. Where the interval
comes near the end of the trim the posterior is no longer normal but piles up there: it is extended to the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincinv, stdtrit

from gibbsafe._types import Floats
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import PremiseError
from gibbsafe.models.capabilities import BoundedScores, HasCorners, IsLikelihood, StatesLean
from gibbsafe.models.families.family import Family
from gibbsafe.population.result import Intervals
from gibbsafe.posteriors.protocols import Posterior
from gibbsafe.samplers import draw_exactly

if TYPE_CHECKING:
    from gibbsafe.planning import Plan
    from gibbsafe.release import Release

__all__ = ["family_intervals"]

#: An interval within this many posterior standard deviations of a trim point is extended to it.
NEAR = 2.0
#: The largest share of the prior in a posterior's precision at which its draws still say something about the data.
LARGEST_SHARE = 0.5
#: How many draws of the declared prior its variance is taken from: public, and the same every time.
PRIOR_DRAWS = 400


def family_intervals(release: Release, level: float, dispersion: float | None) -> Intervals:
    """Return intervals from the draws' spread where there are at least three draws, else the declared trim.

    Finitely many parameters are never nearly normal: their intervals are the declared range.
    """
    plan, draws = release.plan, release.draws
    lower_end, upper_end = _support(plan)
    finite = isinstance(plan.model, Family) and plan.model.finite
    if len(draws) < 3 or finite:
        remedy = "" if finite else "; plan three draws or more"
        least = f"the parameter lies inside the declared trim; nothing else: conservative{remedy}"
        return Intervals(level, release.parameters, lower_end, upper_end, {}, True, (least,))
    variance, freedom = draws.var(axis=0, ddof=1), len(draws) - 1
    noise, assumed = _data_noise(plan, variance, dispersion)
    share = variance / draw_exactly(_prior(plan), PRIOR_DRAWS, np.random.default_rng(0)).var(axis=0)
    learnt = share * freedom / float(2 * gammaincinv(freedom / 2, (1 - level) / 2)) <= LARGEST_SHARE
    left = 1 - np.minimum(share, LARGEST_SHARE)
    shift, error = (each / left for each in _shrinkage(plan, draws))
    data, drawn = noise / left, variance / len(draws) / left**2
    middle, half = draws.mean(axis=0) - shift, float(stdtrit(freedom, (1 + level) / 2)) * np.sqrt(data + drawn + error**2)
    lower, upper, margin = middle - half, middle + half, NEAR * np.sqrt(variance)
    lower = np.where(learnt & (lower - margin > lower_end), lower, lower_end)
    upper = np.where(learnt & (upper + margin < upper_end), upper, upper_end)
    mean = draws.mean(axis=0)  # inside its interval, whatever was taken back
    lower, upper = np.minimum(lower, mean), np.maximum(upper, mean)
    parts = {"data_noise": np.sqrt(data), "draw_noise": np.sqrt(drawn), "shrinkage": np.abs(shift)}
    normal = "the posterior is nearly normal away from the trim; its spread is estimated from the draws"
    assumptions = ("the parameter lies inside the declared trim", assumed, normal)
    return Intervals(level, release.parameters, lower, upper, parts, False, assumptions)


def _data_noise(plan: Plan, variance: Floats, dispersion: float | None) -> tuple[Floats, str]:
    """Return the variance of data noise, and what it assumes: βC for a likelihood, and of any other loss the worst gradient.

    With a slope of at most G in every coordinate whatever the record, the gradient of n of them varies by at most nG², and the
    estimate by β²C² times that.
    """
    beta, model = plan.inverse_temperature, plan.model
    if isinstance(model, IsLikelihood):
        factor = plan.rows_per_person * (1.0 if dispersion is None else dispersion)
        more = f", {factor:g} times as noisy" if factor != 1 else ""
        return beta * factor * variance, "records are independent and follow the declared likelihood" + more
    if not isinstance(model, BoundedScores):
        raise PremiseError(f"{model.name}: declares neither IsLikelihood nor BoundedScores, and no other bound on noise is known")
    if plan.n is None:
        raise PremiseError(f"n: the data noise of {model.name}, which is no likelihood, needs a public guess; plan with one")
    worst = plan.rows_per_person**2 * plan.n * model.largest_score**2  # n persons with up to k rows that may agree
    return beta**2 * worst * variance**2, "the location minimises the expected loss of records drawn independently"


def _support(plan: Plan) -> tuple[Floats, Floats]:
    """Return the ends of the declared parameters."""
    lower, upper = _prior(plan).support
    ends = [np.broadcast_to(np.asarray(end, dtype=np.float64), (plan.model.parameters,)) for end in (lower, upper)]
    return np.array(ends[0]), np.array(ends[1])


def _prior(plan: Plan) -> Posterior:
    """Return the declared prior as a posterior in which one public record counts for nothing."""
    if not isinstance(plan.model, HasCorners):
        raise PremiseError(f"{plan.model.name}: declares no public record (HasCorners), so its prior cannot be looked at")
    stage = replace(plan.stages[-1], inverse_temperature=1e-300)
    blocks = plan.model.encode(plan.model.corners()[0], EncodingOptions())
    return plan.model.posterior(blocks, stage, np.zeros(plan.model.parameters))


def _shrinkage(plan: Plan, draws: Floats) -> tuple[Floats, Floats]:
    """Return C∇(log π + J), the covariance over the draws of each parameter with the prior's log density and J; its error."""
    lower, upper = _support(plan)
    inside = np.clip(draws, lower + plan.grid, upper - plan.grid)  # rounding may have put a draw on the end of the trim or beyond
    if not isinstance(plan.model, StatesLean):
        raise PremiseError(f"{plan.model.name}: does not state how its posterior mean leans (StatesLean)")
    pulling = plan.model.lean(inside) - _prior(plan).values(inside)
    freedom = len(draws) - 1
    shift = (draws - draws.mean(axis=0)).T @ (pulling - pulling.mean()) / freedom
    return shift, np.sqrt((draws.var(axis=0, ddof=1) * pulling.var(ddof=1) + shift**2) / freedom)
