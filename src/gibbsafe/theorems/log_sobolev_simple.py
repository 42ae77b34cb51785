"""Minami et al. (2016), Corollary 8: the paper's rule for β."""

from __future__ import annotations

from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Budget
from gibbsafe.theorems.log_sobolev import LogSobolev
from gibbsafe.theorems.theorem import register


@register
class LogSobolevSimple(LogSobolev):
    """β = ε/(2L) √(m_π/(1 + 2 ln(1/δ))), for ε ≤ 1 only.

    Erratum E1: the paper states it for every ε > 0. It follows from Theorem 7 iff 8l(ε−1) ≤ (2−ε)²; at ε = 12,
    δ = 1e-5 an instance of its class has δ = 4.4e-5. Budgets with ε > 1 are refused.
    """

    name = "log-sobolev-simple"
    title = "the paper's rule"
    reference = "Minami et al. 2016, Corollary 8"
    errata = ("E1", "E2", "E3")
    conversion = "corollary-8"

    def _check_budget(self, budget: Budget) -> None:
        if budget.epsilon > 1:
            raise PremiseError(f"epsilon = {budget.epsilon:g}: Corollary 8 holds up to 1 only (erratum E1); use log-sobolev")
