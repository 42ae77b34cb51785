"""Fitting a transcript: the parameter whose expected scores are nearest to the answers, and how near a prior should hold it.

With the rows of `pseudo_rows` and the law of slopes (`expected_scores`) the expected score F(θ) at the points asked is a smooth
function of the truth θ, however far the points were from it: neither linearisation nor the bias of a path's average is left. The
mean answer ȳ differs from F(θ*) by noise of known variance and by the data's own, J: ȳ − F(θ) ~ N(0, V), V = I/(βΣf) + J. The
point is the maximum of that density times a normal prior of standard deviation s, averaged over a public grid of s by their
evidence (Laplace): a prior that the answers choose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.calibrated import CalibratedScore
from gibbsafe.samplers.expected_scores import Asked, LabelLaw, Law

__all__ = ["Expectation", "Fit", "Observation", "best_fit"]

#: Standard deviations of the prior that are tried, in units of a typical parameter; Newton steps of a fit.
DEVIATIONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
STEPS = 25
#: A fit ends when a step is this short beside the prior and the point: a first look, and the fit that counts.
ROUGH, FINE = 1e-2, 1e-4
#: Differences of log evidence beyond which wider priors are not tried any more, at a first look and by the fit that counts.
FALLING, NEGLIGIBLE = 1.0, 8.0


@dataclass(frozen=True, eq=False)
class Observation:
    """Answers that are averaged together: where they were asked, their shares, their mean, and what their noise adds to V."""

    points: Floats
    shares: Floats
    mean: Floats
    variance: Floats


class Expectation:
    """Expected scores over one or several designs of pseudo-rows (designs, rows, parameters) that stand for n records."""

    #: Whether −∂F/∂θ is a symmetric matrix.
    symmetric: bool = True

    def __init__(self, rows: Floats, law: Law, n: float) -> None:
        self.rows, self.law, self.n = rows, law, n
        self.transposed = np.ascontiguousarray(rows.transpose(0, 2, 1))
        weight = np.ones(rows.shape[:2])
        if isinstance(law, LabelLaw) and law.clip is not None:
            weight = CalibratedScore(law.clip).weights(rows.reshape(-1, rows.shape[2])).reshape(rows.shape[:2])
        self.weight = (weight * (n / rows.shape[1]))[..., None]
        self.square_weight = weight[..., None] * self.weight
        #: What a measured square of slopes is of the expected one.
        self.dispersion = 1.0

    def asked(self, points: Floats, shares: Floats) -> Asked:
        """Return the law's average over the points."""
        return self.law.averaged(self.rows @ points.T, shares)

    def scores(self, asked: Asked, truth: Floats) -> tuple[Floats, Floats]:
        """Return F (designs, parameters, chains) at truths of that shape, and the pull of every row."""
        mean, pull = self.law.mean_and_pull(asked, np.matmul(self.rows, truth))
        return np.matmul(self.transposed, self.weight * mean), self.weight * pull

    def jacobian(self, asked: Asked, pull: Floats) -> Floats:
        """Return −∂F/∂θ (designs, parameters, parameters) by the pulls of one chain."""
        return np.asarray(np.matmul(self.transposed * pull[:, None, :, 0], self.rows))

    def pulled(self, asked: Asked, pull: Floats, along: Floats) -> Floats:
        """Return (−∂F/∂θ)ᵀ times a vector of every chain (designs, parameters, chains)."""
        return np.asarray(np.matmul(self.transposed, np.matmul(self.rows, along) * pull))

    def turned(self, jacobian: Floats) -> Floats:
        """Return (−∂F/∂θ)ᵀ."""
        return jacobian if self.symmetric else np.swapaxes(jacobian, -1, -2)

    def noise(self, truth: Floats) -> Floats:
        """Return J, the data's own covariance of a score at the truth (designs, parameters, parameters)."""
        square = self.dispersion * self.square_weight * self.law.square(np.matmul(self.rows, truth))
        return np.asarray(np.matmul(self.transposed * square[:, None, :, 0], self.rows))

    def deviations(self, parameters: int) -> tuple[float, ...]:
        """Return the standard deviations of the prior that are tried."""
        return DEVIATIONS

    def most_steps(self, parameters: int) -> int:
        """Return how many steps a fit may take."""
        return STEPS

    def take_in(self, loss: Loss, share: Floats, kernel: float | None, point: Floats, truth: Floats) -> None:
        """Let steepness and size of slopes be those that were measured at a point, as shares of their largest values."""
        steep = share[1] * (1 / kernel if kernel else loss.smoothness)
        at, there = self.rows[0] @ point, self.rows[0] @ truth
        self.law = law = self.law.steep(steep, at, there)
        square = float(np.mean(law.square(at[None, :, None])))
        self.dispersion = float(np.clip(share[0] * loss.lipschitz**2 / max(square, 1e-12), 0.05, 4.0))


