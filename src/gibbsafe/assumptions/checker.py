"""The assumption checker: ℓ, ξ(Θ_L), (c, L₀), C, and which of the paper's results follow."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import betainc, betaln, expit

from gibbsafe._numerics import down, exp, up
from gibbsafe._types import JSON
from gibbsafe._validate import count, fail
from gibbsafe.assumptions.law import LipschitzLaw, StochasticConstants
from gibbsafe.assumptions.priors import lipschitz_of_table
from gibbsafe.assumptions.ratio import likelihood_ratio_bound
from gibbsafe.models.capabilities import LipschitzParameters
from gibbsafe.models.families.beta_bernoulli import BetaBernoulli
from gibbsafe.models.families.family import Family
from gibbsafe.models.families.finite_family import FiniteFamily

__all__ = ["Assumptions", "Finding", "check", "law_of"]


@dataclass(frozen=True)
class Finding:
    """One result of the paper: whether it applies, and what it says here."""

    result: str
    applies: bool
    statement: str


@dataclass(frozen=True, eq=False)
class Assumptions:
    """What the checker found about a family.

    Attributes:
        lipschitz: L of Assumption 1, sup ℓ(θ); None if there is none.
        diameter: the largest distance of two records under the metric; None if unbounded or not stated.
        law: the prior law of ℓ(θ), with ξ(Θ_L) as ``law.mass_below``; None if the family does not state it.
        constants: the best (c, L₀) of Assumption 2: least L₀ + 1/c.
        log_ratio: ln C for n records; None if nobody has worked it out.
        findings: which results apply.
    """

    family: str
    metric: str
    n: int
    lipschitz: float | None
    diameter: float | None
    law: LipschitzLaw | None
    constants: StochasticConstants | None
    log_ratio: float | None
    findings: tuple[Finding, ...]

    def applies(self, result: str) -> bool:
        """Return whether a result applies, by its name, such as ``"Theorem 8.1"``."""
        names = {finding.result: finding.applies for finding in self.findings}
        return names[result] if result in names else fail("result", result, "one of " + ", ".join(names))

    def to_dict(self) -> JSON:
        """Return plain data."""
        names = ("family", "metric", "n", "lipschitz", "diameter", "log_ratio")
        plain = {name: getattr(self, name) for name in names}
        pair = self.constants
        rate = None if pair is None or math.isinf(pair.rate) else pair.rate
        plain |= {"rate": rate, "floor": None if pair is None else pair.floor}
        return plain | {"findings": [asdict(finding) for finding in self.findings]}

    def __str__(self) -> str:
        lines = [f"{self.family}, {self.n:,} records, metric {self.metric}"]
        lines += [f"  {'yes' if each.applies else 'no ':<4}{each.result:<16}{each.statement}" for each in self.findings]
        return "\n".join(lines)


@singledispatch
def check(family: Any, n: int) -> Any:
    """Check the papers' assumptions for a declared model and n records.

    A family with its prior: those of Dimitrakakis et al., as `Assumptions`. A contaminated model: the five of Hu et al., as
    `gibbsafe.contamination.theory.ContaminatedAssumptions`; it takes ``truth`` and covariates ``w`` as well.

    Everything is a function of the declaration. (c, L₀) are certified between grid points, ln C is an upper bound.

    >>> import gibbsafe as gs
    >>> found = check(gs.models.BetaBernoulli(alpha=4, beta=4), n=8)
    >>> found.lipschitz, round(math.exp(found.log_ratio), 3), found.applies("Theorem 8.1")
    (None, 39.0, False)
    """
    return fail("family", family, "a family of gibbsafe.models (a likelihood with a declared prior) or a contaminated model")


@check.register
def _(family: Family, n: int) -> Assumptions:
    size = count("n", n)
    stated = family.metric_constants()
    lipschitz, diameter = stated.metric_lipschitz, stated.metric_diameter
    if stated.beta_prior is not None:  # untrimmed outcomes, 0 or 1
        diameter = 1.0
    law = law_of(family)
    pair = None if law is None else law.best()
    log_ratio = likelihood_ratio_bound(family, size)
    findings = tuple(_findings(lipschitz, diameter, law, pair, log_ratio))
    return Assumptions(family.name, family.metric.name, size, lipschitz, diameter, law, pair, log_ratio, findings)


@singledispatch
def law_of(family: Family) -> LipschitzLaw | None:
    """Return the prior law of ℓ(θ), or None where the family does not state the mass of Lipschitz parameters."""
    if not isinstance(family, LipschitzParameters):
        return None
    largest = family.metric_constants().metric_lipschitz
    return None if largest is None else LipschitzLaw.continuous(family.prior_mass_below, largest)


@law_of.register
def _(family: FiniteFamily) -> LipschitzLaw:
    assert family.prior is not None
    return LipschitzLaw.finite(lipschitz_of_table(family.likelihood), family.prior)


@law_of.register
def _(family: BetaBernoulli) -> LipschitzLaw:
    largest = family.metric_constants().metric_lipschitz
    if largest is None:
        return LipschitzLaw.continuous(family.prior_mass_below, math.inf, **_beta_tail(family))
    return LipschitzLaw.continuous(family.prior_mass_below, largest)


def _beta_tail(family: BetaBernoulli) -> dict[str, float]:
    """Return where |logit θ| has little mass left, and the hazard there: logit θ has a log-concave density, so both tails' grow.

    The density of z = logit θ is e^{αz}/(1 + e^z)^{α+β}/B(α, β).
    """
    sides = ((family.alpha, family.beta), (family.beta, family.alpha))
    last = 1.0
    while max(betainc(a, b, expit(-last)) for a, b in sides) > 1e-7 and last < 600:
        last *= 1.25
    rates = []
    for a, b in sides:  # P(logit θ < −last) under Beta(a, b)
        log_density = -a * last - (a + b) * np.log1p(math.exp(-last)) - betaln(a, b)
        rates.append(float(np.exp(log_density) / betainc(a, b, expit(-last))))
    return {"last": last, "tail_rate": min(rates) * (1 - 1e-9)}


def _findings(
    lipschitz: float | None,
    diameter: float | None,
    law: LipschitzLaw | None,
    pair: StochasticConstants | None,
    log_ratio: float | None,
) -> list[Finding]:
    return [*_uniform(lipschitz, diameter), *_stochastic(law, pair, log_ratio, diameter)]


def _uniform(lipschitz: float | None, diameter: float | None) -> list[Finding]:
    if lipschitz is None:
        why = "ℓ(θ) is unbounded over the declared parameters: trim the prior"
        return [
            Finding(name, False, why) for name in ("Assumption 1", "Theorem 7.1", "Theorem 8.1", "Corollary 10.1", "Theorem 17")
        ]
    two = up(2 * lipschitz)
    at = "" if diameter is None else f"; at most {up(two * diameter):.6g} for replacing one record"
    return [
        Finding("Assumption 1", True, f"log-likelihoods are {lipschitz:.6g}-Lipschitz in a record, for every parameter"),
        Finding("Theorem 7.1", True, f"KL ≤ {two:.6g}·ρ; sharper ({lipschitz:.6g}·ρ)²/2"),
        Finding("Theorem 8.1", True, f"{two:.6g} per unit of distance{at}; the range bound is the default and no larger"),
        Finding("Corollary 10.1", True, f"N draws: {two:.6g}·N per unit; composition of bounded range is tighter"),
        Finding("Theorem 6", True, f"its first part holds with L = {lipschitz:.6g}, as Assumption 1 says"),
        Finding("Theorem 17", True, "already restricted; see gibbsafe.bounds.best_restriction for a better trim"),
    ]


def _stochastic(
    law: LipschitzLaw | None, pair: StochasticConstants | None, log_ratio: float | None, diameter: float | None
) -> list[Finding]:
    names = ("Assumption 2", "Theorem 7.2", "Theorem 8.2", "Corollary 10.2")
    never = Finding("Corollary 9", False, "false as stated (erratum E10)")
    if law is None or pair is None:
        why = "the family does not state the prior mass of Lipschitz parameters"
        return [*(Finding(name, False, why) for name in names), never]
    if math.isinf(pair.rate):
        holds = f"best with c = ∞: that is Assumption 1 with L = {pair.floor:.6g}"
    else:
        holds = f"ξ(Θ_L) ≥ 1 − exp(−{down(pair.rate):.6g}(L − {up(pair.floor):.6g})); prior mean of ℓ at most {law.mean:.6g}"
    found = [Finding("Assumption 2", True, holds)]
    if log_ratio is None:
        why = "the constant C of this family has not been worked out"
        return [*found, *(Finding(name, False, why) for name in names[1:]), never]
    slope = exp(log_ratio) * min(pair.expected_lipschitz, law.mean)
    kl = f"KL ≤ {up(2 * slope):.6g}·ρ, with C = {exp(log_ratio):.6g} for this many records (E9: no c > 1 needed)"
    found.append(Finding("Theorem 7.2", math.isfinite(slope), kl))
    tv = math.inf if diameter is None else up(math.sqrt(slope * diameter))
    useful = tv < 1
    says = f"(0, {tv:.6g})-DP for replacing one record" if useful else f"total variation at most {tv:.6g}: says nothing"
    found.append(Finding("Theorem 8.2", useful, says))
    draws = math.floor(1 / tv**2) if 0 < tv < 1 else 0
    more = f"N draws: total variation {tv:.6g}·√N, below 1 up to N = {draws}" if useful else "says nothing"
    found.append(Finding("Corollary 10.2", useful, more))
    return [*found, never]
