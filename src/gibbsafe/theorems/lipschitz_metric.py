"""Dimitrakakis et al. (2017), Assumption 1: the log-likelihood is Lipschitz in the data."""

from __future__ import annotations

import math

from gibbsafe._numerics import at_most, up
from gibbsafe._validate import non_negative, positive
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, BoundedRange, Metric, MetricDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def kl_bound(lipschitz: float, distance: float) -> float:
    """Return an upper bound on the KL divergence of posteriors at data distance ρ: min(2Lρ, (Lρ)²/2) (Theorem 7.1).

    The paper has 2Lρ; the second follows from range 2Lρ.
    """
    reach = non_negative("lipschitz", lipschitz) * non_negative("distance", distance)
    return up(min(2 * reach, reach * reach / 2))


def tv_bound(lipschitz: float, distance: float) -> float:
    """Return tanh(Lρ/2), an upper bound on the total variation of posteriors at data distance ρ."""
    return min(1.0, up(math.tanh(non_negative("lipschitz", lipschitz) * non_negative("distance", distance) / 2)))


def meets_necessary_condition(
    *, log_likelihood_ratio: float, log_marginal_ratio: float, lipschitz: float, distance: float
) -> bool:
    """Return whether a pair (x, y) meets Theorem 6: no posterior can be 2L-private if this is False for one pair.

    Args:
        log_likelihood_ratio: sup over θ of ln p_θ(x)/p_θ(y).
        log_marginal_ratio: ln φ(y)/φ(x) of the marginal likelihoods.
        lipschitz: L of the claim (2L per unit of distance).
        distance: ρ(x, y).
    """
    limit = positive("lipschitz", lipschitz) * non_negative("distance", distance)
    return log_likelihood_ratio <= limit or log_marginal_ratio <= limit


@register
class LipschitzMetric(Theorem):
    """2L per unit of distance, L = sup over θ of the Lipschitz constant of x ↦ log p_θ(x); tempered by β: 2βL.

    It is a range argument, so at a stated distance ρ the claim is bounded range 2βLρ, for any number of records.
    """

    name = "lipschitz-metric"
    title = "likelihood Lipschitz in the data"
    reference = "Dimitrakakis et al. 2017, Theorems 7.1 and 8.1, Corollary 10"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require the Lipschitz constant and the diameter of a record's domain; replacing records only."""
        if adjacency == Adjacency.ADD_REMOVE:
            raise PremiseError("adjacency add-remove: a metric between records says nothing about adding one")
        lipschitz, diameter = constants.need("metric_lipschitz", "metric_diameter")
        return (
            Premise(f"x ↦ log-likelihood is {at_most(lipschitz)}-Lipschitz under the metric, for every parameter"),
            Premise(f"two records are at most {at_most(diameter)} apart"),
        )

    def metric_guarantee(self, constants: Constants, metric: Metric, inverse_temperature: float = 1.0) -> MetricDP:
        """Return the claim per unit of ``metric``."""
        (lipschitz,) = constants.need("metric_lipschitz")
        beta = positive("inverse_temperature", inverse_temperature)
        return MetricDP(up(2 * beta * lipschitz), metric, bounded_range=True)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> BoundedRange:
        lipschitz, diameter = constants.need("metric_lipschitz", "metric_diameter")
        return BoundedRange(up(2 * beta * lipschitz * diameter))
