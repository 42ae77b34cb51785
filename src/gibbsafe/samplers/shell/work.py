"""How many evaluations a draw of the shell sampler costs at most, in expectation, for every data set: public numbers only.

Let x = κR/√m: self-concordance κ of the loss, largest row norm R, least prior precision m. In whitened coordinates (`moments`)
every record has |y_i| ≤ R/√m, whatever the data, and Σ β w_i y_i y_iᵀ = I − P ⪯ I. With φ(r) = (e^{−r} + r − 1)/r² (decreasing):

1. **The envelope's mass.** On a shell of outer radius hi every envelope is at most e^{−½q s²}, q = 2φ(x·hi), up to the gradient
   left at the approximate mode: f″(u+a) ≥ we^{−κ|a|} gives Σ β[f(u+a) − f − f′a] ≥ Σ β w a² φ(κ|a|), |a_i| ≤ |y_i| hi, and the
   prior adds ½vᵀPv. `proposals` takes on each shell a component of no larger weight than this bound's, and a component's
   weight is at least its shell's share of the envelope. Beyond the last shell the tail is the one of `proposals`.
2. **The target's mass.** By Jensen under the standard normal, log(∫e^{−(U−U(t))}/(2π)^{p/2}) ≥ −E Σ β[f(u+a) − f − f′a − ½wa²],
   a = y_iᵀv normal with variance |y_i|². f″(u+a) ≤ we^{κ|a|} bounds the bracket by w((e^{κ|a|} − 1 − κ|a|)/κ² − ½a²), whose mean
   is w|y_i|² g(κ|y_i|), g(x) = (2e^{x²/2}Φ(x) − 1 − x√(2/π))/x² − ½. g increases, so with Σ β w_i|y_i|² ≤ p the mean is ≤ p g(x).

A proposal that survives its shell is accepted with probability target/envelope, so a draw takes (envelope's mass)/(target's mass)
evaluations in expectation: at most e^{N(p, x)} with N the sum of the two logarithms. Neither n nor β appears.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import gammaln, ndtr

from gibbsafe._numerics import exp

__all__ = ["largest_ratio", "log_evaluations"]

#: As in `proposals.build_mixture`: the widest shells it uses in the bulk, and where its tail begins.
WIDTH = 0.4
NEGLIGIBLE = 14.0
#: Beyond this many nats nobody waits for the exact number.
HOPELESS = 700.0


def _curvature_left(reach: float) -> float:
    """2φ(reach): what is left of a unit of curvature within this reach."""
    return 1 - reach / 3 if reach < 1e-3 else 2 * (math.expm1(-reach) + reach) / reach**2


def _shell_log_weight(p: int, q: float, lo: float, hi: float) -> float:
    """Chernoff's bound on the mass of e^{−½qs²}/(2π)^{p/2} in a shell, as `proposals` weighs a component."""
    natural = p / q
    edge = lo if natural < lo**2 else min(hi, math.sqrt(natural))
    tilt = q - p / edge**2 if natural < lo**2 or natural > hi**2 else 0.0
    return -0.5 * p * math.log(q - tilt) - 0.5 * tilt * edge**2


def _log_envelope_mass(p: int, ratio: float) -> float:
    """Log mass of the envelope beside a standard normal's, shells as `proposals.build_mixture` lays them."""
    root = math.sqrt(p)
    log_sphere = math.log(2) - 0.5 * p * math.log(2) - float(gammaln(0.5 * p))
    lo, hi = 0.0, max(root - 3.5, WIDTH)
    weights: list[float] = []
    while True:
        q = _curvature_left(ratio * hi)
        weights.append(_shell_log_weight(p, q, lo, hi))
        slope = 0.5 * q * hi
        rate = slope - (p - 1) / hi
        if hi >= root + 1 and rate > 0:
            tail = log_sphere + (p - 1) * math.log(hi) - slope * hi - math.log(rate)
            if tail < max(weights) - NEGLIGIBLE:
                top = max(weights)
                return top + math.log(math.fsum(math.exp(weight - top) for weight in (*weights, tail)))
        lo, hi = hi, hi + max(WIDTH, 0.1 * (hi - root), 0.3 * (hi - 3 * root))


def _target_deficit(ratio: float) -> float:
    """g(x): nats per parameter by which the target's mass may fall short of its Gaussian's."""
    if ratio < 1e-3:  # x√(2/π)/3 + x²/8 + …; rounded up, since the closed form cancels there
        return 0.3 * ratio
    return (2 * exp(ratio**2 / 2) * float(ndtr(ratio)) - 1 - ratio * math.sqrt(2 / math.pi)) / ratio**2 - 0.5


@lru_cache(maxsize=4096)
def log_evaluations(parameters: int, ratio: float) -> float:
    """Return N(p, x): the shell sampler evaluates at most e^N proposals a draw on the data, in expectation, whatever the data.

    Args:
        parameters: p.
        ratio: x = κR/√m, from the loss's self-concordance, the largest row norm and the least prior precision.

    >>> [round(log_evaluations(p, 2.0), 1) for p in (2, 6, 20)]  # default priors (m = 1/4) of logistic regression
    [9.1, 24.6, 88.3]
    >>> round(log_evaluations(20, 0.1), 1)
    4.1
    """
    deficit = parameters * _target_deficit(ratio)
    return HOPELESS if deficit > HOPELESS else min(HOPELESS, deficit + _log_envelope_mass(parameters, ratio))


@lru_cache(maxsize=4096)
def largest_ratio(parameters: int, nats: float) -> float:
    """Return the largest x with N(p, x) ≤ ``nats``, to one part in a thousand; 0 if there is none.

    >>> round(largest_ratio(20, 4.1), 2)
    0.1
    """
    low, high = 1e-9, 10.0
    if log_evaluations(parameters, low) > nats:
        return 0.0
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        if log_evaluations(parameters, middle) <= nats:
            low = middle
        else:
            high = middle
    return low
