"""The posterior of the true parameter given a transcript of noisy scores: everything released, and nothing else.

Sources of uncertainty, all in the draws: the noise of scores (exactly normal, of known scale); the data's own noise J; what the
noisy second moment leaves open about the rows (each design is made of the moment with its noise put in once more); the curve of
the expected score, which is not linearised (`gibbsafe.population.chains`); and a prior that is wide beside the default radius.
"""

from __future__ import annotations

import math

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.population.chains import Target, approximated, draw
from gibbsafe.samplers.noisy_scores import Answers
from gibbsafe.samplers.pseudo_rows import normals
from gibbsafe.samplers.score_fit import Expectation, Fit, Observation
from gibbsafe.samplers.score_path import ScorePath
from gibbsafe.samplers.transcript_fit import (
    NO_FIT,
    ROWS,
    Public,
    expectation_of,
    expected_over,
    fit_of,
    minimisers,
    misfit_of,
    observed,
)

__all__ = ["draws_given", "scaled_draws"]

#: Designs of pseudo-rows, and chains on each.
DESIGNS, CHAINS = 8, 8
#: The normal approximation's prior in units of a typical parameter, and at least this many times what answers choose.
WIDE, TIMES = 6.0, 1.0


def scaled_draws(public: Public, answers: Answers, path: ScorePath, draws: int, generator: np.random.Generator) -> Floats:
    """Return this many draws of θ* in scaled units."""
    assert public.shape is not None
    try:
        return _scaled_draws(public, answers, path, draws, generator, public.shape.features)
    except NO_FIT:
        reason = "no parameter near the declared scale explains what was answered; the estimate is all that can be said"
        raise PremiseError(f"population: {reason}") from None


def _scaled_draws(  # noqa: PLR0917 - of `scaled_draws`, and the number of features
    public: Public, answers: Answers, path: ScorePath, draws: int, generator: np.random.Generator, features: int
) -> Floats:
    centre = expectation_of(public, answers, normals(generator, ROWS, features))
    fit = fit_of(public, centre, answers, path)
    several = _designs(public, answers, centre, generator)
    seen = observed(public, answers, path, misfit_of(public, centre, answers, path, fit.point))
    return draws_given(several, seen, fit, public.loss, public.unit, draws, generator, public.own)


def draws_given(  # noqa: PLR0917 - a posterior's ingredients
    several: Expectation,
    seen: Observation,
    fit: Fit,
    loss: Loss,
    unit: float,
    draws: int,
    generator: np.random.Generator,
    own: Floats | None = None,
) -> Floats:
    """Return draws of θ* given an observation, over several designs of pseudo-rows and started near a fit."""
    asked = several.asked(seen.points, seen.shares)
    target = Target(several, asked, seen.mean, np.asarray(np.linalg.inv(fit.variance)), unit, own)
    modes, root = approximated(target, fit.point, max(WIDE * unit, TIMES * fit.deviation))
    designs, keep = len(several.rows), math.ceil(draws / (DESIGNS * CHAINS))
    chains = DESIGNS * CHAINS // designs
    found = draw(target, modes, root, generator, keep=keep, chains=chains)
    if not several.law.consistent:
        stacked = found.transpose(1, 3, 0, 2).reshape(designs, len(fit.point), -1)
        mapped = minimisers(several, loss, stacked)
        found = mapped.reshape(designs, len(fit.point), keep, chains).transpose(2, 0, 3, 1)
    return found.reshape(-1, len(fit.point))[:draws]


def _designs(public: Public, answers: Answers, centre: Expectation, generator: np.random.Generator) -> Expectation:
    """Return expected scores over several designs, with the steepness and size of slopes measured at the fit."""
    assert public.shape is not None
    made = []
    for _ in range(DESIGNS):
        normal = normals(generator, ROWS, public.shape.features)
        made.append(expectation_of(public, answers, normal, generator).rows[0])
    several = expected_over(np.array(made), centre.law, centre.n)
    several.dispersion = centre.dispersion
    return several
