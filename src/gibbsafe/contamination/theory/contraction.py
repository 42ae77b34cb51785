"""Posterior mass far from the truth: Lemmas 8, 12 and 13, Theorem 4 with its rates, and Theorem 29 (Ghosal, van der Vaart).

Probabilities are over data sets of the model at the true parameter. Where Theorem 4 begins to say something: `begins_at`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._validate import fail, non_negative, open_probability, positive
from gibbsafe.contamination.theory.constants import WONG_SHEN
from gibbsafe.contamination.theory.ratios import log_ratio_bound

__all__ = [
    "Contraction",
    "RandomPrivacyRate",
    "denominator_failure",
    "ghosal_contraction",
    "main_theorem",
    "outside_failure",
    "supremum_failure",
]


def supremum_failure(n: float, phi: float) -> float:
    """Return Lemma 8's bound on P(sup over θ outside A_n of Π d(x_i; θ) ≥ e^{−c₁nφ²}), under (19).

    4e^{−c₂nφ²} where c₂nφ² ≥ log 2, otherwise (1 + L)(1 + N)e^{−c₂nφ²} with the proof's counts of shells and brackets. (The paper
    bounds their product by 20·max{−log₂φ, (log₂φ)²}, which is too small from φ = 0.42 on: E36.)
    """
    size, t = positive("n", n), open_probability("phi", phi)
    exponent = WONG_SHEN.c2 * size * t * t
    if exponent >= math.log(2):
        return 4 * math.exp(-exponent)
    shells = max(0, math.floor(-2 * math.log2(t) - 1) + 1)
    widest = WONG_SHEN.k**2 * t * t / (2**4.5 * WONG_SHEN.root)
    brackets = math.floor(math.log2(t / widest)) + 1
    return (1 + shells) * (1 + brackets) * math.exp(-exponent)


def denominator_failure(n: float, phi: float, alpha: float = 1.0) -> float:
    """Return Lemma 12's bound 2e^{−nαt}, t = c₁φ²/8, on P(m_n(Ω, X) ≤ (c₃/2)e^{−4nt}) (E28: the sketch has −2nαt)."""
    return 2 * math.exp(-positive("n", n) * positive("alpha", alpha) * WONG_SHEN.c1 * positive("phi", phi) ** 2 / 8)


def outside_failure(n: float, phi: float, c4: float = 1.0) -> float:
    """Return Lemma 13's bound on P(m_n(A_n^c, X) ≥ 2e^{−c₁nφ²})."""
    return supremum_failure(n, phi) + non_negative("c4", c4) * math.exp(-WONG_SHEN.c1 * n * phi**2)


@dataclass(frozen=True)
class RandomPrivacyRate:
    """What Theorem 4 says at one n, if its assumptions hold there: asymptotic, and never a guarantee."""

    n: float
    epsilon: float
    delta: float
    failure: float

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: it may fail for every data set, or δ is 1."""
        return self.failure >= 1 or self.delta >= 1

    def __str__(self) -> str:
        says = "says nothing yet" if self.vacuous else f"fails for at most {self.failure:.3g} of the data sets"
        return f"asymptotic, n = {self.n:.3g}: ε_n = {self.epsilon:.4g}, δ_n = {self.delta:.3g}, {says}; not a guarantee"


def main_theorem(
    n: float,
    *,
    phi: float,
    psi: float,
    rate: float,
    gradient_ratio: float,
    alpha: float = 1.0,
    c3: float = 1.0,
    c4: float = 1.0,
) -> RandomPrivacyRate:
    """Return ε_n, δ_n and the failure probability of Theorem 4 for given φ_n, ψ_n, p_n and T_n.

    ε_n = ε + log(δ_n + e^ε) with ε = 2(1−p)Tψ/p, δ_n = (4/c₃)e^{−c₁nφ²/2}; the failure probability is twice the sum of Lemmas 12
    and 13's, 4e^{−nc₁αφ²/8} + 2C(n, φ)e^{−c₂nφ²} + 2c₄e^{−c₁nφ²} (E34: C depends on φ, not on n).
    """
    log_eta = 2 * log_ratio_bound(rate=rate, gradient_ratio=gradient_ratio, radius=psi)
    delta = 4 / positive("c3", c3) * math.exp(-WONG_SHEN.c1 * positive("n", n) * phi**2 / 2)
    # log(δ + e^ε) without overflow
    epsilon = log_eta + (log_eta + math.log1p(delta * math.exp(-log_eta)))
    failure = 2 * (denominator_failure(n, phi, alpha) + outside_failure(n, phi, c4))
    return RandomPrivacyRate(n, epsilon, delta, failure)


@dataclass(frozen=True)
class Contraction:
    """Theorem 29 at one n: the posterior mass at Hellinger distance Mφ and more exceeds ``mass`` that rarely."""

    mass: float
    failure: float

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing."""
        return self.mass >= 1 or self.failure >= 1


def ghosal_contraction(
    n: float,
    *,
    phi: float,
    multiple: float,
    divisor: float,
    sieve_phi: float | None = None,
    sieve_rate: float = math.inf,
    test: float = 1 / 8,
    c1: float = 1.0,
) -> Contraction:
    """Return (36) of Theorem 29: posterior mass outside the Hellinger ball of radius M·φ, and how often it is more.

    Args:
        n: number of records.
        phi: φ_n of Assumption 7.
        multiple: M_n. Shrinking needs KM² > 4D (Remark 18).
        divisor: D. The failure probability is never below 2/D.
        sieve_phi: φ̄_n of Assumption 7 (iii), φ_n unless given.
        sieve_rate: D_n of Assumption 7 (iii); infinite where the sieve is everything.
        test: K of Assumption 6; 1/8 holds for every likelihood, with ξ = ½.
        c1: C₁.

    Re-derived: with K for squared distances (E28's kind of slip: 7 (i) prints nφ for nφ²) the shells' sum has exponents
    −(¼KM²(2j² − 1) − D)nφ².
    """
    size, m2, d = (
        positive("n", n) * positive("phi", phi) ** 2,
        test * positive("multiple", multiple) ** 2,
        positive("divisor", divisor),
    )
    if sieve_rate <= 2 * d:
        fail("sieve_rate", sieve_rate, f"above twice the divisor {divisor:g}")
    bar = size if sieve_phi is None else n * positive("sieve_phi", sieve_phi) ** 2
    sieve = math.exp(-0.5 * (sieve_rate - 2 * d) * bar)
    testing = math.exp(-0.5 * (m2 - 1) * size)
    mass = testing + math.exp(-(m2 / 4 - d) * size) + c1 * sieve
    shells = math.fsum(math.exp(min(700.0, -(m2 / 4 * (2 * j * j - 1) - d) * size)) for j in range(1, 200))
    failure = testing / -math.expm1(-m2 * size) + shells + sieve + 2 / d
    return Contraction(mass, failure)
