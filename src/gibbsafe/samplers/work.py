"""What a draw costs at most, in expectation, for every data set of the declared form: stated in plans, and what "auto" goes by.

Everything here is a function of public numbers. Passes are visits to all records; seconds are for one core, fitted to timings of
NumPy with OpenBLAS, and only ever shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gibbsafe._numerics import exp
from gibbsafe.samplers.shell_work import largest_ratio, log_evaluations

__all__ = ["PublicPosterior", "Work", "proximal_schedule", "proximal_work", "shell_work", "slack_work"]

#: A draw that takes this long at worst is still quick: "auto" takes an exact sampler within it.
QUICK_SECONDS = 60.0
#: Trace of the data's curvature times the step, ηS, of a proximal round that is accepted by its tangent alone: a round proposes
#: at most e^{ηS/2} points in expectation.
TRACE = 4.0
#: Passes of such a round: the gradient where it starts, and where its tangent touches.
TRACE_PASSES = 2.0
#: Nats that a proximal round drawn by the shell sampler may cost; passes of its set-up.
SHELL_NATS = (3.0, 4.0, 5.0, 6.0)
SHELL_PASSES = 8.0
#: Seconds of a round, and of a shell envelope, that do not depend on the number of records.
ROUND_SECONDS, SHELL_SECONDS = 1e-4, 1e-2


@dataclass(frozen=True)
class PublicPosterior:
    """What is public about a Gibbs posterior: p, β, the least prior precision, the loss's constants, rows of norm at most 1.

    ``rows`` is the largest number of records, None where nobody says; ``constrained`` whether parameters keep to a ball.
    """

    parameters: int
    inverse_temperature: float
    precision: float
    smoothness: float
    self_concordance: float
    rows: int | None
    constrained: bool = False

    @property
    def trace(self) -> float:
        """S = βsn/m, the largest trace of the data's curvature in units of the least prior precision."""
        return math.inf if self.rows is None else self.inverse_temperature * self.smoothness * self.rows / self.precision

    def tilted_nats(self, step: float) -> float:
        """Nats of an exact draw by the shell sampler from the posterior whose prior is 1 + 1/η times as precise."""
        if self.constrained or not 0 < self.self_concordance < math.inf:
            return math.inf
        return log_evaluations(self.parameters, self.self_concordance / math.sqrt(self.precision * (1 + 1 / step)))

    def gradient_seconds(self) -> float:
        """Seconds of a gradient pass."""
        return (self.rows or 0) * (1.1 * self.parameters + 3) * 1e-9

    def evaluation_seconds(self) -> float:
        """Seconds of one of many evaluations made together."""
        return (self.rows or 0) * (0.1 * self.parameters + 8) * 1e-9

    def curvature_seconds(self) -> float:
        """Seconds of a pass that sums curvature."""
        return (self.rows or 0) * (0.05 * self.parameters**2 + 1.5 * self.parameters + 80) * 1e-9


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
    """Return what exact draws by the shell sampler cost at most (`shell_work`)."""
    evaluations = draws * exp(posterior.tilted_nats(math.inf))
    seconds = SHELL_SECONDS + SHELL_PASSES * posterior.curvature_seconds() + evaluations * (posterior.evaluation_seconds() + 1e-6)
    return Work(0, SHELL_PASSES + evaluations, None if posterior.rows is None else seconds)


def proximal_work(posterior: PublicPosterior, draws: int, step: float, rounds: int) -> Work:
    """Return what ``rounds`` proximal rounds cost at most, by the tangent or the shell sampler, whichever is less."""
    known = posterior.rows is not None
    ways = []
    tangent_nats = 0.5 * posterior.trace / (1 + 1 / step)
    if tangent_nats <= 2 * TRACE:
        chains = 1.0 if draws == 1 else 0.35 * draws
        each = ROUND_SECONDS * draws + TRACE_PASSES * chains * posterior.gradient_seconds()
        ways.append(Work(rounds, rounds * draws * TRACE_PASSES, rounds * each))
    nats = posterior.tilted_nats(step)
    if nats < 20:
        evaluations = math.exp(nats)
        each = SHELL_SECONDS + SHELL_PASSES * posterior.curvature_seconds() + evaluations * posterior.evaluation_seconds()
        ways.append(Work(rounds, rounds * draws * (SHELL_PASSES + evaluations), rounds * draws * each if known else None))
    if not ways:
        return Work(rounds, math.inf, math.inf if known else None)
    return min(ways, key=lambda way: (way.seconds if way.seconds is not None else way.passes))


def proximal_schedule(posterior: PublicPosterior, draws: int, e_folds: float) -> tuple[float, int]:
    """Return (η, k): the step with the least stated work, and the rounds after which (1 + η)^{−k} ≤ e^{−τ}.

    η is in units of the prior's variance (`theorems.proximal_last_iterate`).
    A step is bounded by the work it may cause: ηS = `TRACE` keeps tangent rounds short where n is public, and a step whose tilted
    posterior costs the shell sampler few nats is short for any number of records.
    """
    steps = []
    if posterior.rows:
        steps.append(TRACE / posterior.trace)
    for nats in SHELL_NATS:
        ratio = largest_ratio(posterior.parameters, nats)
        if not posterior.constrained and 0 < posterior.self_concordance < math.inf and ratio > 0:
            needed = (posterior.self_concordance / ratio) ** 2 / posterior.precision - 1
            steps.append(1 / needed if needed > 1e-3 else 1e3)
    options = [(step, max(1, math.ceil(e_folds / math.log1p(step)))) for step in steps]
    works = [proximal_work(posterior, draws, *option) for option in options]
    return min(zip(options, works, strict=True), key=lambda pair: _cost(pair[1]))[0]


def _cost(work: Work) -> float:
    return work.passes if work.seconds is None else work.seconds


def slack_work(posterior: PublicPosterior, draws: int, slack: float) -> Work:
    """Return what draws within total variation γ of the posterior cost at most: rounds from the mode (Theorem B)."""
    if not posterior.rows:
        return Work(0, math.inf, None)
    step = TRACE / posterior.trace
    distance = 0.5 * math.log(posterior.parameters / (2 * math.pi * step))
    rounds = 1 + math.ceil(max(0.0, math.log(1 / slack) + distance) / math.log1p(step))
    return proximal_work(posterior, draws, step, rounds)
