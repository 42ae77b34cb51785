"""Certified Langevin: the last iterate is private, converged or not."""

from __future__ import annotations

import math

from gibbsafe._validate import count, non_negative, positive
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, GaussianDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.gaussian_dp import require_convex
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def last_iterate_mu(*, step: float, gap: float, strong_convexity: float, smoothness: float, steps: int) -> float:
    """Return μ of the last of t projected Langevin steps θ ← Proj[θ − h∇U(θ) + √(2h) ξ], rounded up.

    c = max(|1−hm|, |1−hM|) is the contraction of one step. For c < 1, μ² = (hG²/2)(1−cᵗ)(1+c)/((1+cᵗ)(1−c));
    for c ≥ 1 that formula is *not* valid and the steps compose plainly: μ² = t·hG²/2.
    (Bok, Su, Altschuler 2024, shifted interpolation; equality for quadratics.)
    """
    h, t, big = positive("step", step), count("steps", steps), non_negative("gap", gap)
    m, smooth = non_negative("strong_convexity", strong_convexity), positive("smoothness", smoothness)
    if smooth < m:
        raise PremiseError(f"smoothness = {smooth:g}: must be at least the strong convexity {m:g}")
    per_step = big * math.sqrt(h / 2)
    # 1 − c, rounded down: hm where c = 1 − hm, and 2 − hM where c = hM − 1 (near 2 the product's own rounding counts).
    loss = min(h * m * (1 - 2.0**-51), 2 - h * smooth - 2.0**-50)
    if loss <= 0:
        return math.sqrt(t) * per_step * (1 + 2.0**-48)
    # (1 − cᵗ)(1 + c)/((1 + cᵗ)(1 − c)) = tanh(t·a/2)/tanh(a/2), a = −ln c
    a = -math.log1p(-loss)  # loss ≤ 1 − 2⁻⁵⁰, since hm ≤ hM
    return per_step * math.sqrt(math.tanh(t * a / 2) / math.tanh(a / 2)) * (1 + 2.0**-40)


@register
class LangevinLastIterate(Theorem):
    """μ_t-GDP of the last iterate; for h ≤ 2/(m+M) always better than the posterior's own G/√m.

    Premises to keep: a start that does not depend on the data, steps and step size fixed in advance, full gradients,
    projections onto one convex set, and only the last iterate released. Without a declared ``step`` the largest
    admissible one, 2/(m+M), is used.
    """

    name = "langevin-last-iterate"
    title = "certified Langevin"
    reference = "Bok, Su, Altschuler 2024 (shifted interpolation for differential privacy)"
    kinds = (Kind.GIBBS,)
    sampler = "langevin"

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require smooth convex losses, a step count, and a public bound on n."""
        convex = require_convex(constants)
        constants.need("smoothness", "prior_smoothness", "steps", "prior_precision")
        self._geometry(constants, 1.0, adjacency)
        return (
            convex,
            Premise("every potential is m-strongly convex and M-smooth on the convex set"),
            Premise("the start does not depend on the data; step size and count are fixed; only the last iterate is released"),
        )

    def _geometry(self, constants: Constants, beta: float, adjacency: Adjacency) -> tuple[float, float, float]:
        """Return (h, m, M) valid for every data set."""
        fewest, most = constants.row_bounds(adjacency)
        smoothness, prior_smoothness = constants.require_smoothness()
        m = min(constants.curvature_blocks(beta, fewest))
        big = max(m, most * beta * smoothness + prior_smoothness)
        return (constants.step if constants.step is not None else 2 / (m + big) * (1 - 2.0**-40)), m, big

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> GaussianDP:
        h, m, big = self._geometry(constants, beta, adjacency)
        gap = beta * constants.gap(adjacency)
        steps = constants.need("steps")[0]
        return GaussianDP(last_iterate_mu(step=h, gap=gap, strong_convexity=m, smoothness=big, steps=steps))

    def note(self, constants: Constants, beta: float, adjacency: Adjacency) -> str:
        """Return the steps and their size."""
        step, _, _ = self._geometry(constants, beta, adjacency)
        return f"{constants.steps:,} steps of size {step:.3g}"
