"""Expected scores of losses of several predictors: the laws of their slopes, and sums over pseudo-rows.

As `expected_scores`, with one axis more: predictors, slopes and their means have a last axis of the loss's predictors, and a pull
is a matrix, −∂(mean slope)/∂(predictors of the truth).

- **Classes** with p the softmax at the truth: the mean slope is Cᵀ(p̄ − p), p̄ the average of the softmax over the points asked;
  pull and the covariance of slopes are both Cᵀ(diag p − ppᵀ)C.
- **Levels** in order with probabilities P: a slope at threshold k comes from the level below it and the one above, so its mean is
  P_k·Ā_k − P_{k+1}·B̄_k, Ā and B̄ the averages of what the two levels' slopes are at the points asked; the pull has three bands.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.cumulative import CumulativeLoss
from gibbsafe.losses.joint import JointLoss
from gibbsafe.losses.softmax import SoftmaxLoss
from gibbsafe.samplers.expected_scores import Asked, Law
from gibbsafe.samplers.score_fit import DEVIATIONS, STEPS, Expectation

__all__ = ["ClassLaw", "JointExpectation", "JointLaw", "LevelLaw", "has_joint_law", "joint_law_of"]

#: Numbers held at once while points are averaged: they are taken in pieces.
AT_ONCE = 2**22
#: Parameters beyond which a step of a fit takes half a second and more; how many it takes then.
MANY, FEW_STEPS = 300, 8


class JointLaw(Law):
    """The law of slopes of a loss of several predictors: arrays are (designs, rows, points or chains, predictors)."""

    #: Whether pulls are symmetric matrices; and the loss.
    symmetric: ClassVar[bool] = True
    loss: JointLoss

    @abstractmethod
    def mean(self, asked: Asked, truth: Floats) -> Floats:
        """Return the expected slope."""

    @abstractmethod
    def pulled(self, asked: Asked, truth: Floats, along: Floats) -> Floats:
        """Return the transposed pull times a vector for every row."""


@dataclass(frozen=True)
class ClassLaw(JointLaw):
    """Classes of a softmax law."""

    loss: SoftmaxLoss

    def averaged(self, predictors: Floats, shares: Floats) -> Asked:  # noqa: D102
        return (np.einsum("...tk,t->...k", self.loss.probabilities(predictors), shares)[..., None, :],)

    def mean(self, asked: Asked, truth: Floats) -> Floats:  # noqa: D102
        return np.asarray(self.loss.back(asked[0] - self.loss.probabilities(truth)))

    def mean_and_pull(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        return self.mean(asked, truth), self.square(truth)

    def pulled(self, asked: Asked, truth: Floats, along: Floats) -> Floats:  # noqa: D102
        p, scores = self.loss.probabilities(truth), self.loss.scores(along)
        return np.asarray(self.loss.back(p * (scores - (p * scores).sum(axis=-1, keepdims=True))))

    def square(self, truth: Floats) -> Floats:  # noqa: D102
        return np.asarray(self.loss.spread(self.loss.probabilities(truth)))

    def curvature(self, predictor: Floats, truth: Floats) -> Floats:  # noqa: D102
        return self.square(predictor)


@dataclass(frozen=True)
class LevelLaw(JointLaw):
    """Ordered levels of a cumulative logistic law."""

    loss: CumulativeLoss
    symmetric: ClassVar[bool] = False

    def averaged(self, predictors: Floats, shares: Floats) -> Asked:  # noqa: D102
        return tuple(np.einsum("...tk,t->...k", side, shares)[..., None, :] for side in self._sides(predictors))

    def _sides(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the slopes at each threshold: of the level below it, and less that of the level above."""
        above = self.loss.above(u)
        inner = self.loss.distance(above[..., :-1] - above[..., 1:])[1]  # of the levels between two thresholds
        none = np.zeros((*u.shape[:-1], 1))
        upper, lower = np.concatenate([none, inner], axis=-1), np.concatenate([inner, none], axis=-1)
        return np.asarray(expit(above) + upper), np.asarray(expit(-above) + lower)

    def _levels(self, truth: Floats) -> Floats:
        """Return P(level), as the model has it without sorting."""
        above = expit(self.loss.above(truth))
        ends = np.ones((*truth.shape[:-1], 1))
        return -np.diff(np.concatenate([ends, above, 0 * ends], axis=-1), axis=-1)

    def mean(self, asked: Asked, truth: Floats) -> Floats:  # noqa: D102
        chances = self._levels(truth)
        return np.asarray(chances[..., :-1] * asked[0] - chances[..., 1:] * asked[1])

    def _bands(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats, Floats]:
        """Return −∂mean_k/∂η_j for j = k, k − 1 (from the second on) and k + 1 (but for the last)."""
        above = self.loss.above(truth)
        bell = expit(above) * expit(-above)
        return bell * (asked[0] + asked[1]), -(asked[0] * _shifted(bell, 1)), -(asked[1] * _shifted(bell, -1))

    def mean_and_pull(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        at, before, after = self._bands(asked, truth)
        size = at.shape[-1]
        pull = at[..., None] * np.eye(size) + before[..., None] * np.eye(size, k=-1) + after[..., None] * np.eye(size, k=1)
        return self.mean(asked, truth), np.asarray(pull)

    def pulled(self, asked: Asked, truth: Floats, along: Floats) -> Floats:  # noqa: D102
        at, before, after = self._bands(asked, truth)
        return np.asarray(at * along + _shifted(before * along, -1) + _shifted(after * along, 1))

    def square(self, truth: Floats) -> Floats:  # noqa: D102
        chances = np.maximum(self._levels(truth), 0)
        below, above = self._sides(truth)
        size = truth.shape[-1]
        own = chances[..., :-1] * below**2 + chances[..., 1:] * above**2
        both = -chances[..., 1:-1] * above[..., :-1] * below[..., 1:]  # of a level between two thresholds
        off = np.concatenate([both, np.zeros((*truth.shape[:-1], 1))], axis=-1)[..., None] * np.eye(size, k=1)
        return np.asarray(own[..., None] * np.eye(size) + off + np.swapaxes(off, -1, -2))

    def curvature(self, predictor: Floats, truth: Floats) -> Floats:
        """The information: a likelihood's score varies by its expected curvature."""
        return self.square(predictor)


def _shifted(values: Floats, by: int) -> Floats:
    """Return values moved along the last axis by one place, 0 moving in."""
    moved = np.zeros_like(values)
    if by > 0:
        moved[..., 1:] = values[..., :-1]
    else:
        moved[..., :-1] = values[..., 1:]
    return moved


class JointExpectation(Expectation):
    """Expected scores over designs of pseudo-rows (designs, rows, width), of parameters that are a matrix's."""

    law: JointLaw

    def __init__(self, rows: Floats, law: JointLaw, n: float) -> None:
        super().__init__(rows, law, n)
        self.symmetric = law.symmetric

    def _predictors(self, truth: Floats) -> Floats:
        """Return zᵀΘ (designs, rows, chains, predictors) of truths (designs, parameters, chains)."""
        matrices = self.law.loss.matrix(np.swapaxes(truth, 1, 2), self.rows.shape[2])  # (designs, chains, width, predictors)
        return np.moveaxis(np.matmul(self.rows, np.transpose(matrices, (3, 0, 2, 1))), 0, -1)

    def _summed(self, slopes: Floats) -> Floats:
        """Return Σ z ⊗ slope (designs, parameters, chains) of slopes (designs, rows, chains, predictors)."""
        flat = np.matmul(self.transposed, np.moveaxis(slopes, -1, 0))  # (predictors, designs, width, chains)
        return np.swapaxes(self.law.loss.vector(np.transpose(flat, (1, 3, 2, 0))), 1, 2)

    def _form(self, bends: Floats) -> Floats:
        """Return Σ zzᵀ ⊗ bend (designs, parameters, parameters) of matrices (designs, rows, predictors, predictors)."""
        designs, number, width = self.rows.shape
        m = bends.shape[2]
        blocks = np.empty((designs, width, m, width, m))
        for k in range(m):
            weighted = (self.rows[..., None] * bends[:, :, None, k, :]).reshape(designs, number, -1)
            blocks[:, :, k] = np.matmul(self.transposed, weighted).reshape(designs, width, width, m)
        return self.law.loss.second(blocks)

    def asked(self, points: Floats, shares: Floats) -> Asked:
        """Return the law's average over the points, a few at a time."""
        weight, total = shares / shares.sum(), None
        step = max(1, AT_ONCE // (self.rows.shape[0] * self.rows.shape[1] * (self.law.loss.predictors + 1)))
        for first in range(0, len(points), step):
            some = points[first : first + step]
            there = self._predictors(np.broadcast_to(some.T, (len(self.rows), *some.T.shape)))
            part = self.law.averaged(there, weight[first : first + step])
            total = part if total is None else tuple(a + b for a, b in zip(total, part, strict=True))
        assert total is not None
        return total

    def scores(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:
        """Return F (designs, parameters, chains), and the predictors that `jacobian` and `pulled` go on from."""
        there = self._predictors(truth)
        return self._summed(self.weight[..., None] * self.law.mean(asked, there)), there

    def jacobian(self, asked: Asked, pull: Floats) -> Floats:
        """Return −∂F/∂θ of one chain."""
        bends = self.law.mean_and_pull(tuple(each[:, :, 0] for each in asked), pull[:, :, 0])[1]
        return self._form(self.weight[..., None] * bends)

    def pulled(self, asked: Asked, pull: Floats, along: Floats) -> Floats:
        """Return (−∂F/∂θ)ᵀ times a vector of every chain."""
        return self._summed(self.weight[..., None] * self.law.pulled(asked, pull, self._predictors(along)))

    def noise(self, truth: Floats) -> Floats:
        """Return J of one chain."""
        return self.dispersion * self._form(self.square_weight[..., None] * self.law.square(self._predictors(truth)[:, :, 0]))

    def deviations(self, parameters: int) -> tuple[float, ...]:
        """Return every second one where parameters are many and a step is costly."""
        return DEVIATIONS[1::2] if parameters > MANY else DEVIATIONS

    def most_steps(self, parameters: int) -> int:
        """Return fewer where parameters are many."""
        return FEW_STEPS if parameters > MANY else STEPS

    def take_in(self, loss: Loss, share: Floats, kernel: float | None, point: Floats, truth: Floats) -> None:
        """Let the size of slopes be the measured one; how steep they are the law knows itself."""
        square = self.law.square(self._predictors(point[None, :, None])[:, :, 0])
        expected = float((square * self.law.loss.size_form).sum(axis=(-2, -1)).mean())
        self.dispersion = float(np.clip(share[0] / max(expected, 1e-12), 0.05, 4.0))


def has_joint_law(loss: Loss) -> bool:
    """Whether the law of the slopes of this loss of several predictors is known."""
    return isinstance(loss, SoftmaxLoss | CumulativeLoss)


def joint_law_of(loss: Loss) -> JointLaw:
    """Return the law of a loss's slopes."""
    if isinstance(loss, SoftmaxLoss):
        return ClassLaw(loss)
    if isinstance(loss, CumulativeLoss):
        return LevelLaw(loss)
    raise PremiseError(f"{type(loss).__name__}: the law of its slopes is not known, and with it no fit of noisy scores")
