"""PAC-Bayes bounds on the risk of a draw (Minami et al. 2016, Theorem 18 and Example 19, corrected: erratum E7).

``b`` multiplies the *mean* empirical risk: the Gibbs posterior of inverse temperature β over n records has b = nβ.
"""

from __future__ import annotations

import math

from gibbsafe._numerics import down, up
from gibbsafe._validate import count, fail, non_negative, open_probability, positive, real

__all__ = ["hinge_complexity", "hinge_largest_b", "oracle_risk", "risk_of_draw"]


def hinge_largest_b(*, n: int, precision: float, radius: float) -> float:
    """Return √(2λ)·n/r, below which `hinge_complexity` is finite, for features |z| ≤ r and the prior N(0, I/(nλ))."""
    return down(math.sqrt(2 * positive("precision", precision)) * count("n", n) / positive("radius", radius))


def hinge_complexity(b: float, *, n: int, precision: float, radius: float, dimension: int) -> float:
    """Return f = b²/(4n) − (d/2) ln(1 − r²b²/(2λn²)), the log-moment bound of the hinge loss without intercept.

    max(0, 1 − yθᵀz) lies in [0, 1 + r|θ|], so Hoeffding's lemma bounds E exp(±b(R − Rₙ)) by exp(b²(1 + r|θ|)²/(8n)), and
    (1 + r|θ|)² ≤ 2 + 2r²|θ|² makes the prior expectation of that a Gaussian integral. The paper's f lacks the dimension.

    >>> round(hinge_complexity(10.0, n=100, precision=1.0, radius=1.0, dimension=5), 6)
    0.262531
    """
    if positive("b", b) >= hinge_largest_b(n=n, precision=precision, radius=radius):
        fail("b", b, f"below √(2λ)·n/r = {hinge_largest_b(n=n, precision=precision, radius=radius):.6g}")
    return up(b**2 / (4 * n) - count("dimension", dimension) / 2 * math.log1p(-((radius * b / n) ** 2) / (2 * precision)))


def risk_of_draw(empirical_risk: float, *, kl: float, complexity: float, b: float, failure: float) -> float:
    """Return a bound on the expected risk of a draw: Rₙ + (f + KL + ln 1/α)/b, with probability 1 − α over the data (C.6).

    ``empirical_risk`` is the mean training loss and ``kl`` the divergence from the prior, both of the distribution drawn from;
    they are functions of the data, so the bound is for the curator, not for release.
    """
    penalty = non_negative("complexity", complexity) + non_negative("kl", kl) - math.log(open_probability("failure", failure))
    return up(non_negative("empirical_risk", empirical_risk) + penalty / positive("b", b))


def oracle_risk(risk: float, *, kl: float, complexity: float, b: float, failure: float) -> float:
    """Return R + 2(f + KL + ln 1/α)/b: the Gibbs posterior's risk is at most this, with probability 1 − 2α (C.7).

    ``risk`` and ``kl`` are those of any public distribution of parameters (the bound holds for the best of them).
    """
    penalty = non_negative("complexity", complexity) + non_negative("kl", kl) - math.log(open_probability("failure", failure))
    return up(real("risk", risk) + 2 * penalty / positive("b", b))
