"""A cheap first look at proposals: a few records exactly, the others by their bound.

Where the envelope is loose, most proposals are rejected by far, and a part of the data is enough to see it. The records that
cost the envelope most are kept apart; for the others (R) the Gram bound of `envelope` holds on its own,

    β Σ_R [f(u_i + a_i) − f(u_i) − f′(u_i)a_i] ≥ vᵀ(½K_R − B_R(r))v for |v| ≤ r,    K_R = Σ_R β w_i y_i y_iᵀ,

and is at least 0 at any radius by convexity. Together they bound U(θ) − U(t) from below, far more sharply than the envelope
does. A proposal whose uniform number exceeds the acceptance this allows is rejected, as it would be in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Values
from gibbsafe.data.blocks import Blocks, weights_of
from gibbsafe.data.sums import Collected
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.gibbs import ROWS_FOR_ONE_CHAIN, GibbsPosterior, total_and_gradient
from gibbsafe.samplers.shell.rounding import product_error
from gibbsafe.samplers.shell.sums import ROWS, Frame, largest_norms, weighted_gram

__all__ = ["Screen", "build_screen", "rough_error", "rough_rise"]


#: Radii, in units of √p, up to which the other records' bound is summed.
RADII = (0.9, 1.0, 1.08, 1.16, 1.25, 1.35, 1.5, 1.7, 2.0, 2.8)
SHARE = 0.15
MOST_ROWS = 200_000
SINGLE = 2.0**-24
#: What records cost is counted in bins: powers of 2 up to this one and down to its inverse, and so many bins between two of them.
OCTAVES = 300
PER_OCTAVE = 8
LEAST_COST = 2.0**-OCTAVES


def rough_error(posterior: GibbsPosterior, totals: Floats, thetas: Floats, sum_of_row_norms: float) -> Floats:
    """Worst-case error of `GibbsPosterior.rough_loss_totals`.

    Single-precision products err by (p+6)·2⁻²⁴|z||θ| in the argument. Column sums over a block of at most 256 rows, products of
    64 factors and the losses themselves err by fewer than 512 units of 2⁻²⁴, of the total or of 1/κ per record, the size of a
    loss at its bend.
    """
    loss = posterior.loss
    argument = loss.lipschitz * (posterior.dimension + 6) * sum_of_row_norms * np.linalg.norm(thetas, axis=1)
    summed = 256 * (np.abs(totals) + posterior.data.n_rows / loss.self_concordance)
    return np.asarray(2 * SINGLE * (argument + summed))


def rough_rise(posterior: GibbsPosterior, frame: Frame, sum_of_row_norms: float, points: Floats) -> Floats:
    """Lower bound of U(θ) − U(t): a single-precision sum less its worst-case error."""
    thetas = frame.thetas(points)
    total = posterior.rough_loss_totals(thetas)
    total = total - rough_error(posterior, total, thetas, sum_of_row_norms) - frame.loss_total
    return np.asarray(posterior.inverse_temperature * total + posterior.prior_rises(frame.centre, frame.steps(points)))


@dataclass(frozen=True, eq=False)
class Screen:
    """Records that cost the envelope most, as a posterior of their own, and the other records' bound at rising radii."""

    frame: Frame
    costly: GibbsPosterior
    start: float  # β Σ f over the costly records at the mode
    tilt: Floats  # its gradient there, in whitened coordinates
    row_norms: float
    radii: Floats
    others: Floats

    def least_rise(self, points: Floats) -> Floats:
        """Lower bounds of U(θ) − U(t) at the points v."""
        frame, costly = self.frame, self.costly
        thetas = frame.thetas(points)
        totals = costly.rough_loss_totals(thetas)
        totals = totals - rough_error(costly, totals, thetas, self.row_norms)
        rise = costly.inverse_temperature * totals - self.start
        rise += points @ (frame.gradient - self.tilt) + 0.5 * np.square(points) @ frame.prior_share
        level = np.searchsorted(self.radii, np.linalg.norm(points, axis=1))
        for k in np.unique(level[level < len(self.radii)]):
            v = points[level == k]
            rise[level == k] += np.maximum(np.einsum("ij,ij->i", v @ self.others[k], v), 0.0)
        return np.asarray(rise)


