"""δ(ε) of neighbouring Beta posteriors by quadrature of the densities in log-odds: no tail function, no logarithm of Γ.

In u = logit θ the density of Beta(a, b) is e^{au}/(1 + e^u)^{a+b} up to its integral, a pure exponential to double precision
beyond |u| = 45. The integral over the middle is a sum over fixed panels, the rest is in closed form, so shapes of 1e-12 (whose
mass lies at |u| ~ 1e12) cost as much as ordinary ones. The likelihood ratio is a power of the odds: ∫(p − e^ε q)₊ is the
integral of p·(1 − e^{−β(u − u₀)}) above its threshold, a sum of positive terms.
"""

import math

import numpy as np

EDGE = 45.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
PANELS = 30_000


def _log_density(u, a, b):
    return a * u - (a + b) * np.logaddexp(0.0, u)


def _log_middle(a, b, low, high, factor=None):
    """Log of ∫ density·factor over [low, high] inside the middle."""
    if low >= high:
        return -math.inf
    edges = np.linspace(low, high, PANELS + 1)
    half = (high - low) / PANELS / 2
    u = (edges[:-1] + half)[:, None] + half * _NODES
    logs = _log_density(u, a, b)
    values = factor(u) if factor else np.ones_like(u)
    top = logs.max()
    total = float((np.exp(logs - top) * values * _WEIGHTS).sum()) * half
    return top + math.log(total) if total > 0 else -math.inf


def _log_sum(*logs):
    top = max(logs)
    return top if top == -math.inf else top + math.log(sum(math.exp(x - top) for x in logs))


def log_mass(a, b):
    """Log of B(a, b) = ∫ e^{au}/(1+e^u)^{a+b} du."""
    return _log_sum(-a * EDGE - math.log(a), _log_middle(a, b, -EDGE, EDGE), -b * EDGE - math.log(b))


def one_direction(epsilon, a, b, power, log_odds):
    """∫(p − e^ε q)₊, p = Beta(a + power, b), q = Beta(a, b + power), given where p = e^ε q."""
    c = a + power
    parts = []
    start = max(log_odds, EDGE)  # right tail: ∫_start e^{−bu}(1 − e^{−β(u−u₀)}) du
    gone = power * (start - log_odds)
    inner = (-math.expm1(-gone) + math.exp(-gone) * power / (b + power)) if gone > 0 else power / (b + power)
    parts.append(-b * start - math.log(b) + math.log(inner))
    low, high = max(log_odds, -EDGE), EDGE
    parts.append(_log_middle(c, b, low, high, lambda u: -np.expm1(-power * (u - log_odds))))
    if (
        log_odds < -EDGE
    ):  # left tail: ∫_{u₀}^{−EDGE} e^{cu}(1 − e^{−β(u−u₀)}) du = e^{−cE}[(1 − e^{−cw})/c − e^{−βw}(1 − e^{−aw})/a]
        w = -EDGE - log_odds
        value = -math.expm1(-c * w) / c + math.exp(-power * w) * math.expm1(-a * w) / a
        if value > 0:
            parts.append(-c * EDGE + math.log(value))
    return math.exp(min(0.0, _log_sum(*parts) - log_mass(c, b)))


def exact_delta(epsilon, a, b, n, power, counts=None):
    """Return the largest δ over the given numbers of successes (all by default) and both directions."""
    worst = 0.0
    for k in range(n) if counts is None else counts:
        for x, y in ((a + power * k, b + power * (n - 1 - k)), (b + power * k, a + power * (n - 1 - k))):
            log_odds = (epsilon + log_mass(x + power, y) - log_mass(x, y + power)) / power
            worst = max(worst, one_direction(epsilon, x, y, power, log_odds))
    return worst
