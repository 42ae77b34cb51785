"""Intervals for models with a Gaussian prior that the plan sets.

Scaled units. The draws come from exp(−βF(θ) − ½(θ−c)ᵀM(θ−c)), F = Σ losses, with covariance C and mean θ̂. To first order
C = (βH + M)⁻¹ with H the curvature of F, and θ̂ differs from the truth θ* by three things:

- *draw noise*: the mean of N draws has covariance C/N;
- *data noise*: β²C J C, J the covariance of ∇F at θ*. For a likelihood J = H, so it is β(C − CMC) ⪯ βC (Minami et al. 2016,
  Theorem 16, E13: C ≈ (nβI)⁻¹, so βC ≈ I⁻¹/n). For any other loss J ⪯ nL²I, rows having norm at most 1: at most β²nL²C²;
- *shrinkage*: bounded by `gibbsafe.population.shrinkage`, from a radius or from where the draws are.

C is estimated from the draws, which Student's quantile allows for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincinv, ndtri

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.models.capabilities import BoundedScores, IsLikelihood
from gibbsafe.population.result import Intervals
from gibbsafe.population.shrinkage import Spread
from gibbsafe.privacy import Adjacency

if TYPE_CHECKING:
    from gibbsafe.planning import Plan
    from gibbsafe.posteriors.stage import Stage
    from gibbsafe.release import Release

__all__ = ["declares_likelihood", "gibbs_intervals"]

#: How often the centre of a later stage may be farther off than allowed for.
CENTRE_FAILURE = 0.01
#: Precisions of a posterior beside its prior beyond which a chain's pull no longer changes.
LARGEST_RATIO = 1e12


def declares_likelihood(model: Model) -> bool:
    """Return whether the model declares its loss to be the negative log-likelihood of records (`IsLikelihood`)."""
    return isinstance(model, IsLikelihood)


@dataclass(frozen=True)
class Noise:
    """Public numbers of the last stage that data noise depends on."""

    beta: float
    dispersion: float | None  # None where the loss is no likelihood
    worst_gradient: float  # n L², with several rows of one person counted together

    def data_variance(self, along: Floats, spread: Floats) -> Floats:
        """Return the variance of data noise in directions with variance ``along`` = aᵀCa and |Ca| = ``spread``."""
        if self.dispersion is not None:
            return self.beta * self.dispersion * along
        return np.asarray(self.beta**2 * self.worst_gradient * spread**2)

    def largest(self, precision: float) -> float:
        """Return the largest variance that any data set can give, under prior precision m: the maximum over C ≤ 1/m."""
        if self.dispersion is not None:
            return self.beta * self.dispersion / (4 * precision)
        return self.beta**2 * self.worst_gradient / precision**2


def _noise(plan: Plan, dispersion: float | None) -> Noise:
    model, stage = plan.model, plan.stages[-1]
    rows = plan.rows_per_person
    if isinstance(model, IsLikelihood):
        factor = model.largest_dispersion if dispersion is None else dispersion
        return Noise(stage.inverse_temperature, rows * factor, 0.0)
    if not isinstance(model, BoundedScores):
        raise PremiseError(f"{model.name}: declares neither IsLikelihood nor BoundedScores, and no other bound on noise is known")
    if plan.n is None:
        raise PremiseError(f"n: the data noise of {model.name}, which is no likelihood, needs a public guess; plan with one")
    return Noise(stage.inverse_temperature, None, rows**2 * plan.n * model.largest_score**2)  # n persons, rows may agree


def _assumptions(plan: Plan, radius: float, dispersion: float | None) -> list[str]:
    model = plan.model
    lines = [f"the parameter is within {radius:.4g} of the prior's public centre in scaled units (radius)"]
    if isinstance(model, IsLikelihood):
        lines.append(f"{model.follows(dispersion)}, and clipping binds rarely")
    else:
        lines.append("the parameter minimises the expected loss of records drawn independently; nothing else about the data")
    if plan.adjacency == Adjacency.ADD_REMOVE and not declares_likelihood(model):
        lines.append(f"there are about {plan.n:,} {'records' if plan.rows_per_person == 1 else 'persons'}, as the plan guesses")
    return lines


# -- the posterior that was drawn from ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shrinkage:
    """How the draws' spread C bounds the prior's pull: at most |WCa| per unit of distance; ``widest`` bounds C itself."""

    weight: Floats  # W per parameter: the prior's precision for exact draws
    widest: float


def _shrinkage(stage: Stage, sampler: str, curvature: float) -> Shrinkage:
    """Return W and the widest spread. Exact draws have W = M and C ≤ M⁻¹ (Brascamp–Lieb).

    A chain of T steps in a direction of precision λ keeps a share aᵀ of its start, so it leaves a pull of s = m/λ + aᵀ(1 − m/λ).
    Langevin steps of size h have a = 1 − hλ and a variance v = 2(1 − a²ᵀ)/(λ(2 − hλ)); proximal rounds a = 1/(1 + hλ/m) and
    v = (1 − a²ᵀ)/λ, with m the prior's precision in that direction (their noise is measured by it). All are functions of λ, for
    Langevin between m and m + ``curvature``: W is the largest s/v.
    """
    precision = np.array(stage.prior_precision)
    if stage.step is None or stage.steps is None:
        return Shrinkage(precision, float(1 / precision.min()))
    low = float(precision.min())
    if sampler == "langevin":
        rates = np.geomspace(low, low + curvature, 4001)
        keep = (1 - stage.step * rates) ** stage.steps
        variance = 2 * (1 - keep**2) / (rates * (2 - stage.step * rates))
        shrinkage = low / rates + np.abs(keep) * (1 - low / rates)
        return Shrinkage(np.full(len(precision), float((shrinkage / variance).max())), float(variance.max()))
    ratios = np.geomspace(1, LARGEST_RATIO, 4001)  # λ in units of the prior's precision in that direction, whatever n is
    keep = np.exp(-stage.steps * np.log1p(stage.step * ratios))
    variance = (1 - keep**2) / ratios
    shrinkage = 1 / ratios + keep * (1 - 1 / ratios)
    return Shrinkage(precision * float((shrinkage / variance).max()), float(variance.max()) / low)


def _centre_distance(plan: Plan, radius: float) -> float:
    """Return how far the last stage's centre can be from the truth: the radius, plus the noise of the stages before."""
    total, d = radius, plan.model.parameters
    for stage in plan.stages[:-1]:
        assert isinstance(plan.model, GibbsModel)
        rows = plan.rows_per_person * (plan.n or 0)
        shrinkage = _shrinkage(stage, plan.sampler, stage.inverse_temperature * rows * plan.model.loss.smoothness)
        noise = shrinkage.widest + stage.inverse_temperature / (4 * min(stage.prior_precision))
        total += math.sqrt(noise * float(2 * gammaincinv(d / 2, 1 - CENTRE_FAILURE / len(plan.stages))))
    return total


