"""The exponential mechanism: bounded sensitivity of the total loss."""

from __future__ import annotations

from gibbsafe._numerics import at_most, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, PureDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def sensitivity(constants: Constants, adjacency: Adjacency) -> float:
    """Return Δ = sup |L(θ, D) − L(θ, D′)|, declared or derived from the bounds on the loss."""
    if constants.sensitivity is not None:
        return constants.sensitivity
    replace = adjacency == Adjacency.REPLACE_ONE
    if replace and constants.difference_bound is not None:
        return constants.difference_bound
    if constants.loss_interval is not None:
        low, high = constants.loss_interval
        return high - low if replace else max(abs(low), abs(high))
    if constants.loss_bound is not None:
        return 2 * constants.loss_bound if replace else constants.loss_bound
    raise PremiseError("sensitivity: not declared, and no bound on the loss to derive it from")


@register
class ExponentialMechanism(Theorem):
    """2βΔ-DP for Δ = sup |L(θ, D) − L(θ, D′)| over parameters and neighbours; the constant 2 is tight."""

    name = "exponential-mechanism"
    title = "exponential mechanism"
    reference = "McSherry, Talwar 2007; Minami et al. 2016, Theorem 3"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a finite sensitivity."""
        delta = sensitivity(constants, adjacency)
        return (Premise(f"the total loss changes by at most {at_most(delta)} between neighbours, for every parameter"),)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> PureDP:
        return PureDP(up(2 * beta * sensitivity(constants, adjacency)))
