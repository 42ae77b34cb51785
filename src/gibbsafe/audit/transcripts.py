"""Transcripts of noisy scores as outputs of a mechanism: rows of equal length, and the log-likelihood ratio of two data sets.

No score tells two data sets apart better than that ratio: points and shares follow from the answers, so it is the sum of the
ratios of normal densities, answer by answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.audit.records import persons_for
from gibbsafe.data.census import Unit
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import PremiseError
from gibbsafe.planning import Plan
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.release import draw as releaser
from gibbsafe.release.transcripts import path_of
from gibbsafe.samplers.noisy_scores import Answers, Records, within_reach
from gibbsafe.samplers.score_path import MOST_SCORES

__all__ = ["flattened", "ratio_of", "transcripts_of"]


def transcripts_of(plan: Plan, data: object, runs: int, generator: np.random.Generator) -> Floats:
    """Return the transcripts of this many releases, one per row (`flattened`)."""
    blocks = releaser.blocks_of(plan, data, EncodingOptions(), Unit(plan.rows_per_person), **persons_for(plan, data))
    made = (releaser.carried_out(plan, blocks, generator).answers for _ in range(runs))
    return np.stack([flattened(answers) for answers in made if answers is not None])


def flattened(answers: Answers) -> Floats:
    """Return a transcript as one row: the path's scores, as many as a path can have, then the moment and the last score."""
    d = answers.scores.shape[1]
    row = np.full((MOST_SCORES + d + 1, d), np.nan)
    row[: len(answers.scores)] = answers.scores
    if answers.moment is not None:
        row[MOST_SCORES:-1] = answers.moment
    if answers.last is not None:
        row[-1] = answers.last
    return row.ravel()


def _answers(row: Floats, d: int) -> Answers:
    table = row.reshape(MOST_SCORES + d + 1, d)
    scores = table[:MOST_SCORES]
    moment, last = table[MOST_SCORES:-1], table[-1]
    asked = scores[~np.isnan(scores[:, 0])]
    return Answers(asked, None if np.isnan(moment).any() else moment, None if np.isnan(last).any() else last)


def ratio_of(plan: Plan, data: object, neighbour: object) -> Callable[[Floats], Floats]:
    """Return log p(transcript | data) − log p(transcript | neighbour), for rows of transcripts."""
    records = [_records(plan, each) for each in (data, neighbour)]
    rule, beta, d = plan.scores, plan.inverse_temperature, plan.model.parameters
    moments = [each.moment() for each in records]

    def shift(answer: Floats, point: Floats) -> float:
        first, second = (each.score(point) for each in records)
        return float(np.sum((answer - second) ** 2 - (answer - first) ** 2)) / 2

    def one(row: Floats) -> float:
        answers = _answers(row, d)
        path = path_of(plan, answers)
        asked = zip(answers.scores, path.points, path.shares, strict=True)
        total = sum(beta * share * shift(answer, point) for answer, point, share in asked)
        if answers.moment is not None:
            apart = np.sum((answers.moment - moments[1]) ** 2 - (answers.moment - moments[0]) ** 2) / 2
            total += beta * rule.moment * float(apart) / plan.moment_ratio**2
        if answers.last is not None:
            total += beta * rule.point * shift(answers.last, within_reach(path.point))
        return total

    return lambda outputs: np.array([one(row) for row in outputs])


def _records(plan: Plan, data: object) -> Records:
    blocks = releaser.blocks_of(plan, data, EncodingOptions(), Unit(plan.rows_per_person), **persons_for(plan, data))
    posterior = releaser.posterior_of(plan, plan.stages[-1], blocks)
    if not isinstance(posterior, GibbsPosterior):
        raise PremiseError(f"{plan.model.name}: has no records of which scores are asked")
    return Records(posterior.data, posterior.loss, plan.scores)
