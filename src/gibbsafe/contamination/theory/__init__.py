"""The third paper's theory as functions: asymptotic where the paper's is, and nothing here is ever a guarantee.

Distances of contaminated densities, the sets and suprema of the main theorem, its rates, and the n at which its conditions begin
to hold. Suprema are searched on dense grids, integrals are quadrature. What plans and certificates say never comes from here.
"""

from gibbsafe.contamination.theory.begins import Begin, Schedule, begins_at
from gibbsafe.contamination.theory.checker import ContaminatedAssumptions
from gibbsafe.contamination.theory.constants import WONG_SHEN, WongShen
from gibbsafe.contamination.theory.contraction import (
    Contraction,
    RandomPrivacyRate,
    denominator_failure,
    ghosal_contraction,
    main_theorem,
    outside_failure,
    supremum_failure,
)
from gibbsafe.contamination.theory.distances import hellinger, kullback_leibler, rho
from gibbsafe.contamination.theory.entropy import bracketing_entropy, entropy_integral, root_lipschitz
from gibbsafe.contamination.theory.neighbours import NeighbourBound, neighbour_bound, strictly_adjacent_bound
from gibbsafe.contamination.theory.ratios import gradient_ratio, identifiable_radius, log_ratio_bound, rho_slope

__all__ = [
    "WONG_SHEN",
    "Begin",
    "ContaminatedAssumptions",
    "Contraction",
    "NeighbourBound",
    "RandomPrivacyRate",
    "Schedule",
    "WongShen",
    "begins_at",
    "bracketing_entropy",
    "denominator_failure",
    "entropy_integral",
    "ghosal_contraction",
    "gradient_ratio",
    "hellinger",
    "identifiable_radius",
    "kullback_leibler",
    "log_ratio_bound",
    "main_theorem",
    "neighbour_bound",
    "outside_failure",
    "rho",
    "rho_slope",
    "root_lipschitz",
    "strictly_adjacent_bound",
    "supremum_failure",
]
