"""The posterior of the true parameter from posterior draws alone: their mean tells scores, their covariance the curvature.

Scaled units. Draws come from exp(−βF(θ) − ½(θ−c)ᵀM(θ−c)), F the sum of losses. Integrating by parts, the scores ∇F have mean
−M(θ̄ − c)/β over that posterior, θ̄ its mean: exactly, however curved F is. So N draws with mean θ̂ are N points at which scores
were "asked", and their mean answer is y = −M(θ̂ − c)/β, with noise (H + M/β)/(βN) of finitely many draws. The covariance C shows
the curvature, H ≈ (C⁻¹ − M)/β; rows are made that have this curvature at the draws, and from there on a posterior is found as
it is for noisy scores (`gibbsafe.population.scores`). What N draws leave open about C, a Wishart matrix, is added to first order:
the truth's distance from the draws is off by H⁻¹ times the error of H, and spreads have Student's factor. For a squared loss all
of it is linear, and closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._text import counted
from gibbsafe._types import Floats
from gibbsafe.domains.row_shape import RowShape
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.exposed import ExposedCountLoss
from gibbsafe.models.base import GibbsModel
from gibbsafe.models.capabilities import BoundedScores, IsLikelihood, StatesRows
from gibbsafe.population.chains import prior_draws
from gibbsafe.population.posterior import Population, against, decided
from gibbsafe.population.scores import draws_given
from gibbsafe.samplers.expected_scores import Law, has_law, law_of
from gibbsafe.samplers.pseudo_rows import normals, pseudo_rows, root_of, structured
from gibbsafe.samplers.score_fit import Expectation, Observation, best_fit

if TYPE_CHECKING:
    from gibbsafe.planning import Plan
    from gibbsafe.release import Release

__all__ = ["from_draws"]

#: Standard deviation of the prior of closed forms, in units of a typical parameter: three times the default radius' share.
WIDE = 9.0
#: Draws that there must be beyond the number of parameters for their covariance to say something.
MORE = 3
#: Pseudo-rows; rounds in which their moment is matched to a curvature; the least eigenvalue of a curvature over their mean.
ROWS, ROUNDS, FLOOR = 1024, 4, 0.03


def from_draws(release: Release, draws: int, generator: np.random.Generator) -> Population:
    """Return the posterior of the true parameter, or say what the release lacks for it."""
    model = release.plan.model
    assert isinstance(model, GibbsModel)
    scaled = model.from_original(release.draws)
    number, size = scaled.shape
    if number < size + MORE:
        raise PremiseError(
            f"population: {counted(number, 'draw')} of {size} parameters show no curvature; "
            f"plan an estimate, or at least {size + MORE} draws, "
            "or declare how far the truth can be (interval(level, radius=...))"
        )
    seen = _Seen.of(release.plan, scaled)
    law_known = model.loss.predictors == 1 and has_law(model.loss) and not isinstance(model.loss, ExposedCountLoss)
    if isinstance(model, StatesRows) and law_known:
        made = _by_rows(seen, model.row_shape, model, draws, generator)
        before = prior_draws(made, model.parameter_scale, model.own_precisions)
    else:
        made = _closed(seen, release.plan, model, draws, generator)
        before = WIDE * model.parameter_scale * np.random.default_rng(0).standard_normal((4000, size))
    found, prior = model.to_original(made), model.to_original(before)
    far = against(made, model.parameter_scale, model.own_precisions)
    return Population(model.parameter_names, found, decided(found, prior), _assumed(model), far)


class _Seen:
    """What draws say: the mean of scores, the curvature, and how noisy both are."""

    def __init__(self, points: Floats, beta: float, prior: Floats, centre: Floats, n: int | None) -> None:
        self.points, self.beta, self.prior, self.n = points, beta, prior, n
        self.number, self.size = points.shape
        self.rows_each = 1  # of a person at most; they count as equal, which is the worst case
        self.mean = points.mean(axis=0)
        self.score = -prior @ (self.mean - centre) / beta
        self.inverse = np.linalg.inv(np.atleast_2d(np.cov(points, rowvar=False)))

    @classmethod
    def of(cls, plan: Plan, scaled: Floats) -> _Seen:
        stage = plan.stages[-1]
        centre = np.zeros(scaled.shape[1]) if stage.prior_centre is None else np.array(stage.prior_centre)
        found = cls(scaled, stage.inverse_temperature, np.diag(stage.prior_precision), centre, plan.n)
        found.rows_each = plan.rows_per_person
        return found

    def curvature(self, least: float = 0.0) -> Floats:
        """Return H, its eigenvalues at least this share of their mean."""
        precision = self.inverse * (self.number - self.size - 2) / (self.number - 1)
        values, vectors = np.linalg.eigh((precision - self.prior) / self.beta)
        values = np.maximum(values, 0.0)
        return np.asarray((vectors * np.maximum(values, least * values.mean())) @ vectors.T)

    def errors(self, count: int, generator: np.random.Generator) -> Floats:
        """Return draws of what the covariance of N draws leaves open about H."""
        root = np.linalg.cholesky(self.inverse)
        normal = generator.standard_normal((count, self.size, self.number - 1))
        apart = normal @ normal.transpose(0, 2, 1) / (self.number - 1) - np.eye(self.size)
        return np.asarray(root @ apart @ root.T / self.beta)

    def spread(self, draws: Floats, curvature: Floats, generator: np.random.Generator) -> Floats:
        """Return draws of θ* given H with what is not known about H put in."""
        freedom, middle = self.number - self.size, draws.mean(axis=0)
        heavy = np.sqrt(freedom / generator.chisquare(freedom, (len(draws), 1)))
        off = np.linalg.solve(curvature, self.errors(len(draws), generator) @ (middle - self.mean)[:, None])[..., 0]
        return np.asarray(middle + heavy * (draws - middle) - off)

    def noise(self, curvature: Floats) -> Floats:
        """Return the covariance of the mean score by finitely many draws."""
        return np.asarray((curvature + self.prior / self.beta) / (self.beta * self.number))


def _by_rows(seen: _Seen, shape: RowShape, model: GibbsModel, draws: int, generator: np.random.Generator) -> Floats:
    """Return draws by the engine of noisy scores, with the moment of rows that the curvature shows."""
    loss, unit = model.loss, model.parameter_scale
    middle, law = seen.curvature(FLOOR), law_of(loss, None)
    known = seen.n is not None and (seen.rows_each == 1 or not loss.margin)
    n = float(seen.n or 0) * seen.rows_each if known else _rows_of(middle, shape, loss, seen.mean)
    if shape.constant is not None and not loss.margin:
        law = law.steep(float(np.clip(middle[-1, -1] / (n * shape.constant**2), 1e-6, loss.smoothness)), np.zeros(1), np.zeros(1))
    rows = _rows_with(middle, shape, n, law, points=seen.points, normal=normals(generator, ROWS, shape.features))
    expectation = Expectation(rows[None], law, n)
    expectation.dispersion = float(seen.rows_each)
    observed = Observation(seen.points, np.full(seen.number, 1 / seen.number), seen.score, seen.noise(middle))
    fit = best_fit(expectation, observed, unit, seen.mean, own=model.own_precisions)
    found = draws_given(expectation, observed, fit, loss, unit, draws, generator, model.own_precisions)
    return seen.spread(found, middle, generator)


def _rows_of(curvature: Floats, shape: RowShape, loss: Loss, mean: Floats) -> float:
    """Return about how many records there are, by what the intercept's curvature says."""
    if shape.constant is None or not loss.margin:
        raise PremiseError("n: the number of records is private, and draws alone do not tell it; plan with a public guess")
    each = float(loss.curvature(np.array([mean[-1] * shape.constant]))[0])
    return max(float(curvature[-1, -1]) / (shape.constant**2 * max(each, 1e-6)), 1.0)


