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


def find_mode(posterior: GibbsPosterior, start: Floats | None = None) -> Mode:
    """Damped Newton from ``start``, or from the prior centre.

    A full step is halved until the potential falls by a tenth of what the local quadratic promises, to within rounding, or its
    slope along the step is halved, which rounding of the potential cannot hide; U is strictly convex, so the steps converge
    from anywhere.
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
        if (decrement <= CONVERGED and good_enough) or passes >= MAXIMUM_PASSES:
            return Mode(centre, value, gradient, hessian, passes)
        before = decrement
        scale = 1.0
        while True:
            trial = posterior.value_gradient_hessian(centre - scale * step)
            passes += 1
            promised = 0.1 * scale * decrement**2
            flatter = abs(float(trial[1] @ step)) <= 0.5 * decrement**2
            if flatter or trial[0] <= value - promised + 1e-12 * (1 + abs(value)) or passes >= MAXIMUM_PASSES:
                break
            scale *= 0.5
        centre = centre - scale * step
        value, gradient, hessian = trial
