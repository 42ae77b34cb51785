"""Exact draws in one dimension: inversion of a piecewise exponential envelope, and rejection.

The log density −U is concave, so every tangent lies above it: with tangents at points x_1 < … < x_k (the outer two sloping
inwards) the envelope is piecewise exponential, its distribution function is inverted in closed form, and a draw x from it is
accepted with probability exp(−U(x) − tangent(x)) (adaptive rejection sampling, Gilks and Wild 1992). Which tangent covers which
piece is free, since each lies above everywhere: rounding in the breakpoints costs nothing. Points are added where draws were
rejected until few are. Nothing is truncated and no tolerance enters: draws are exact for any convex U, whatever the data. Only
values and (sub)gradients are used, so the loss need not be smooth.

Rounding of U and of the tangents is covered by a constant in the envelope, as in `gibbsafe.samplers.shell`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe.data.blocks import weights_of
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.samplers.diagnostics import Diagnostics, Progress
from gibbsafe.samplers.newton import find_mode
from gibbsafe.samplers.posterior import GibbsPosterior

__all__ = ["sample"]

Floats: TypeAlias = npt.NDArray[np.float64]

LARGEST_BATCH = 4096
LARGEST_HULL = 64
#: Sections of a bracket that are looked at in one pass, and passes after which any bracket will do.
SECTIONS = 64
MAXIMUM_PASSES = 40


@dataclass(frozen=True, eq=False)
class _Line:
    """The posterior on the line θ = centre + scale·x, with heights −(U(θ) − U(centre)) and their slopes in x."""

    posterior: GibbsPosterior
    centre: float
    scale: float
    value: float

    def heights(self, x: Floats) -> Floats:
        return self.value - self.posterior.values((self.centre + self.scale * x)[:, None])

    def slopes(self, x: Floats) -> Floats:
        return -self.scale * self.posterior.gradients((self.centre + self.scale * x)[:, None])[:, 0]

    def headroom(self) -> float:
        """Thousands of roundings of every magnitude that enters where draws can be: one constant, which tilts nothing."""
        return 2.0**-39 * (101 + abs(self.value)) + 2e-9


@dataclass(frozen=True, eq=False)
class _Hull:
    """Tangents at ``points`` with ``heights`` and ``slopes``; piece i lies between breaks i and i+1 (±∞ at the ends)."""

    points: Floats
    heights: Floats
    slopes: Floats
    breaks: Floats
    log_mass: Floats

    @classmethod
    def through(cls, points: Floats, heights: Floats, slopes: Floats) -> _Hull:
        left, right = slice(None, -1), slice(1, None)
        gap = np.maximum(slopes[left] - slopes[right], 1e-300)
        with np.errstate(over="ignore", invalid="ignore"):
            shift = (heights[right] - heights[left] - slopes[right] * (points[right] - points[left])) / gap
        middle = 0.5 * (points[right] - points[left])
        shift = np.where(np.isfinite(shift), shift, middle)
        inner = np.clip(points[left] + shift, points[left], points[right])
        breaks = np.concatenate([[-math.inf], inner, [math.inf]])
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
        mode = find_mode(posterior)
        return _Line(posterior, float(mode.centre[0]), 1 / math.sqrt(float(mode.hessian[0, 0])), mode.value), mode.passes
    # A kinked loss: halve a bracket of the increasing subgradient many times per pass, then see how fast the potential rises.
    precision, centre = float(posterior.prior_precision[0]), float(posterior.prior_centre[0])
    (total,) = posterior.data.reduce(lambda rows, y: (float(np.sum(weights_of(y) * np.abs(rows[:, 0]))),))
    reach = posterior.inverse_temperature * posterior.loss.lipschitz * float(total) / precision
    low, up, passes = centre - reach, centre + reach, 1
    widest = 1 / math.sqrt(precision)
    while up - low > 1e-9 * widest and passes < MAXIMUM_PASSES:
        points = np.linspace(low, up, SECTIONS + 1)
        rising = int(np.searchsorted(posterior.gradients(points[:, None])[:, 0], 0.0))
        low, up = float(points[max(rising - 1, 0)]), float(points[min(rising, SECTIONS)])
        passes += 1
    mode_at = 0.5 * (low + up)
    scales = widest * 2.0 ** -np.arange(40.0)
    values = posterior.values(np.concatenate([[0.0], scales, -scales])[:, None] + mode_at)
    rise = np.maximum(*(values[1:].reshape(2, -1))) - values[0]
    near = scales[rise <= 1]
    return _Line(posterior, mode_at, float(near[0] if near.size else scales[-1]), float(values[0])), passes + 1


def _first_hull(line: _Line) -> tuple[Floats, Floats, Floats]:
    """Points either side of the mode, moved outwards until the outer tangents slope inwards."""
    reach = 1.0
    while True:
        x = np.array([-3.0, -1.0, 0.0, 1.0, 3.0]) * reach
        slopes = line.slopes(x)
        if slopes[0] > 0 > slopes[-1]:
            return x, line.heights(x), slopes
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
        hull = _Hull.through(*support)
        size = min(LARGEST_BATCH, 16 if len(support[0]) < LARGEST_HULL // 2 else 2 * (draws - have) + 1)
        x, envelope = hull.draw(size, generator)
        heights = line.heights(x)
        log_acceptance = heights - envelope - line.headroom()
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
    theta = line.centre + line.scale * np.concatenate(accepted)[:draws]
    finished = time.perf_counter()
    diagnostics = Diagnostics(
        mode=np.array([line.centre]),
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
