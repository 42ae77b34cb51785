"""Exact draws in one dimension: inversion of a piecewise exponential envelope, and rejection.

The log density −U is concave, so every tangent lies above it: with tangents at points x_1 < … < x_k (the outer two sloping
inwards) the envelope is piecewise exponential, its distribution function is inverted in closed form, and a draw x from it is
accepted with probability exp(−U(x) − tangent(x)) (adaptive rejection sampling, Gilks and Wild 1992). Which tangent covers which
piece is free, since each lies above everywhere: rounding in the breakpoints costs nothing. Points are added where draws were
rejected until few are. Nothing is truncated and no tolerance enters: draws are exact for any convex U, whatever the data. Only
values and (sub)gradients are used, so the loss need not be smooth.

**Rounding.** Each tangent is raised by what rounding can do, anywhere on its piece, to its own height and slope and to the
heights that are compared with it (`rounding`; `docs/samplers.md`, rounding lemma): by a constant that its mass counts, and on the
two outer pieces by a flatter slope as well. Losses of a residual are seen from the mode (`recentring`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import Floats
from gibbsafe.data.blocks import weights_of
from gibbsafe.data.sums import Largest
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.progress import Progress
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.shell.mode import recentre, recentred_mode
from gibbsafe.samplers.shell.rounding import UNIT, Rounding, Sums
from gibbsafe.samplers.shell.sums import Frame

__all__ = ["sample"]


LARGEST_BATCH = 4096
LARGEST_HULL = 64
#: Sections of a bracket that are looked at in one pass, and passes after which any bracket will do.
SECTIONS = 64
MAXIMUM_PASSES = 40


@dataclass(frozen=True, eq=False)
class _Line:
    """The posterior on the line θ = origin + centre + scale·x, with heights −(U(θ) − U(centre)) and their slopes in x."""

    posterior: GibbsPosterior
    origin: float
    centre: float
    scale: float
    loss_total: float
    slope: float
    rounding: Rounding

    @classmethod
    def at(cls, posterior: GibbsPosterior, origin: float, centre: float, scale: float) -> _Line:
        """The line around a centre, in one pass for the sums that bound rounding and one for the slope there."""
        theta = np.array([centre])
        sums, most = posterior.data.reduce(partial(_sizes, posterior.loss, centre))
        losses, row_norms, largest = float(sums[0]), float(sums[1]), float(most.values)
        total = float(posterior.loss_totals(theta[None])[0])
        share = posterior.prior_precision * scale**2
        slope = float(scale * posterior.gradient(theta)[0])
        frame = Frame(theta, math.nan, total, np.array([[scale]]), np.array([slope]), share, 8 * UNIT)
        sums = Sums(losses, scale * row_norms, row_norms, 0.0, 0.0, scale * largest, largest)
        return cls(posterior, origin, centre, scale, total, slope, Rounding.of(posterior, frame, sums))

    def thetas(self, x: Floats) -> Floats:
        return self.origin + (self.centre + self.scale * x)

    def heights(self, x: Floats) -> Floats:
        steps = (self.scale * x)[:, None]
        losses = self.posterior.loss_totals(self.centre + steps) - self.loss_total
        return -(self.posterior.inverse_temperature * losses + self.posterior.prior_rises(np.array([self.centre]), steps))

    def slopes(self, x: Floats) -> Floats:
        return -self.scale * self.posterior.gradients((self.centre + self.scale * x)[:, None])[:, 0]

    def lifts(self, x: Floats, heights: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """a and b: within D of the point x, computed heights less the computed tangent are at most a + bD (rounding lemma, 5)."""
        rounding, share = self.rounding, float(self.posterior.prior_precision[0]) * self.scale**2
        eta = rounding.prior + 16 * UNIT
        along = rounding.linear + eta * (abs(self.slope) + rounding.gradient)
        own = rounding.constant + rounding.linear * np.abs(x) + eta * share * x**2
        constant = 2 * own + rounding.constant + along * np.abs(x) + eta * np.abs(heights)
        return constant, along + rounding.gradient + 16 * UNIT * share * np.abs(x) + eta * np.abs(slopes)


@dataclass(frozen=True, eq=False)
class _Hull:
    """Lines at ``points`` with ``heights`` and ``slopes``; piece i lies between breaks i and i+1 (±∞ at the ends)."""

    points: Floats
    heights: Floats
    slopes: Floats
    breaks: Floats
    log_mass: Floats

    @classmethod
    def through(cls, line: _Line, points: Floats, heights: Floats, slopes: Floats) -> _Hull:
        """The tangents, each raised by what rounding can do on its piece."""
        left, right = slice(None, -1), slice(1, None)
        gap = np.maximum(slopes[left] - slopes[right], 1e-300)
        with np.errstate(over="ignore", invalid="ignore"):
            shift = (heights[right] - heights[left] - slopes[right] * (points[right] - points[left])) / gap
        middle = 0.5 * (points[right] - points[left])
        shift = np.where(np.isfinite(shift), shift, middle)
        inner = np.clip(points[left] + shift, points[left], points[right])
        breaks = np.concatenate([[-math.inf], inner, [math.inf]])
        constant, rate = line.lifts(points, heights, slopes)
        reach = np.maximum(points - np.append(points[0], inner), np.append(inner, points[-1]) - points) * (1 + 1e-9)
        reach[[0, -1]] *= 2  # an outer line is flatter than its tangent, and so lower on the inner side of its point
        heights = heights + constant + rate * reach
        slopes = slopes.copy()
        slopes[0] -= rate[0]
        slopes[-1] += rate[-1]
        # Integrate each piece from its higher end, where the exponent is largest.
        high = np.where(slopes > 0, breaks[1:], breaks[:-1])
        with np.errstate(invalid="ignore"):
            width = np.diff(breaks)
            drop = np.abs(slopes) * width
        top = heights + slopes * (np.where(np.isfinite(high), high, points) - points)
        flat = np.abs(slopes) * width < 1e-12
        with np.errstate(divide="ignore", invalid="ignore"):
            area = np.where(flat, np.log(width), np.log(-np.expm1(-drop)) - np.log(np.abs(slopes)))
        return cls(points, heights, slopes, breaks, top + area)

    def draw(self, size: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Points from the envelope and its log height there."""
        mass = np.exp(self.log_mass - self.log_mass.max())
        cumulative = np.cumsum(mass)
        piece = np.searchsorted(cumulative, generator.random(size) * cumulative[-1], side="right")
        piece = np.minimum(piece, len(mass) - 1)
        uniform = 1 - generator.random(size)  # in (0, 1]
        slope, low, up = self.slopes[piece], self.breaks[piece], self.breaks[piece + 1]
        width = up - low
        drop = np.abs(slope) * width
        flat = drop < 1e-12
        # Distance from the higher end: an exponential of rate |slope| truncated at the width.
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = -np.log1p(uniform * np.expm1(-drop)) / np.abs(slope)
            distance = np.where(flat, uniform * width, distance)
        x = np.where(slope > 0, up - distance, low + distance)
        x = np.where(flat, low + distance, x)
        return x, self.heights[piece] + slope * (x - self.points[piece])


