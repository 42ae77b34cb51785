"""A trajectory of Langevin steps, all of it released: every step is a noisy sum of clipped scores."""

from __future__ import annotations

from dataclasses import replace

from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, GaussianDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.noisy_scores import MOST_ROWS, NoisyScores, score_gap
from gibbsafe.theorems.theorem import Premise, register

__all__ = ["LangevinTrajectory"]


def _clipped(constants: Constants) -> Constants:
    """Return the constants with scores bounded by the clip, and by nothing else."""
    return replace(constants, lipschitz=constants.clip, smoothness=None)


@register
class LangevinTrajectory(NoisyScores):
    r"""The scores of all steps of all chains together are μ-GDP with μ = G√β, and so is everything that is made of them.

    **Mechanism.** Step t of chain k answers q(θ) + σN(0, I) at its point θ, q the sum over records of clipped gradients of
    −log-likelihood in public coordinates φ: ‖·‖ ≤ C for every record, whatever the function answers. The next point is a function
    of the point, the answer and public numbers: φ − h(p·answer − ∇log π(φ)), where h = 2/(pσ)² makes the noise that of a Langevin
    step. With T steps of K chains 1/σ² = β/(KT).
    **Proof.** That of `noisy-scores`: a person with up to k records moves q by at most G = 2kC (replaced) or kC (added or
    removed) at every point, each answer is G/σ-GDP given those before, and Σ(G/σ)² = G²β is fixed in advance. Points, and draws
    taken from them, are functions of answers. Clipped terms are multiples of a public grid, so q is summed without rounding. ∎
    Neither convexity nor smoothness is used, nor that the function is a likelihood, nor that any chain converged.
    """

    name = "langevin-trajectory"
    title = "Langevin steps, all of them released"
    reference = "Gaussian mechanism (Dong, Roth, Su 2022) under an adaptive filter (Smith, Thakurta 2022)"
    kinds = (Kind.OWN,)
    sampler = "langevin-trajectory"

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require clipped scores, and no more rows than add up exactly."""
        single = constants.need("clip")[0]
        if not score_gap(_clipped(constants), adjacency) < 4 * single:
            raise PremiseError("n: more rows than add up exactly; use fewer")
        room = (Premise(f"there are at most {MOST_ROWS:,} records, so that their sum is exact"),)
        return (
            Premise(f"what one person adds to a score has norm at most {single:.6g}: every gradient is clipped", checked=True),
            Premise("points depend on earlier answers and public numbers only; steps and noise are fixed before", checked=True),
            Premise("what is computed for one record depends neither on other records nor on where it stands among them"),
            *(room if adjacency == Adjacency.ADD_REMOVE else ()),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> GaussianDP:
        return super()._one_draw(_clipped(constants), beta, adjacency)
