"""Try to refute every claim: exact privacy curves, statistical lower bounds, attacks on declared constants, hostile neighbours.

Stands beside the line from plan to release, and is imported by nothing on it. Works on mechanisms and models of your own.
"""

from gibbsafe.audit.comparison import SameMechanism, same_mechanism
from gibbsafe.audit.curves import PrivacyCurve, Violation
from gibbsafe.audit.mechanisms import mechanism_of, score_of
from gibbsafe.audit.neighbours import Neighbours, worst_neighbours
from gibbsafe.audit.plans import exact_curve
from gibbsafe.audit.refutation import Counterexample, Refutation, refute
from gibbsafe.audit.report import PlanAudit, audit_plan
from gibbsafe.audit.statistical import LowerBound, estimate_lower_bound

__all__ = [
    "Counterexample",
    "LowerBound",
    "Neighbours",
    "PlanAudit",
    "PrivacyCurve",
    "Refutation",
    "SameMechanism",
    "Violation",
    "audit_plan",
    "estimate_lower_bound",
    "exact_curve",
    "mechanism_of",
    "refute",
    "same_mechanism",
    "score_of",
    "worst_neighbours",
]
