"""Noisy scores: sums of bounded gradients at public points, each with normal noise, asked one after another."""

from __future__ import annotations

import math

from gibbsafe._numerics import root_sum_of_squares, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, GaussianDP
from gibbsafe.theorems.constants import Constants, as_blocks
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register

__all__ = ["BLOCK_ROWS", "FACTS", "MOST_ROWS", "REACH", "STEEPEST", "facts_unit", "moment_gap", "rounding", "score_gap"]

#: Rows whose terms are added before their sum is; the most rows of a table whose number is private; and how far from 0 (scaled
#: units) points may lie: what the rounding of a sum is bounded by.
BLOCK_ROWS = 16384
MOST_ROWS = 10**8
REACH = 1e3
#: How much steeper a score may be than the slope of the model's own loss: that of a narrower one with the same bound.
STEEPEST = 4.0
#: How many facts about records are asked at the path's end: the square of slopes, their steepness, and how many there are.
FACTS = 3


def rounding(rows: int, parameters: int, *, lipschitz: float, smoothness: float) -> float:
    """Return an upper bound on the norm by which a computed sum of scores of norm at most L differs from the exact one.

    Coordinate j of the sum errs by at most (B + n/B + 8)·u·Σᵢ|tᵢⱼ|, terms being added block by block, u = 2⁻⁵³ (Higham 2002,
    §4.2); the norm of these over j is at most the same times Σᵢ‖tᵢ‖ ≤ nL. A slope is computed at a predictor that errs by at
    most (p + 2)·u·‖z‖‖x‖, which moves it by the smoothness times that, and itself errs by 8 roundings; so does each term's
    vector. The bound is the same for every data set of at most n rows.
    """
    per_term = lipschitz * (BLOCK_ROWS + rows / BLOCK_ROWS + 16) + max(lipschitz, smoothness) * (parameters + 2) * REACH
    return up(up(rows * per_term * 2.0**-53 * (1 + 1e-6)))


def score_gap(constants: Constants, adjacency: Adjacency) -> float:
    """Return G, by which a computed sum of scores moves between neighbours: k·L or 2k·L, and the rounding of both sums."""
    factor = 2.0 if adjacency == Adjacency.REPLACE_ONE else 1.0
    return up(factor * _single(constants) + 2 * _rounding(constants, adjacency))


def moment_gap(constants: Constants, adjacency: Adjacency) -> float:
    """Return by which a sum of terms of norm at most L without negative inner products moves: √2·k·L or k·L, and rounding.

    Such are L·Σ zzᵀ in Frobenius norm, ‖z‖ ≤ 1, and (L/√3)·Σ (s, c, 1) with s and c in [0, 1]: two terms v, w have
    ‖v − w‖² ≤ ‖v‖² + ‖w‖², so they are at most √2·L apart, and so are the sums of k terms each at most √2·k·L. Where one record
    is replaced and their number stays, L·Σ (s, c, 1) moves by no more either: two points of the unit square are at most √2
    apart. Its terms are up to √2 longer, hence 3 ≥ 2√2 roundings; what a record adds is computed from that record alone.
    """
    factor = up(math.sqrt(2)) if adjacency == Adjacency.REPLACE_ONE else 1.0
    return up(up(factor * _single(constants)) + 3 * _rounding(constants, adjacency))


def facts_unit(lipschitz: float, *, private_rows: bool) -> float:
    """Return U, in which the facts U·Σ (s, c, 1) are asked: L/√3, or L where the number of rows is public, one per person."""
    return lipschitz / FACTS**0.5 * (1 - 2.0**-50) if private_rows else lipschitz


def _single(constants: Constants) -> float:
    """L times the rows of a person: what one unit of privacy can add to a score."""
    return root_sum_of_squares(as_blocks(constants.need("lipschitz")[0]))


def _rounding(constants: Constants, adjacency: Adjacency) -> float:
    rows = MOST_ROWS if adjacency == Adjacency.ADD_REMOVE else constants.row_bounds(adjacency)[1]
    smoothness = 0.0 if constants.smoothness is None else STEEPEST * constants.smoothness
    return rounding(rows, constants.need("dimension")[0], lipschitz=_single(constants), smoothness=smoothness)


@register
class NoisyScores(Theorem):
    r"""A transcript of noisy scores is μ-GDP with μ = G√β, however points and shares were chosen from the answers before.

    **Mechanism.** Answer t is q(x_t) + σ_t N(0, I), q(x) = Σᵢ ψ(zᵢ, x) zᵢ with ‖ψz‖ ≤ L, σ_t = 1/√(βf_t). Once, L·Σ zzᵀ with
    symmetric noise of scale (G_M/G)/√(βf_M), and once the *facts* at a point, U·Σ (sᵢ, cᵢ, 1) with N(0, I) times
    (G_M/G)/√(βf_F): sᵢ ∈ [0, 1] the square of a slope over its largest, cᵢ ∈ [0, 1] a steepness over its largest; U = L where
    the number of rows is public and a person has one, else L/√3. Points and shares are functions of the answers before; shares
    sum to at most 1.
    **Proof.** One record moves q by at most G in norm, whatever x: answer t is G/σ_t = G√(βf_t) -GDP given those before, and
    adaptive Gaussian mechanisms whose Σμ_t² stays below a fixed cap μ² = G²β are μ-GDP together (the filter of
    `gibbsafe.privacy`). The terms L·zzᵀ have Frobenius norm at most L and non-negative inner products, and so have the facts'
    terms, of norm (L/√3)·√(s² + c² + 1) ≤ L in the positive orthant: a replacement moves either sum by at most G_M = √2·L, an
    addition or removal by L. With U = L a replacement moves the facts by L·‖(s, c) − (s′, c′)‖ ≤ √2·L. In
    coordinates (diagonal, √2 × off-diagonal) the symmetric noise is isotropic. ∎
    Neither convexity nor smoothness, nor that anything converges, is used.
    """

    name = "noisy-scores"
    title = "bounded scores under a filter"
    reference = "Gaussian mechanism (Dong, Roth, Su 2022) under an adaptive filter (Smith, Thakurta 2022; Koskela et al. 2023)"
    kinds = (Kind.GIBBS,)
    sampler = "noisy-scores"

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require bounded scores, and a number of rows that bounds the rounding of their sums."""
        single = _single(constants)
        if not score_gap(constants, adjacency) < 4 * single:
            raise PremiseError("n: so many rows that rounding of their sum weighs more than one of them; use fewer")
        private = adjacency == Adjacency.ADD_REMOVE
        room = (Premise(f"there are at most {MOST_ROWS:,} records, so that rounding is bounded"),) if private else ()
        return (
            Premise(f"what one record adds to a score has norm at most {single:.6g}, whatever the point"),
            Premise(
                f"one record moves the second moment of rows, and the sums of how large and how steep slopes are, by at most "
                f"{moment_gap(constants, adjacency):.6g}",
                checked=True,
            ),
            Premise("points and shares depend on earlier answers only, and shares sum to at most 1", checked=True),
            *room,
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> GaussianDP:
        return GaussianDP(up(score_gap(constants, adjacency) * up(math.sqrt(beta))))
