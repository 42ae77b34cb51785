"""Certified proximal sampler: the last iterate is private after any number of rounds, without smoothness and without n."""

from __future__ import annotations

import math
from dataclasses import replace

from gibbsafe._numerics import up
from gibbsafe._validate import count, positive
from gibbsafe.privacy import Adjacency, GaussianDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.gaussian_dp import require_convex, separation, weighted_norm
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register

__all__ = ["ProximalLastIterate", "share_of_posterior"]


def share_of_posterior(step: float, steps: int) -> float:
    """Return μ_k/μ of the k-th proximal iterate against the posterior's own μ, rounded up (never above 1).

    With c = 1/(1 + η): (μ_k/μ)² = 1 − 2cᵏ/(1 + cᵏ⁻¹) = [(1 − cᵏ) + cᵏ⁻¹(1 − c)]/(1 + cᵏ⁻¹), where nothing cancels; k = 1:
    η/(1 + η). ``step`` is η, the variance of the proximal noise in units of the prior's variance.

    >>> round(share_of_posterior(1.0, 1) ** 2, 12), round(share_of_posterior(0.01, 300), 6)
    (0.5, 0.950705)
    """
    eta, k = positive("step", step), count("steps", steps)
    fold = math.log1p(eta)
    kept = math.exp(-(k - 1) * fold)
    lost = -math.expm1(-k * fold) + kept * (eta / (1 + eta))
    return min(1.0, math.sqrt(lost / (1 + kept)) * (1 + 2.0**-48))


def _prior_alone(constants: Constants) -> Constants:
    """The constants without strong convexity of losses: M is the prior's, and both neighbours have it."""
    return replace(constants, loss_strong_convexity=0.0)


@register
class ProximalLastIterate(Theorem):
    """μ_k-GDP of the k-th iterate of the proximal sampler, μ_k² = μ²(1 − 2cᵏ/(1 + cᵏ⁻¹)) < μ², c = 1/(1 + η).

    One round: y = x + √η M^{−1/2} ξ, then x drawn exactly from π(x) exp(−(x − y)ᵀM(x − y)/2η), where M is the prior's precision
    matrix (for a constraint set other than all of space: its least precision times the identity); μ = sup |M^{−1/2}∇g| is the
    posterior's own price (``gaussian-dp``). ``step`` is η, without a unit, and ``steps`` is k.

    Proof (docs/samplers.md, Theorem A): shifted interpolation with both noises, after the change of variables that makes M the
    identity. A drift of c(z + ηG) per round is absorbed by the x-step at cost a²/(cη), by isoperimetry, and by the y-step at cost
    a²/η, but never more than the shift there is: the last x-step alone pays for the last drift, the optimum of all others is
    (G²/m) c(1 − cᵏ⁻¹)/(1 + cᵏ⁻¹). Premises to keep: a start that does not depend on the data, η and k fixed in advance, exact
    inner draws, and only the last iterate released. Strong convexity of losses is not used.
    """

    name = "proximal-last-iterate"
    title = "certified proximal sampler"
    reference = "shifted interpolation (Bok, Su, Altschuler 2024) and isoperimetry (Gopi, Lee, Liu 2022), combined here"
    kinds = (Kind.GIBBS,)
    sampler = "proximal"

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require convexity, Lipschitz constants, a prior that is strongly log-concave, and the public schedule."""
        convex = require_convex(constants)
        constants.need("prior_precision", "step", "steps")
        separation(_prior_alone(constants), 1.0, adjacency)
        return (
            convex,
            Premise(weighted_norm(constants, adjacency)),
            Premise("the prior is strongly log-concave", checked=True),
            Premise("the start does not depend on the data; step and rounds are fixed; only the last iterate is released"),
            Premise("every inner draw is exact"),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> GaussianDP:
        step, steps = constants.need("step", "steps")
        return GaussianDP(up(separation(_prior_alone(constants), beta, adjacency) * share_of_posterior(step, steps)))

    def note(self, constants: Constants, beta: float, adjacency: Adjacency) -> str:
        """Return the rounds, and how much of the posterior's own price they cost."""
        step, steps = constants.need("step", "steps")
        folds = steps * math.log1p(step)
        return f"{steps:,} rounds, {folds:.3g} e-folds, {share_of_posterior(step, steps):.1%} of the posterior's own μ"
