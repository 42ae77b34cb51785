"""Transcripts of noisy scores as outputs of a mechanism: rows of equal length, and the log-likelihood ratio of two data sets.

No score tells two data sets apart better than that ratio: points and shares follow from the answers, so it is the sum of the
ratios of normal densities, answer by answer. The ratio of a part of the answers attacks what was claimed for that part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import choice
from gibbsafe.audit.records import persons_for
from gibbsafe.data.census import Unit
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import PremiseError
from gibbsafe.planning import Plan
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.privacy import GaussianDP
from gibbsafe.release import draw as releaser
from gibbsafe.release.transcripts import columns_of
from gibbsafe.samplers.noisy_scores import Answers, Records, replay, within_reach
from gibbsafe.samplers.score_path import MOST_SCORES, ScorePath
from gibbsafe.samplers.transcript_fit import Public
from gibbsafe.theorems.noisy_scores import FACTS

__all__ = ["PARTS", "claim_of", "concentrated", "flattened", "ratio_of", "transcripts_of"]


@dataclass(frozen=True)
class Asked:
    """What is asked besides the path: the name of its share, its shape, the answer without noise, its noise over a score's."""

    share: str
    shape: Callable[[int, int], tuple[int, ...]]  # of the numbers of parameters and of columns
    exact: Callable[[Public, Records, ScorePath, Answers], Floats]
    ratio: Callable[[Public], float] = lambda public: 1.0


#: Fields of `Answers` besides the scores of the path, one line each.
BESIDE = {
    "moment": Asked(
        "moment", lambda d, w: (w, w), lambda public, records, path, answers: records.moment(), lambda public: public.moment_ratio
    ),
    "facts": Asked(
        "facts",
        lambda d, w: (FACTS,),
        lambda public, records, path, answers: records.facts(within_reach(path.point), public.facts_unit),
        lambda public: public.moment_ratio,
    ),
    "last": Asked("point", lambda d, w: (d,), lambda public, records, path, answers: records.score(_place(answers))),
}
#: Parts of a transcript that can be attacked by themselves.
PARTS = ("path", *BESIDE)
#: The share that a concentrated plan gives to one part beside the path, and the number of scores that make up for a path.
MOST, FEW = 0.98, 3


def transcripts_of(plan: Plan, data: object, runs: int, generator: np.random.Generator) -> Floats:
    """Return the transcripts of this many releases, one per row (`flattened`)."""
    blocks = releaser.blocks_of(plan, data, EncodingOptions(), Unit(plan.rows_per_person), **persons_for(plan, data))
    stage = plan.score_stage
    assert stage is not None
    columns = columns_of(plan)
    return np.stack([flattened(releaser.asked(plan, stage, blocks, generator)[0], columns) for _ in range(runs)])


def flattened(answers: Answers, columns: int | None = None) -> Floats:
    """Return a transcript as one row: the path's scores, as many as a path can have, then what else was asked; gaps are nan.

    ``columns`` is the width of rows, where that is not the number of parameters.
    """
    d = answers.scores.shape[1]
    w = d if columns is None else columns
    scores = np.full((MOST_SCORES, d), np.nan)
    scores[: len(answers.scores)] = answers.scores
    more = [*(getattr(answers, name) for name in BESIDE), answers.asked]
    blank = [*(np.full(asked.shape(d, w), np.nan) for asked in BESIDE.values()), np.full(d, np.nan)]
    return np.concatenate(
        [np.ravel(gap if each is None else each) for each, gap in zip([scores, *more], [scores, *blank], strict=True)]
    )


def _answers(row: Floats, d: int, w: int) -> Answers:
    """Return the transcript that was flattened."""
    shapes = [(MOST_SCORES, d), *(asked.shape(d, w) for asked in BESIDE.values()), (d,)]
    pieces = np.split(row, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    scores, *more = (piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True))
    asked = {name: None if np.isnan(each).any() else each for name, each in zip([*BESIDE, "asked"], more, strict=True)}
    return Answers(scores[~np.isnan(scores[:, 0])], **asked)


def ratio_of(plan: Plan, data: object, neighbour: object, part: str | None = None) -> Callable[[Floats], Floats]:
    """Return log p(transcript | data) − log p(transcript | neighbour), for rows of transcripts; or that of one part."""
    records = [_records(plan, each) for each in (data, neighbour)]
    wanted = PARTS if part is None else (choice("part", part, PARTS),)
    public, columns = plan.public_of_scores(), columns_of(plan)  # once for all rows: a plan works it out anew each time

    def one(row: Floats) -> float:
        answers = _answers(row, plan.model.parameters, columns)
        path, total = replay(public.rule, public.loss, answers, public.moment_scale), 0.0
        for name, answer, exact, precision in _terms(public, answers, path):
            if name in wanted:
                first, second = (exact(each) for each in records)
                total += precision * float(np.sum((answer - second) ** 2 - (answer - first) ** 2)) / 2
        return total

    return lambda outputs: np.array([one(row) for row in outputs])


def _terms(public: Public, answers: Answers, path: ScorePath) -> Iterator[tuple[str, Floats, Callable[[Records], Floats], float]]:
    """Yield every answer: its part, its value, what records say without noise, and the noise's precision."""
    for answer, point, share in zip(answers.scores, path.points, path.shares, strict=True):
        yield "path", answer, lambda records, point=point: records.score(point), public.beta * share  # type: ignore[misc]
    for name, asked in BESIDE.items():
        answer = getattr(answers, name)
        if answer is not None:
            exact = lambda records, asked=asked: asked.exact(public, records, path, answers)  # noqa: E731
            yield name, answer, exact, public.beta * getattr(public.rule, asked.share) / asked.ratio(public) ** 2


def claim_of(plan: Plan, part: str) -> GaussianDP:
    """Return what a plan claims for one part of its transcript: μ times the root of its share."""
    shares = {name: float(getattr(plan.scores, asked.share)) for name, asked in BESIDE.items()}
    shares["path"] = 1 - sum(shares.values())
    guarantee = plan.guarantee
    if not isinstance(guarantee, GaussianDP):
        raise PremiseError("plan: its transcript is not one of noisy scores")
    return GaussianDP(guarantee.mu * math.sqrt(shares[choice("part", part, PARTS)]))


def concentrated(plan: Plan, part: str) -> Plan:
    """Return the plan with nearly all of its budget on one part and a short path: where an attack on that part sees most.

    It claims as much as the plan, by the same theorem, and is only audited: no plan is made like this.
    """
    choice("part", part, PARTS)
    shares: dict[str, Any] = {asked.share: MOST if name == part else 0.0 for name, asked in BESIDE.items()}
    rule = replace(plan.scores, scores=FEW, **shares)
    return replace(plan, stages=(replace(plan.stages[0], scores=rule),))


def _place(answers: Answers) -> Floats:
    """Where the last score was asked."""
    assert answers.asked is not None
    return answers.asked


def _records(plan: Plan, data: object) -> Records:
    blocks = releaser.blocks_of(plan, data, EncodingOptions(), Unit(plan.rows_per_person), **persons_for(plan, data))
    posterior = releaser.posterior_of(plan, plan.stages[-1], blocks)
    if not isinstance(posterior, GibbsPosterior):
        raise PremiseError(f"{plan.model.name}: has no records of which scores are asked")
    return Records(posterior.data, posterior.loss, plan.scores)
