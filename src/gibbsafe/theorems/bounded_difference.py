"""Losses whose differences are bounded."""

from __future__ import annotations

from gibbsafe._numerics import at_most, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, PureDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


@register
class BoundedDifference(Theorem):
    """2βΛ-DP for Λ = sup |ℓ(θ, x) − ℓ(θ, x′)| (the paper prints L, which is not the Lipschitz constant)."""

    name = "bounded-difference"
    title = "bounded difference of losses"
    reference = "Minami et al. 2016, Theorem 4(b)"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a bound on the difference of two losses, and replace-one."""
        if adjacency == Adjacency.ADD_REMOVE:
            raise PremiseError("adjacency add-remove: a bound on loss differences says nothing about adding a record")
        (difference,) = constants.need("difference_bound")
        return (Premise(f"losses of two records differ by at most {at_most(difference)}, for every parameter"),)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> PureDP:
        return PureDP(up(2 * beta * (constants.difference_bound or 0.0)))
