"""Minami et al. (2016), Theorem 7: concentration of the log density ratio by a logarithmic Sobolev inequality."""

from __future__ import annotations

from gibbsafe._numerics import half_square
from gibbsafe.privacy import Adjacency, ConcentratedDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.gaussian_dp import require_convex, separation
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def _prior_only(constants: Constants) -> Constants:
    """Drop what the paper does not use: the strong convexity of the loss, and the difference constant."""
    from dataclasses import replace

    return replace(constants, loss_strong_convexity=0.0, difference_lipschitz=None)


@register
class LogSobolev(Theorem):
    """δ = exp(−(ε − μ²/2)²/(2μ²)) for ε > μ²/2, μ = 2βL/√m_π: sound, and loose by a factor of two and more in δ.

    The proof bounds every moment of the log density ratio, so the claim is μ²/2-zCDP read by Bun–Steinke, and its exact
    inverse is μ = √(2l+2ε) − √(2l), l = ln(1/δ), for every ε. The paper's condition β ≤ 1 is not needed.
    """

    name = "log-sobolev"
    title = "logarithmic Sobolev inequality"
    reference = "Minami et al. 2016, Theorem 7"
    kinds = (Kind.GIBBS,)
    conversion = "bun-steinke"

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require a convex Lipschitz loss and a strongly log-concave prior."""
        constants.need("prior_precision")
        separation(_prior_only(constants), 1.0, adjacency)
        return (
            require_convex(constants),
            Premise(f"every loss is {constants.lipschitz}-Lipschitz in the parameter"),
            Premise(f"−log prior is {constants.prior_precision}-strongly convex"),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> ConcentratedDP:
        mu = separation(_prior_only(constants), beta, adjacency)
        return ConcentratedDP(half_square(mu), conversion=self.conversion)
