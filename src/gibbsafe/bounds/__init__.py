"""What a budget buys, and what an adversary can do with it, from public numbers: each bound with its theorem."""

from gibbsafe.bounds.asymptotics import draw_variance, posterior_variance
from gibbsafe.bounds.distinguish import (
    EmpiricalBall,
    NecessaryDistance,
    empirical_ball,
    error_of_any_test,
    family_reconstruction_error,
    lipschitz_distance,
    reconstruction_error,
    stochastic_distance,
)
from gibbsafe.bounds.divergence import PosteriorGap, lipschitz_gap, range_gap, stochastic_gap, total_variation_of
from gibbsafe.bounds.pac_bayes import hinge_complexity, hinge_largest_b, oracle_risk, risk_of_draw
from gibbsafe.bounds.regret import (
    PriorChange,
    average_error,
    change_of_prior,
    posterior_regret,
    private_prior_regret,
    query_regret,
)
from gibbsafe.bounds.restriction import Restriction, best_restriction
from gibbsafe.planning.utility import Utility, excess_risk_bound, predict_utility

__all__ = [
    "EmpiricalBall",
    "NecessaryDistance",
    "PosteriorGap",
    "PriorChange",
    "Restriction",
    "Utility",
    "average_error",
    "best_restriction",
    "change_of_prior",
    "draw_variance",
    "empirical_ball",
    "error_of_any_test",
    "excess_risk_bound",
    "family_reconstruction_error",
    "hinge_complexity",
    "hinge_largest_b",
    "lipschitz_distance",
    "lipschitz_gap",
    "oracle_risk",
    "posterior_regret",
    "posterior_variance",
    "predict_utility",
    "private_prior_regret",
    "query_regret",
    "range_gap",
    "reconstruction_error",
    "risk_of_draw",
    "stochastic_distance",
    "stochastic_gap",
    "total_variation_of",
]
