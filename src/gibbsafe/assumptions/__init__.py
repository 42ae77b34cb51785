"""Which assumptions of Dimitrakakis et al. (2017) a family meets, with which constants, and what follows.

A contaminated model is checked for those of Hu et al. (2026) instead: `gibbsafe.contamination.theory`.
"""

from gibbsafe.assumptions.checker import Assumptions, Finding, check
from gibbsafe.assumptions.law import LipschitzLaw, StochasticConstants
from gibbsafe.assumptions.priors import IntervalPrior, lipschitz_prior, lipschitz_weights, meets_necessary_condition
from gibbsafe.assumptions.ratio import likelihood_ratio_bound

__all__ = [
    "Assumptions",
    "Finding",
    "IntervalPrior",
    "LipschitzLaw",
    "StochasticConstants",
    "check",
    "likelihood_ratio_bound",
    "lipschitz_prior",
    "lipschitz_weights",
    "meets_necessary_condition",
]