def _line_through_mode(posterior: GibbsPosterior) -> tuple[_Line, int]:
    """The line around the approximate mode, and the passes it took. Where it is centred changes the time taken, never the law."""
    if math.isfinite(posterior.loss.smoothness):
        moved, mode, origin = recentred_mode(posterior)
        return _Line.at(moved, float(origin[0]), float(mode.centre[0]), 1 / math.sqrt(float(mode.hessian[0, 0]))), mode.passes
    centre, passes = _kinked_mode(posterior)
    origin_at = 0.0
    if posterior.loss.of_residual and posterior.data.n_rows:
        posterior, origin_at, found = recentre(posterior, np.array([centre])), centre, passes < MAXIMUM_PASSES
        centre, more = (0.0, 0) if found else _kinked_mode(posterior)
        passes += more + 1
    widest = 1 / math.sqrt(float(posterior.prior_precision[0]))
    scales = widest * 2.0 ** -np.arange(40.0)
    steps = np.concatenate([[0.0], scales, -scales])[:, None]
    losses = posterior.inverse_temperature * posterior.loss_totals(centre + steps)
    rises = losses - losses[0] + posterior.prior_rises(np.array([centre]), steps)
    near = scales[np.maximum(*(rises[1:].reshape(2, -1))) <= 1]
    return _Line.at(posterior, origin_at, centre, float(near[0] if near.size else scales[-1])), passes + 1


