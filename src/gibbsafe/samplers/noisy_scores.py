"""Asking noisy scores of records: every number that leaves has noise of a fixed scale, and nothing else leaves.

Which scores are asked follows from public numbers and earlier answers (`score_path`); what they cost is proved for every data set
by `theorems.noisy_scores`, converged or not. Sums are taken in float64, block by block, and their rounding is part of the price.
Answers are rounded to a public grid, 2⁻³⁰ of their noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import AnyFloats, Floats
from gibbsafe.data.blocks import RowBlocks, weights_of
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.losses.kinked import KinkedLoss
from gibbsafe.losses.weighted import WeightedLoss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.stage import ScoreRule, Stage
from gibbsafe.progress import Progress
from gibbsafe.samplers.score_path import ScorePath
from gibbsafe.theorems.noisy_scores import BLOCK_ROWS, REACH

__all__ = ["PROVED", "Answers", "Records", "ask", "replay"]

#: What a certificate says of the mechanism.
PROVED = (
    "every score is a sum of bounded terms with independent normal noise of the stated scale, at points that depend on earlier "
    "answers only; its privacy is proved for every data set, whether or not the path came near a fit"
)
#: The public grid of an answer, as a share of its noise: 2 to this power.
FINENESS = -30


class Records:
    """Sums over encoded records: the scores of one rule, and the second moment of rows."""

    def __init__(self, data: RowBlocks, loss: Loss, rule: ScoreRule) -> None:
        self._data, self._loss = data, loss
        plain = loss.loss if isinstance(loss, WeightedLoss) else loss
        self._rowwise = isinstance(plain, KinkedLoss)
        self._bound = plain.lipschitz
        self._calibrated = None if rule.clip is None else CalibratedScore(rule.clip)

    def score(self, point: Floats) -> Floats:
        """Return Σ ψ(z, x) z: the gradient of the loss, or of the calibrated one times its Lipschitz constant."""
        calibrated = self._calibrated

        def gradient(rows: Floats, beside: Floats | None) -> tuple[Floats]:
            if calibrated is not None:
                slopes = self._bound * calibrated.slope(rows @ point) * calibrated.weights(rows) * weights_of(beside)
                return (np.asarray(slopes @ rows),)
            if self._rowwise:  # a kink must not be crossed by a rounding that depends on where in its block a row stands
                return (np.asarray(self._loss.slope((rows * point).sum(axis=1), beside) @ rows),)
            return (np.asarray(self._loss.gradient(rows, point, beside)),)

        return np.asarray(self._data.reduce(gradient, BLOCK_ROWS)[0])

    def moment(self) -> Floats:
        """Return L·Σ w zzᵀ."""

        def second(rows: Floats, beside: Floats | None) -> tuple[Floats]:
            weights = weights_of(beside) * (1.0 if self._calibrated is None else self._calibrated.weights(rows))
            return (rows.T @ (rows * np.broadcast_to(weights, len(rows))[:, None]),)

        return np.asarray(self._bound * self._data.reduce(second, BLOCK_ROWS)[0])


@dataclass(frozen=True, eq=False)
class Answers:
    """All that leaves the data: the path's scores (T, p), and where the rule has shares the second moment and the last score."""

    scores: Floats
    moment: Floats | None = None
    last: Floats | None = None


def ask(
    posterior: GibbsPosterior,
    stage: Stage,
    moment_ratio: float,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[Answers, ScorePath]:
    """Return the answers to everything a rule asks, and the path they made.

    The score with share f has noise of standard deviation 1/√(βf), the second moment symmetric noise of ``moment_ratio`` = G_M/G
    times that. Guarantees: the number of scores and their shares depend on answers only.
    """
    rule, beta = _rule_of(stage), stage.inverse_temperature
    records = Records(posterior.data, posterior.loss, rule)
    moment, scale = None, 0.0
    if rule.moment > 0:
        scale = moment_ratio / math.sqrt(beta * rule.moment)
        moment = _on_grid(records.moment() + scale * _symmetric(posterior.dimension, generator), scale)
    path = start(rule, posterior.dimension, records._bound, moment, scale)
    while (asked := path.ask()) is not None:
        path.answer(_noisy(records, asked[0], asked[1] * beta, generator))
        if progress is not None:
            progress(len(path.scores), path.length, len(path.scores), 0.0)
    last = None
    if rule.point > 0:
        last = _noisy(records, within_reach(path.point), rule.point * beta, generator)
    return Answers(np.array(path.scores), moment, last), path


def start(rule: ScoreRule, parameters: int, bound: float, moment: Floats | None, scale: float) -> ScorePath:
    """Return the path at its beginning, steps set by the second moment where the rule asks for that."""
    used = moment is not None and rule.preconditioned
    return ScorePath(rule, parameters, None if moment is None or not used else moment / bound, scale / bound)


def replay(rule: ScoreRule, bound: float, answers: Answers, moment_scale: float) -> ScorePath:
    """Return the path that gave these answers; refuse a number of them that the rule does not give."""
    path = start(rule, answers.scores.shape[1], bound, answers.moment, moment_scale)
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
    return _on_grid(records.score(point) + scale * generator.standard_normal(len(point)), scale)


def _symmetric(parameters: int, generator: np.random.Generator) -> Floats:
    """Return symmetric noise, variance 1 on the diagonal and ½ beside it: isotropic in Frobenius norm."""
    square = generator.standard_normal((parameters, parameters))
    return np.asarray((square + square.T) / 2)


def _on_grid(values: AnyFloats, scale: float) -> Floats:
    grid = 2.0 ** (math.floor(math.log2(scale)) + FINENESS)
    return np.asarray(np.round(values / grid) * grid)
