"""Bounded range: what matters is how far the loss difference varies over the parameters, not how large it is."""

from __future__ import annotations

from collections import Counter

from gibbsafe._numerics import at_most, sum_up, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, BlockRanges, BoundedRange
from gibbsafe.theorems.constants import Constants, as_blocks
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def loss_difference_blocks(constants: Constants, adjacency: Adjacency) -> tuple[float, ...]:
    """Return sup over neighbours of range_θ (loss difference), one number per independent block of parameters.

    The best that the declared constants give: the least sum, and of equal sums the one in most blocks.
    """
    replace = adjacency == Adjacency.REPLACE_ONE
    width, single = constants.loss_width(), constants.loss_range
    candidates = [
        constants.difference_range if replace else None,
        2 * constants.difference_bound if replace and constants.difference_bound is not None else None,
        2 * constants.sensitivity if constants.sensitivity is not None else None,
        None if width is None else (2 * width if replace else width),
        None if single is None else tuple((2 if replace else 1) * entry for entry in as_blocks(single)),
    ]
    known = [as_blocks(value) for value in candidates if value is not None]
    if not known:
        raise PremiseError("difference_range: not declared, and no bound on the loss to derive it from")
    return min(known, key=lambda blocks: (sum_up(blocks), -len(blocks)))


def loss_difference_range(constants: Constants, adjacency: Adjacency) -> float:
    """Return the range of the loss difference over all parameters together: the sum of `loss_difference_blocks`."""
    return sum_up(loss_difference_blocks(constants, adjacency))


@register
class BoundedRangeTheorem(Theorem):
    """r-bounded range for r = β·range: the normalisers force the log density ratio to cross 0.

    One draw is r-DP with a tighter profile for δ > 0; N draws are N r²/8-zCDP. Where the posterior is a product of independent
    blocks whatever the data (the loss is a sum over blocks, and so is the log prior), the loss difference of neighbours is a sum
    of functions g_j of one block each, and the draw is a composition of mechanisms with ranges r_j = β·range(g_j): Σr_j-DP as
    before, and Σr_j²/8-zCDP instead of (Σr_j)²/8 (`BlockRanges`).
    """

    name = "bounded-range"
    title = "bounded range"
    reference = "Durfee, Rogers 2019; Cesar, Rogers 2021; sharpens Minami et al. 2016, Theorems 3 and 4"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a bound on the range of the loss difference, and independence where it is stated per block."""
        blocks = loss_difference_blocks(constants, adjacency)
        whole = Premise(f"the loss difference of neighbours varies by at most {at_most(sum_up(blocks))} over the parameters")
        if len(blocks) == 1:
            return (whole,)
        each = ", ".join(f"{times} × {at_most(width)}" for width, times in Counter(blocks).items())
        return whole, Premise(
            f"it is a sum over {len(blocks)} blocks of parameters, independent under every posterior, that vary by at most {each}"
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> BoundedRange | BlockRanges:
        ranges = [up(beta * width) for width in loss_difference_blocks(constants, adjacency)]
        return BoundedRange(ranges[0]) if len(ranges) == 1 else BlockRanges(ranges)
