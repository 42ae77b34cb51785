"""Gaussian DP of strongly log-concave Gibbs posteriors: the theorem that gibbsafe mostly uses."""

from __future__ import annotations

import math

from gibbsafe._numerics import at_most, root_sum_of_squares, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, GaussianDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def require_convex(constants: Constants) -> Premise:
    """Return the convexity premise, or refuse a loss that is not declared convex."""
    if constants.convex is not True:
        state = "not declared" if constants.convex is None else "declared False"
        raise PremiseError(f"convex: {state}; this theorem needs a loss that is convex in the parameter")
    return Premise("every record's loss is convex in the parameter")


def separation(constants: Constants, beta: float, adjacency: Adjacency) -> float:
    """Return μ = β √Σ_j (G_j²/m_j), rounded up.

    G_j bounds the gradient of the loss difference in block j (2L, or L under add-remove); m_j = m_π + n β m_ℓ is the
    strong convexity. Under add-remove n is private, and only the larger of the two data sets has to be strongly
    convex: n is replaced by its public lower bound plus one.
    """
    gaps = constants.gap_blocks(adjacency)
    rows = 0
    if constants.loss_strong_convexity > 0:
        rows = constants.minimum_n + 1 if adjacency == Adjacency.ADD_REMOVE else constants.public_n(adjacency)
    curvature = constants.curvature_blocks(beta, rows)
    if len(curvature) == 1:
        curvature *= len(gaps)
    if len(gaps) != len(curvature):
        raise PremiseError(f"prior_precision: {len(curvature)} blocks for {len(gaps)} blocks of lipschitz constants")
    return up(beta * root_sum_of_squares(up(g / math.sqrt(m)) for g, m in zip(gaps, curvature, strict=True)))


def weighted_norm(constants: Constants, adjacency: Adjacency) -> str:
    """Return the sentence about gradients that the price rests on: √Σ_j ‖∇_j g‖²/m_j, or the plain norm where one m is declared.

    Per-block constants are declared so that this sum is right; a block alone may exceed its own entry (quantile regression).
    """
    precisions, gaps = constants.precision_blocks(), constants.gap_blocks(adjacency)
    if min(precisions) <= 0 or len(set(precisions)) == 1:
        return f"the gradient of the loss difference of neighbours has norm at most {at_most(up(root_sum_of_squares(gaps)))}"
    size = up(root_sum_of_squares(up(gap / math.sqrt(m)) for gap, m in zip(gaps, precisions, strict=True)))
    weights = ", ".join(f"{m:.6g}" for m in precisions)
    return (
        f"the gradient of the loss difference of neighbours has norm at most {at_most(size)}"
        f" when each block is divided by the root of its prior precision ({weights})"
    )


@register
class GaussianDPTheorem(Theorem):
    r"""μ-GDP with μ = G/√m, for a potential that is m-strongly convex on a convex set and a G-Lipschitz difference.

    Proof: the log density ratio u is G-Lipschitz, so by Bakry–Ledoux isoperimetry its increasing rearrangement over a
    standard normal is μ-Lipschitz; compared with the line μx + μ²/2 of the Gaussian shift, e^{−u} crosses once and has
    the same mean, hence every convex functional of it is smaller. The constant cannot be improved: |θ − x| losses far
    from the mass are exact Gaussian shifts. Supersedes Minami et al. (2016), Theorem 10, whose universal constant is
    not known (erratum E5), and needs neither β ≤ 1 nor smoothness.
    """

    name = "gaussian-dp"
    title = "Gaussian DP by isoperimetry"
    reference = "Gopi, Lee, Liu 2022 (private convex optimisation via the exponential mechanism), strengthened"
    errata = ("E3", "E5")
    kinds = (Kind.GIBBS,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require convexity, Lipschitz constants and strong convexity of the potential."""
        convex = require_convex(constants)
        separation(constants, 1.0, adjacency)
        return (
            convex,
            Premise(weighted_norm(constants, adjacency)),
            Premise("the potential is strongly convex", checked=True),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> GaussianDP:
        return GaussianDP(separation(constants, beta, adjacency))
