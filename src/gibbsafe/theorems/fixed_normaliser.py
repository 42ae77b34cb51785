"""Posteriors that every data set only moves: their normaliser is the same, and nothing is paid for it."""

from __future__ import annotations

from gibbsafe._numerics import at_most, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, PureDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.exponential_mechanism import sensitivity
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


@register
class FixedNormaliser(Theorem):
    """βΔ-DP for Δ = sup |L(θ, D) − L(θ, D′)| where ∫exp(−βL(θ, D)) dθ is the same for every data set D.

    Proof (lemma 16 of `docs/theory.md`): log p/q = β(L(θ, D′) − L(θ, D)) + log Z(D′)/Z(D), and the second term is 0. Half of what
    the exponential mechanism pays, whose normalisers may differ by a factor e^{βΔ}; the constant is tight for one count.
    """

    name = "fixed-normaliser"
    title = "exponential mechanism with one normaliser for all data sets"
    reference = "Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009 (counts)"
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a finite sensitivity and a normaliser that does not depend on the data."""
        delta = sensitivity(constants, adjacency)
        if not constants.fixed_normaliser:
            raise PremiseError("fixed_normaliser: not declared, so the normaliser may depend on the data")
        return (
            Premise(f"the total loss changes by at most {at_most(delta)} between neighbours, for every parameter"),
            Premise("the posterior of every data set is one law, moved: its normaliser is the same for all"),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> PureDP:
        return PureDP(up(beta * sensitivity(constants, adjacency)))
