"""Proximal rounds whose inner draws come from the shell sampler: for steps that are long beside the data's curvature.

The inner law exp(−U(x) − ½(x − y)ᵀM(x − y)/η) is the posterior under a prior that is 1 + 1/η times as precise and centred at
(c + y/η)/(1 + 1/η). The shell sampler draws from it exactly, at a cost that is bounded by p, κ and η alone (`shell_work`), for
any number of records; tangents (`proximal_inner`) cost ½Sη/(1+η) nats, S the trace of the data's curvature. Which of the two
draws changes the time taken, never the law: both are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.proximal.rounds import Chains, Geometry
from gibbsafe.samplers.shell import sample as shell

__all__ = ["ShellRounds", "is_long", "quick_envelope"]


#: Nats up to which tangents are taken, whatever the shell sampler would cost.
MOST_TANGENT_NATS = 6.0
#: Parameters up to which the envelope of a whole posterior is looked at; seconds of a round beside its pass.
LARGEST_SHELL = 64
PASS_OVERHEAD = 1e-4


def _known(posterior: GibbsPosterior) -> bool:
    """Whether the shell sampler can draw from the posterior."""
    return posterior.ball is None and 0 < posterior.loss.self_concordance < math.inf


def quick_envelope(
    posterior: GibbsPosterior, draws: int, rounds: int, generator: np.random.Generator
) -> shell.ShellEnvelope | None:
    """An envelope of the posterior itself if exact draws from it are likely to be quicker than this many rounds.

    Only where a slack is stated: draws by rounds are then within it of the exact ones, whichever the data choose. The choice is
    made before the first proposal, so that it tells nothing of the draw.
    """
    if not _known(posterior) or posterior.dimension > LARGEST_SHELL:
        return None
    envelope = shell.prepare(posterior, draws, generator)
    pass_seconds = PASS_OVERHEAD + 1.1e-9 * posterior.rows_per_pass * posterior.dimension
    return envelope if envelope.seconds(draws) < rounds * pass_seconds * max(1.0, 0.35 * draws) else None


def is_long(posterior: GibbsPosterior, geometry: Geometry, step: float) -> bool:
    """Whether tangents could cost too much at this step while the shell sampler knows the posterior."""
    return _known(posterior) and 0.5 * geometry.curvature * step / (1 + step) > MOST_TANGENT_NATS


@dataclass(frozen=True, eq=False)
class ShellRounds:
    """Rounds of one step size, drawn by the shell sampler."""

    posterior: GibbsPosterior
    step: float
    way = "shell"

    def start(self, points: Floats) -> Chains:
        """Chains at these points (k, p)."""
        return Chains(np.array(points), np.array(points), np.zeros_like(points))

    def advance(self, chains: Chains, generator: np.random.Generator) -> None:
        """One round of every chain, in place."""
        posterior = self.posterior
        precision, inner_precision = posterior.prior_precision, posterior.prior_precision / self.step
        y = chains.points + generator.standard_normal(chains.points.shape) / np.sqrt(inner_precision)
        centres = (precision * posterior.prior_centre + inner_precision * y) / (precision + inner_precision)
        for k, centre in enumerate(centres):
            inner = replace(posterior, prior_precision=precision + inner_precision, prior_centre=centre)
            draw, seen = shell.sample(inner, 1, generator)
            chains.points[k] = draw[0]
            chains.proposals += seen.evaluated
            chains.passes += seen.mode_passes
