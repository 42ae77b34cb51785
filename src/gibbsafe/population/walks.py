"""The posterior of the true parameter from a released trajectory: all of its noisy scores, and what synthetic records would give.

The mean answer ȳ of the trajectory's points differs from its expectation F(φ*) by the noise of the answers, whose variance is
known, and by the data's own, J: ȳ ~ N(F(φ*), J + s²I), whatever the law of the chain. F is the expected sum of *clipped*
gradients at those points, of records from the model with parameter φ*: what clipping does to scores is no bias. It is found with
records simulated at the fit φ̂, from the model and the declared columns:

- F(φ̂) = n E[ψ], ψ a record's clipped gradient averaged over the points, with the record's own score g at φ̂, whose mean is 0, as
  control: only what clipping and distance change is left to chance. (g is that of the record before outcomes are clipped.)
- ∂F/∂φ* = n E[ψgᵀ], and J = n Cov(ψ).

The prior is the declared one, at full power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.models.own.custom import MOST_TOLD, Custom
from gibbsafe.population.chains import draw
from gibbsafe.population.posterior import Population, decided
from gibbsafe.posteriors.clipped import clip_gradients
from gibbsafe.posteriors.coordinates import InCoordinates
from gibbsafe.posteriors.own import GaussianPull, PriorFunction
from gibbsafe.release import Release
from gibbsafe.samplers.trajectory import noise_of, replay

__all__ = ["from_walk"]

#: Synthetic records: at least and at most, and gradients of them in all; steps of the fit; the seed of synthetic records.
FEWEST, MOST, GRADIENTS, TURNS, SEED = 1024, 8192, 1 << 19, 3, 5
#: The share of steps that are left out, while a chain is on its way.
AWAY = 0.25
#: Chains of the last draws with a prior that is a function.
CHAINS = 25


def from_walk(release: Release, wanted: int, random: np.random.Generator) -> Population:
    """Return the posterior of a model of one's own; refuse one that cannot simulate records."""
    plan, model = release.plan, release.plan.model
    assert isinstance(model, Custom)
    if release.walk is None:
        raise PremiseError(f"population: of released trajectories; {plan.sampler} releases last iterates alone")
    if plan.n is None:
        raise PremiseError("population: needs the number of records; plan with a public guess of n")
    model.require_code()
    if model.simulator is None:
        raise PremiseError(f"population: {model.label} cannot simulate records; declare simulator=, or use from_numpyro")
    if model.form.size > MOST_TOLD:
        raise PremiseError(f"population: of at most {MOST_TOLD:,} parameters, for it takes their products")
    fit = _fitted(release, model, plan.n * plan.rows_per_person)
    draws = model.coordinates.parameters(fit.draws(wanted, random))
    prior = model.prior.drawn(1000, np.random.default_rng(SEED))
    lines = (
        f"records are independent and follow {model.label}, or nearly so",
        "columns that the model does not draw are spread over their declared domains, or tell as much as if they were",
    )
    return Population(plan.model.parameter_names, draws, decided(draws, prior), lines)


@dataclass(frozen=True, eq=False)
class Heard:
    """What a trajectory says: its points (points, d), the mean answer and its noise."""

    points: Floats
    answer: Floats
    noise: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A normal likelihood of φ*, its centre and precision, and the prior beside it; the mode of their product."""

    mode: Floats
    slope: Floats
    precision: Floats
    prior: GaussianPull | PriorFunction
    curvature: Floats

    def draws(self, wanted: int, random: np.random.Generator) -> Floats:
        """Return draws in φ."""
        root = np.linalg.cholesky(np.linalg.inv(self.precision + self.curvature))
        if isinstance(self.prior, GaussianPull):
            return np.asarray(self.mode + random.standard_normal((wanted, len(self.mode))) @ root.T)
        keep = -(-wanted // CHAINS)
        found = draw(self, self.mode[None, :, None], root[None], random, keep=keep, chains=CHAINS)  # type: ignore[arg-type]
        return np.asarray(found.reshape(-1, len(self.mode))[random.permutation(keep * CHAINS)[:wanted]])

    def __call__(self, truth: Floats) -> tuple[Floats, Floats]:
        """Return the log density (1, chains) of φ (1, d, chains), and its gradient."""
        assert isinstance(self.prior, PriorFunction)
        points = truth[0].T
        away = points - self.mode
        pulled = away @ self.precision
        thetas = self.prior.coordinates.parameters(points)
        gradient = self.prior.coordinates.against(np.nan_to_num(self.prior.gradients(thetas)))
        value = np.nan_to_num(self.prior.values(thetas), nan=-np.inf, neginf=-np.inf)
        value = value + away @ self.slope - (away * pulled).sum(axis=1) / 2
        return value[None], (gradient + self.slope - pulled).T[None]


def _fitted(release: Release, model: Custom, n: int) -> Fit:
    heard, prior = _heard(release, model), model.pull
    matrix = model.coordinates.matrix
    curvature = matrix.T @ (model.prior.precisions(model.form)[:, None] * matrix)
    mode = heard.points.mean(axis=0)
    for _ in range(TURNS):
        expected, slopes, own = _expected(model, heard, mode, n)
        inverse = np.linalg.inv(own + heard.noise**2 * np.eye(len(mode)))
        slope, precision = slopes.T @ inverse @ (heard.answer - expected), slopes.T @ inverse @ slopes
        if isinstance(prior, GaussianPull):
            pulled = -curvature @ mode
        else:
            theta = model.coordinates.parameters(mode[None])
            pulled = model.coordinates.against(np.nan_to_num(prior.gradients(theta)))[0]
        move = np.linalg.solve(precision + curvature, slope + pulled)
        mode = mode + move
    return Fit(mode, slope - precision @ move, precision, prior, curvature)


def _heard(release: Release, model: Custom) -> Heard:
    (stage,), scores = release.plan.stages, release.walk
    assert scores is not None
    first, d = int(AWAY * len(scores)), scores.shape[2]
    points = replay(model.pull, stage, scores).asked[first:].reshape(-1, d)
    return Heard(points, -scores[first:].reshape(-1, d).mean(axis=0), noise_of(stage) / math.sqrt(len(points)))


def _expected(model: Custom, heard: Heard, at: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """Return F, its slopes ∂F/∂φ* and J at a truth."""
    assert model.clip is not None
    theta = model.coordinates.parameters(at[None])
    count = 1 << int(math.log2(np.clip(GRADIENTS // len(heard.points), FEWEST, MOST)))
    made = model.simulated_as_they_are(theta[0], count, np.random.default_rng(SEED))
    own = model.coordinates.against(np.nan_to_num(model.code(made, theta)[0], posinf=0.0, neginf=0.0))
    rows = model.columns.clipped(made)
    code, mean = InCoordinates(model.code, model.coordinates, model.clip), np.zeros_like(own)
    for part in np.array_split(np.arange(len(heard.points)), -(-len(heard.points) // 16)):
        clipped = clip_gradients(code(rows, heard.points[part]), model.clip)
        mean += clipped.sum(axis=0) / len(heard.points)
    rest = mean - own @ np.linalg.lstsq(own, mean, rcond=1e-8)[0]
    spread = np.cov(mean, rowvar=False) + n / len(rows) * np.cov(rest, rowvar=False)  # that of the data, and of F as it is found
    return n * rest.mean(axis=0), n * mean.T @ own / len(rows), n * np.atleast_2d(spread)
