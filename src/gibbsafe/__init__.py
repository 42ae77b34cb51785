"""Differentially private Bayesian inference by posterior sampling.

Plan with public knowledge, release with a certificate, ask the release any number of questions for free.
"""

from gibbsafe import privacy, theorems
from gibbsafe._version import __version__
from gibbsafe.errors import BudgetError, CertificateError, DomainError, GibbsafeError, ParameterError, PremiseError
from gibbsafe.privacy import Adjacency, Budget

__all__ = [
    "Adjacency",
    "Budget",
    "BudgetError",
    "CertificateError",
    "DomainError",
    "GibbsafeError",
    "ParameterError",
    "PremiseError",
    "__version__",
    "privacy",
    "theorems",
]
