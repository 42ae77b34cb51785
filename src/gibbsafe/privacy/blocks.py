"""Independent blocks of bounded range: one draw that is a composition."""

from __future__ import annotations

from collections.abc import Iterable

from gibbsafe._numerics import half_square, root_sum_of_squares, sum_up, up
from gibbsafe._types import JSON
from gibbsafe._validate import fail, non_negative
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.profiles import bounded_range_delta, gaussian_delta, mu_of_pure, zcdp_delta

__all__ = ["BlockRanges"]


class BlockRanges(Guarantee):
    """A draw of independent blocks, block j with bounded range r_j, whatever the data.

    Proof: the density is a product over blocks, so the log density ratio of neighbours is a sum of functions of one block each.
    Its range is at most Σr_j, which gives the profile of `BoundedRange` and pure Σr_j. And the draw *is* the list of its blocks,
    each the output of an r_j-bounded-range mechanism that does not look at the others: a composition, hence Σr_j²/8-zCDP, and
    √Σμ_j²-GDP with μ_j the one of r_j (theory of `BoundedRange`). Each is true, so the least δ is.

    >>> from gibbsafe.privacy import BoundedRange
    >>> blocks = BlockRanges([0.1] * 20)
    >>> blocks.epsilon(0.0), round(blocks.epsilon(1e-6), 3), round(BoundedRange(2.0).epsilon(1e-6), 3)
    (2.0000000000000004, 1.014, 1.998)
    """

    def __init__(self, ranges: Iterable[float], *, adjacency: Adjacency | str | None = None) -> None:
        widths = tuple(non_negative("range", width) for width in ranges)
        if not widths:
            fail("ranges", widths, "a range per block, at least one")
        super().__init__(adjacency, ranges=widths)

    @property
    def ranges(self) -> tuple[float, ...]:
        """r_j of every block."""
        return tuple(self.parameters["ranges"])

    def _plain(self) -> JSON:
        return {"ranges": list(self.ranges)}

    def _delta(self, epsilon: float) -> float:
        mu, rho = self._gaussian()[0], self._concentrated()[0]
        return min(bounded_range_delta(epsilon, sum_up(self.ranges)), gaussian_delta(epsilon, mu), zcdp_delta(epsilon, rho))

    def _pure(self) -> tuple[float, float]:
        return sum_up(self.ranges), 0.0

    def _gaussian(self) -> tuple[float, float]:
        of_sum = mu_of_pure(up(sum_up(self.ranges) / 2)) if any(self.ranges) else 0.0
        distinct = {width: mu_of_pure(width / 2) if width > 0 else 0.0 for width in set(self.ranges)}
        return min(of_sum, root_sum_of_squares(distinct[width] for width in self.ranges)), 0.0

    def _concentrated(self) -> tuple[float, float]:
        return up(sum_up(half_square(width, 1 / 8) for width in self.ranges)), 0.0

    def _group(self, size: int) -> BlockRanges:
        return BlockRanges((up(size * width) for width in self.ranges), adjacency=self.adjacency)

    def __str__(self) -> str:
        return f"{sum_up(self.ranges):.6g}-bounded range in {len(self.ranges)} independent blocks"
