r"""Privacy profiles δ(ε): upper bounds, each with the mathematics it rests on.

Every function returns a number that is never below the exact value: results are computed in logarithms with a relative
error far under 2⁻³⁹, inflated by that much, and floored at the smallest normal double instead of underflowing to 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtri_exp

from gibbsafe._numerics import FLOOR, SLACK, ceiling, exp, greatest, least, up

__all__ = [
    "bounded_range_delta",
    "bun_steinke_delta",
    "corollary_8_delta",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "mu_of_pure",
    "pure_delta",
    "slack_delta",
    "zcdp_delta",
]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


def _mills(x: float) -> float:
    """Mills ratio M(x) = Φ(−x)/φ(x)."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _mills_decay(x: np.ndarray) -> np.ndarray:
    """−M′(x) = 1 − x·M(x), without cancellation for large x.

    Laplace's continued fraction M(x) = 1/(x + K), K = 1/(x + 2/(x + 3/(x + …))) gives 1 − x·M(x) = K/(x + K).
    """
    direct = 1.0 - x * math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
    far = np.maximum(x, 3.0)
    tail, nearest = far.copy(), far.min()
    for k in range(100 if nearest < 4 else 64 if nearest < 6 else 40, 1, -1):  # what more terms add is less than a rounding
        np.divide(k, tail, out=tail)
        tail += far
    fraction = (1.0 / tail) / (far + 1.0 / tail)
    decay: np.ndarray = np.where(x > 3.0, fraction, direct)
    return decay


