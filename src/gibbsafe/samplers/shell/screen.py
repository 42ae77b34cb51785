"""A cheap first look at proposals: a few records exactly, the others by their bound.

Where the envelope is loose, most proposals are rejected by far, and a part of the data is enough to see it. The records that
cost the envelope most are kept apart; for the others (R) the Gram bound of `envelope` holds on its own,

    β Σ_R [f(u_i + a_i) − f(u_i) − f′(u_i)a_i] ≥ vᵀ(½K_R − B_R(r))v for |v| ≤ r,    K_R = Σ_R β w_i y_i y_iᵀ,

and is at least 0 at any radius by convexity. Together they bound U(θ) − U(t) from below, far more sharply than the envelope
does. A proposal whose uniform number exceeds the acceptance this allows is rejected, as it would be in full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import Blocks, weights_of
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.shell.rounding import product_error
from gibbsafe.samplers.shell.sums import ROWS, Frame, largest_norms, weighted_gram

__all__ = ["Screen", "build_screen", "rough_error", "rough_rise"]


#: Radii, in units of √p, up to which the other records' bound is summed.
RADII = (0.9, 1.0, 1.08, 1.16, 1.25, 1.35, 1.5, 1.7, 2.0, 2.8)
SHARE = 0.15
MOST_ROWS = 200_000
SINGLE = 2.0**-24


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
    """Two passes: one to rank the records by what they cost the envelope, one to split the sums."""
    loss, beta = posterior.loss, posterior.inverse_temperature
    radii = np.sqrt(posterior.dimension) * np.array(RADII)
    spread = product_error(frame.scale)
    scores: list[Floats] = []

    def rank(rows: Floats, y: Floats | None) -> tuple[float]:
        squares = np.square(rows @ frame.scale).sum(axis=1)
        reach = radii[4] * np.sqrt(squares)
        scores.append(squares * loss.curvature_losses(reach[None], rows @ frame.centre, y)[0])
        return (0.0,)

    posterior.data.reduce(rank, ROWS)
    ranked = np.concatenate(scores)
    wanted = min(MOST_ROWS, max(1, int(SHARE * len(ranked))))
    threshold = np.partition(ranked, len(ranked) - wanted)[len(ranked) - wanted]
    kept_rows: list[Floats] = []
    kept_beside: list[Floats] = []
    chosen = iter(scores)

    def split(rows: Floats, y: Floats | None) -> tuple[Floats]:
        costly = next(chosen) >= threshold
        kept_rows.append(rows[costly])
        if y is not None:
            kept_beside.append(y[costly])
        rows, y = rows[~costly], None if y is None else y[~costly]
        white, predictor = rows @ frame.scale, rows @ frame.centre
        half = 0.5 * loss.curvature(predictor, y)
        losses = loss.curvature_losses(np.multiply.outer(radii, largest_norms(rows, white, spread)), predictor, y)
        return (np.stack([weighted_gram(white, half - lost) for lost in losses]),)

    (others,) = posterior.data.reduce(split, ROWS)
    costly = GibbsPosterior(
        Blocks.from_beside(np.concatenate(kept_rows), np.concatenate(kept_beside) if kept_beside else None),
        loss,
        beta,
        posterior.prior_precision,
        posterior.prior_centre,
    )
    start, slope = (beta * part for part in costly.data.reduce(lambda rows, y: _start(costly, rows @ frame.centre, rows, y)))
    (row_norms,) = costly.data.reduce(lambda rows, y: (float(np.sum(weights_of(y) * np.linalg.norm(rows, axis=1))),))
    return Screen(frame, costly, float(start), frame.scale.T @ slope, row_norms, radii, beta * others)


def _start(costly: GibbsPosterior, predictor: Floats, rows: Floats, y: Floats | None) -> tuple[Floats, Floats]:
    """A block's losses and their gradient."""
    total, slope = costly.loss.total_and_slope(predictor, y)
    return total, slope @ rows
