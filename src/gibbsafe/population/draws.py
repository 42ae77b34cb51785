"""The posterior of the true parameter from posterior draws alone: their covariance shows the curvature.

Scaled units. Draws come from exp(−βF(θ) − ½(θ−c)ᵀM(θ−c)) with mean θ̂ and covariance C ≈ (βH + M)⁻¹. Seen as a score, the prior's
pull at the mean is known, y = −M(θ̂ − c)/β, and stands for F's slope there: y = H(θ̂ − θ*) + noise, the noise of N draws
(H + M/β)/(βN) and the data's own J (H for a likelihood, else at most nL²). Together with the wide normal prior the posterior is
normal in closed form, and Student's factor allows for a covariance that N draws have shown. Nothing is cut to a radius.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._text import counted
from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.models.base import GibbsModel
from gibbsafe.models.capabilities import BoundedScores, IsLikelihood
from gibbsafe.population.posterior import Population, decided

if TYPE_CHECKING:
    from gibbsafe.planning import Plan
    from gibbsafe.release import Release

__all__ = ["from_draws"]

#: Standard deviation of the prior, in units of a typical parameter: three times the default radius' share of a parameter.
WIDE = 9.0
#: Draws that there must be beyond the number of parameters for their covariance to say something.
MORE = 3


def from_draws(release: Release, draws: int, generator: np.random.Generator) -> Population:
    """Return the posterior of the true parameter, or say what the release lacks for it."""
    plan, model = release.plan, release.plan.model
    assert isinstance(model, GibbsModel)
    scaled = model.from_original(release.draws)
    number, size = scaled.shape
    if number < size + MORE:
        raise PremiseError(
            f"population: {counted(number, 'draw')} of {size} parameters show no curvature; "
            f"plan an estimate, or at least {size + MORE} draws, "
            "or declare how far the truth can be (interval(level, radius=...))"
        )
    stage = plan.stages[-1]
    beta, prior = stage.inverse_temperature, np.diag(stage.prior_precision)
    centre = np.zeros(size) if stage.prior_centre is None else np.array(stage.prior_centre)
    mean, covariance = scaled.mean(axis=0), np.atleast_2d(np.cov(scaled, rowvar=False))
    precision = np.linalg.inv(covariance) * (number - size - 2) / (number - 1)
    values, vectors = np.linalg.eigh((precision - prior) / beta)
    curvature = (vectors * np.maximum(values, 0.0)) @ vectors.T
    noise = (curvature + prior / beta) / (beta * number) + _own_noise(plan, model, curvature)
    weight = curvature @ np.linalg.inv(noise + np.eye(size) * 1e-12 * float(np.trace(noise)))
    wide = np.eye(size) / (WIDE * model.parameter_scale) ** 2
    posterior = np.linalg.inv(weight @ curvature + wide)
    middle = posterior @ (weight @ (curvature @ mean + prior @ (mean - centre) / beta))
    root = np.linalg.cholesky(posterior + np.eye(size) * 1e-14 * float(np.trace(posterior)))
    freedom = number - size
    heavy = np.sqrt(freedom / generator.chisquare(freedom, (draws, 1)))
    made = model.to_original(middle + heavy * (generator.standard_normal((draws, size)) @ root.T))
    before = model.to_original(WIDE * model.parameter_scale * np.random.default_rng(0).standard_normal((4000, size)))
    return Population(model.parameter_names, made, decided(made, before), _assumed(model))


def _own_noise(plan: Plan, model: GibbsModel, curvature: Floats) -> Floats:
    """Return J, or a bound of it."""
    if isinstance(model, IsLikelihood):
        return model.largest_dispersion * plan.rows_per_person * curvature
    if isinstance(model, BoundedScores) and plan.n is not None:
        return np.eye(len(curvature)) * plan.rows_per_person**2 * plan.n * model.largest_score**2
    raise PremiseError(f"n: the data noise of {model.name}, which is no likelihood, needs a public guess; plan with one")


def _assumed(model: GibbsModel) -> tuple[str, ...]:
    follows = model.follows(None) if isinstance(model, IsLikelihood) else "records are drawn independently"
    return (f"{follows}; the posterior is nearly normal, its spread estimated from the draws",)
