"""Exact draws of a 2 × 2 precision matrix with density ∝ |A|^k e^{−tr(WA)/2} between two multiples of the identity.

With W diagonal (else rotate by its eigenvectors: the set c₁I ≤ A ≤ c₂I does not change) and k ≥ 0, let a, b be the diagonal of A
and y its other entry. A lies in the set exactly if c₁ ≤ a, b ≤ c₂ and |y| ≤ ρ, ρ the smaller of √((c₂−a)(c₂−b)) and
√((a−c₁)(b−c₁)). Since |A| = ab(1 − y²/ab), y has density (1 − y²/ab)^k on |y| ≤ ρ, and its mass is at most each of

    √(ab)·B(½, k+1),   2√((c₂−a)(c₂−b)),   2√((a−c₁)(b−c₁)).

Each bound is a product of a function of a and one of b, both log-concave: propose a and b from (ab)^k e^{−(w₁a+w₂b)/2} times it,
then y from (1 − y²/ab)^k or uniformly, and accept if |y| ≤ ρ and with what is left of (1 − y²/ab)^k. The envelope of least mass
is used. The acceptance is bounded below by a constant, for every W, k and c₁ < c₂: the mass of y is at least a constant times
the least of the three bounds, each bound is a product of square roots of concave functions, and under a log-concave law a
concave function is seldom far below its mean; so with probability ½ all three are at least a constant times their means.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from gibbsafe.samplers.log_concave import Indices, LogConcave
from gibbsafe.samplers.trimmed import TrimmedGamma

__all__ = ["draw_precisions"]

Floats: TypeAlias = npt.NDArray[np.float64]


class _Sided(LogConcave):
    """Densities ∝ a^k √s e^{−wa/2} of a on the trim, s the distance from ``end``, its upper (sign 1) or lower (sign −1) point.

    The mode is known by its value and by its distances from both trim points, each with all its digits.
    """

    def __init__(self, power: float, weights: Floats, trim: tuple[float, float], sign: float) -> None:
        end, other_end = trim[::-1] if sign > 0 else trim
        width = trim[1] - trim[0]
        # The mode has k/a − sign/(2s) = w/2: w·s² + b·s − end = 0, and w·a² − (2k + w·end + 1)a + 2k·end = 0.
        linear = sign * (2 * power + 1 - weights * end)
        root = np.sqrt(linear**2 + 4 * weights * end)
        total = 2 * power + weights * end + 1
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            side = np.where(linear >= 0, 2 * end / (linear + root), (root - linear) / (2 * weights))
            place = 4 * power * end / (total + root) if sign > 0 else (total + root) / (2 * weights)
        clipped = ~((place - other_end) * sign > 0)  # beyond the other trim point, or nowhere
        self.side = np.where(clipped, width, np.minimum(side, width))
        self.mode = np.where(clipped, other_end, np.clip(place, *trim))
        self.other = np.abs(self.mode - other_end)
        self._power, self._weights, self._sign = power, weights, sign
        slope = power / self.mode - sign / (2 * self.side) - weights / 2
        curve = power / self.mode**2 + 1 / (2 * self.side**2)
        low, high = (-self.other, self.side) if sign > 0 else (-self.side, self.other)
        super().__init__(self._heights, low, high, 1 / np.maximum(np.sqrt(curve), np.abs(slope)))

    def _heights(self, x: Floats, index: Indices) -> Floats:
        with np.errstate(divide="ignore"):
            side = 0.5 * np.log1p(np.maximum(-self._sign * x / self.side[index], -1.0))
        return np.asarray(self._power * np.log1p(x / self.mode[index]) + side - 0.5 * self._weights[index] * x)

    def draw_distances(self, index: Indices, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return draws of a's distances from ``end`` and from the other trim point."""
        moved = self._sign * self.draw(index, generator)
        return np.maximum(self.side[index] - moved, 0.0), np.maximum(self.other[index] + moved, 0.0)

    @property
    def log_mass(self) -> Floats:
        top = self._power * np.log(self.mode) + 0.5 * np.log(self.side) - 0.5 * self._weights * self.mode
        return np.asarray(top + np.log(self.masses()))


def _draw_diagonal_scale(
    power: float, weights: Floats, trim: tuple[float, float], count: int, generator: np.random.Generator
) -> Floats:
    """Return (count, 3) draws of (a, b, y) for W = diag(weights)."""
    gamma = TrimmedGamma(power + 1.5, weights / 2, *trim)
    sided = [_Sided(power, weights, trim, sign) for sign in (1.0, -1.0)]
    log_masses = [float(gamma.log_mass.sum() + betaln(0.5, power + 1)), *(float(s.log_mass.sum() + np.log(2)) for s in sided)]
    best = int(np.argmin(log_masses))
    drawn = np.empty((count, 3))
    pending = np.arange(count)
    width = trim[1] - trim[0]
    while pending.size:
        index = np.tile(np.arange(2), pending.size)
        if best == 0:
            above = gamma.draw_values(index, generator).reshape(-1, 2) - trim[0]
            below = width - above
        else:
            distances = [each.reshape(-1, 2) for each in sided[best - 1].draw_distances(index, generator)]
            below, above = distances if best == 1 else distances[::-1]
        limits = [np.sqrt(np.maximum(each[:, 0] * each[:, 1], 0.0)) for each in (below, above)]
        a, b = (trim[0] + above).T
        if best == 0:
            y = np.sqrt(a * b) * (2 * generator.beta(power + 1, power + 1, pending.size) - 1)
            log_acceptance = np.zeros(pending.size)
        else:
            y = limits[best - 1] * generator.uniform(-1, 1, pending.size)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_acceptance = power * np.log1p(-np.minimum(y * y / (a * b), 1.0)) if power > 0 else np.zeros(pending.size)
        kept = (np.abs(y) <= np.minimum(*limits)) & (-generator.standard_exponential(pending.size) <= log_acceptance)
        drawn[pending[kept]] = np.column_stack([a, b, y])[kept]
        pending = pending[~kept]
    return drawn


def draw_precisions(power: float, scale: Floats, trim: tuple[float, float], count: int, generator: np.random.Generator) -> Floats:
    """Return (count, 2, 2) exact draws of A with density ∝ |A|^power e^{−tr(scale·A)/2} on trim[0]·I ≤ A ≤ trim[1]·I.

    >>> drawn = draw_precisions(50.0, np.diag([40.0, 90.0]), (0.5, 2.0), 1000, np.random.default_rng(0))
    >>> bool((np.linalg.eigvalsh(drawn) >= 0.5).all() and (np.linalg.eigvalsh(drawn) <= 2.0).all())
    True
    """
    weights, axes = np.linalg.eigh(scale)
    a, b, y = _draw_diagonal_scale(power, np.maximum(weights, 0.0), trim, count, generator).T
    matrices = np.stack([np.stack([a, y], axis=-1), np.stack([y, b], axis=-1)], axis=-2)
    return np.asarray(axes @ matrices @ axes.T)