# -- the two rules ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Setting:
    """What both rules need: the release, the level, D, the user's parameters as directions, pull, noise and assumptions."""

    release: Release
    level: float
    radius: float
    directions: Floats  # row j: the gradient of the user's parameter j in scaled parameters
    shrinkage: Shrinkage
    noise: Noise
    assumptions: list[str]

    @property
    def plan(self) -> Plan:
        """The plan of the release."""
        return self.release.plan

    @property
    def lengths(self) -> Floats:
        """How much of a scaled unit of length each of the user's parameters can take."""
        return np.asarray(np.linalg.norm(self.directions, axis=1))

    @property
    def reach(self) -> float:
        """How far the truth can be from the centre that the draws were pulled to."""
        return _centre_distance(self.plan, self.radius)

    def within_ball(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Cut intervals to the declared ball; where the draws contradict it, the ball is all that is left."""
        centre = self.plan.model.to_original(np.array([self.plan.stages[0].prior_centre]))[0]
        low, high = centre - self.radius * self.lengths, centre + self.radius * self.lengths
        apart = (lower >= high) | (upper <= low)
        return np.where(apart, low, np.maximum(lower, low)), np.where(apart, high, np.minimum(upper, high))

    def intervals(self, lower: Floats, upper: Floats, parts: dict[str, Floats], last: str) -> Intervals:
        """Return the result; without parts it is the public worst case."""
        assumed = (*self.assumptions, last)
        return Intervals(self.level, self.release.parameters, lower, upper, parts, not parts, assumed)


def gibbs_intervals(release: Release, level: float, radius: float, dispersion: float | None) -> Intervals:
    """Return intervals from the draws' covariance where there are more than d + 1 draws, else the public worst case."""
    plan = release.plan
    model, stage = plan.model, plan.stages[-1]
    assert isinstance(model, GibbsModel)
    directions = (model.to_original(np.eye(model.parameters)) - model.to_original(np.zeros((1, model.parameters)))).T
    smooth = model.loss.smoothness if math.isfinite(model.loss.smoothness) else 0.0
    shrinkage = _shrinkage(stage, plan.sampler, stage.inverse_temperature * plan.rows_per_person * (plan.n or 0) * smooth)
    noise = _noise(plan, dispersion)
    setting = Setting(release, level, radius, directions, shrinkage, noise, _assumptions(plan, radius, dispersion))
    if len(release.draws) > model.parameters + 1 and math.isfinite(model.loss.self_concordance):
        return _estimated(setting, model)
    return _worst_case(setting)


def _estimated(setting: Setting, model: GibbsModel) -> Intervals:
    plan, draws = setting.plan, setting.release.draws
    kappa = model.loss.self_concordance
    seen = Spread.of(model.from_original(draws), setting.directions, setting.shrinkage.weight, kappa, setting.level)
    data, drawn = setting.noise.data_variance(seen.along, np.linalg.norm(seen.rows, axis=1)), seen.along / len(draws)
    shrinkage = np.minimum(seen.shrinkage_within(setting.reach), setting.lengths * setting.reach)
    half = shrinkage + seen.quantile * np.sqrt(data + drawn)
    middle = draws.mean(axis=0)
    lower, upper = setting.within_ball(middle - half, middle + half)
    stage = plan.stages[-1]
    if stage.prior_centre is not None and stage.step is None and seen.strongest < 1:
        nearer, left = seen.shrinkage_from(np.array(stage.prior_centre)), 1 - seen.strongest
        shorter = nearer + seen.quantile * np.sqrt(data / left + drawn / left**2)
        better = shorter < half
        shrinkage = np.where(better, nearer, shrinkage)
        lower, upper = np.where(better, middle - shorter, lower), np.where(better, middle + shorter, upper)
    parts = {"data_noise": np.sqrt(data), "draw_noise": np.sqrt(drawn), "shrinkage": shrinkage}
    assumed = "the posterior is nearly normal; its covariance is estimated from the draws"
    return setting.intervals(lower, upper, parts, assumed)


def _worst_case(setting: Setting) -> Intervals:
    """Return the declared ball, cut to what the draws allow whatever the data: C ≤ `Shrinkage.widest`, shrinkage ≤ distance."""
    plan, middle = setting.plan, setting.release.draws.mean(axis=0)
    variance = setting.shrinkage.widest / len(setting.release.draws) + setting.noise.largest(min(plan.stages[-1].prior_precision))
    half = (setting.reach + float(ndtri((1 + setting.level) / 2)) * math.sqrt(variance)) * setting.lengths
    lower, upper = setting.within_ball(middle - half, middle + half)
    least = plan.model.parameters + 2
    assumed = f"nothing about the data beyond that: conservative; plan at least {least} draws for intervals that learn from them"
    return setting.intervals(lower, upper, {}, assumed)
