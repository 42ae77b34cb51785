"""The (approximate) mode of a Gibbs posterior by damped Newton steps.

The mode is only the centre of an envelope that is valid wherever it is centred: an unconverged mode costs acceptance, never
exactness. So every stopping rule here may depend on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from gibbsafe._types import Floats
from gibbsafe.posteriors.gibbs import GibbsPosterior

__all__ = ["Mode", "find_mode"]


#: Newton decrement, in posterior standard deviations, at which to stop: the envelope keeps the gradient left over exactly.
CONVERGED = 0.1
#: And what that gradient may cost where only the prior bounds the density, ½ Σ_j ∇_j²/m_j nats: far out, in flat directions.
WORST_TILT = 20.0
MAXIMUM_PASSES = 200
#: Shares of a Newton step that are tried together where the whole step is too long.
SHARES = 0.3 ** np.arange(1, 13)


@dataclass(frozen=True, eq=False)
class Mode:
    """Centre t of the envelope with U(t), ∇U(t) and A = ∇²U(t)."""

    centre: Floats
    value: float
    gradient: Floats
    hessian: Floats
    passes: int


def cholesky(matrix: Floats) -> Floats:
    """Lower Cholesky factor of a positive definite matrix, with the least diagonal lift that rounding makes necessary."""
    lift = 0.0
    scale = np.diagonal(matrix).copy()
    while True:
        try:
            return np.asarray(np.linalg.cholesky(matrix + np.diag(lift * scale)))
        except np.linalg.LinAlgError:
            lift = max(10 * lift, 1e-15)


def find_mode(posterior: GibbsPosterior, start: Floats | None = None, most: int = MAXIMUM_PASSES) -> Mode:
    """Damped Newton from ``start``, or from the prior centre, in about ``most`` passes at most.

    A full step is taken if the potential falls by a tenth of what the local quadratic promises, to within rounding, or its slope
    along the step is halved, which rounding of the potential cannot hide; otherwise the share of it that `_share` finds. U is
    strictly convex, so the steps converge from anywhere; where a loss is flat and the prior far they are thousands of times too
    long, and halving one at a time would use up all passes before the mode is near.
    """
    centre = np.array(posterior.prior_centre if start is None else start)
    value, gradient, hessian = posterior.value_gradient_hessian(centre)
    passes = 1
    before = math.inf
    while True:
        factor = cholesky(hessian)
        step = cho_solve((factor, True), gradient)
        decrement = math.sqrt(max(0.0, float(gradient @ step)))
        tilt = 0.5 * float(np.square(gradient) @ (1 / posterior.prior_precision))
        good_enough = tilt <= WORST_TILT or decrement >= before  # rounding lets it fall no further
        if (decrement <= CONVERGED and good_enough) or passes >= most:
            return Mode(centre, value, gradient, hessian, passes)
        before = decrement
        trial = posterior.value_gradient_hessian(centre - step)
        passes += 1
        share = 1.0
        if abs(float(trial[1] @ step)) > 0.5 * decrement**2 and trial[0] > value - 0.1 * decrement**2 + 1e-12 * (1 + abs(value)):
            share = _share(posterior, centre, step)
            trial = posterior.value_gradient_hessian(centre - share * step)
            passes += 3
        centre = centre - share * step
        value, gradient, hessian = trial


def _share(posterior: GibbsPosterior, centre: Floats, step: Floats) -> float:
    """How far along a step that is too long the potential falls, nearly, by slopes at many points in each of two passes.

    Slopes rise along the step, so it falls up to the longest share where it still does: a point there is lower than the start.
    """
    low, high = 0.0, 1.0
    for shares in (SHARES, np.linspace(0, 1, len(SHARES) + 1)[1:]):
        tried = low + (high - low) * np.sort(shares)
        falling = int(np.count_nonzero(posterior.gradients(centre - tried[:, None] * step) @ step >= 0))
        bounds = [low, *tried.tolist(), high]
        low, high = bounds[falling], bounds[falling + 1]
    return low if low > 0 else high
