"""Asking noisy scores of records: every number that leaves has noise of a fixed scale, and nothing else leaves.

Which scores are asked follows from public numbers and earlier answers (`score_path`); what they cost is proved for every data set
by `theorems.noisy_scores`, converged or not. Sums are taken in float64, block by block, and their rounding is part of the price.
Answers are rounded to a public grid, 2⁻³⁰ of their noise.

In order: the second moment of rows; the path; at its end three sums of numbers in [0, 1], how large and how steep slopes are and
how many records there are; a fit of all this (`transcript_fit`); one more score at the fit; and the fit of everything, which is
the estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gibbsafe._types import AnyFloats, Floats
from gibbsafe.data.blocks import RowBlocks, TakesBeside, targets_of, weights_of
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.losses.joint import JointLoss
from gibbsafe.losses.kinked import KinkedLoss
from gibbsafe.losses.narrow import loss_of_scores
from gibbsafe.losses.weighted import WeightedLoss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.stage import ScoreRule, Stage
from gibbsafe.progress import Progress
from gibbsafe.samplers.pseudo_rows import symmetric
from gibbsafe.samplers.score_path import ScorePath
from gibbsafe.samplers.transcript_fit import Public, fitted
from gibbsafe.theorems.noisy_scores import BLOCK_ROWS, FACTS, REACH

__all__ = ["PROVED", "Answers", "Records", "ask", "on_grid", "replay"]

#: What a certificate says of the mechanism.
PROVED = (
    "every score is a sum of bounded terms with independent normal noise of the stated scale, at points that depend on earlier "
    "answers only; its privacy is proved for every data set, whether or not the path came near a fit"
)
#: The public grid of an answer, as a share of its noise: 2 to this power.
FINENESS = -30


@dataclass(frozen=True)
class Contributions:
    """What a block of records adds to a score, to the second moment of rows and to the facts; nothing of it holds records."""

    loss: Loss
    rule: ScoreRule

    @cached_property
    def plain(self) -> Loss:
        """The loss of one record, whatever it counts."""
        return self.loss.loss if isinstance(self.loss, WeightedLoss) else self.loss

    @cached_property
    def calibrated(self) -> CalibratedScore | None:
        """The calibrated score, if the rule has a clip."""
        return None if self.rule.clip is None else CalibratedScore(self.rule.clip)

    def counts(self, rows: Floats, beside: Floats | None) -> Floats:
        """Return what each row counts in a calibrated score."""
        assert self.calibrated is not None
        return self.calibrated.weights(rows) * weights_of(beside)

    def calibrated_gradient(self, point: Floats, rows: Floats, counts: Floats | None) -> tuple[Floats]:
        """Return the score of rows beside which stands what each counts."""
        assert self.calibrated is not None
        return (np.asarray(self.calibrated.gradient(rows, point, np.empty(0) if counts is None else counts)),)

    def gradient(self, point: Floats, rows: Floats, beside: Floats | None) -> tuple[Floats]:
        """Return Σ ψ(z, x) z over a block."""
        if self.calibrated is not None:
            return self.calibrated_gradient(point, rows, self.counts(rows, beside))
        if isinstance(self.plain, KinkedLoss):  # a kink must not be crossed by a rounding that depends on where a row stands
            return (np.dot(self.loss.slope((rows * point).sum(axis=1), beside), rows),)
        return (np.asarray(self.loss.gradient(rows, point, beside)),)

    def facts(self, point: Floats, rows: Floats, beside: Floats | None) -> tuple[Floats]:
        """Return Σ (ψ²/L², f″/h̄, 1) over a block."""
        target = targets_of(beside)
        counted = np.broadcast_to(weights_of(beside), len(rows))
        if isinstance(self.plain, JointLoss):
            assert target is not None
            shares = self.plain.facts(rows, point, target)
            return (np.array([*(np.clip(share, 0, 1) @ counted for share in shares), counted.sum()]),)
        u = (rows * point).sum(axis=1)
        if self.calibrated is not None:
            slope, steep = self.calibrated.slope(u), self.calibrated.curvature(u) / self.calibrated.smoothness
        else:
            slope = self.plain.slope(u, target) / self.plain.lipschitz
            steep = self._nearness(u, target) if self.rule.kernel else self.plain.curvature(u, target) / self.plain.smoothness
        return (np.array([np.clip(slope * slope, 0, 1) @ counted, np.clip(steep, 0, 1) @ counted, counted.sum()]),)

    def _nearness(self, u: AnyFloats, target: AnyFloats | None) -> AnyFloats:
        assert self.rule.kernel is not None
        kink = np.ones_like(u) if target is None else target
        return np.asarray(np.maximum(0, 1 - np.abs(kink - u) / self.rule.kernel))


@dataclass(frozen=True, eq=False)
class Score:
    """The score of a block, or of chunks of rows, at one point; beside ``counted`` rows stands what each counts."""

    each: Contributions
    point: Floats
    counted: bool

    def __call__(self, rows: Floats, beside: Floats | None) -> tuple[Floats]:
        """Return that of a block."""
        return (self.each.calibrated_gradient if self.counted else self.each.gradient)(self.point, rows, beside)

    def of_chunks(self, rows: AnyFloats, beside: Floats | None, block_rows: int, chunk_rows: int) -> Floats | None:
        """Return those of chunks, where the loss has a compiled way."""
        if self.counted:
            assert self.each.calibrated is not None
            assert beside is not None
            return self.each.calibrated.gradient_sums(rows, self.point, beside, block_rows, chunk_rows)
        if self.each.calibrated is not None:
            return None
        return self.each.loss.gradient_sums(rows, self.point, beside, block_rows, chunk_rows)


def _second_moment(rows: Floats, beside: Floats | None) -> tuple[Floats]:
    return (np.dot(rows.T, rows * np.broadcast_to(weights_of(beside), len(rows))[:, None]),)


class Records:
    """Sums over encoded records: the scores of one rule, and the second moment of rows."""

    def __init__(self, data: RowBlocks, loss: Loss, rule: ScoreRule) -> None:
        self._data = data
        self._each = Contributions(loss_of_scores(loss, rule.width), rule)
        self._bound = self._each.plain.lipschitz
        self._counted: RowBlocks | None = None
        if self._each.calibrated is not None and isinstance(data, TakesBeside):
            self._counted = data.with_beside(self._each.counts)  # once, not in every pass

    def score(self, point: Floats) -> Floats:
        """Return Σ ψ(z, x) z: the gradient of the loss, or of the calibrated one times its Lipschitz constant."""
        counted = self._counted is not None
        (total,) = (self._counted or self._data).reduce(Score(self._each, point, counted), BLOCK_ROWS)
        return np.asarray(total if self._each.calibrated is None else self._bound * total)

    def moment(self) -> Floats:
        """Return L·Σ zzᵀ."""
        return np.asarray(self._bound * self._data.reduce(_second_moment, BLOCK_ROWS)[0])

    def facts(self, point: Floats, unit: float) -> Floats:
        """Return U·Σ (ψ²/L², f″/h̄, 1), every part between 0 and U.

        Predictors are taken row by row: a record adds the same wherever it stands. A loss with a kink counts how near records
        are to it instead, (1 − |y − u|/b)₊ with the rule's public width b.
        """
        return np.asarray(unit * self._data.reduce(partial(self._each.facts, point), BLOCK_ROWS)[0])


@dataclass(frozen=True, eq=False)
class Answers:
    """All that leaves the data: the path's scores (T, p), and where the rule has shares the second moment of rows, how large and
    steep slopes are at the path's end, and the last score with the point at which it was asked."""

    scores: Floats
    moment: Floats | None = None
    facts: Floats | None = None
    last: Floats | None = None
    asked: Floats | None = None


