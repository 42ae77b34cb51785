"""The theorems, one file each: declared constants in, guarantee out, and the largest inverse temperature back.

Adding a theorem is adding a file here and its name to the imports below.
"""

from gibbsafe.theorems import (  # the order of this list is the order of the registry
    approximate_sampling,
    beta_bernoulli,
    bounded_difference,
    bounded_loss,
    bounded_range,
    contaminated_uniform,
    exponential_mechanism,
    fixed_normaliser,
    gaussian_dp,
    gaussian_mean,
    langevin_last_iterate,
    langevin_steps,
    langevin_trajectory,
    lipschitz_metric,
    log_sobolev,
    log_sobolev_simple,
    noisy_scores,
    proximal_last_iterate,
    stochastic_lipschitz,
)
from gibbsafe.theorems.comparison import Comparison, Row, compare
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import THEOREMS, Premise, Theorem, get, priced_by

__all__ = [
    "THEOREMS",
    "Comparison",
    "Constants",
    "Kind",
    "Premise",
    "Row",
    "Theorem",
    "approximate_sampling",
    "beta_bernoulli",
    "bounded_difference",
    "bounded_loss",
    "bounded_range",
    "compare",
    "contaminated_uniform",
    "exponential_mechanism",
    "fixed_normaliser",
    "gaussian_dp",
    "gaussian_mean",
    "get",
    "langevin_last_iterate",
    "langevin_steps",
    "langevin_trajectory",
    "lipschitz_metric",
    "log_sobolev",
    "log_sobolev_simple",
    "noisy_scores",
    "priced_by",
    "proximal_last_iterate",
    "stochastic_lipschitz",
]
