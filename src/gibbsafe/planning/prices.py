"""What stages cost: the model's constants under each stage's prior, priced by the theorem, composed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gibbsafe.models.base import Model
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Guarantee, compose
from gibbsafe.theorems import Constants, Theorem, get

__all__ = ["price", "stage_constants"]


def stage_constants(stage: Stage, model: Model, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
    """Return the model's constants under a stage's prior, with those of its sampler."""
    precision = np.array(stage.prior_precision)
    declared = model.constants(precision, adjacency=adjacency, n=n, rows_per_person=rows_per_person)
    return replace(declared, step=stage.step, steps=stage.steps, slack=stage.slack)


def price(
    stages: tuple[Stage, ...], theorem: Theorem, *, model: Model, adjacency: Adjacency, n: int | None, rows_per_person: int
) -> Guarantee:
    """Return what all stages guarantee: draws by the theorem, scores by theirs, together by adaptive composition."""
    claims = []
    for stage in stages:
        constants = stage_constants(stage, model, adjacency, n, rows_per_person)
        beta, draws = stage.inverse_temperature, stage.draws
        priced = theorem if stage.scores is None else get("noisy-scores")
        claims.append(priced.guarantee(constants, inverse_temperature=beta, adjacency=adjacency, draws=draws))
    return claims[0] if len(claims) == 1 else compose(claims)
