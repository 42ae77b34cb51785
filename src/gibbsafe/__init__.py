"""Differentially private Bayesian inference by posterior sampling.

Plan with public knowledge, release with a certificate, ask the release any number of questions for free.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from gibbsafe._version import __version__

if TYPE_CHECKING:
    from gibbsafe import (
        assumptions,
        audit,
        bounds,
        client,
        contamination,
        domains,
        estimators,
        ledger,
        models,
        privacy,
        queries,
        ranges,
        theorems,
    )
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
    from gibbsafe.ranges import private_bounds, private_levels
    from gibbsafe.release import Release, verify
    from gibbsafe.reproduce.comparison import DataModel, compare_means
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
    "client",
    "compare_means",
    "contamination",
    "domains",
    "estimators",
    "ledger",
    "models",
    "plan",
    "privacy",
    "private_bounds",
    "private_levels",
    "queries",
    "ranges",
    "showing_values",
    "theorems",
    "verify",
]

#: Where names live that are not rooms themselves. All are imported when first asked for: `gibbsafe --help` needs none of them.
_HOMES = {
    "errors": (
        *("BudgetError", "CertificateError", "DomainError", "GibbsafeError", "ParameterError", "PremiseError"),
        "showing_values",
    ),
    "planning": ("Plan", "plan"),
    "privacy": ("Adjacency", "Budget", "EstimatedBudget"),
    "ranges": ("private_bounds", "private_levels"),
    "release": ("Release", "verify"),
    "reproduce.comparison": ("DataModel", "compare_means"),
    "study": ("Study",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for (`estimators` needs scikit-learn)."""
    if name not in __all__:
        raise AttributeError(f"module 'gibbsafe' has no attribute {name!r}")
    home = _HOME_OF.get(name)
    value = import_module(f"gibbsafe.{name}") if home is None else getattr(import_module(f"gibbsafe.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
