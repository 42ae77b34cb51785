"""A plan as a mechanism to be audited: the releaser's own code, run many times at once, and the score that tells it best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.audit.coordinates import values_of
from gibbsafe.audit.plans import posteriors_of
from gibbsafe.audit.records import persons_for
from gibbsafe.audit.trajectories import walk_ratio, walks_of
from gibbsafe.audit.transcripts import ratio_of, transcripts_of
from gibbsafe.data.census import Unit
from gibbsafe.data.options import EncodingOptions
from gibbsafe.planning import Plan
from gibbsafe.randomness import use
from gibbsafe.release import draw as releaser
from gibbsafe.samplers.trajectory import TRAJECTORY

__all__ = ["mechanism_of", "score_of"]


def mechanism_of(plan: Plan, generator: np.random.Generator | None = None) -> Callable[[Any, int], Floats]:
    """Return the plan as a vectorised mechanism: (data, runs) → (runs, draws × parameters), scaled and on the plan's grid.

    Draws of one release are independent, so many releases of one stage are sampled at once; an estimate in several stages is
    released run by run, and one by noisy scores gives its whole transcript. A seeded generator is for tests, and for one process.
    """

    def run(data: object, runs: int) -> Floats:
        random, _ = use(generator)
        if plan.mechanism == "noisy-scores":
            return transcripts_of(plan, data, runs, random)
        if plan.mechanism == TRAJECTORY:
            return walks_of(plan, data, runs, random)
        if len(plan.stages) > 1:
            options = {"generator": random, "progress": False, **persons_for(plan, data)}
            releases = [plan.release(data, **options).draws for _ in range(runs)]
            return np.stack([plan.model.from_original(draws).ravel() for draws in releases])
        (stage,) = plan.stages
        blocks = releaser.blocks_of(plan, data, EncodingOptions(), Unit(plan.rows_per_person), **persons_for(plan, data))
        posterior = releaser.posterior_of(plan, stage, blocks)
        return releaser.draw_stage(plan, stage, posterior, runs * stage.draws, random)[0].reshape(runs, -1)

    return run


def score_of(plan: Plan, data: object, neighbour: object) -> Callable[[Floats], Floats]:
    """Return the log density ratio of the two posteriors, summed over draws, up to a constant.

    For exact samplers no score tells the data sets apart better; for Langevin and for estimates in stages it is a good one.
    """
    if plan.mechanism == "noisy-scores":
        return ratio_of(plan, data, neighbour)
    if plan.mechanism == TRAJECTORY:
        return walk_ratio(plan, data, neighbour)
    first, second = posteriors_of(plan, data, neighbour)
    width = plan.model.parameters

    def score(outputs: Floats) -> Floats:
        thetas = outputs.reshape(-1, width)
        return np.asarray((values_of(second, thetas) - values_of(first, thetas)).reshape(len(outputs), -1).sum(axis=1))

    return score
