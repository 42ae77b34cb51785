"""From which n on each condition of Theorem 4 holds: the numbers behind "unrealistically large n" (Remark 8)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive
from gibbsafe.contamination.epsilon.assumptions import prior_mass_near
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.theory.constants import WONG_SHEN
from gibbsafe.contamination.theory.contraction import RandomPrivacyRate, main_theorem
from gibbsafe.contamination.theory.entropy import entropy_integral, root_lipschitz
from gibbsafe.contamination.theory.ratios import gradient_ratio, identifiable_radius, rho_slope

__all__ = ["Begin", "Schedule", "begins_at"]

#: Sizes that are tried, as powers of ten.
LARGEST = 40


@dataclass(frozen=True)
class Schedule:
    """φ_n = n^{−1/q}, p_n = n^{−1/2q} and a sieve of radius n^k (in prior scales), as in §5 and Appendix C.

    q > 4 is Lemma 2's, k > (q−2)/2q Assumption 3's (the paper's example q = 6, k > 1/6 should read k > 1/3: E32).
    """

    q: float = 5.0
    k: float | None = None

    def __post_init__(self) -> None:
        if not self.q > 4:
            fail("q", self.q, "above 4")
        least = (self.q - 2) / (2 * self.q)
        if self.k is not None and not self.k > least:
            fail("k", self.k, f"above (q − 2)/2q = {least:.6g}")

    @property
    def power(self) -> float:
        """The sieve's power k."""
        return (self.q - 2) / (2 * self.q) + 0.05 if self.k is None else self.k

    def phi(self, n: float) -> float:
        """Return φ_n."""
        return float(n ** (-1 / self.q))

    def rate(self, n: float) -> float:
        """Return p_n."""
        return float(n ** (-1 / (2 * self.q)))

    def radius(self, n: float) -> float:
        """Return R_n."""
        return float(n**self.power)


@dataclass(frozen=True)
class Begin:
    """One condition, what it asks, and the n from which on it holds (to 1 %); 10 at least, None if not up to 10⁴⁰."""

    condition: str
    statement: str
    n: float | None

    def __str__(self) -> str:
        return f"{self.condition}: {self.statement}: " + ("not up to 1e40" if self.n is None else f"from n = {self.n:.3g} on")


def _first(holds: Callable[[float], bool]) -> float | None:
    """Return the n after the last one at which a condition fails, on a grid of powers and by bisection between them."""
    last = next((power for power in range(LARGEST, 0, -1) if not holds(10.0**power)), None)
    if last is None:
        return 10.0
    if last == LARGEST:
        return None
    low, high = float(last), last + 1.0
    while high - low > 0.004:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(10.0**middle) else (middle, high)
    return float(10.0**high)


class _Conditions:
    """Theorem 4's conditions at an n, for one model and schedule."""

    def __init__(
        self, model: ContaminatedModel, truth: object, schedule: Schedule, *, alpha: float, w: Floats | None, reach: float
    ) -> None:
        self.model, self.schedule, self.alpha, self.w = model, schedule, alpha, w
        self.truth = model.truth(truth)
        self.away = float(np.linalg.norm(self.truth - model.prior_mean)) / model.prior_scale
        self.slope, self.reach = rho_slope(model, self.truth, reach, alpha, w=w), reach
        self.local = root_lipschitz(model)

    def t(self, n: float) -> float:
        """Return t_n = c₁φ²/8."""
        return WONG_SHEN.c1 * self.schedule.phi(n) ** 2 / 8

    def entropy(self, n: float) -> bool:
        phi = self.schedule.phi(n)
        lipschitz = root_lipschitz(self.model, phi / (math.sqrt(2) * self.local))
        radius = self.schedule.radius(n) * self.model.prior_scale
        found = entropy_integral(phi, dimension=self.model.dimension, radius=radius, lipschitz=lipschitz)
        return found <= WONG_SHEN.c * math.sqrt(n) * phi**2

    def many_records(self, n: float) -> bool:
        return n * self.t(n) > max(1 / self.alpha, WONG_SHEN.c1 / (8 * WONG_SHEN.c2)) * math.log(n)

    def mass_near(self, n: float) -> bool:
        radius = min(self.t(n) / self.slope, self.reach) / self.model.prior_scale
        mass = prior_mass_near(self.model.dimension, radius, self.away)
        return mass > 0 and math.log(mass) >= -2 * n * self.t(n)

    def mass_far(self, n: float) -> bool:
        left = self.schedule.radius(n) - self.away
        if left <= 0:
            return False
        wanted = -2 * WONG_SHEN.c1 * n * self.schedule.phi(n) ** 2
        mass = float(special.gammaincc(self.model.dimension / 2, left**2 / 2))
        if mass > 0:
            return math.log(mass) <= wanted
        # Γ(a, x)/Γ(a) ≤ x^{a−1}e^{−x}·x/(x − a + 1)/Γ(a), below the smallest double
        a, x = self.model.dimension / 2, left**2 / 2
        return (a - 1) * math.log(x) - x + math.log(x / (x - a + 1)) - math.lgamma(a) <= wanted

    def at(self, n: float) -> RandomPrivacyRate:
        """Return what Theorem 4 says at n."""
        phi, rate = self.schedule.phi(n), self.schedule.rate(n)
        psi = identifiable_radius(self.model, self.truth, phi, rate=rate, w=self.w)
        steep = gradient_ratio(self.model, self.truth, min(psi, 1e3 * self.model.noise), w=self.w)
        return main_theorem(n, phi=phi, psi=psi, rate=rate, gradient_ratio=steep, alpha=self.alpha)


def begins_at(
    model: ContaminatedModel,
    truth: object,
    *,
    schedule: Schedule | None = None,
    alpha: float = 1.0,
    epsilon: float = 1.0,
    w: Floats | None = None,
    reach: float | None = None,
) -> tuple[Begin, ...]:
    """Return, for each condition of Theorem 4, the n from which on it holds under a schedule, with c₃ = c₄ = 1.

    >>> from gibbsafe.contamination import ContaminatedNormalMean
    >>> found = begins_at(ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0), 30.0)
    >>> [f"{begin.condition}: {begin.n:.0e}" for begin in found[:2]]
    ['Assumption 1: 2e+15', 'Assumption 2, records: 7e+06']
    """
    plan = Schedule() if schedule is None else schedule
    asked = _Conditions(
        model, truth, plan, alpha=alpha, w=w, reach=model.noise / 2 if reach is None else positive("reach", reach)
    )
    target = positive("epsilon", epsilon)
    c2 = WONG_SHEN.c2

    def small(n: float) -> bool:
        return asked.at(n).epsilon <= target

    def failing(n: float) -> float:
        phi = plan.phi(n)
        return main_theorem(n, phi=phi, psi=0.0, rate=plan.rate(n), gradient_ratio=1.0, alpha=alpha).failure

    def says(n: float) -> bool:
        return failing(n) < 1

    conditions: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
        ("Assumption 1", "the entropy integral is at most c√n·φ²", asked.entropy),
        ("Assumption 2, records", "n·t/log n exceeds 1/α and c₁/8c₂", asked.many_records),
        ("Assumption 2, prior", "the prior has mass e^{−2nt} where ρ ≤ t", asked.mass_near),
        ("Assumption 3", "the prior has at most e^{−2c₁nφ²} outside the sieve", asked.mass_far),
        ("Theorem 4, first case", "c₂nφ² ≥ log 2", lambda n: c2 * n * plan.phi(n) ** 2 >= math.log(2)),
        ("Theorem 4, failure", "the failure probability is below 1", says),
        ("Theorem 4, δ", "δ_n is below 1/n", lambda n: 4 * math.exp(-WONG_SHEN.c1 * n * plan.phi(n) ** 2 / 2) < 1 / n),
        ("Theorem 4, ε", f"ε_n is at most {target:g}", small),
    )
    return tuple(Begin(name, statement, _first(holds)) for name, statement, holds in conditions)