@lru_cache(maxsize=1 << 14)  # a plan's claim is derived again for every release, by the same bisection
def _gaussian_log_delta(epsilon: float, mu: float) -> float:
    """log of Φ(a) − e^ε Φ(b), a = μ/2 − ε/μ, b = a − μ.

    Since e^ε = φ(a)/φ(b) this is φ(a)·(M(−a) − M(−b)) with the Mills ratio M, and the difference is the integral of
    −M′ over an interval of length μ: Gauss–Legendre for small μ (where a difference would cancel), a difference else.
    """
    start, stop = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if mu <= 1.0:
        middle, half = epsilon / mu, mu / 2
        integral = half * float(_WEIGHTS @ _mills_decay(middle + half * _NODES))
    elif start > 0:
        integral = _mills(start) - _mills(stop)
    else:
        log_head = float(log_ndtr(-start))
        log_rest = math.log(_mills(stop)) - start * start / 2 - _LOG_ROOT_TWO_PI
        return log_head + math.log1p(-math.exp(log_rest - log_head))
    return math.log(integral) - start * start / 2 - _LOG_ROOT_TWO_PI


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Profile of μ-Gaussian DP: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).

    Guarantees: an upper bound for ε ≥ 0 and μ ≥ 0, with relative error below 4e-12 wherever δ ≥ 1e-300 and μ ≤ 50.

    >>> round(gaussian_delta(1.0, 0.5), 10)
    0.006829595
    """
    if mu == 0:
        return 0.0
    mu = max(mu, FLOOR)  # half of a smaller one is 0
    if epsilon / mu > 1e7:  # exponent below −5e13: far under the floor
        return ceiling(-math.inf)
    # μ/2 − ε/μ cancels where μ is large: what the division may have rounded off is taken from ε first.
    return ceiling(_gaussian_log_delta(epsilon * (1 - 2.0**-51) if mu > 1 else epsilon, mu))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least ε ≥ 0 with `gaussian_delta` (ε, μ) ≤ δ: an upper bound on the exact inverse."""
    if mu == 0:
        return 0.0
    return least(lambda epsilon: gaussian_delta(epsilon, mu) <= delta)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the greatest μ with `gaussian_delta` (ε, μ) ≤ δ: a lower bound on the exact inverse."""
    return greatest(lambda mu: gaussian_delta(epsilon, mu) <= delta)


def pure_delta(epsilon: float, pure: float) -> float:
    """Profile of pure ε₀-DP: δ(ε) = (1 − e^{−(ε₀−ε)})/(1 + e^{−ε₀}) for ε < ε₀, attained by randomised response."""
    if epsilon >= pure:
        return 0.0
    return min(1.0, -math.expm1(epsilon - pure) / (1 + math.exp(-pure)) * (1 + SLACK))


def bounded_range_delta(epsilon: float, width: float) -> float:
    """Profile of bounded range r: δ(ε) = (1 − e^{−(r−ε)/2})²/(1 − e^{−r}) for ε < r, attained by two-point laws."""
    if epsilon >= width:
        return 0.0
    return min(1.0, math.expm1((epsilon - width) / 2) ** 2 / -math.expm1(-width) * (1 + SLACK))


def mu_of_pure(pure: float) -> float:
    """Return μ with ε-DP ⇒ μ-GDP: μ = −2 Φ⁻¹(1/(1+e^ε)), rounded up (the trade-off curves touch on the diagonal)."""
    if pure < 0.02:
        # −Φ⁻¹(½ − x) = √(2π)(x + (π/3)x³ + (7π²/30)x⁵ + (127π³/630)x⁷ + …), x = tanh(ε/2)/2; the next term is below 1e-17.
        x = math.tanh(pure / 2) / 2
        y = math.pi * x * x
        return up(up(2 * math.sqrt(2 * math.pi) * x * (1 + y / 3 + 7 / 30 * y**2 + 127 / 630 * y**3)))
    log_tail = -pure - math.log1p(math.exp(-pure))
    return -2 * float(ndtri_exp(log_tail)) * (1 + SLACK)


def zcdp_delta(epsilon: float, rho: float) -> float:
    """Best known profile of ρ-zCDP: inf over a > 1 of exp((a−1)(aρ−ε)) (1−1/a)^a/(a−1).

    Derived from sup_z (1−e^{ε−z})₊ e^{−(a−1)z}; every a gives a valid bound, so the search affects tightness only.
    """
    if rho == 0:
        return 0.0
    rho = max(rho, 1e-280)
    if epsilon - rho > math.sqrt(4e3 * rho):  # Bun–Steinke's bound is already under the floor
        return ceiling(-math.inf)

    def slope(log_t: float) -> float:
        t = math.exp(log_t)
        return (2 * t + 1) * rho - epsilon - math.log1p(1 / t)

    least_t = (epsilon / rho - 1) / 2  # where the slope without its last term vanishes
    low, high = math.log(max(least_t, 1e-26)), math.log((epsilon + 60) / rho + 1)
    t = math.exp(brentq(slope, low, high, xtol=1e-13, maxiter=300, disp=False) if slope(low) < 0 < slope(high) else low)
    return ceiling(t * ((1 + t) * rho - epsilon) - (1 + t) * math.log1p(1 / t) - math.log(t))


def bun_steinke_delta(epsilon: float, rho: float) -> float:
    """Classical profile of ρ-zCDP: exp(−(ε−ρ)²/(4ρ)) for ε > ρ, 1 otherwise (inverse: ε = ρ + 2√(ρ ln 1/δ)).

    With ρ = μ²/2 it is the tail bound that Minami et al. (2016), Theorem 7 prints.
    """
    if rho == 0:
        return 0.0
    return 1.0 if epsilon <= rho else ceiling(-(epsilon - rho) / (4 * rho) * (epsilon - rho))


def corollary_8_delta(epsilon: float, rho: float) -> float:
    """Weaken `bun_steinke_delta` as Minami et al. (2016), Corollary 8 does: ε = μ√(1+2 ln 1/δ), μ = √(2ρ), ε ≤ 1 only.

    Erratum E1: the paper prints no condition; for ε > 1 it does not follow from Theorem 7, and for large ε it is false.
    A larger ε is therefore answered by the value at 1.
    """
    if rho == 0:
        return 0.0
    epsilon = min(epsilon, 1.0)
    return 1.0 if epsilon * epsilon <= 2 * rho else ceiling(0.5 - epsilon * epsilon / (4 * rho))


def slack_delta(epsilon: float, slack: float) -> float:
    """Return (1 + e^ε)γ: what a total-variation slack γ adds to δ (Minami et al. 2016, Proposition 12, erratum E4)."""
    return (1 + exp(epsilon)) * slack
