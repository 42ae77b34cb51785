"""The least radius outside of which a posterior has a given mass."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import optimize, special

__all__ = ["CAUTION", "normal_radius", "solve_radius"]

#: Standard errors added to every importance-sampling estimate of the sound version.
CAUTION = 3.0


def solve_radius(mass: Callable[[float], float], target: float, guess: float, deviation: float) -> float:
    """Return the least radius (to 1e-4 of the guess, rounded up) at which a falling mass is at most the target.

    Its logarithm is nearly a straight line in r², of slope −1/(2 sd²): steps along it bracket the root, and few are needed.
    """

    def excess(square: float) -> float:
        return math.log(max(mass(math.sqrt(square)), 1e-300)) - math.log(target)

    low = high = guess**2
    value, stretch = excess(high), 1.02
    rising = value > 0
    while (value > 0) == rising and low > (1e-12 * guess) ** 2:
        step = stretch * 2 * deviation**2 * max(abs(value), 1e-3)
        low, high = (high, high + step) if rising else (max(low - step, 0.1 * low), low)
        value, stretch = excess(high if rising else low), 1.4 * stretch
    if value > 0 or rising:
        high = float(optimize.brentq(excess, low, high, xtol=2e-4 * guess**2, rtol=1e-4))
    root = math.sqrt(high)
    while mass(root) > target:
        root *= 1 + 1e-4
    return root


def normal_radius(deviation: float, sides: int, delta: float) -> float:
    """Return where a normal posterior of this standard deviation in every direction has mass δ outside: a place to start."""
    return deviation * float(-special.ndtri(min(delta / sides, 0.25)))
