"""Every way in which gibbsafe refuses.

A refusal is one line that names the thing, its value, the condition it breaks and, where there is one, the remedy.
"""

__all__ = ["BudgetError", "CertificateError", "DomainError", "GibbsafeError", "ParameterError", "PremiseError"]


class GibbsafeError(Exception):
    """Base class of every error that gibbsafe raises on purpose."""


class ParameterError(GibbsafeError, ValueError):
    """A parameter is outside its documented domain (``epsilon = -1``, an unknown name, a NaN)."""


class PremiseError(GibbsafeError, ValueError):
    """A theorem's hypothesis fails, or cannot be established from what was declared."""


class DomainError(GibbsafeError, ValueError):
    """Data or bounds do not fit the declared public domain."""


class BudgetError(GibbsafeError, ValueError):
    """A release would cost more than its budget, or a ledger refuses the charge."""


class CertificateError(GibbsafeError, ValueError):
    """A release file is torn, foreign, altered, or claims what its own constants do not give."""
