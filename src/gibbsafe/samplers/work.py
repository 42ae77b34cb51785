"""What a draw costs at most, in expectation, for every data set of the declared form: stated in plans, and what "auto" goes by.

Everything here is a function of public numbers. Passes are visits to all records; seconds are for one core, fitted to timings of
NumPy with OpenBLAS, and only ever shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._numerics import exp
from gibbsafe.samplers.newton import MAXIMUM_PASSES
from gibbsafe.samplers.proximal.schedule import (
    LARGEST_STEP,
    cheapest_nats,
    mode_passes,
    rounds_for_folds,
    rounds_for_slack,
    step_for,
)
from gibbsafe.samplers.shell.work import largest_ratio, log_evaluations

__all__ = ["PublicPosterior", "Work", "proximal_schedule", "proximal_work", "shell_work", "slack_work"]

#: A draw that takes this long at worst is still quick: "auto" takes an exact sampler within it.
QUICK_SECONDS = 60.0
#: Nats that a proximal round drawn by its tangent may cost: a round proposes at most e^nats points in expectation.
TANGENT_NATS = (1.0, 2.0, 3.0, 4.0)
#: The share of them between ordinary data's, about a half, and the worst data's.
USUAL_SHARE = 0.75
#: Bound on the gradient left at an approximate mode, in the prior's units: it enters by its logarithm.
MODE_OFFSET = 100.0
#: Nats that one drawn by the shell sampler may cost; passes of its set-up near its mode (Newton from anywhere: MAXIMUM_PASSES).
SHELL_NATS = (3.0, 4.0, 5.0, 6.0)
SHELL_PASSES = 12.0
#: Passes of the sums that rounds begin with.
SUMS = 2
#: Seconds of rounds' set-up, of a round, of a proposal and of a shell envelope that do not depend on the number of records.
TANGENT_SECONDS, ROUND_SECONDS, PROPOSAL_SECONDS, SHELL_SECONDS = 5e-3, 6e-5, 2e-5, 1e-2


@dataclass(frozen=True)
class PublicPosterior:
    """What is public about a Gibbs posterior: p, β, the loss's constants, and how far rows reach in units of the prior.

    ``reach`` is the largest Σ_j z_j²/m_j of a row; ``rows`` the largest number of records, None where nobody says;
    ``constrained`` says whether parameters keep to a ball.
    """

    parameters: int
    inverse_temperature: float
    reach: float
    smoothness: float
    self_concordance: float
    rows: int | None
    constrained: bool = False

    @property
    def curvature(self) -> float:
        """S = βsn·reach, the largest trace of the data's curvature in units of the prior's precision.

        On a ball times p: at its boundary a proposal's whole length may lie along one row (docs/samplers.md).
        """
        if self.rows is None:
            return math.inf
        return self.inverse_temperature * self.smoothness * self.rows * self.reach * (self.parameters if self.constrained else 1)

    @property
    def by_shell(self) -> bool:
        """Whether the shell sampler knows such posteriors."""
        return not self.constrained and 0 < self.self_concordance < math.inf

    def shell_nats(self, step: float = math.inf) -> float:
        """Nats of an exact draw by the shell sampler, from the posterior whose prior is 1 + 1/η times as precise."""
        if not self.by_shell:
            return math.inf
        return log_evaluations(self.parameters, self.self_concordance * math.sqrt(self.reach / (1 + 1 / step)))

    def tangent_nats(self, step: float) -> float:
        """Nats of an exact draw by a tangent: ½Sη/(1+η)."""
        return 0.5 * self.curvature / (1 + 1 / step)

    def gradient_seconds(self) -> float:
        """Seconds of a gradient pass."""
        return (self.rows or 0) * (0.4 * self.parameters + 5) * 1e-9

    def evaluation_seconds(self) -> float:
        """Seconds of one of many evaluations made together."""
        return (self.rows or 0) * (0.06 * self.parameters + 4) * 1e-9

    def curvature_seconds(self) -> float:
        """Seconds of a pass that sums curvature."""
        return (self.rows or 0) * (0.03 * self.parameters**2 + 2 * self.parameters + 25) * 1e-9

    def encoding_seconds(self) -> float:
        """Seconds of encoding the records and looking for identical ones, once a release."""
        return (self.rows or 0) * (30 * self.parameters + 100) * 1e-9

    def lookup_seconds(self, nats: float) -> float:
        """Seconds of judging a proposal by records looked up one by one, or by a pass where that is less."""
        looked_up = self.parameters * nats * (4 * self.parameters + 60) * 1e-9
        return PROPOSAL_SECONDS + min(looked_up, 6 * self.gradient_seconds())


@dataclass(frozen=True)
class Work:
    """Upper bounds that hold for every data set: proximal rounds (0: none), expected passes and, if n is public, seconds."""

    rounds: int
    passes: float
    seconds: float | None

    def __add__(self, other: Work) -> Work:
        seconds = None if self.seconds is None or other.seconds is None else self.seconds + other.seconds
        return Work(self.rounds + other.rounds, self.passes + other.passes, seconds)


def shell_work(posterior: PublicPosterior, draws: int) -> Work:
    """Return what exact draws by the shell sampler cost at most."""
    evaluations, setup = draws * exp(posterior.shell_nats()), MAXIMUM_PASSES + SHELL_PASSES
    seconds = SHELL_SECONDS + setup * posterior.curvature_seconds() + evaluations * (posterior.evaluation_seconds() + 1e-6)
    return Work(0, setup + evaluations, None if posterior.rows is None else seconds)


def proximal_work(posterior: PublicPosterior, draws: int, step: float, rounds: int, *, share: float = 1.0) -> Work:
    """Return what ``rounds`` proximal rounds cost at most, by tangents or by the shell sampler, whichever is less.

    With a ``share`` below 1, what they cost where data need that share of the nats they may.
    """
    ways = [
        _by_tangents(posterior, draws, step, rounds, newton=mode_passes(rounds), share=share),
        _by_shell(posterior, draws, step, rounds),
    ]
    return min((way for way in ways if way is not None), key=_cost, default=Work(rounds, math.inf, None))


def _by_tangents(
    posterior: PublicPosterior, draws: int, step: float, rounds: int, *, newton: int, share: float = 1.0
) -> Work | None:
    """What rounds by tangents cost if a draw takes e^(share·nats) proposals; 1 is the worst data set's share."""
    nats = posterior.tangent_nats(step)
    if nats > 1.5 * max(TANGENT_NATS):
        return None
    chains = 1.0 if draws == 1 else 0.35 * draws
    each = ROUND_SECONDS + chains * posterior.gradient_seconds() + draws * exp(share * nats) * posterior.lookup_seconds(nats)
    setup = SUMS + newton
    seconds = TANGENT_SECONDS + setup * posterior.curvature_seconds() + rounds * each
    return Work(rounds, setup + float(rounds * draws), seconds)


