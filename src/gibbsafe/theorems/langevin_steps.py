"""Minami et al. (2016), Proposition 13: how many Langevin steps bring the sampler within γ of the posterior."""

from __future__ import annotations

import math

from gibbsafe._validate import count, open_probability, positive
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, Guarantee
from gibbsafe.theorems.approximate_sampling import with_slack
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.log_sobolev import LogSobolev
from gibbsafe.theorems.theorem import Premise, Theorem, register


def schedule(*, dimension: int, smoothness: float, strong_convexity: float, slack: float) -> tuple[float, int]:
    """Return (h, T): step size and number of unadjusted Langevin steps that reach total variation γ.

    h = 2mγ²/(dM²B) and T = ⌈dM²B²/(4m²γ²)⌉ with B = 4 ln(1/γ) + d ln(M/m), from N(θ*, I/M) at the minimiser θ*
    (Dalalyan 2014). Erratum E6: the paper prints m where m² belongs; at m = 0.01, M = 1, γ = 0.1 its T leaves
    a total variation of 0.395.
    """
    d, gamma = count("dimension", dimension, least=2), open_probability("slack", slack)
    big, small = positive("smoothness", smoothness), positive("strong_convexity", strong_convexity)
    if big < small:
        raise PremiseError(f"smoothness = {big:g}: below the strong convexity {small:g}")
    horizon = 4 * math.log(1 / gamma) + d * math.log(big / small)
    step = 2 * small * gamma**2 / (d * big**2 * horizon)
    return step, math.ceil(d * (big * horizon / (2 * small * gamma)) ** 2)


@register
class LangevinSteps(Theorem):
    """Theorem 7 for the posterior, plus (1 + e^ε)γ for a Langevin sampler run for T steps (Proposition 12)."""

    name = "langevin-steps"
    title = "Langevin, the paper's step count"
    reference = "Minami et al. 2016, Proposition 13; Dalalyan 2014, Corollary 1"
    errata = ("E4", "E6")
    kinds = (Kind.GIBBS,)
    sampler = "unadjusted-langevin"
    instead = (
        "its chain starts at the private minimiser and pays (1 + e^ε)γ for steps that grow like 1/γ²; "
        "langevin-last-iterate prices any number of steps from a public start without γ"
    )
    _target = LogSobolev()

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require smooth losses, d ≥ 2, γ < 1/2 and a public n."""
        constants.public_n(adjacency)
        dimension, slack = constants.need("dimension", "slack")
        constants.require_smoothness()
        if dimension < 2:
            raise PremiseError(f"dimension = {dimension}: the step count needs dimension >= 2")
        if slack >= 0.5:
            raise PremiseError(f"slack = {slack:g}: the step count needs slack < 1/2")
        start = Premise("the chain starts from N(θ*, I/M) at the minimiser θ* and runs T unadjusted steps")
        return (*self._target.premises(constants, adjacency), start)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> Guarantee:
        return with_slack(self._target._one_draw(constants, beta, adjacency), constants.slack or 0.0)

    def schedule(self, constants: Constants, beta: float, adjacency: Adjacency) -> tuple[float, int]:
        """Return (h, T) for this posterior."""
        constants.public_n(adjacency)
        _, most = constants.row_bounds(adjacency)
        smoothness, prior_smoothness = constants.need("smoothness", "prior_smoothness")
        return schedule(
            dimension=constants.need("dimension")[0],
            smoothness=most * beta * smoothness + prior_smoothness,
            strong_convexity=min(constants.curvature_blocks(0.0, 0)),
            slack=constants.need("slack")[0],
        )

    def note(self, constants: Constants, beta: float, adjacency: Adjacency) -> str:
        """Return the step count."""
        step, steps = self.schedule(constants, beta, adjacency)
        return f"{steps:.4g} steps of size {step:.3g}"