def ask(
    posterior: GibbsPosterior,
    stage: Stage,
    public: Public,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[Answers, ScorePath]:
    """Return the answers to everything a rule asks, and the path they made.

    The score with share f has noise of standard deviation 1/√(βf), the second moment symmetric noise of ``moment_ratio`` = G_M/G
    times that, and so have the facts. Guarantees: the number of scores and their shares depend on answers only.
    """
    rule, beta = _rule_of(stage), stage.inverse_temperature
    records = Records(posterior.data, posterior.loss, rule)
    moment = None
    if rule.moment > 0:
        scale = public.moment_scale
        moment = on_grid(records.moment() + scale * symmetric(generator, posterior.data.width), scale)
    path = start(rule, posterior.dimension, public.loss, moment, public.moment_scale)
    while (asked := path.ask()) is not None:
        path.answer(_noisy(records, asked[0], asked[1] * beta, generator))
        if progress is not None:
            progress(len(path.scores), path.length, len(path.scores), 0.0)
    facts = None
    if rule.facts > 0:
        scale = public.facts_scale
        facts = on_grid(
            records.facts(within_reach(path.point), public.facts_unit) + scale * generator.standard_normal(FACTS), scale
        )
    answers = Answers(np.array(path.scores), moment, facts)
    if rule.point > 0:
        pilot = within_reach(fitted(public, answers, path, pilot=True))
        answers = Answers(answers.scores, moment, facts, _noisy(records, pilot, rule.point * beta, generator), pilot)
    return answers, path


def start(rule: ScoreRule, parameters: int, loss: Loss, moment: Floats | None, scale: float) -> ScorePath:
    """Return the path at its beginning, steps set by the second moment where the rule asks for that."""
    if moment is None or not rule.preconditioned:
        return ScorePath(rule, parameters)
    bound, columns = loss.lipschitz, len(moment)
    return ScorePath(rule, parameters, loss.of_moment(moment / bound), scale / bound * math.sqrt(columns / parameters))


def replay(rule: ScoreRule, loss: Loss, answers: Answers, moment_scale: float) -> ScorePath:
    """Return the path that gave these answers; refuse a number of them that the rule does not give."""
    path = start(rule, answers.scores.shape[1], loss, answers.moment, moment_scale)
    for score in answers.scores:
        if path.ask() is None:
            raise PremiseError("transcript: more scores than the rule asks")
        path.answer(score)
    if path.ask() is not None:
        raise PremiseError("transcript: fewer scores than the rule asks")
    return path


def within_reach(point: Floats) -> Floats:
    """Return the point, or the nearest in its direction at which scores may be asked."""
    return np.asarray(point * min(1.0, REACH / max(float(np.linalg.norm(point)), REACH)))


def _rule_of(stage: Stage) -> ScoreRule:
    if stage.scores is None:
        raise PremiseError("stage: draws from a posterior, and asks no scores")
    return stage.scores


def _noisy(records: Records, point: Floats, precision: float, generator: np.random.Generator) -> Floats:
    scale = 1 / math.sqrt(precision)
    return on_grid(records.score(point) + scale * generator.standard_normal(len(point)), scale)


def on_grid(values: AnyFloats, scale: float) -> Floats:
    """Return answers rounded to the public grid of their noise."""
    grid = 2.0 ** (math.floor(math.log2(scale)) + FINENESS)
    return np.asarray(np.round(values / grid) * grid)
