"""Skeleton of a theorem: here the range of the loss difference as pure DP.

Copy it to a file of src/gibbsafe/theorems; CONTRIBUTING.md names the rest. Calibration, composition, comparison and refusals come
from the base class.
"""

from __future__ import annotations

from gibbsafe._numerics import at_most, up
from gibbsafe.privacy import Adjacency, PureDP
from gibbsafe.theorems.bounded_range import loss_difference_range
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


@register
class RangeAsPureDP(Theorem):
    """ε-DP with ε = β·range: the log density ratio lies in an interval of this width that contains 0.

    Proof: log p/q = −β(ℓ − ℓ′) + c, whose range over the parameters is at most β·range; p and q have the same mass, so the ratio
    is neither above 1 everywhere nor below, and the interval contains 0.
    """

    name = "range-as-pure-dp"
    title = "the range of the loss difference as pure DP"
    reference = "McSherry, Talwar 2007, with the range in the place of twice the sensitivity"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a bound on the range; refuse in one line what leaves it open."""
        width = at_most(loss_difference_range(constants, adjacency))
        return (Premise(f"the loss difference of neighbours varies by at most {width} over the parameters"),)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> PureDP:
        return PureDP(up(beta * loss_difference_range(constants, adjacency)))
