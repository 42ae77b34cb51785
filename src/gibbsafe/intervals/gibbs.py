"""Intervals for models with a Gaussian prior that the plan sets.

Scaled units. The draws come from exp(−βF(θ) − ½(θ−c)ᵀM(θ−c)), F = Σ losses, with covariance C and mean θ̂. To first order
C = (βH + M)⁻¹ with H the curvature of F, and θ̂ differs from the truth θ* by three things:

- *draw noise*: the mean of N draws has covariance C/N;
- *data noise*: β²C J C, J the covariance of ∇F at θ*. For a likelihood J = H, so it is β(C − CMC) ⪯ βC (Minami et al. 2016,
  Theorem 16, E13: C ≈ (nβI)⁻¹, so βC ≈ I⁻¹/n). For any other loss J ⪯ nL²I, rows having norm at most 1: at most β²nL²C²;
- *shrinkage*: bounded by `gibbsafe.intervals.shrinkage`, from a radius or from where the draws are.

C is estimated from the draws, which Student's quantile allows for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, norm

from gibbsafe.errors import PremiseError
from gibbsafe.intervals.result import Array, Intervals
from gibbsafe.intervals.shrinkage import Spread
from gibbsafe.models.linear_regression import LinearRegression
from gibbsafe.models.model import GibbsModel, Model
from gibbsafe.privacy import Adjacency

if TYPE_CHECKING:
    from gibbsafe.plan import Plan
    from gibbsafe.release import Release
    from gibbsafe.schedules import Stage

__all__ = ["declares_likelihood", "gibbs_intervals"]

#: How often the centre of a later stage may be farther off than allowed for.
CENTRE_FAILURE = 0.01


def declares_likelihood(model: Model) -> bool:
    """Return whether the loss is the negative log-likelihood of records: then the model knows how to simulate them."""
    return type(model).simulate is not Model.simulate


@dataclass(frozen=True)
class Noise:
    """Public numbers of the last stage that data noise depends on."""

    beta: float
    dispersion: float | None  # None where the loss is no likelihood
    worst_gradient: float  # n L², with several rows of one person counted together

    def data_variance(self, along: Array, spread: Array) -> Array:
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
    assert isinstance(model, GibbsModel)
    rows = plan.rows_per_person
    if declares_likelihood(model):
        worst = model.largest_response**2 if isinstance(model, LinearRegression) else 1.0
        return Noise(stage.inverse_temperature, rows * (worst if dispersion is None else dispersion), 0.0)
    if plan.n is None:
        raise PremiseError(f"n: the data noise of {model.name}, which is no likelihood, needs a public guess; plan with one")
    return Noise(stage.inverse_temperature, None, rows * plan.n * model.loss.lipschitz**2)


def _assumptions(plan: Plan, radius: float, dispersion: float | None) -> list[str]:
    model = plan.model
    lines = [f"the parameter is within {radius:.4g} of the prior's public centre in scaled units (radius)"]
    if not declares_likelihood(model):
        lines.append("the parameter minimises the expected loss of records drawn independently; nothing else about the data")
    elif isinstance(model, LinearRegression):
        stated = "at most that of the response's bounds" if dispersion is None else f"at most {dispersion:g}"
        lines.append(
            f"responses are linear in the features with independent errors of variance {stated}, and clipping binds rarely"
        )
    else:
        extra = "" if dispersion in (None, 1.0) else f", with {dispersion:g} times its variance"
        unit = " (unit variance per coordinate: state dispersion otherwise)" if model.name == "GaussianMean" else ""
        lines.append(f"records are independent and follow the declared likelihood{extra}{unit}, and clipping binds rarely")
    if plan.adjacency == Adjacency.ADD_REMOVE and not declares_likelihood(model):
        lines.append(f"there are about {plan.n:,} records, as the plan guesses")
    return lines


# -- the posterior that was drawn from ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pull:
    """How the draws' spread C bounds the prior's pull: at most |WCa| per unit of distance; ``widest`` bounds C itself."""

    weight: Array  # W per parameter: the prior's precision for exact draws
    widest: float


def _pull(stage: Stage, curvature: float) -> Pull:
    """Return W and the widest spread. Exact draws have W = M and C ≤ M⁻¹ (Brascamp–Lieb).

    T Langevin steps of size h in a direction of precision λ leave a pull of s = m/λ + aᵀ(1 − m/λ), a = 1 − hλ, and a variance
    v = 2(1 − a²ᵀ)/(λ(2 − hλ)). Both are functions of λ, known to lie between m and m + ``curvature``: W is the largest s/v.
    """
    precision = np.array(stage.prior_precision)
    if stage.step is None or stage.steps is None:
        return Pull(precision, float(1 / precision.min()))
    low = float(precision.min())
    rates = np.geomspace(low, low + curvature, 4001)
    keep = (1 - stage.step * rates) ** stage.steps
    pull = low / rates + np.abs(keep) * (1 - low / rates)
    variance = 2 * (1 - keep**2) / (rates * (2 - stage.step * rates))
    return Pull(np.full(len(precision), float((pull / variance).max())), float(variance.max()))


def _centre_distance(plan: Plan, radius: float) -> float:
    """Return how far the last stage's centre can be from the truth: the radius, plus the noise of the stages before."""
    total, d = radius, plan.model.parameters
    for stage in plan.stages[:-1]:
        assert isinstance(plan.model, GibbsModel)
        pull = _pull(stage, stage.inverse_temperature * (plan.n or 0) * plan.model.loss.smoothness)
        noise = pull.widest + stage.inverse_temperature / (4 * min(stage.prior_precision))
        total += math.sqrt(noise * float(chi2.ppf(1 - CENTRE_FAILURE / len(plan.stages), d)))
    return total


