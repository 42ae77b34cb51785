"""Where two densities live: a change of coordinates to all of space, a centre, axes, and a box that holds their mass.

A coordinate with two finite ends is mapped by θ = a + (b − a)/(1 + e^{−t}), with one by θ = a + e^t: what is singular or cut at
an end becomes an exponential tail in t. In two dimensions the density is made round by its curvature at the mode, and the last
axis is the direction in which the log density ratio grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.protocols import Posterior

__all__ = ["Coordinates", "coordinates_of"]

#: Height of the log density below its peak at which the box may end: e^−50 is far below any δ of interest.
DEPTH = 50.0
#: With two finite ends, how near to them (in logits) a double still tells points apart.
NEAREST = 30.0


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates t in a ``box`` (rows low, high), z = centre + basis·t in all of space, θ the image of z in the support."""

    lower: Floats
    upper: Floats
    centre: Floats
    basis: Floats
    box: Floats

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.centre)

    def log_densities(self, posteriors: tuple[Posterior, ...], t: Floats) -> tuple[Floats, ...]:
        """Return each posterior's unnormalised log density, as a density of t, at the rows of ``t``."""
        thetas, stretch = _to_support(self.centre + t @ self.basis.T, self.lower, self.upper)
        return tuple(stretch - values_of(posterior, thetas) for posterior in posteriors)


def values_of(posterior: Posterior, thetas: Floats) -> Floats:
    """Return potentials in parts, so that rows × points stay small."""
    parts = np.array_split(thetas, max(1, len(thetas) // 20_000))
    return np.concatenate([np.asarray(posterior.values(part), dtype=np.float64) for part in parts])


def _to_support(z: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return θ and the log of the volume element dθ/dz."""
    theta, stretch = np.array(z), np.zeros(len(z))
    for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
        column = z[:, k]
        if math.isfinite(low) and math.isfinite(high):
            theta[:, k] = low + (high - low) * expit(column)
            stretch += math.log(high - low) + log_expit(column) + log_expit(-column)
        elif math.isfinite(low):
            theta[:, k], stretch = low + np.exp(column), stretch + column
        elif math.isfinite(high):
            theta[:, k], stretch = high - np.exp(column), stretch + column
    return theta, stretch


def coordinates_of(posteriors: tuple[Posterior, Posterior]) -> Coordinates:
    """Return the coordinates of two posteriors of one or two parameters with the same support."""
    (lower, upper), other = posteriors[0].support, posteriors[1].support
    if not (np.array_equal(lower, other[0]) and np.array_equal(upper, other[1])):
        raise PremiseError("posteriors: their supports differ, so no finite epsilon separates them")
    if len(lower) > 2:
        raise PremiseError(f"posterior of {len(lower)} parameters: quadrature covers one or two; use estimate_lower_bound")
    if len(lower) > 1 and isinstance(posteriors[0], GibbsPosterior) and posteriors[0].ball is not None:
        raise PremiseError("posterior on a ball: quadrature covers one parameter; use estimate_lower_bound")
    start, scale = posteriors[0].outlook

    def heights(z: Floats) -> Floats:
        """The larger of the two densities' heights below their own peaks is what the box must reach."""
        thetas, stretch = _to_support(np.atleast_2d(z), lower, upper)
        return np.stack([values_of(posterior, thetas) - stretch for posterior in posteriors])

    build = _line if len(lower) == 1 else _plane
    centre, basis, box = build(heights, start, scale, two_ends=np.isfinite(lower) & np.isfinite(upper))
    return Coordinates(lower, upper, centre, basis, box)


Heights: TypeAlias = Callable[[Floats], Floats]


def _line(heights: Heights, start: Floats, scale: Floats, two_ends: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Find the modes on a line by looking at ever finer grids, and how far out each density falls by `DEPTH`."""
    limit = NEAREST if two_ends[0] else math.inf
    ends = []
    for k in range(2):
        grid = np.clip(start[0] + scale[0] * np.sinh(np.linspace(-20, 20, 801)) / 10, -limit, limit)
        for _ in range(5):
            best = int(np.argmin(heights(grid[:, None])[k]))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
            mode = grid[best]
            grid = np.linspace(low, high, 201)
        least = float(heights(np.array([[mode]]))[k, 0])
        steps = scale[0] * 2.0 ** np.arange(-45, 40)
        for side in (-1.0, 1.0):
            points = np.clip(mode + side * steps, -limit, limit)
            rise = heights(points[:, None])[k] - least
            inside = np.nonzero(rise < DEPTH)[0]
            last = int(inside[-1]) + 1 if inside.size else 0
            ends.append(points[min(last, len(points) - 1)])
    box = np.array([[min(ends)], [max(ends)]])
    return np.zeros(1), np.eye(1), box


def _plane(heights: Heights, start: Floats, scale: Floats, two_ends: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Find the first mode, make the density round there, and grow a box until both densities have fallen by `DEPTH`."""

    def height(x: Floats) -> float:
        return float(heights(start + scale * x)[0, 0])

    found = minimize(height, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 2000})
    centre = start + scale * found.x
    basis = scale[:, None] * _axes(height, found.x)
    basis = basis @ _towards_ratio(heights, centre, basis)
    limit = np.where(two_ends.any(), NEAREST, math.inf)
    reach = 8.0
    for _ in range(60):
        axis = np.linspace(-reach, reach, 61)
        grid = np.stack([part.ravel() for part in np.meshgrid(axis, axis, indexing="ij")], axis=1)
        tall = heights(np.clip(centre + grid @ basis.T, -limit, limit))
        inside = ((tall - tall.min(axis=1, keepdims=True)) < DEPTH).any(axis=0).reshape(61, 61)
        if not (inside[[0, -1]].any() or inside[:, [0, -1]].any()) or np.abs(centre + reach * basis.sum(axis=1)).max() > limit:
            break
        reach *= 1.5
    cell = axis[1] - axis[0]
    box = np.empty((2, 2))
    for k in range(2):
        used = axis[inside.any(axis=1 - k)]
        box[:, k] = max(used[0] - cell, -reach), min(used[-1] + cell, reach)
    return centre, basis, box


def _towards_ratio(heights: Heights, centre: Floats, basis: Floats) -> Floats:
    """Return the rotation after which the last axis is the direction in which the log density ratio grows: lines cross kinks."""
    ends = heights(centre + 1e-2 * np.concatenate([basis.T, -basis.T]))
    slope = (ends[1] - ends[0])[:2] - (ends[1] - ends[0])[2:]
    size = float(np.linalg.norm(slope))
    if size < 1e-12:
        return np.eye(2)
    a, b = slope / size
    return np.array([[b, a], [-a, b]])


def _axes(height: Callable[[Floats], float], x: Floats) -> Floats:
    """Return a square root of the inverse of the numerical Hessian at x."""
    step = 1e-3
    for _ in range(30):  # a step over which the height changes by about a thousandth
        change = max(height(x + step * unit) - height(x) for unit in np.eye(2))
        if 1e-4 < change < 1e-1:
            break
        step *= 2.0 if change <= 1e-4 else 0.5
    offsets = step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [0, 0]])
    right, left, top, bottom, both, neither, middle = (height(x + offset) for offset in offsets)
    a, b = (right + left - 2 * middle) / step**2, (top + bottom - 2 * middle) / step**2
    c = ((both + neither - 2 * middle) / step**2 - a - b) / 2
    values, vectors = np.linalg.eigh(np.array([[a, c], [c, b]]))
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-12)))
