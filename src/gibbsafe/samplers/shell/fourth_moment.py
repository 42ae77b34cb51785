"""Fourth moments of the records, and a certified bound on the worst direction: q ≥ sup_{|v|=1} Σ β w_i (y_iᵀv)⁴.

With x = svec(vvᵀ), |x| = 1 and x·svec(I) = 1 whenever |v| = 1, so for every ν

    Σ β w_i (y_iᵀv)⁴ = xᵀM₄x = xᵀ(M₄ − ν e eᵀ)x + ν ≤ λ_max(M₄ − ν e eᵀ) + ν,        e = svec(I).

The right side is convex in ν. A search finds a good ν; one Cholesky factorisation then proves the bound it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from gibbsafe._types import Floats, Values
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.shell.sums import PAIR_ROWS, ROWS, Frame, Taylor, fill_pairs, pair_room, svec_scale

__all__ = [
    "FourthMoment",
    "attained_fourth_moment",
    "certified_fourth_moment",
    "certify",
    "fourth_moment",
    "fourth_moments",
]


DENSE_BELOW = 300
Weighing: TypeAlias = Callable[[Floats, Floats | None], Floats]


@dataclass(frozen=True, eq=False)
class FourthMoment:
    """M₄ = Σ weight_i svec(y_i y_iᵀ) svec(y_i y_iᵀ)ᵀ, and a bound on its error in spectral norm."""

    matrix: Floats
    error: float


def fourth_moment(posterior: GibbsPosterior, frame: Frame) -> FourthMoment:
    """M₄ with weights β w_i."""
    return _fourth_moments(posterior, frame, [posterior.loss.curvature])[0]


def fourth_moments(posterior: GibbsPosterior, frame: Frame) -> tuple[FourthMoment, FourthMoment]:
    """M₄ with weights β w_i, and with weights β f⁗_i of either sign, in one pass."""
    plain, signed = _fourth_moments(posterior, frame, [posterior.loss.curvature, posterior.loss.fourth])
    return plain, signed


def _fourth_moments(posterior: GibbsPosterior, frame: Frame, weighings: list[Weighing]) -> list[FourthMoment]:
    """M₄ with weights β·weigh(u_i, y_i).

    Of the entries Σ weight_i y_ij y_ik y_il y_im only those with j ≤ k ≤ l ≤ m are summed, as one product per k of the pairs that
    end in k and the pairs that begin at k or later: a third of the work of the whole matrix.

    Summed in single precision within a block (half the time), in double between blocks: each entry of a block's product of
    ``PAIR_ROWS`` terms carries a relative error of at most (PAIR_ROWS + 16)·2⁻²⁴ of Σ|terms|, and the matrix of the Σ|terms| is
    at most Σ|weight_i||y_i|⁴ in norm.
    """
    p = posterior.dimension
    starts = np.arange(p) * p - np.arange(p) * (np.arange(p) - 1) // 2  # of the pairs (k, k), (k, k+1), …
    entries, traces = posterior.data.reduce(partial(_moments, weighings, posterior.inverse_temperature, frame, starts), PAIR_ROWS)
    first, second = np.triu_indices(p)
    counts = [len(first) - start for start in starts]
    a = np.concatenate([np.repeat(np.arange(k + 1), counts[k]) for k in range(p)])
    b = np.repeat(np.arange(p), [(k + 1) * counts[k] for k in range(p)])
    c, d = (np.concatenate([np.tile(index[starts[k] :], k + 1) for k in range(p)]) for index in (first, second))
    scale = svec_scale(p)
    answer = []
    for values, trace in zip(entries, traces, strict=True):
        matrix = np.empty((len(first), len(first)))
        for (i, j), (k, m) in (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c))):  # a ≤ b ≤ c ≤ d
            row, column = starts[i] + j - i, starts[k] + m - k
            matrix[row, column] = matrix[column, row] = values
        answer.append(FourthMoment(matrix * np.outer(scale, scale), float(trace) * (PAIR_ROWS + 16) * 2.0**-24))
    return answer


def _moments(  # noqa: PLR0917 - what a block needs, then the block
    weighings: list[Weighing], beta: float, frame: Frame, starts: Values, rows: Floats, y: Floats | None
) -> tuple[Floats, Floats]:
    predictor, count = rows @ frame.centre, len(rows)
    weights = beta * np.stack([weigh(predictor, y) for weigh in weighings])
    white = np.ascontiguousarray((rows @ frame.scale).T)
    traces = np.abs(weights) @ np.square(np.einsum("ji,ji->i", white, white))
    narrow, narrow_weights = white.astype(np.float32), weights.astype(np.float32)[:, None]
    later = pair_room(len(white), np.float32)[:, :count]
    fill_pairs(narrow, later)
    sums = []
    for k in range(len(white)):
        ending = (narrow[: k + 1] * narrow[k] * narrow_weights).reshape(len(weights) * (k + 1), count)
        sums.append((ending @ later[starts[k] :].T).reshape(len(weights), (k + 1) * (len(later) - starts[k])))
    return np.concatenate(sums, axis=1).astype(np.float64), traces


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
    """`certify` of the fourth moment, summed first."""
    return certify(fourth_moment(posterior, frame), posterior.dimension)


def certify(sums: FourthMoment, p: int) -> float:
    """An upper bound q of the fourth moment in the worst direction; rounding errors included."""
    moment, error = sums.matrix, sums.error
    trace = float(np.trace(moment))
    if trace <= 0:
        return error
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
    for _ in range(4):
        moments, steps = posterior.data.reduce(partial(_cubes, posterior.loss, frame, directions), ROWS)
        moment = max(moment, posterior.inverse_temperature * float(moments.max()))
        length = np.linalg.norm(steps, axis=0)
        directions = np.where(length > 0, steps / np.where(length > 0, length, 1.0), directions)
    return moment


def _cubes(loss: Loss, frame: Frame, directions: Floats, rows: Floats, y: Floats | None) -> tuple[Floats, Floats]:
    white = rows @ frame.scale
    along = white @ directions
    cubes = loss.curvature(rows @ frame.centre, y)[:, None] * along**3
    return (cubes * along).sum(axis=0), np.dot(white.T, cubes)
