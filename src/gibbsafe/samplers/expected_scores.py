"""What a score is expected to be at a point if the truth is elsewhere: the law of a record's slope given its two predictors.

A *law* gives, for rows with predictor t at the truth, the mean of the slopes at the points asked, how it falls with t (its pull,
at least 0) and the mean square of a slope at the truth (`square`). Arrays are (designs, rows, chains); what was asked is
averaged once (`averaged`).

- **Labels** ±1 with P(+1) = σ(t): mean = σ(t)·A − σ(−t)·B, A and B the averages of ψ(u) and ψ(−u) over the points. For the
  logistic and the calibrated loss t is the parameter's own predictor; any other margin loss has its minimiser found afterwards.
- **Residuals** whose slope is −L₋ far below and L₊ far above, and rises by c at 0: mean = Σ f·φ(u − t), φ(v) = L·x/√(1 + x²),
  x = cv/L. The steepness c is measured.
- **Counts** of mean e^t, negative binomial.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.losses.exposed import FARTHEST, ExposedCountLoss
from gibbsafe.losses.kernels import logistic_slope
from gibbsafe.losses.kinked import PinballLoss
from gibbsafe.losses.log_logistic import LogLogisticLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftPinballLoss

__all__ = ["CountLaw", "LabelLaw", "Law", "ResidualLaw", "has_law", "law_of"]

#: Bins into which a row's predictors along a path are put.
NODES = 5
#: What was asked, averaged: one array per ingredient, (designs, rows, points or 1).
Asked = tuple[Floats, ...]


class Law(ABC):
    """The law of slopes."""

    #: Whether the truth's predictor is the parameter's own.
    consistent: bool = True

    @abstractmethod
    def averaged(self, predictors: Floats, shares: Floats) -> Asked:
        """Return what `mean` needs of the predictors (designs, rows, points) that were asked with these shares."""

    @abstractmethod
    def mean_and_pull(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:
        """Return the expected slope, and −∂mean/∂t."""

    @abstractmethod
    def square(self, truth: Floats) -> Floats:
        """Return the expected square of a slope at the truth."""

    @abstractmethod
    def curvature(self, predictor: Floats, truth: Floats) -> Floats:
        """Return the expected derivative of the slope at a point."""

    def steep(self, measured: float, at: Floats, truth: Floats) -> Law:
        """Return the law with the steepness that was measured at these predictors; one that knows its own stays."""
        return self


@dataclass(frozen=True)
class LabelLaw(Law):
    """Labels of a logistic law, and the slope of a margin loss."""

    loss: Loss
    clip: float | None = None

    @property
    def consistent(self) -> bool:  # type: ignore[override]
        """True of the logistic and the calibrated loss."""
        return isinstance(self.loss, LogisticLoss)

    def slope(self, u: Floats) -> Floats:
        """ψ, elementwise."""
        if self.clip is not None:
            return np.asarray(self.loss.lipschitz * CalibratedScore(self.clip).slope(u))
        return np.asarray(self.loss.slope(u))

    def averaged(self, predictors: Floats, shares: Floats) -> Asked:  # noqa: D102
        weight = shares / shares.sum()
        shape = predictors.shape
        flat = predictors.reshape(-1, shape[-1])
        if self.clip is None:
            up, down = (self.slope(side) @ weight for side in (flat, -flat))
        else:  # both sides by one exponential
            inner, outer = CalibratedScore(self.clip).sides(flat)
            up = self.loss.lipschitz * (np.where(flat > 0, inner, outer) @ weight)
            down = self.loss.lipschitz * (inner @ weight + outer @ weight) - up
        return up.reshape(*shape[:-1], 1), down.reshape(*shape[:-1], 1)

    def mean_and_pull(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        both, down = asked[0] + asked[1], asked[1]
        p = -logistic_slope(-truth)
        mean = p * both
        return mean - down, p * mean - mean

    def square(self, truth: Floats) -> Floats:  # noqa: D102
        p = expit(truth)
        return np.asarray(p * self.slope(truth) ** 2 + (1 - p) * self.slope(-truth) ** 2)

    def curvature(self, predictor: Floats, truth: Floats) -> Floats:  # noqa: D102
        p, step = expit(truth), 1e-4
        sides = [(self.slope(s * predictor + step) - self.slope(s * predictor - step)) / (2 * step) for s in (1, -1)]
        return np.asarray(p * sides[0] + (1 - p) * sides[1])


@dataclass(frozen=True)
class ResidualLaw(Law):
    """Slopes of a residual: −below far on one side, above far on the other, steepness c between."""

    below: float
    above: float
    steepness: float

    def _scaled(self, v: Floats) -> tuple[Floats, Floats]:
        limit = np.where(v > 0, self.above, self.below)
        return limit, self.steepness * v / limit

    def averaged(self, predictors: Floats, shares: Floats) -> Asked:
        """Each row's predictors in `NODES` bins of about equal shares, from the smallest up: their means, and their shares."""
        order = np.argsort(predictors, axis=-1)
        sorted_shares = (shares / shares.sum())[order]
        place = np.minimum((np.cumsum(sorted_shares, axis=-1) * NODES * (1 - 1e-9)).astype(np.int8), NODES - 1)
        weighted = sorted_shares * np.take_along_axis(predictors, order, axis=-1)
        totals = [np.where(place == node, sorted_shares, 0.0).sum(axis=-1) for node in range(NODES)]
        sums = [np.where(place == node, weighted, 0.0).sum(axis=-1) for node in range(NODES)]
        total, summed = np.stack(totals, axis=-1), np.stack(sums, axis=-1)
        return np.divide(summed, total, out=np.zeros_like(summed), where=total > 0), total

    def mean_and_pull(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        predictors, shares = asked
        mean, pull = np.zeros_like(truth), np.zeros_like(truth)
        for node in range(NODES):
            off, share = predictors[..., node, None] - truth, shares[..., node, None]
            x = off * np.where(off > 0, self.steepness / self.above, self.steepness / self.below)
            root = 1 / np.sqrt(1 + x * x)
            off *= root  # L·x/√(1 + x²) is c·v/√(1 + x²)
            off *= share
            mean += off
            np.multiply(root * root, root, out=root)
            root *= share
            pull += root
        return self.steepness * mean, self.steepness * pull

    def square(self, truth: Floats) -> Floats:
        """Its largest value; what is measured takes its place."""
        return np.full_like(truth, self.below * self.above if self.below != self.above else self.above**2)

    def curvature(self, predictor: Floats, truth: Floats) -> Floats:  # noqa: D102
        return np.asarray(self.steepness * (1 + self._scaled(predictor - truth)[1] ** 2) ** -1.5)

    def steep(self, measured: float, at: Floats, truth: Floats) -> Law:
        """The measured one, and up to half as much again for what is lost where the slope has begun to level off."""
        plain, off = replace(self, steepness=max(measured, 1e-9)), at - truth
        lost = plain.steepness / max(float(np.mean(plain.curvature(off, np.zeros_like(off)))), 1e-12)
        return replace(plain, steepness=plain.steepness * min(lost, 1.5))


@dataclass(frozen=True)
class CountLaw(Law):
    """Negative binomial counts of mean e^t, cut at the cap; over exposures nobody released, of mean e^{t + o} with one o."""

    loss: NegativeBinomialLoss
    #: Whether there are exposures, and the logarithm of one that would make scores as steep as they are.
    exposed: bool = False
    offset: float = 0.0

    def _count(self, truth: Floats) -> Floats:
        return np.exp(np.minimum(truth + self.offset, math.log(self.loss.cap)))

    def _share(self, predictor: Floats) -> Floats:
        return np.asarray(expit(predictor + (self.offset - math.log(self.loss.dispersion))))

    def averaged(self, predictors: Floats, shares: Floats) -> Asked:  # noqa: D102
        return ((self._share(predictors) @ (shares / shares.sum()))[..., None],)

    def mean_and_pull(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        counted = self._count(truth) * (1 - asked[0])
        below = truth + self.offset < math.log(self.loss.cap)
        return self.loss.dispersion * asked[0] - counted, np.where(below, counted, 0.0)

    def steep(self, measured: float, at: Floats, truth: Floats) -> Law:
        """The least exposure with which slopes are as steep as measured, or as steep as any makes them."""
        if not self.exposed:
            return self

        def missing(offset: float) -> float:
            return measured - float(np.mean(replace(self, offset=offset).curvature(at, truth)))

        tried = np.arange(-FARTHEST, FARTHEST + 1, 0.5)
        left = np.array([missing(each) for each in tried])
        if not np.isfinite(left).all():
            return self
        if left[0] <= 0 or left.min() > 0:
            return replace(self, offset=float(tried[left.argmin() if left[0] > 0 else 0]))
        first = int(np.argmax(left <= 0))
        return replace(self, offset=float(brentq(missing, tried[first - 1], tried[first])))

    def square(self, truth: Floats) -> Floats:
        """The information: a likelihood's score varies by its expected curvature."""
        return self.curvature(truth, truth)

    def curvature(self, predictor: Floats, truth: Floats) -> Floats:  # noqa: D102
        p = self._share(predictor)
        return np.asarray((self._count(truth) + self.loss.dispersion) * p * (1 - p))


def has_law(loss: Loss) -> bool:
    """Whether the law of this loss's slopes is known."""
    residual = PseudoHuberLoss | SoftPinballLoss | PinballLoss | LogLogisticLoss
    return loss.margin or isinstance(loss, residual | NegativeBinomialLoss | ExposedCountLoss)


def law_of(loss: Loss, clip: float | None) -> Law:
    """Return the law of a loss's slopes."""
    if loss.margin:
        return LabelLaw(loss, clip)
    if isinstance(loss, PseudoHuberLoss | LogLogisticLoss):  # of times: where all are events; how many are not, steepness shows
        return ResidualLaw(loss.lipschitz, loss.lipschitz, loss.smoothness)
    if isinstance(loss, SoftPinballLoss):
        return ResidualLaw(loss.quantile, 1 - loss.quantile, loss.smoothness)
    if isinstance(loss, PinballLoss):
        return ResidualLaw(loss.quantile, 1 - loss.quantile, 1.0)
    if isinstance(loss, NegativeBinomialLoss):
        return CountLaw(loss)
    if isinstance(loss, ExposedCountLoss):
        return CountLaw(loss.base, exposed=True)
    raise PremiseError(f"{type(loss).__name__}: the law of its slopes is not known, and with it no fit of noisy scores")
