"""The points at which noisy scores are asked: each a function of the answers before, so that a file of answers gives them again.

Accelerated steps with averaging: with a_t = t and A_t = t(t + 1)/2, x_t = ((A_t − a_t)θ̄ + a_t v)/A_t is asked, v moves by
−(t/2) P⁻¹ times the answer, and θ̄ by averaging. Scores of the middle of the path have the largest shares,
f_t ∝ t(1 − (t − ½)/T): the taper makes the mean of the points, weighted by shares, the estimate of least noise for its bias.
P = h̄n·I, or h̄ times the noisy second moment where steps go by that, its eigenvalues kept within what T steps can use. A path
whose points run far while most of the budget is left is made longer.
"""

from __future__ import annotations

import math

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.stage import ScoreRule
from gibbsafe.theorems.noisy_scores import REACH

__all__ = ["MOST_SCORES", "ScorePath"]

#: The longest path; the share of the budget that must be left for one to be made longer, and |θ̄|/√d from which on it is.
MOST_SCORES = 800
LEFT, FAR = 0.6, 2.0


class ScorePath:
    """The path of one release: `ask` says where and at which share, `answer` takes the score; None ends it.

    >>> path = ScorePath(ScoreRule(None, 100, 1.0, 0.25, 3, 0.0, 0.0, 0.0, False), 2)
    >>> while (asked := path.ask()) is not None:
    ...     path.answer(asked[0] - np.ones(2))
    >>> float(sum(path.shares).__round__(9)), len(path.points)
    (1.0, 3)
    """

    def __init__(self, rule: ScoreRule, parameters: int, moment: Floats | None = None, moment_scale: float = 0.0) -> None:
        self._rule = rule
        self._total = rule.path * (1 - 2.0**-40)  # shares add up to less than 1, rounding included
        self._left, self._length = self._total, rule.scores
        self._v, self._mean = np.zeros(parameters), np.zeros(parameters)
        self._inverse = self._preconditioner(parameters, moment, moment_scale)
        self.points: list[Floats] = []
        self.shares: list[float] = []
        self.scores: list[Floats] = []

    def _preconditioner(self, parameters: int, moment: Floats | None, scale: float) -> Floats:
        """Return P⁻¹."""
        rule = self._rule
        if moment is None:
            return np.eye(parameters) / (rule.slope * rule.rows)
        values, vectors = np.linalg.eigh(moment)
        least = rule.ridge * rule.scores**2 / (4 * rule.slope)
        kept = np.maximum(np.maximum(values, 0) + math.sqrt(2 * parameters) * scale, least)
        return np.asarray((vectors / (rule.slope * kept)) @ vectors.T)

    @property
    def length(self) -> int:
        """How many scores the path has, as far as is known."""
        return self._length

    @property
    def point(self) -> Floats:
        """The mean of the points, weighted by their shares."""
        shares = np.array(self.shares)
        return np.asarray(shares @ np.array(self.points) / shares.sum())

    @property
    def score(self) -> Floats:
        """The mean of the answers, weighted by their shares."""
        shares = np.array(self.shares)
        return np.asarray(shares @ np.array(self.scores) / shares.sum())

    def ask(self) -> tuple[Floats, float] | None:
        """Return the next point and its share of the budget; None at the end."""
        t = len(self.scores) + 1
        if t > self._length:
            return None
        later = np.arange(t, self._length + 1)
        tapered = later * (1 - (later - 0.5) / self._length)
        share = self._left * float(tapered[0] / tapered.sum())
        before = t * (t - 1) / 2
        point = (before * self._mean + t * self._v) / (before + t)
        point *= min(1.0, REACH / max(float(np.linalg.norm(point)), REACH))
        self.points.append(point)
        self.shares.append(share)
        self._left = max(0.0, self._left - share)
        return point, share

    def answer(self, score: Floats) -> None:
        """Take the answer to what was asked last."""
        self.scores.append(score)
        t = len(self.scores)
        before = t * (t - 1) / 2
        self._v = self._v - t / 2 * (self._inverse @ score)
        self._mean = (before * self._mean + t * self._v) / (before + t)
        if self._left > LEFT * self._total:
            far = float(np.linalg.norm(self._mean)) / (FAR * math.sqrt(len(score)))
            longer = math.floor(self._rule.scores * math.sqrt(far)) if math.isfinite(far) else MOST_SCORES
            self._length = max(self._length, min(longer, MOST_SCORES))
