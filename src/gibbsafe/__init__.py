"""Differentially private Bayesian inference by posterior sampling.

Plan with public knowledge, release with a certificate, ask the release any number of questions for free.
"""

from gibbsafe import models, privacy, theorems
from gibbsafe._version import __version__
from gibbsafe.errors import BudgetError, CertificateError, DomainError, GibbsafeError, ParameterError, PremiseError
from gibbsafe.plan import Plan, plan
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.release import Release, verify

__all__ = [
    "Adjacency",
    "Budget",
    "BudgetError",
    "CertificateError",
    "DomainError",
    "GibbsafeError",
    "ParameterError",
    "Plan",
    "PremiseError",
    "Release",
    "__version__",
    "models",
    "plan",
    "privacy",
    "theorems",
    "verify",
]
