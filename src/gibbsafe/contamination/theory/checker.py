"""Assumptions 1 to 5 of Hu et al. (2026) for a contaminated model: checked, or asserted by whoever declares it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import count
from gibbsafe.assumptions.checker import Finding, check
from gibbsafe.contamination.model.densities import Asserted, Truncated
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.theory.distances import design
from gibbsafe.contamination.theory.entropy import root_lipschitz
from gibbsafe.contamination.theory.ratios import gradient_ratio, rho_slope
from gibbsafe.errors import PremiseError

__all__ = ["ContaminatedAssumptions"]

#: Covariates are regular where the least eigenvalue of E[wwᵀ] is at least this.
REGULAR = 1e-9


@dataclass(frozen=True)
class ContaminatedAssumptions:
    """What was found about a contaminated model. All five are for n → ∞: they say whether ε̂ will fall, not what it is.

    ``basis`` of every finding: *checked* (a number was computed), *by form* (it follows from the declared likelihood and prior)
    or *asserted* (whoever declared the model says so).
    """

    model: str
    n: int
    findings: tuple[Finding, ...]
    basis: tuple[str, ...]

    def applies(self, assumption: str) -> bool:
        """Return whether an assumption holds, by its name, such as ``"Assumption 4"``."""
        return {finding.result: finding.applies for finding in self.findings}[assumption]

    def to_dict(self) -> JSON:
        """Return plain data."""
        rows = [
            {"result": finding.result, "applies": finding.applies, "basis": basis, "statement": finding.statement}
            for finding, basis in zip(self.findings, self.basis, strict=True)
        ]
        return {"model": self.model, "n": self.n, "findings": rows}

    def __str__(self) -> str:
        lines = [f"{self.model}, {self.n:,} records; asymptotic, no guarantee follows"]
        for finding, basis in zip(self.findings, self.basis, strict=True):
            lines.append(f"  {'yes' if finding.applies else 'no ':<4}{finding.result:<14}{basis:<10}{finding.statement}")
        return "\n".join(lines)


@check.register
def _(model: ContaminatedModel, n: int, *, truth: object = None, w: Floats | None = None) -> ContaminatedAssumptions:
    """Check Assumptions 1 to 5; ``truth`` (the prior's centre unless given) and covariates ``w`` make 2, 4 and 5 numbers."""
    size = count("n", n)
    at = np.full(model.parameters, model.prior_mean) if truth is None else model.truth(truth)
    if model.unknown_scale and truth is None:
        at[-1] = 0.0
    found = [_entropy(model), _mass(model, at, w), _tails(model), _heavy(model, at), _identifiable(model, w)]
    return ContaminatedAssumptions(model.describe(), size, *(tuple(part) for part in zip(*found, strict=True)))


def _entropy(model: ContaminatedModel) -> tuple[Finding, str]:
    name = "Assumption 1"
    try:
        found = root_lipschitz(model)
    except PremiseError:
        grows = "√f is Lipschitz in θ with constants polynomial in the sieve's radius (C.1, C.3), so Lemma 2 applies"
        return Finding(name, True, grows), "by form"
    return Finding(name, True, f"√f changes by at most {found:.4g} per unit of θ in L₂ (Lemma 2)"), "checked"


def _mass(model: ContaminatedModel, truth: Floats, w: Floats | None) -> tuple[Finding, str]:
    name = "Assumption 2"
    known = w is not None or model.dimension == 1
    try:
        slope = rho_slope(model, truth, model.noise / 2, w=w) if known else math.nan
    except PremiseError:
        known = False
    if not known:
        return Finding(name, True, "the normal prior has mass near every θ*, and ρ is smooth there (Lemmas 6 and 7)"), "by form"
    said = f"ρ grows by at most {slope:.4g} per unit of θ near θ* (Lemma 6), where a normal prior has mass (Lemma 7)"
    return Finding(name, math.isfinite(slope), said), "checked"


def _tails(model: ContaminatedModel) -> tuple[Finding, str]:
    return Finding("Assumption 3", True, f"normal prior of scale {model.prior_scale:g}: thin tails (Lemma 7)"), "by form"


def _heavy(model: ContaminatedModel, truth: Floats) -> tuple[Finding, str]:
    name, g = "Assumption 4", model.contamination
    if g is None:
        bounded = model.likelihood.clean_spread(1.0, model.noise) < math.inf or model.likelihood.labels
        said = "no contamination: " + ("not needed, likelihood ratios are bounded" if bounded else "fails, and ε̂ is infinite")
        return Finding(name, bounded, said), "by form"
    if isinstance(g, Asserted) or (isinstance(g, Truncated) and isinstance(g.base, Asserted)):
        return Finding(name, True, f"{g.describe()}"), "asserted"
    try:
        found = gradient_ratio(model, truth, 0.0)
    except PremiseError:
        return Finding(name, True, f"{g.describe()} is as heavy as ∂f/∂θ"), "by form"
    return Finding(name, math.isfinite(found), f"sup |∂f/∂θ|/g = {found:.4g} at θ*"), "checked"


def _identifiable(model: ContaminatedModel, w: Floats | None) -> tuple[Finding, str]:
    name = "Assumption 5"
    if model.dimension == 1:
        return Finding(name, True, "a location is identifiable"), "by form"
    if w is None:
        return Finding(name, True, "identifiable if E[wwᵀ] is regular (E31); pass covariates w to check it"), "asserted"
    rows = design(model, w)
    least = float(np.linalg.eigvalsh(rows.T @ rows / len(rows)).min())
    return Finding(
        name, least > REGULAR, f"the least eigenvalue of E[wwᵀ] is {least:.4g} (E31: a single w is not enough)"
    ), "checked"