@dataclass(frozen=True, eq=False)
class Fit:
    """The point, the prior's standard deviation, V, and the curvature of the log density without its prior."""

    point: Floats
    deviation: float
    variance: Floats
    precision: Floats
    evidence: float


def best_fit(  # noqa: PLR0917 - a fit's ingredients
    expectation: Expectation,
    observed: Observation,
    unit: float,
    start: Floats,
    near: float | None = None,
    own: Floats | None = None,
) -> Fit:
    """Return the fit under the prior of largest evidence, its point the mean of all fits weighted by their evidence.

    ``near`` is a standard deviation already found for nearly the same answers: only those about it are tried, and finely. ``own``
    are precisions of parameters with a prior of their own, 0 for those that the search is for.
    """
    close, over = (ROUGH, FALLING) if near is None else (FINE, NEGLIGIBLE)
    asked = expectation.asked(observed.points, observed.shares)
    tried: list[Fit] = []
    for deviation in expectation.deviations(len(start)):
        if near is not None and not 0.4 < deviation * unit / near < 2.5:
            continue
        tried.append(_fit(expectation, asked, observed, deviation * unit, start, own=own, close=close))
        start = tried[-1].point
        if tried[-1].evidence < max(fit.evidence for fit in tried) - over:
            break
    best = max(tried, key=lambda fit: fit.evidence)
    weights = np.exp([fit.evidence - best.evidence for fit in tried])
    return replace(best, point=weights @ np.array([fit.point for fit in tried]) / weights.sum())


def _fit(
    expectation: Expectation,
    asked: Asked,
    observed: Observation,
    deviation: float,
    start: Floats,
    *,
    own: Floats | None,
    close: float,
) -> Fit:
    """Gauss–Newton steps with halving from ``start``; V follows the point for the first of them."""
    prior = np.full(len(start), deviation**-2.0)
    if own is not None:
        prior = np.where(own > 0, own, prior)
    truth = start[None, :, None]

    def residual(at: Floats, inverse: Floats) -> tuple[float, Floats, Floats]:
        mean, pull = expectation.scores(asked, at)
        off = observed.mean - mean[0, :, 0]
        return float(off @ inverse @ off + np.sum(prior * at[0, :, 0] ** 2)) / 2, off, pull

    for step in range(expectation.most_steps(len(start))):
        if step in (0, 2, 5):
            variance = observed.variance + expectation.noise(truth)[0]
            inverse = np.linalg.inv(variance)
            value, off, pull = residual(truth, inverse)
        slopes = expectation.jacobian(asked, pull)[0]
        back = expectation.turned(slopes)
        move = np.linalg.solve(back @ inverse @ slopes + np.diag(prior), back @ inverse @ off + prior * truth[0, :, 0])
        size, before = 1.0, value
        while (tried := residual(truth - size * move[None, :, None], inverse))[0] > before + 1e-9 and size > 1e-3:
            size /= 3
        truth = truth - size * move[None, :, None]
        value, off, pull = tried
        if np.abs(size * move).max() < close * (deviation + np.abs(truth).max()):
            break
    slopes = expectation.jacobian(asked, pull)[0]
    precision = expectation.turned(slopes) @ inverse @ slopes
    curved = np.linalg.slogdet(precision + np.diag(prior))[1]
    evidence = -value + float(np.log(prior).sum() - curved) / 2
    return Fit(truth[0, :, 0], deviation, variance, precision, evidence)
