"""A certified bound on the fourth moment: q ≥ sup_{|v|=1} Σ β w_i (y_iᵀv)⁴.

With x = svec(vvᵀ), |x| = 1 and x·svec(I) = 1 whenever |v| = 1, so for every ν

    Σ β w_i (y_iᵀv)⁴ = xᵀM₄x = xᵀ(M₄ − ν e eᵀ)x + ν ≤ λ_max(M₄ − ν e eᵀ) + ν,        e = svec(I).

The right side is convex in ν. A search finds a good ν; one Cholesky factorisation then proves the bound it returns.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from gibbsafe.samplers.moments import Frame, Taylor, fourth_moment
from gibbsafe.samplers.posterior import GibbsPosterior

__all__ = ["attained_fourth_moment", "certified_fourth_moment"]

Floats: TypeAlias = npt.NDArray[np.float64]

DENSE_BELOW = 300


def _largest_eigenvalue(moment: Floats, identity: Floats, shift: float) -> float:
    """λ_max(M₄ − ν e eᵀ), to about three digits: only a guide for the search."""
    size = len(moment)
    if size < DENSE_BELOW:
        return float(eigh(moment - shift * np.outer(identity, identity), eigvals_only=True)[-1])
    operator = LinearOperator(
        (size, size), matvec=lambda x: moment @ x - shift * identity * float(identity @ x), dtype=np.float64
    )
    try:
        start = np.cos(np.arange(size))  # fixed, so that the search repeats
        return float(eigsh(operator, k=1, which="LA", tol=1e-3, v0=start, maxiter=200, return_eigenvectors=False)[0])
    except ArpackNoConvergence:
        return float(np.linalg.norm(moment, 2))


def _proves(moment: Floats, identity: Floats, shift: float, bound: float) -> bool:
    """Whether λI − M₄ + ν e eᵀ has a Cholesky factor, which proves λ_max(M₄ − ν e eᵀ) ≤ λ up to rounding."""
    matrix = shift * np.outer(identity, identity) - moment
    matrix[np.diag_indices_from(matrix)] += bound
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def certified_fourth_moment(posterior: GibbsPosterior, frame: Frame) -> float:
    """An upper bound q of the fourth moment in the worst direction; rounding errors included."""
    moment, error = fourth_moment(posterior, frame)
    trace = float(np.trace(moment))
    if trace <= 0:
        return error
    p = posterior.dimension
    identity = np.zeros(len(moment))
    row, column = np.triu_indices(p)
    identity[row == column] = 1.0
    search = minimize_scalar(
        lambda shift: _largest_eigenvalue(moment, identity, shift) + shift,
        bounds=(0.0, 2 * trace / p),
        method="bounded",
        options={"maxiter": 14, "xatol": 1e-3 * trace / p},
    )
    shift = float(search.x)
    bound = float(search.fun) - shift
    # Rounding of a Cholesky factorisation that succeeds: at most (size+1)·2⁻⁵³ of the trace of the factored matrix.
    rounding = 4 * (len(moment) + 1) * 2.0**-53 * (trace + p * shift + len(moment) * abs(bound))
    growth = 2e-3 * (abs(bound) + shift)
    while not _proves(moment, identity, shift, bound + growth):
        growth *= 2
    return bound + growth + shift + error + rounding


def attained_fourth_moment(posterior: GibbsPosterior, frame: Frame, taylor: Taylor) -> float:
    """A value that Σ β w_i (y_iᵀv)⁴ takes at some |v| = 1: power iterations v ← Σ β w_i (y_iᵀv)³ y_i from likely directions.

    Not a bound: it only says, at the price of a few passes, whether `certified_fourth_moment` can be worth its own.
    """
    directions = np.linalg.eigh(taylor.quartic)[1][:, -16:]
    moment = 0.0

    def block(rows: Floats, y: Floats | None) -> tuple[Floats, Floats]:
        white = rows @ frame.scale
        along = white @ directions
        cubes = posterior.loss.curvature(rows @ frame.centre, y)[:, None] * along**3
        return (cubes * along).sum(axis=0), white.T @ cubes

    for _ in range(4):
        moments, steps = posterior.data.reduce(block, 1024)
        moment = max(moment, posterior.inverse_temperature * float(moments.max()))
        length = np.linalg.norm(steps, axis=0)
        directions = np.where(length > 0, steps / np.where(length > 0, length, 1.0), directions)
    return moment
