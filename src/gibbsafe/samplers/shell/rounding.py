"""What rounding can do to a log acceptance: the constants of the rounding lemma (`docs/samplers.md`), from what was summed.

u = 2⁻⁵³. A sum of k terms in any order errs by at most about k·u of the sum of their sizes, a product z·θ of p terms by
(p+1)u|z||θ|. Every constant here is such a count times sizes that one pass over the records has added up, in the notation of
`sums`: computed quantities lie within these errors of those that belong to the exact t, W and records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.gibbs import GibbsPosterior

if TYPE_CHECKING:
    from gibbsafe.samplers.shell.sums import Frame

__all__ = ["FLOOR", "UNIT", "Rounding", "Sums", "product_error"]


#: Unit roundoff of double precision.
UNIT = 2.0**-53
#: Added once to every margin: all that underflow, and constants of no size of their own, can amount to.
FLOOR = 2.0**-36
#: Most rows of a block, and fewest of a block that is not the last: a sum takes at most MOST + n/FEWEST roundings in any order.
MOST_BLOCK_ROWS, FEWEST_BLOCK_ROWS = 16384, 128
#: Roundings of one loss, slope or curvature beside its own size (`Loss.granularity`).
EACH = 16


@dataclass(frozen=True)
class Sums:
    """Σ|f_i(t)|, Σ|y_i|, Σ|z_i|, Σ β w_i |z_i|², tr D = Σ β w_i |y_i|²; max|y_i| and max|z_i|."""

    losses: float
    norms: float
    row_norms: float
    raw_curvature: float
    curvature: float
    largest_norm: float
    largest_row_norm: float


def product_error(scale: Floats) -> float:
    """d with |computed Wᵀz − Wᵀz| ≤ d|z|."""
    return (len(scale) + 1) * UNIT * float(np.linalg.norm(scale))


@dataclass(frozen=True)
class Rounding:
    """Errors at distance s from the mode, by where they enter.

    - ``constant + linear·s + ½·prior·vᵀPv``: of a computed rise U(θ) − U(t);
    - ``gradient``·s: of gᵀv; ``curvature``·s²: of vᵀDv and of vᵀB(r)v; ``cubic``·s³: of Σβ|f‴_i||a_i|³ and 6C(v);
      ``quartic``·s⁴: of Σβw_i a_i⁴, with the factor `Loss.quartic_excess` etc. of Σβf⁗_i a_i⁴;
    - ``predictor``: of any z_iᵀt; ``product``: of any y_i.
    """

    constant: float
    linear: float
    prior: float
    gradient: float
    curvature: float
    cubic: float
    quartic: float
    predictor: float
    product: float

    @classmethod
    def of(cls, posterior: GibbsPosterior, frame: Frame, sums: Sums) -> Rounding:
        """The lemma's constants, each twice its first-order count (which covers all higher orders and the sums' own rounding)."""
        p, n, loss = posterior.dimension, posterior.data.n_rows, posterior.loss
        rows = posterior.rows_per_pass
        terms = min(rows, MOST_BLOCK_ROWS) + rows / FEWEST_BLOCK_ROWS + EACH
        unit, slope = 2 * UNIT, posterior.inverse_temperature * loss.lipschitz
        scale, centre = float(np.linalg.norm(frame.scale)), float(np.linalg.norm(frame.centre))
        offset = np.abs(frame.centre - posterior.prior_centre)
        prior_slopes = float((posterior.prior_precision * offset) @ np.linalg.norm(frame.scale, axis=1))
        product = 2 * product_error(frame.scale)
        predictor = unit * (p + 1) * sums.largest_row_norm * centre
        kappa = loss.self_concordance if math.isfinite(loss.self_concordance) else 0.0
        bend = max(loss.quartic_deficit, loss.quartic_excess) if kappa else 0.0
        bend = bend if math.isfinite(bend) else 0.0  # then no bound goes by third derivatives
        # Of a curvature's relative size: the sum's, its own, and that of the predictor it is taken at.
        share = unit * (terms + EACH) + 2 * kappa * predictor if kappa * predictor < 0.1 else math.inf
        whole, largest, moved = sums.curvature, sums.largest_norm, product * sums.largest_row_norm
        blurred = product**2 * sums.raw_curvature
        losses = posterior.inverse_temperature * (sums.losses + EACH / terms * n * loss.granularity)
        return cls(
            constant=FLOOR + unit * (2 * terms * losses + (2 * p + 3 + 2 * EACH) * slope * sums.row_norms * centre),
            linear=unit
            * ((terms + EACH) * slope * sums.norms + (2 * p + 3) * slope * sums.row_norms * scale + (2 * p + 8) * prior_slopes),
            prior=2 * p * (2 * p + 9) * unit + frame.skew,
            gradient=unit
            * (
                (terms + EACH + p + 1) * slope * sums.row_norms * scale
                + (p + 5) * prior_slopes
                + 2 * (p + 1) * centre * math.sqrt(sums.raw_curvature * whole)
            ),
            curvature=share * whole + 2 * math.sqrt(whole * blurred) + blurred,
            cubic=whole * (kappa * (share * largest + 3 * moved) + 2 * bend * predictor * largest),
            quartic=whole * (share * largest**2 + 4 * moved * (largest + moved)),
            predictor=predictor,
            product=moved,
        )

    def margin(self, radius: Floats) -> Floats:
        """Bound on the error of a computed rise at these distances from the mode: P is at most the identity."""
        return np.asarray(self.constant + self.linear * radius + 0.5 * self.prior * radius**2)
