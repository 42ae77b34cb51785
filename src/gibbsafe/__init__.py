"""Differentially private Bayesian inference by posterior sampling.

Plan with public knowledge, release with a certificate, ask the release any number of questions for free.
"""

from gibbsafe import assumptions, bounds, domains, ledger, models, privacy, queries, theorems
from gibbsafe._version import __version__
from gibbsafe.errors import (
    BudgetError,
    CertificateError,
    DomainError,
    GibbsafeError,
    ParameterError,
    PremiseError,
    showing_values,
)
from gibbsafe.planning import Plan, plan
from gibbsafe.privacy import Adjacency, Budget, EstimatedBudget
from gibbsafe.release import Release, verify
from gibbsafe.study import Study

__all__ = [
    "Adjacency",
    "Budget",
    "BudgetError",
    "CertificateError",
    "DataModel",
    "DomainError",
    "EstimatedBudget",
    "GibbsafeError",
    "ParameterError",
    "Plan",
    "PremiseError",
    "Release",
    "Study",
    "__version__",
    "assumptions",
    "audit",
    "bounds",
    "compare_means",
    "contamination",
    "domains",
    "estimators",
    "ledger",
    "models",
    "plan",
    "privacy",
    "queries",
    "showing_values",
    "theorems",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import `audit`, `contamination`, `compare_means` and `estimators`, which needs scikit-learn, when first asked for."""
    from importlib import import_module

    if name in {"audit", "contamination", "estimators"}:
        return import_module(f"gibbsafe.{name}")
    if name in {"DataModel", "compare_means"}:
        return getattr(import_module("gibbsafe.reproduce.comparison"), name)
    raise AttributeError(f"module 'gibbsafe' has no attribute {name!r}")