def _kinked_mode(posterior: GibbsPosterior) -> tuple[float, int]:
    """The approximate mode for a kinked loss: a bracket of the increasing subgradient is cut many times per pass."""
    precision, centre = float(posterior.prior_precision[0]), float(posterior.prior_centre[0])
    (total,) = posterior.data.reduce(_row_sizes)
    reach = posterior.inverse_temperature * posterior.loss.lipschitz * float(total) / precision
    low, up, passes = centre - reach, centre + reach, 1
    while up - low > 1e-9 / math.sqrt(precision) and passes < MAXIMUM_PASSES:
        points = np.linspace(low, up, SECTIONS + 1)
        rising = int(np.searchsorted(posterior.gradients(points[:, None])[:, 0], 0.0))
        low, up = float(points[max(rising - 1, 0)]), float(points[min(rising, SECTIONS)])
        passes += 1
    return 0.5 * (low + up), passes


def _row_sizes(rows: Floats, y: Floats | None) -> tuple[float]:
    return (float(np.sum(weights_of(y) * np.abs(rows[:, 0]))),)


def _sizes(loss: Loss, centre: float, rows: Floats, y: Floats | None) -> tuple[Floats, Largest]:
    """Sums of |loss| and of |z| over a block, and its largest |z|."""
    value, size = np.abs(loss.value(rows[:, 0] * centre, y)), np.abs(rows[:, 0])
    return np.array([value.sum(), np.sum(weights_of(y) * size)]), Largest(size.max(initial=0.0))


def _first_hull(line: _Line) -> tuple[Floats, Floats, Floats]:
    """Points either side of the mode, moved outwards until the outer tangents slope inwards, whatever rounding did to them."""
    reach = 1.0
    while True:
        x = np.array([-3.0, -1.0, 0.0, 1.0, 3.0]) * reach
        heights, slopes = line.heights(x), line.slopes(x)
        _, rate = line.lifts(x, heights, slopes)
        if slopes[0] > 2 * rate[0] and slopes[-1] < -2 * rate[-1]:
            return x, heights, slopes
        reach *= 2


def sample(
    posterior: GibbsPosterior,
    draws: int,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[Floats, Diagnostics]:
    """Independent exact draws (draws, 1) from a one-dimensional posterior, and diagnostics for the curator only."""
    _validate.count("draws", draws)
    if posterior.dimension != 1:
        raise ParameterError(f"inverse-cdf: needs one parameter, not {posterior.dimension}")
    started = time.perf_counter()
    line, passes = _line_through_mode(posterior)
    support = _first_hull(line)
    ready = time.perf_counter()
    accepted: list[Floats] = []
    have = proposed = 0
    largest = -math.inf
    while have < draws:
        hull = _Hull.through(line, *support)
        size = min(LARGEST_BATCH, 16 if len(support[0]) < LARGEST_HULL // 2 else 2 * (draws - have) + 1)
        x, envelope = hull.draw(size, generator)
        heights = line.heights(x)
        log_acceptance = heights - envelope
        largest = max(largest, float(log_acceptance.max()))
        if not largest <= 0:
            raise GibbsafeError(f"inverse-cdf: log acceptance {largest} is above 0; the envelope is wrong")
        kept = -generator.standard_exponential(size) <= log_acceptance
        proposed += size
        accepted.append(x[kept])
        have += int(kept.sum())
        if not kept.all() and len(support[0]) < LARGEST_HULL:
            new = np.setdiff1d(x[~kept], support[0])[: LARGEST_HULL - len(support[0])]
            support = _insert(support, new, line)
        if progress is not None:
            progress(min(have, draws), draws, proposed, time.perf_counter() - started)
    theta = line.thetas(np.concatenate(accepted)[:draws])
    finished = time.perf_counter()
    diagnostics = Diagnostics(
        mode=np.array([line.origin + line.centre]),
        proposals=proposed,
        evaluated=proposed,
        accepted=have,
        mode_passes=passes,
        certificates=("convexity",),
        setup_seconds=ready - started,
        sampling_seconds=finished - ready,
        log_acceptance=largest,
    )
    return theta[:, None], diagnostics


def _insert(support: tuple[Floats, Floats, Floats], x: Floats, line: _Line) -> tuple[Floats, Floats, Floats]:
    """The support with tangents at new points."""
    if not x.size:
        return support
    points = np.concatenate([support[0], x])
    order = np.argsort(points)
    heights = np.concatenate([support[1], line.heights(x)])
    slopes = np.concatenate([support[2], line.slopes(x)])
    return points[order], heights[order], slopes[order]