# -- the two rules ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Setting:
    """What both rules need: the release, the level, D, the user's parameters as directions, pull, noise and assumptions."""

    release: Release
    level: float
    radius: float
    directions: Array  # row j: the gradient of the user's parameter j in scaled parameters
    pull: Pull
    noise: Noise
    assumptions: list[str]

    @property
    def plan(self) -> Plan:
        """The plan of the release."""
        return self.release.plan

    def intervals(self, lower: Array, upper: Array, parts: dict[str, Array], last: str) -> Intervals:
        """Return the result; without parts it is the public worst case."""
        told = (*self.assumptions, last)
        return Intervals(self.level, self.release.parameters, lower, upper, parts, not parts, told)


def gibbs_intervals(release: Release, level: float, radius: float, dispersion: float | None) -> Intervals:
    """Return intervals from the draws' covariance where there are more than d + 1 draws, else the public worst case."""
    plan = release.plan
    model, stage = plan.model, plan.stages[-1]
    assert isinstance(model, GibbsModel)
    directions = (model.to_original(np.eye(model.parameters)) - model.to_original(np.zeros((1, model.parameters)))).T
    smooth = model.loss.smoothness if math.isfinite(model.loss.smoothness) else 0.0
    pull = _pull(stage, stage.inverse_temperature * (plan.n or 0) * smooth)
    told = _assumptions(plan, radius, dispersion)
    setting = Setting(release, level, radius, directions, pull, _noise(plan, dispersion), told)
    if len(release.draws) > model.parameters + 1 and math.isfinite(model.loss.self_concordance):
        return _estimated(setting, model)
    return _worst_case(setting)


def _estimated(setting: Setting, model: GibbsModel) -> Intervals:
    plan, draws, directions = setting.plan, setting.release.draws, setting.directions
    kappa = model.loss.self_concordance
    seen = Spread.of(model.from_original(draws), directions, setting.pull.weight, kappa, setting.level)
    data, drawn = setting.noise.data_variance(seen.along, np.linalg.norm(seen.rows, axis=1)), seen.along / len(draws)
    reach = _centre_distance(plan, setting.radius)
    shrinkage = np.minimum(seen.shrinkage_within(reach), np.linalg.norm(directions, axis=1) * reach)
    half = shrinkage + seen.quantile * np.sqrt(data + drawn)
    stage = plan.stages[-1]
    if stage.prior_centre is not None and stage.step is None and seen.strongest < 1:
        nearer, left = seen.shrinkage_from(np.array(stage.prior_centre)), 1 - seen.strongest
        shorter = nearer + seen.quantile * np.sqrt(data / left + drawn / left**2)
        shrinkage, half = np.where(shorter < half, nearer, shrinkage), np.minimum(half, shorter)
    middle = draws.mean(axis=0)
    parts = {"data_noise": np.sqrt(data), "draw_noise": np.sqrt(drawn), "shrinkage": shrinkage}
    told = "the posterior is nearly normal; its covariance is estimated from the draws"
    return setting.intervals(middle - half, middle + half, parts, told)


def _worst_case(setting: Setting) -> Intervals:
    """Return the declared ball, cut to what the draws allow whatever the data: C ≤ `Pull.widest`, shrinkage ≤ distance."""
    plan, radius, lengths = setting.plan, setting.radius, np.linalg.norm(setting.directions, axis=1)
    precision = min(plan.stages[-1].prior_precision)
    variance = setting.pull.widest / len(setting.release.draws) + setting.noise.largest(precision)
    reach = _centre_distance(plan, radius) + float(norm.ppf((1 + setting.level) / 2)) * math.sqrt(variance)
    first = plan.stages[0].prior_centre
    middle = plan.model.to_original(np.array([first]))[0]
    drawn = setting.release.draws.mean(axis=0)
    lower = np.maximum(drawn - reach * lengths, middle - radius * lengths)
    upper = np.minimum(drawn + reach * lengths, middle + radius * lengths)
    apart = lower >= upper  # the draws contradict the radius: all that is left is the declaration
    lower, upper = np.where(apart, middle - radius * lengths, lower), np.where(apart, middle + radius * lengths, upper)
    least = plan.model.parameters + 2
    told = f"nothing about the data beyond that: conservative; plan at least {least} draws for intervals that learn from them"
    return setting.intervals(lower, upper, {}, told)
