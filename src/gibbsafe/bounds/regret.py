"""What answering from draws, or under a more private prior, costs in utility (Dimitrakakis et al. 2017, §4.2 and §4.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._numerics import up
from gibbsafe._validate import count, non_negative, open_probability
from gibbsafe.bounds.divergence import range_gap

__all__ = ["PriorChange", "average_error", "change_of_prior", "posterior_regret", "private_prior_regret", "query_regret"]


def average_error(draws: int, *, failure: float, questions: int = 1) -> float:
    """Return √(ln(2m/δ)/(2N)): m averages over N draws of functions into [0, 1] are all this near their expectations.

    Hoeffding's inequality and a union bound; it fails with probability at most δ. The functions must not depend on the draws.
    """
    log_term = math.log(2 * count("questions", questions) / open_probability("failure", failure))
    return up(math.sqrt(log_term / (2 * count("draws", draws))))


def query_regret(draws: int, *, responses: int, failure: float, questions: int = 1) -> float:
    """Return 2√(ln(2|R|m/δ)/(2N)): how far answers chosen by N draws fall short of the best expected utility (Lemma 11).

    For m questions with |R| responses each, all at once, with probability 1 − δ. The paper's proof takes Hoeffding's inequality
    for every response at the price of one; the union bound over responses is needed (erratum E14).

    >>> round(query_regret(1000, responses=10, failure=0.05), 4)
    0.1095
    """
    return up(2 * average_error(draws, failure=failure, questions=count("responses", responses) * count("questions", questions)))


def posterior_regret(distance: float) -> float:
    """Return ‖ξ − ξ*‖₁ = 2TV: the most utility in [0, 1] lost by acting on ξ instead of ξ* (Lemma 14 has twice that, E14)."""
    return min(1.0, non_negative("distance", distance))


@dataclass(frozen=True)
class PriorChange:
    """Upper bounds on what a prior within e^{±η} of the preferred one does to the posterior, for any data."""

    kl: float
    distance: float
    regret: float
    kl_paper: float


def change_of_prior(eta: float) -> PriorChange:
    """Return what |ln ξ*(θ)/ξ(θ)| ≤ η implies for posteriors (Lemmas 14 and 15, sharpened).

    The log ratio of posteriors has range at most 2η: KL ≤ min(2η, η²/2), ‖ξ*(·|x) − ξ(·|x)‖₁ ≤ 2 tanh(η/2) ≤ η, and the regret is
    at most that. The paper has KL ≤ 2η, in expectation.

    >>> change = change_of_prior(0.1)
    >>> round(change.kl, 6), round(change.regret, 6), change.kl_paper
    (0.005, 0.099917, 0.2000000000000003...)
    """
    gap = range_gap(up(2 * non_negative("eta", eta)))
    distance = up(2 * gap.total_variation)
    return PriorChange(gap.kl, distance, posterior_regret(distance), gap.kl_paper)


def private_prior_regret(eta: float, draws: int, *, responses: int, failure: float, questions: int = 1) -> float:
    """Return the loss of ξ*-expected utility where answers come from N draws under ξ (Corollary 16, with constants).

    The change of prior costs at most η, the draws 2√(ln(2|R|m/δ)/(2N)), with probability 1 − δ.
    """
    sampling = query_regret(draws, responses=responses, failure=failure, questions=questions)
    return min(1.0, up(change_of_prior(eta).regret + sampling))
