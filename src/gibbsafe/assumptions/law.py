"""The prior law of a parameter's Lipschitz constant ℓ(θ), and the constants (c, L₀) of the stochastic assumption that fit it.

Assumption 2: ξ(Θ_L) ≥ 1 − e^{−c(L − L₀)} for all L ≥ L₀, Θ_L the parameters with ℓ(θ) ≤ L. With h(L) = −ln(1 − ξ(Θ_L)) and
u = 1/c it reads L − u h(L) ≤ L₀ for every L. A law is kept as pairs (L, h) for which that has to hold: exactly the jumps of a
finite family; for a continuous one the cells [Lᵢ, Lᵢ₊₁] of a grid with the pair (Lᵢ₊₁, h(Lᵢ)), which covers every L between since
h increases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from gibbsafe._numerics import SLACK, down, up
from gibbsafe._types import Floats
from gibbsafe._validate import fail, non_negative
from gibbsafe.errors import PremiseError

__all__ = ["LipschitzLaw", "StochasticConstants"]

#: How many points the grid of a continuous law has, about; dense near inf ℓ and near sup ℓ, where h starts and ends.
CELLS = 800


@dataclass(frozen=True)
class StochasticConstants:
    """c and L₀ of Assumption 2; ``rate`` is infinite where Assumption 1 with L = ``floor`` is what fits best."""

    rate: float
    floor: float

    @property
    def expected_lipschitz(self) -> float:
        """L₀ + 1/c, the bound (12) on the prior mean of ℓ that the theorems use."""
        return up(self.floor + (0.0 if math.isinf(self.rate) else 1 / self.rate))

    def lower_bound(self, lipschitz: npt.ArrayLike) -> Floats:
        """Return 1 − e^{−c(L − L₀)}, at least 0: what the assumption says about ξ(Θ_L)."""
        above = np.maximum(np.asarray(lipschitz, dtype=np.float64) - self.floor, 0.0)
        return np.asarray((above > 0) * 1.0 if math.isinf(self.rate) else -np.expm1(-self.rate * above))


@dataclass(frozen=True, eq=False)
class LipschitzLaw:
    """Pairs (L, h): the assumption holds with (c, L₀) if L − h/c ≤ L₀ for all of them and c ≤ ``tail_rate``.

    Attributes:
        points, exponents: L and h.
        largest: sup ℓ(θ), perhaps infinite.
        smallest: inf ℓ(θ) (a lower bound).
        mean: an upper bound on the prior mean of ℓ.
        tail_rate: beyond the last point the mass outside Θ_L falls at least like e^{−rL}; infinite if there is none.
        mass_below: L ↦ ξ(Θ_L).
    """

    points: Floats
    exponents: Floats
    largest: float
    smallest: float
    mean: float
    tail_rate: float
    mass_below: Callable[[float], float]

    @classmethod
    def finite(cls, lipschitz: npt.ArrayLike, prior: npt.ArrayLike) -> LipschitzLaw:
        """Return the exact law of finitely many parameters with these constants and prior weights.

        >>> law = LipschitzLaw.finite([0.5, 1.0, 2.0], [0.5, 0.25, 0.25])
        >>> law.mass_below(1.0), law.mean
        (0.75, 1.0000000000000009)
        """
        values, weights = np.asarray(lipschitz, dtype=np.float64), np.asarray(prior, dtype=np.float64)
        if values.ndim != 1 or values.shape != weights.shape or not len(values):
            fail("prior", weights.shape, f"one weight per parameter {values.shape}")
        if not np.isfinite(values).all() or (values < 0).any() or (weights < 0).any() or abs(weights.sum() - 1) > 1e-9:
            fail("prior", weights.tolist(), "weights of sum 1, and Lipschitz constants finite and not negative")
        kept = weights > 0
        values, weights = values[kept], weights[kept]
        points = np.unique(values)
        outside = np.array([weights[values >= point].sum() for point in points])
        exponents = np.maximum(0.0, -np.log(np.minimum(1.0, outside * (1 + SLACK))))

        def mass_below(bound: float) -> float:
            return min(1.0, float(weights[values <= bound].sum()))

        mean = up(float(values @ weights))
        return cls(points, exponents, float(points[-1]), float(points[0]), mean, math.inf, mass_below)

    @classmethod
    def continuous(
        cls, mass_below: Callable[[float], float], largest: float, *, last: float | None = None, tail_rate: float = math.inf
    ) -> LipschitzLaw:
        """Return a certified law on a grid.

        Args:
            mass_below: L ↦ ξ(Θ_L), or a lower bound, increasing.
            largest: sup ℓ(θ); infinite needs
            last: where the grid ends, and
            tail_rate: r with 1 − ξ(Θ_{L'}) ≤ (1 − ξ(Θ_L))e^{−r(L' − L)} for all L' ≥ L ≥ last.
        """
        end = largest if last is None else last
        if not math.isfinite(end) or (math.isinf(largest) and not math.isfinite(tail_rate)):
            raise PremiseError("largest: infinite, so the end of the grid and the rate of the tail are needed")
        smallest = _first_mass(mass_below, end)
        span = max(end - smallest, 1e-12 * max(1.0, end))
        rising, falling = np.geomspace(1e-4, 1.0, CELLS // 2), np.geomspace(1e-4, 1.0, CELLS // 8)
        shares = np.unique(np.concatenate([[0.0], rising, 1 - falling, np.linspace(0, 1, CELLS // 2)]))
        grid = np.minimum(shares * span + smallest, end)
        outside = np.array([min(1.0, max(0.0, 1 - mass_below(float(point))) + SLACK) for point in grid])
        outside = np.minimum.accumulate(outside)
        with np.errstate(divide="ignore"):
            exponents = -np.log(outside)
        points, exponents = np.concatenate([[smallest], grid[1:]]), np.concatenate([[0.0], exponents[:-1]])
        mean = smallest + float(np.sum(outside[:-1] * np.diff(grid)))
        if math.isinf(largest):
            mean += float(outside[-1]) / tail_rate
            points, exponents = np.append(points, end), np.append(exponents, -math.log(outside[-1]))
        return cls(points, exponents, largest, smallest, up(mean), tail_rate, mass_below)

    # -- the constants -------------------------------------------------------------------------------------------

    def floor_for(self, rate: float) -> float:
        """Return the least L₀ that goes with c = ``rate``."""
        if not 0 < rate <= self.tail_rate:
            fail("rate", rate, f"above 0 and at most the rate of the tail ({self.tail_rate:g})")
        return max(0.0, up(float(np.max(self.points - self.exponents / rate))))

    def rate_for(self, floor: float) -> float:
        """Return the largest c that goes with L₀ = ``floor``, 0 if none does."""
        above = self.points > non_negative("floor", floor)
        if not above.any():
            return math.inf
        rate = down(float(np.min(self.exponents[above] / (self.points[above] - floor))))
        return max(0.0, min(rate, self.tail_rate))

    def best(self) -> StochasticConstants:
        """Return the pair with the least L₀ + 1/c, which is what the bounds of Theorems 7.2 and 8.2 grow with.

        L₀ as a function of u = 1/c is a maximum of lines, so L₀ + u is convex: a search in one dimension finds its minimum. Where
        ℓ is bounded, c = ∞ with L₀ = sup ℓ competes.
        """
        scale = max(self.mean, 1e-12)
        lowest = math.log(1 / self.tail_rate) if math.isfinite(self.tail_rate) else math.log(scale * 1e-9)

        def cost(log_u: float) -> float:
            return self.floor_for(min(math.exp(-log_u), self.tail_rate)) + math.exp(log_u)

        found = minimize_scalar(cost, bounds=(lowest, math.log(scale * 1e3)), method="bounded", options={"xatol": 1e-9})
        rate = min(down(math.exp(-float(found.x))), self.tail_rate)
        best = StochasticConstants(rate, self.floor_for(rate))
        uniform = StochasticConstants(math.inf, self.largest)
        return uniform if uniform.expected_lipschitz <= best.expected_lipschitz else best

    def steepest(self) -> StochasticConstants:
        """Return the pair with (nearly) the smallest possible L₀ = inf ℓ and the largest c for it: Figure 1's lower bounds."""
        inside = self.points[self.exponents <= 0]
        floor = float(inside.max()) if len(inside) else self.smallest
        return StochasticConstants(self.rate_for(floor), floor)


def _first_mass(mass_below: Callable[[float], float], end: float) -> float:
    """Return a point below which there is no mass, by bisection."""
    if mass_below(0.0) > 0:
        return 0.0
    low, high = 0.0, end
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if mass_below(middle) > 0 else (middle, high)
    return low
