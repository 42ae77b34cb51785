"""Approximate sampling: a sampler within total variation γ of its target, for every data set."""

from __future__ import annotations

from gibbsafe.privacy import Adjacency, Guarantee, compose
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.gaussian_dp import GaussianDPTheorem
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def with_slack(guarantee: Guarantee, slack: float) -> Guarantee:
    """Return (ε, δ + (1 + e^ε)γ) for a sampler within total variation γ of what ``guarantee`` is about.

    >>> from gibbsafe.privacy import ApproximateDP
    >>> with_slack(ApproximateDP(1.0, 1e-6), 1e-8).delta(1.0)
    1.0371828...e-06
    """
    return compose([guarantee], slack=slack)


@register
class ApproximateSampling(Theorem):
    """(ε, δ + (1 + e^ε)γ)-DP when the sampler is within total variation γ of an (ε, δ)-DP target for *every* data set.

    Erratum E4: the paper prints (εδ + …). The target is priced by ``gaussian-dp``.
    """

    name = "approximate-sampling"
    title = "Gaussian DP with sampling slack"
    reference = "Minami et al. 2016, Proposition 12"
    errata = ("E4",)
    kinds = (Kind.GIBBS,)
    sampler = "proximal"
    _target = GaussianDPTheorem()

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require the target's premises and a slack that holds for every data set."""
        (slack,) = constants.need("slack")
        within = Premise(f"the sampler is within total variation {slack:g} of the posterior, for every data set")
        return (*self._target.premises(constants, adjacency), within)

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> Guarantee:
        return with_slack(self._target._one_draw(constants, beta, adjacency), constants.slack or 0.0)
