"""What one data set says of its neighbours: Proposition 1, (5) and (7), and the strictly adjacent case (Remark 20)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._validate import non_negative, positive, probability

__all__ = ["NeighbourBound", "neighbour_bound", "strictly_adjacent_bound"]


@dataclass(frozen=True)
class NeighbourBound:
    """P(S | X) ≤ e^ε P(S | Z) + δ for every set S and one pair of data sets: an instance, not a guarantee."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"for this pair of data sets alone: ε = {self.epsilon:.6g}, δ = {self.delta:.6g}; not a privacy guarantee"


def neighbour_bound(
    log_eta: float, *, outside: float, evidence_ratio: float | None = None, outside_ratio: float | None = None
) -> NeighbourBound:
    """Return ε and δ of a pair X = D ∪ {x}, Z = D ∪ {z} from what happens in and outside a set A (Proposition 1).

    Args:
        log_eta: log η, η ≥ sup over θ in A of d(x; θ)/d(z; θ) and of its inverse.
        outside: P(A^c | X).
        evidence_ratio: m(Ω, Z)/m(Ω, X), for (7): ε = log η + log of it. The better one, where it is known.
        outside_ratio: m(A^c, Z)/m(Ω, X), for (5): ε = log η + log(η + it).
    """
    eta, delta = non_negative("log_eta", log_eta), probability("outside", outside)
    if evidence_ratio is not None:
        return NeighbourBound(eta + math.log(positive("evidence_ratio", evidence_ratio)), delta)
    extra = non_negative("outside_ratio", outside_ratio)
    return NeighbourBound(eta + math.log(math.exp(eta) + extra), delta)


def strictly_adjacent_bound(log_eta: float, *, outside: float, outside_ratio: float) -> NeighbourBound:
    """Return the same where one data set has one record more: √η in the place of η (Remark 20).

    ``outside`` is the mass outside A of the data set on the left-hand side: the paper prints the other one's (E26).
    """
    return neighbour_bound(non_negative("log_eta", log_eta) / 2, outside=outside, outside_ratio=outside_ratio)