def _by_shell(posterior: PublicPosterior, draws: int, step: float, rounds: int) -> Work | None:
    nats = posterior.shell_nats(step)
    if nats > 1.5 * max(SHELL_NATS):
        return None
    evaluations = exp(nats)
    each = SHELL_SECONDS + SHELL_PASSES * posterior.curvature_seconds() + evaluations * posterior.evaluation_seconds()
    passes = SUMS + rounds * draws * (SHELL_PASSES + evaluations)
    seconds = SUMS * posterior.curvature_seconds() + rounds * draws * each
    return Work(rounds, passes, None if posterior.rows is None else seconds)


def _cost(work: Work) -> float:
    return work.passes if work.seconds is None else work.seconds


def _steps(posterior: PublicPosterior) -> list[float]:
    """Steps worth looking at: those that cost tangents, or the shell sampler, a given number of nats."""
    steps = [step_for(posterior.curvature, nats) for nats in TANGENT_NATS if posterior.rows is not None]
    for nats in SHELL_NATS if posterior.by_shell else ():
        ratio = largest_ratio(posterior.parameters, nats)
        if ratio > 0:
            needed = posterior.reach * (posterior.self_concordance / ratio) ** 2 - 1
            steps.append(1 / needed if needed > 1 / LARGEST_STEP else LARGEST_STEP)
    return steps


def proximal_schedule(posterior: PublicPosterior, draws: int, e_folds: float) -> tuple[float, int]:
    """Return (η, k) of Theorem A: the step with the least work, and the rounds after which (1 + η)^{−k} ≤ e^{−τ}.

    η is in units of the prior's variance. Privacy holds for any; what bounds it is the work of a round: tangents are cheap where
    the data's curvature, known with n, is spread over many rounds; the shell sampler for any number of records. Steps are
    compared at `USUAL_SHARE`: longer ones gain a third where data are ordinary, and lose little in the worst case.
    """
    options = [(step, rounds_for_folds(step, e_folds)) for step in _steps(posterior)]
    return min(options, key=lambda option: _cost(proximal_work(posterior, draws, *option, share=USUAL_SHARE)))


def slack_work(posterior: PublicPosterior, draws: int, slack: float) -> Work:
    """Return what draws within total variation γ of the posterior cost at most: rounds from the mode (Theorem B)."""
    if posterior.rows is None:
        return Work(0, math.inf, None)
    step = step_for(posterior.curvature, cheapest_nats(posterior.rows, posterior.parameters))
    rounds = rounds_for_slack(step, slack, distance=math.sqrt(posterior.parameters) + MODE_OFFSET)
    return _by_tangents(posterior, draws, step, rounds, newton=MAXIMUM_PASSES) or Work(rounds, math.inf, math.inf)
