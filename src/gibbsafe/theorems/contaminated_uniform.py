"""The worst-case guarantee that a contaminated likelihood gives for unbounded data."""

from __future__ import annotations

import math

from gibbsafe._numerics import at_most, up
from gibbsafe._validate import non_negative, open_probability
from gibbsafe.privacy import Adjacency, BoundedRange
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def record_range(contamination: float, density_ratio: float) -> float:
    """Return ln(1 + (1−p)F/(p g)): how far log k_p(x; θ), k_p = (1−p)f + p g, varies over θ for the worst record.

    >>> round(2 * record_range(0.4217, 2.0), 3)  # logistic likelihood, labels contaminated by a fair coin
    2.64
    """
    p = open_probability("contamination", contamination)
    return up(math.log1p((1 - p) * non_negative("density_ratio", density_ratio) / p))


@register
class ContaminatedUniform(Theorem):
    """Bounded range 2β sup_x ln(1 + (1−p)F(x)/(p g(x))), F(x) = sup_θ f(x; θ): pure DP for any parameters and any n.

    The data themselves need not be contaminated; under add-remove the factor 2 is 1.
    """

    name = "contaminated-uniform"
    title = "contaminated likelihood, worst case"
    reference = "derived for gibbsafe from the model of Hu et al. 2026"
    kinds = (Kind.CONTAMINATED,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require the contamination rate and the density ratio."""
        _, ratio = constants.need("contamination", "density_ratio")
        return (
            Premise(
                f"the model's density is at most {at_most(ratio)} times the contaminating one, for every record and parameter"
            ),
            Premise("the contaminating density is public and normalised"),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> BoundedRange:
        factor = 2.0 if adjacency == Adjacency.REPLACE_ONE else 1.0
        p, ratio = constants.need("contamination", "density_ratio")
        return BoundedRange(up(factor * beta * record_range(p, ratio)))
