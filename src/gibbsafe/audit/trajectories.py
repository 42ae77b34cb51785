"""Released trajectories as outputs of a mechanism, and the log-likelihood ratio of two data sets: no score tells them better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.audit.records import persons_for
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.data.census import Unit
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import PremiseError
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning import Plan
from gibbsafe.posteriors.own import OwnPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import GaussianDP
from gibbsafe.release import draw as releaser
from gibbsafe.samplers.trajectory import noise_of, replay

__all__ = ["claim_of_steps", "walk_ratio", "walks_of"]


def _many(plan: Plan, runs: int) -> Plan:
    """Return the plan whose chains are those of many releases, each answer as noisy as before."""
    (stage,) = plan.stages
    assert stage.chain is not None
    more = replace(stage.chain, chains=runs * stage.chain.chains)
    return replace(plan, stages=(replace(stage, inverse_temperature=runs * stage.inverse_temperature, chain=more),))


def walks_of(plan: Plan, data: object, runs: int, generator: np.random.Generator) -> Floats:
    """Return the answers of this many releases, one per row: (steps, chains, parameters), flattened. The releaser's own code."""
    scores = releaser.walked(_many(plan, runs), _blocks(plan, data), generator).scores
    steps, _, d = scores.shape
    return np.ascontiguousarray(scores.reshape(steps, runs, -1, d).transpose(1, 0, 2, 3)).reshape(runs, -1)


def walk_ratio(plan: Plan, data: object, neighbour: object, steps: int | None = None) -> Callable[[Floats], Floats]:
    """Return log p(answers | data) − log p(answers | neighbour) for rows of answers; or of the first ``steps`` steps alone."""
    (stage,), model = plan.stages, plan.model
    if stage.chain is None or not isinstance(model, Custom):
        raise PremiseError("plan: releases no trajectory")
    first, second = (_posterior(plan, stage, each) for each in (data, neighbour))
    pull, shape = model.pull, (stage.steps or 0, stage.chain.chains, model.form.size)

    def ratio(outputs: Floats) -> Floats:
        runs = len(outputs)
        scores = outputs.reshape(runs, *shape).transpose(1, 0, 2, 3).reshape(shape[0], -1, shape[2])
        many = _many(plan, runs).stages[0]
        points = replay(pull, many, scores).asked
        total = np.zeros(scores.shape[1])
        for answer, point in list(zip(scores, points, strict=True))[:steps]:
            off = [np.square(answer - posterior.scores(point)).sum(axis=1) for posterior in (first, second)]
            total += (off[1] - off[0]) / (2 * noise_of(stage) ** 2)
        return np.asarray(total.reshape(runs, -1).sum(axis=1))

    return ratio


def claim_of_steps(plan: Plan, steps: int) -> GaussianDP:
    """Return what a plan claims for the first steps of its chains: μ times the root of their share."""
    guarantee, (stage,) = plan.guarantee, plan.stages
    if not isinstance(guarantee, GaussianDP) or stage.steps is None:
        raise PremiseError("plan: releases no trajectory")
    return GaussianDP(guarantee.mu * (steps / stage.steps) ** 0.5)


def _blocks(plan: Plan, data: object) -> RowBlocks:
    return releaser.blocks_of(plan, data, EncodingOptions(), Unit(plan.rows_per_person), **persons_for(plan, data))


def _posterior(plan: Plan, stage: Stage, data: object) -> OwnPosterior:
    posterior = releaser.posterior_of(plan, stage, _blocks(plan, data))
    assert isinstance(posterior, OwnPosterior)
    return posterior