def _rows_with(curvature: Floats, shape: RowShape, n: float, law: Law, *, points: Floats, normal: Floats) -> Floats:
    """Return pseudo-rows whose curvature, averaged over the points, is about this: their moment is mapped there in rounds."""
    some = points[:: max(1, len(points) // 16)]

    def bent(rows: Floats) -> Floats:
        u = rows @ some.T
        weight = law.curvature(u, u).mean(axis=1) * (n / len(rows))
        return np.asarray(rows.T @ (rows * weight[:, None]))

    moment = structured(curvature * (n / max(float(np.trace(curvature)), 1e-300)), shape, n)[0]
    for remaining in reversed(range(ROUNDS)):
        rows = pseudo_rows(moment, shape, n, normal)
        if remaining == 0:
            break
        found = bent(rows)
        root, back = root_of(found, 0.5), root_of(found, -0.5)
        towards = back @ root_of(root @ curvature @ root, 0.5) @ back  # takes `found` to the curvature
        moment = structured(towards @ moment @ towards.T, shape, n)[0]
        moment *= min(1.0, n / float(np.trace(moment)))  # rows have norm at most 1
    return rows


def _closed(seen: _Seen, plan: Plan, model: GibbsModel, draws: int, generator: np.random.Generator) -> Floats:
    """Return draws of the normal posterior."""
    size, curvature = seen.size, seen.curvature()
    noise = seen.noise(curvature) + _own_noise(plan, model, curvature)
    weight = curvature @ np.linalg.inv(noise + np.eye(size) * 1e-12 * float(np.trace(noise)))
    own = np.zeros(size) if model.own_precisions is None else model.own_precisions
    wide = np.diag(np.where(own > 0, own, (WIDE * model.parameter_scale) ** -2.0))
    posterior = np.linalg.inv(weight @ curvature + wide)
    middle = posterior @ (weight @ (curvature @ seen.mean - seen.score))
    root = np.linalg.cholesky(posterior + np.eye(size) * 1e-14 * float(np.trace(posterior)))
    made = middle + generator.standard_normal((draws, size)) @ root.T
    return seen.spread(made, seen.curvature(FLOOR), generator)


def _own_noise(plan: Plan, model: GibbsModel, curvature: Floats) -> Floats:
    """Return J, or a bound of it."""
    if isinstance(model, IsLikelihood):
        return model.largest_dispersion * plan.rows_per_person * curvature
    if isinstance(model, BoundedScores) and plan.n is not None:
        return np.eye(len(curvature)) * plan.rows_per_person**2 * plan.n * model.largest_score**2
    raise PremiseError(f"n: the data noise of {model.name}, which is no likelihood, needs a public guess; plan with one")


def _assumed(model: GibbsModel) -> tuple[str, ...]:
    follows = model.follows(None) if isinstance(model, IsLikelihood) else "records are drawn independently"
    return (f"{follows}; the released draws' covariance shows the curvature",)
