"""The multinomial logistic loss of one of K classes: −log of the softmax of K scores that sum to 0.

Scores are isometric to K − 1 predictors v: with S = Σ v_j, score 0 is −S/√K and score k is v_k + αS, α = −(1 − 1/√K)/(K − 1).
**Lemma.** The map C from v to the scores is an isometry onto the scores that sum to 0. They do: S(1 + (K−1)α − 1/√K) = 0. And
|Cv|² = |v|² + S²((K−1)α² + 2α + 1/K), where with t = 1 − 1/√K the bracket is ((1−t)² − 1)/(K−1) + 1/K = 0. So no class is
preferred by noise or by a prior that is the same in all directions of v. With p the softmax of the scores and e_y the class:

1. the slope in v is Cᵀ(p − e_y), of norm |p − e_y| ≤ √2: (1−p_y)² + Σ_{k≠y} p_k² ≤ 2(1−p_y)² < 2, and √2 is approached;
2. the curvature is Cᵀ(diag p − ppᵀ)C, at most ½: hᵀ(diag p − ppᵀ)h is the variance of h under p, at most (max h − min h)²/4 ≤
   |h|²/2 (Popoviciu), attained at p = (½, ½, 0, …); so the loss is convex and ½-smooth;
3. a row z of norm at most 1 gives the gradient z ⊗ Cᵀ(p − e_y) in Θ, of norm |z||p − e_y| ≤ √2, and the curvature
   zzᵀ ⊗ Cᵀ(diag p − ppᵀ)C, at most ½.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import AnyFloats, Floats
from gibbsafe._validate import count
from gibbsafe.losses.joint import JointLoss

__all__ = ["SoftmaxLoss"]


@dataclass(frozen=True)
class SoftmaxLoss(JointLoss):
    """logsumexp of the scores less the score of the record's class, a number from 0 to ``classes`` − 1.

    >>> loss = SoftmaxLoss(3)
    >>> [round(x, 6) for x in (float(loss.value(np.zeros((1, 2)), np.zeros(1))[0]), loss.lipschitz, loss.smoothness)]
    [1.098612, 1.414214, 0.5]
    """

    classes: int
    lipschitz = up(math.sqrt(2))
    smoothness = 0.5

    def __post_init__(self) -> None:
        count("classes", self.classes, least=2)

    @property
    def predictors(self) -> int:  # type: ignore[override]
        """K − 1."""
        return self.classes - 1

    @property
    def size_form(self) -> Floats:
        """½I: slopes have squares of at most 2."""
        return np.eye(self.predictors) / 2

    def parameters(self, width: int) -> int:
        """A row's width for each predictor."""
        return width * self.predictors

    def matrix(self, thetas: Floats, width: int) -> Floats:
        """Predictor after predictor."""
        return np.asarray(np.swapaxes(thetas.reshape(*thetas.shape[:-1], self.predictors, width), -1, -2))

    def vector(self, matrices: Floats) -> Floats:
        """Predictor after predictor."""
        return np.asarray(np.swapaxes(matrices, -1, -2).reshape(*matrices.shape[:-2], -1))

    @property
    def _lean(self) -> float:
        """α."""
        return -(1 - 1 / math.sqrt(self.classes)) / (self.classes - 1)

    def scores(self, u: AnyFloats) -> AnyFloats:
        """Return Cv (…, classes), one class after another in memory."""
        made, total = np.empty((self.classes, *u.shape[:-1]), dtype=u.dtype), u.sum(axis=-1)
        np.multiply(total, -1 / math.sqrt(self.classes), out=made[0])
        np.add(np.moveaxis(u, -1, 0), self._lean * total, out=made[1:])
        return np.moveaxis(made, 0, -1)

    def back(self, scores: AnyFloats) -> AnyFloats:
        """Return Cᵀ times what is there for every class (…, classes)."""
        first, rest = scores[..., :1], scores[..., 1:]
        return np.asarray(rest + (self._lean * rest.sum(axis=-1, keepdims=True) - first / math.sqrt(self.classes)))

    def probabilities(self, u: AnyFloats) -> AnyFloats:
        """Return p (…, classes)."""
        scores = self.scores(u)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores

    def spread(self, p: AnyFloats) -> AnyFloats:
        """Return Cᵀ(diag p − ppᵀ)C."""
        whole = p[..., None] * np.eye(self.classes) - p[..., None] * p[..., None, :]
        return self.back(np.swapaxes(self.back(whole), -1, -2))

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """−log p_y."""
        scores = self.scores(u)
        largest = scores.max(axis=-1)
        whole = np.log(np.exp(scores - largest[..., None]).sum(axis=-1))
        return np.asarray(whole + (largest - np.take_along_axis(scores, _places(u, y)[..., None], axis=-1)[..., 0]))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Cᵀ(p − e_y)."""
        p, at = self.probabilities(u), _places(u, y)
        for k in range(self.classes):
            p[..., k] -= at == k
        return self.back(p)

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Cᵀ(diag p − ppᵀ)C."""
        return self.spread(self.probabilities(u))

    def steepness(self, u: Floats, y: Floats) -> Floats:
        """The trace of the curvature: 1 − |p|²."""
        return np.asarray(1 - np.square(self.probabilities(u)).sum(axis=-1))


def _places(u: AnyFloats, y: AnyFloats | None) -> np.ndarray:
    """Return the class of every value."""
    assert y is not None
    return np.broadcast_to(y.astype(np.intp).reshape(-1, *(1,) * (u.ndim - 2)), u.shape[:-1])
