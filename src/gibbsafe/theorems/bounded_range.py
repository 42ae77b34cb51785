"""Bounded range: what matters is how far the loss difference varies over the parameters, not how large it is."""

from __future__ import annotations

from gibbsafe._numerics import up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, BoundedRange
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.theorem import Premise, Theorem, register


def loss_difference_range(constants: Constants, adjacency: Adjacency) -> float:
    """Return sup over neighbours of range_θ (loss difference): the best that the declared constants give."""
    replace = adjacency == Adjacency.REPLACE_ONE
    width = constants.loss_width()
    candidates = [
        constants.difference_range if replace else None,
        2 * constants.difference_bound if replace and constants.difference_bound is not None else None,
        2 * constants.sensitivity if constants.sensitivity is not None else None,
        None if width is None else (2 * width if replace else width),
        None if constants.loss_range is None else (2 * constants.loss_range if replace else constants.loss_range),
    ]
    known = [value for value in candidates if value is not None]
    if not known:
        raise PremiseError("difference_range: not declared, and no bound on the loss to derive it from")
    return min(known)


@register
class BoundedRangeTheorem(Theorem):
    """r-bounded range for r = β·range: the normalisers force the log density ratio to cross 0.

    One draw is r-DP with a tighter profile for δ > 0; N draws are N r²/8-zCDP.
    """

    name = "bounded-range"
    title = "bounded range"
    reference = "Durfee, Rogers 2019; Cesar, Rogers 2021; sharpens Minami et al. 2016, Theorems 3 and 4"

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a bound on the range of the loss difference."""
        width = loss_difference_range(constants, adjacency)
        return (Premise(f"the loss difference of neighbours varies by at most {width:g} over the parameters"),)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> BoundedRange:
        return BoundedRange(up(beta * loss_difference_range(constants, adjacency)))
