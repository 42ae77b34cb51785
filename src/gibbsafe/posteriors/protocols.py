"""What samplers, audits and intervals ask of a posterior."""

from __future__ import annotations

from typing import Protocol

from gibbsafe._types import Floats

__all__ = ["ExactPosterior"]


class ExactPosterior(Protocol):
    """A posterior whose distribution is known; `gibbsafe.samplers.closed_form` knows how to draw from it."""

    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas``, up to a constant; infinite outside the support."""

    @property
    def support(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of a box that holds the support, (p,) arrays."""