def build_screen(posterior: GibbsPosterior, frame: Frame) -> Screen:
    """Two passes: one to count what records cost the envelope, one to keep the costly ones and sum over the others."""
    loss, beta = posterior.loss, posterior.inverse_temperature
    radii = np.sqrt(posterior.dimension) * np.array(RADII)
    (counts,) = posterior.data.reduce(partial(_histogram, loss, frame, radii[4]), ROWS)
    wanted = min(MOST_ROWS, max(1, int(SHARE * counts.sum())))
    split = partial(_split, loss, frame, radii, _least_cost(counts, wanted), product_error(frame.scale))
    others, rows, *beside = posterior.data.reduce(split, ROWS)
    costly = GibbsPosterior(
        Blocks.from_beside(rows.all, beside[0].all if beside else None),
        loss,
        beta,
        posterior.prior_precision,
        posterior.prior_centre,
    )
    start, slope = (
        beta * part for part in costly.data.reduce(partial(total_and_gradient, loss, frame.centre), ROWS_FOR_ONE_CHAIN)
    )
    (row_norms,) = costly.data.reduce(_row_norms)
    return Screen(frame, costly, float(start), frame.scale.T @ slope, row_norms, radii, beta * others)


def _costs(loss: Loss, frame: Frame, radius: float, rows: Floats, y: Floats | None) -> Floats:
    """What each record costs the envelope."""
    squares = np.square(rows @ frame.scale).sum(axis=1)
    return np.asarray(squares * loss.curvature_losses((radius * np.sqrt(squares))[None], rows @ frame.centre, y)[0])


def _bin_of(costs: Floats) -> npt.NDArray[np.intp]:
    """Return the bin of each cost: `PER_OCTAVE` of them between a power of 2 and the next."""
    share, power = np.frexp(np.clip(np.nan_to_num(costs), LEAST_COST, 1 / LEAST_COST))
    return np.asarray((power + OCTAVES) * PER_OCTAVE + ((2 * share - 1) * PER_OCTAVE).astype(np.intp), dtype=np.intp)


def _histogram(loss: Loss, frame: Frame, radius: float, rows: Floats, y: Floats | None) -> tuple[Values]:
    return (np.bincount(_bin_of(_costs(loss, frame, radius, rows, y)), minlength=2 * (OCTAVES + 1) * PER_OCTAVE),)


def _least_cost(counts: Values, wanted: int) -> int:
    """Return the bin from which on records are kept apart: about as many as wanted, and never more than twice as many."""
    above = np.cumsum(counts[::-1])[::-1]
    enough = int(np.searchsorted(-above, -wanted, side="right")) - 1
    return enough if above[enough] <= 2 * wanted else enough + 1


def _split(  # noqa: PLR0917 - what a block needs, then the block
    loss: Loss, frame: Frame, radii: Floats, least: int, spread: float, rows: Floats, y: Floats | None
) -> tuple[Any, ...]:
    costly = _bin_of(_costs(loss, frame, radii[4], rows, y)) >= least
    kept = [Collected((rows[costly],))] + ([] if y is None else [Collected((y[costly],))])
    rows, y = rows[~costly], None if y is None else y[~costly]
    white, predictor = rows @ frame.scale, rows @ frame.centre
    half = 0.5 * loss.curvature(predictor, y)
    losses = loss.curvature_losses(np.multiply.outer(radii, largest_norms(rows, white, spread)), predictor, y)
    return np.stack([weighted_gram(white, half - lost) for lost in losses]), *kept


def _row_norms(rows: Floats, y: Floats | None) -> tuple[float]:
    return (float(np.sum(weights_of(y) * np.linalg.norm(rows, axis=1))),)
