"""Exact values in 40 digits and more (mpmath), and enumeration of finite laws: what the calculus of guarantees is held beside."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A law and its neighbour: outcomes as (probability, probability under the neighbour).
Law = list[tuple[mp.mpf, mp.mpf]]


def digits_for(*sizes: float) -> int:
    """Return a working precision that survives cancellations as deep as the given numbers are small or large."""
    return 40 + int(sum(3 * abs(float(mp.log10(abs(size)))) for size in sizes if size))


def gaussian_delta(epsilon: float | mp.mpf, mu: float | mp.mpf) -> mp.mpf:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), for any real ε."""
    with mp.workdps(digits_for(float(epsilon), float(mu))):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        if m == 0:
            return max(mp.mpf(0), -mp.expm1(e))
        a, b = m / 2 - e / m, -m / 2 - e / m
        if a < -2000:  # Mills: both tails by their leading behaviour, a strict lower bound on the difference is 0
            return mp.mpf(0)
        return mp.erfc(-a / mp.sqrt(2)) / 2 - mp.exp(e) * mp.erfc(-b / mp.sqrt(2)) / 2


def mu_of_pure(epsilon: float) -> mp.mpf:
    """−2Φ⁻¹(1/(1 + e^ε)): the separation of the narrowest Gaussian pair that covers ε-randomised response."""
    with mp.workdps(50):
        e = mp.mpf(epsilon)
        if e < 40:
            return 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(e / 2))
        log_tail = -e - mp.log1p(mp.exp(-e))
        x = mp.sqrt(-2 * log_tail)
        for _ in range(60):  # Newton on log Φ(−x)
            tail = mp.erfc(x / mp.sqrt(2)) / 2
            step = (mp.log(tail) - log_tail) * tail / (mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi))
            x += step
            if abs(step) < mp.mpf(10) ** -45 * x:
                break
        return 2 * x


def randomised_response(epsilon: float) -> Law:
    """The two-outcome law that attains every ε-DP profile."""
    e = mp.exp(mp.mpf(epsilon))
    return [(e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))]


def worst_approximate(epsilon: float, delta: float) -> Law:
    """The four-outcome law that attains every (ε, δ)-DP profile (Kairouz, Oh, Viswanath 2015)."""
    d = mp.mpf(delta)
    kept = [(p * (1 - d), q * (1 - d)) for p, q in randomised_response(epsilon)]
    return [(d, mp.mpf(0)), *kept, (mp.mpf(0), d)]


def two_points(width: float, top: float) -> Law:
    """A law of range ``width``: log ratios ``top`` and ``top`` − width, 0 < top < width."""
    r, t = mp.mpf(width), mp.mpf(top)
    up, down = mp.exp(t), mp.exp(t - r)
    q = (1 - down) / (up - down)
    return [(up * q, q), (1 - up * q, 1 - q)]


def product(laws: Sequence[Law]) -> Law:
    """The joint law of independent releases."""
    joint: Law = [(mp.mpf(1), mp.mpf(1))]
    for law in laws:
        joint = [(p * a, q * b) for p, q in joint for a, b in law]
    return joint


def stick(law: Law, epsilon: float) -> mp.mpf:
    """Σ(p − e^ε q)₊."""
    factor = mp.exp(mp.mpf(epsilon))
    return mp.fsum(max(mp.mpf(0), p - factor * q) for p, q in law)


def stick_with_gaussian(law: Law, mu: float, epsilon: float) -> mp.mpf:
    """δ(ε) of a finite law together with an independent Gaussian pair: Σ p·δ_μ(ε − log p/q)."""
    total = mp.mpf(0)
    for p, q in law:
        if q == 0:
            total += p
        elif p > 0:
            total += p * gaussian_delta(mp.mpf(epsilon) - mp.log(p / q), mu)
    return total


def slackened(law: Law, epsilon: float, slack: float) -> mp.mpf:
    """The largest δ(ε) of two laws each within total variation γ of this pair, mass moved on the best event."""
    factor, gamma = mp.exp(mp.mpf(epsilon)), mp.mpf(slack)
    event = [(p, q) for p, q in law if p > factor * q]
    mine, theirs = mp.fsum(p for p, _ in event), mp.fsum(q for _, q in event)
    return mine - factor * theirs + min(gamma, 1 - mine) + factor * min(gamma, theirs)


def group_delta(epsilon: float, delta: float, size: int) -> mp.mpf:
    """δ(e^{kε} − 1)/(e^ε − 1), attained along a chain of data sets until it reaches 1."""
    with mp.workdps(60):
        e = mp.mpf(epsilon)
        growth = mp.mpf(size) if e == 0 else mp.expm1(size * e) / mp.expm1(e)
        return min(mp.mpf(1), mp.mpf(delta) * growth)


def amplified(epsilon: float, delta: float, keep: float) -> tuple[mp.mpf, mp.mpf]:
    """(ln(1 + q(e^ε − 1)), qδ): attained by a release that reveals the record's bit through randomised response."""
    with mp.workdps(60):
        return mp.log1p(mp.mpf(keep) * mp.expm1(mp.mpf(epsilon))), mp.mpf(keep) * mp.mpf(delta)


def last_iterate_mu(step: float, gap: float, curvature: float, steps: int) -> mp.mpf:
    """μ of the last Langevin iterate of two quadratics of this curvature whose gradients differ by ``gap``: closed form."""
    with mp.workdps(60):
        h, c = mp.mpf(step), 1 - mp.mpf(step) * mp.mpf(curvature)
        powers = mp.mpf(steps) if c == 1 else (1 - c**steps) / (1 - c)
        squares = mp.mpf(steps) if abs(c) == 1 else (1 - c ** (2 * steps)) / (1 - c * c)
        return h * mp.mpf(gap) * abs(powers) / mp.sqrt(2 * h * squares)


def finite_curve(log_p: Array, log_q: Array, epsilons: Sequence[float]) -> tuple[Array, Array]:
    """δ(ε) of both directions for finite laws given by unnormalised log weights, in 60 digits."""
    with mp.workdps(60):
        laws = []
        for weights in (log_p, log_q):
            masses = [mp.exp(mp.mpf(float(w))) for w in weights - weights.max()]
            total = mp.fsum(masses)
            laws.append([mass / total for mass in masses])
        forward, backward = list(zip(*laws, strict=True)), list(zip(*reversed(laws), strict=True))
        return tuple(np.array([float(stick(law, e)) for e in epsilons]) for law in (forward, backward))


def proximal_line_mu(step: float, gap: mp.mpf, precision: float, rounds: int) -> mp.mpf:
    """Return μ between the k-th proximal iterates of N(0, 1/m) and of the same tilted by a line of slope G; η in prior units.

    Means differ by (G/m)(1 − cᵏ), variances are (1 − c²ᵏ)/m, c = 1/(1 + η): μ² = (G²/m)(1 − cᵏ)/(1 + cᵏ).
    """
    with mp.workdps(60):
        kept = mp.exp(-rounds * mp.log1p(mp.mpf(step)))
        return mp.mpf(gap) / mp.sqrt(mp.mpf(precision)) * mp.sqrt((1 - kept) / (1 + kept))
