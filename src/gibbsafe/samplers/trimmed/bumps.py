"""Exact draws from a density exp(w Σᵢ e^{−(θ−xᵢ)²/2s²}) on an interval: many bumps, any number of modes.

The interval is cut into cells. On a narrow cell Taylor's formula bounds the exponent by a line plus ½wκh², κ ≥ sup of the second
derivative, since no bump bends upwards by more than 2e^{−3/2}/s²; on a wide one by the number of records near it. Cells that
matter are halved until that headroom is small, so the envelope lies above the density everywhere, for every data set, and a
proposal from it is accepted about every other time. How many cells that takes is bounded by public quantities: of order
√(w n (high − low)/s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe.errors import GibbsafeError
from gibbsafe.posteriors.bumps import WINDOW, BumpPosterior, WelschPosterior
from gibbsafe.samplers.closed_form import draw_exactly

__all__ = ["BumpEnvelope"]

#: The largest second derivative of e^{−r²/2}, at r² = 3, rounded up.
BEND = 0.44627
#: Within how many scales records are counted as near.
NEAR = 7.5
#: A cell is narrow enough when Taylor's remainder adds at most this much to the exponent.
HEADROOM = 0.25
#: Room for rounding in the exponent, relative to its size and absolute.
ROUNDING, FLOOR = 1e-12, 1e-9


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells with a line above the log density: at middle + t it is height + slope·t."""

    low: Floats
    high: Floats
    height: Floats
    slope: Floats
    final: npt.NDArray[np.bool_]

    @property
    def middle(self) -> Floats:
        """Where the lines are anchored."""
        return (self.low + self.high) / 2

    def log_masses(self) -> Floats:
        """Return log ∫ e^{line} over every cell."""
        half = (self.high - self.low) / 2
        z = np.abs(self.slope) * half
        with np.errstate(divide="ignore", invalid="ignore"):
            log_sinh = np.where(z < 1e-8, 0.0, z + np.log1p(-np.exp(-2 * z)) - np.log(2 * np.maximum(z, 1e-300)))
        return self.height + np.log(2 * half) + log_sinh

    def join(self, other: _Cells) -> _Cells:
        fields = ("low", "high", "height", "slope", "final")
        return _Cells(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in fields))

    def take(self, index: npt.NDArray[np.bool_]) -> _Cells:
        return _Cells(self.low[index], self.high[index], self.height[index], self.slope[index], self.final[index])


@dataclass(frozen=True, eq=False)
class BumpEnvelope:
    """Lines above the log density of bumps, cell by cell."""

    posterior: BumpPosterior

    def _bound(self, low: Floats, high: Floats) -> _Cells:
        """Return a line above the log density on every cell, and whether it needs no further halving."""
        reach = WINDOW * self.posterior.scale
        inside = self.posterior.count(low - reach, high + reach)
        half = (high - low) / 2
        remainder = 0.5 * self.posterior.weight * BEND * inside * (half / self.posterior.scale) ** 2
        near = self.posterior.count(low - NEAR * self.posterior.scale, high + NEAR * self.posterior.scale)
        height = self.posterior.weight * (near + self.posterior.n * math.exp(-0.5 * NEAR**2))
        slope = np.zeros(len(low))
        lines = half <= self.posterior.scale  # wider cells are bounded by counting alone
        totals, rises = self.posterior.sums((low[lines] + high[lines]) / 2)
        height[lines] = self.posterior.weight * totals + remainder[lines]
        slope[lines] = self.posterior.weight * rises
        # Narrow enough for its line, or with no record near it, so that the density is flat.
        close = np.where(lines, remainder, height) <= HEADROOM
        height, slope, bent = self._with_prior(low, high, height, slope, lines)
        margin = ROUNDING * self.posterior.weight * self.posterior.n + FLOOR
        return _Cells(low, high, height + margin, slope, close & bent)

    def _with_prior(
        self, low: Floats, high: Floats, height: Floats, slope: Floats, lines: npt.NDArray[np.bool_]
    ) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """Add the prior: its tangent at the middle (it is concave), and whether that is close enough on the whole cell."""
        if self.posterior.prior is None:
            return height, slope, np.ones(len(low), dtype=bool)
        mean, spread = self.posterior.prior
        middle, half = (low + high) / 2, (high - low) / 2
        tangent = -(middle - mean) / spread**2
        at_middle = -0.5 * ((middle - mean) / spread) ** 2
        nearest = -0.5 * ((np.clip(mean, low, high) - mean) / spread) ** 2
        return (
            height + np.where(lines, at_middle, nearest),
            slope + np.where(lines, tangent, 0.0),
            0.5 * (half / spread) ** 2 <= HEADROOM,
        )

    @cached_property
    def cells(self) -> _Cells:
        """Halve the cells that matter until their lines lie close above the density."""
        edges = np.linspace(self.posterior.low, self.posterior.high, 65)
        cells = self._bound(edges[:-1], edges[1:])
        while True:
            masses = cells.log_masses()
            top = float(masses.max())
            open_cells = ~cells.final
            loose = float(np.exp(masses[open_cells] - top).sum())
            if loose <= 0.2 * float(np.exp(masses[cells.final] - top).sum()):
                break
            # Every open cell that holds more than a small part of what is loose: the others wait until they matter.
            split = open_cells & (np.exp(masses - top) > 1e-3 * loose)
            if not split.any():
                split = open_cells
            middle = cells.middle[split]
            stuck = (middle <= cells.low[split]) | (middle >= cells.high[split])
            if stuck.all():
                break
            parts = self._bound(np.concatenate([cells.low[split], middle]), np.concatenate([middle, cells.high[split]]))
            cells = cells.take(~split).join(parts)
        return cells

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return independent exact draws (count, 1): proposals from the envelope until enough are accepted."""
        cells = self.cells
        masses = cells.log_masses()
        cumulative = np.cumsum(np.exp(masses - masses.max()))
        accepted: list[float] = []
        while len(accepted) < count:
            k = min(int(np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right")), len(cumulative) - 1)
            theta, line = _from_line(cells, k, 1 - generator.random())
            log_acceptance = self.posterior.log_density(theta) - line
            if log_acceptance > 0:
                raise GibbsafeError(f"bumps: log acceptance {log_acceptance} is above 0; the envelope is wrong")
            if -generator.standard_exponential() <= log_acceptance:
                accepted.append(theta)
        return np.array(accepted)[:, None]


def _from_line(cells: _Cells, k: int, uniform: float) -> tuple[float, float]:
    """Return a draw from the density e^{line} on one cell, and the line there."""
    low, high, slope = float(cells.low[k]), float(cells.high[k]), float(cells.slope[k])
    width = high - low
    drop = abs(slope) * width
    # Distance from the higher end: an exponential of rate |slope| truncated at the width.
    distance = uniform * width if drop < 1e-12 else -math.log1p(uniform * math.expm1(-drop)) / abs(slope)
    theta = min(max(high - distance if slope > 0 else low + distance, low), high)
    return theta, float(cells.height[k]) + slope * (theta - (low + high) / 2)


@draw_exactly.register
def _(posterior: BumpPosterior, count: int, generator: np.random.Generator) -> Floats:
    return BumpEnvelope(posterior).draw(count, generator)


@draw_exactly.register
def _(posterior: WelschPosterior, count: int, generator: np.random.Generator) -> Floats:
    return np.hstack([BumpEnvelope(part).draw(count, generator) for part in posterior.coordinates])
