"""Bounded losses."""

from __future__ import annotations

from gibbsafe._numerics import at_most, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, PureDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


@register
class BoundedLoss(Theorem):
    """4βA-DP for |ℓ| ≤ A; for a ≤ ℓ ≤ b sharpened to 2β(b−a), and to β(b−a) under add-remove."""

    name = "bounded-loss"
    title = "bounded loss"
    reference = "Wang, Fienberg, Smola 2015; Minami et al. 2016, Theorem 4(a)"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a bound on the loss."""
        width = constants.loss_width()
        if width is None:
            raise PremiseError("loss_bound: not declared (or loss_interval)")
        return (Premise(f"the loss of every record stays in an interval of width {at_most(width)}, for every parameter"),)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> PureDP:
        factor = 2.0 if adjacency == Adjacency.REPLACE_ONE else 1.0
        return PureDP(up(factor * beta * (constants.loss_width() or 0.0)))
