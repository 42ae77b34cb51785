"""Which sampler and which theorem a plan takes, and what drawing costs: from public numbers only."""

from __future__ import annotations

import math

from gibbsafe import _validate
from gibbsafe.errors import PremiseError
from gibbsafe.losses.kinked import KinkedLoss
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.models.own.custom import Custom
from gibbsafe.models.prior import GaussianPrior
from gibbsafe.planning.requests import PROXIMAL, WITHIN_SLACK, Request
from gibbsafe.planning.schedules import stages as stages_of
from gibbsafe.posteriors.stage import Stage
from gibbsafe.samplers import SAMPLERS
from gibbsafe.samplers.score_path import MOST_SCORES
from gibbsafe.samplers.work import QUICK_SECONDS, Work, proximal_work, shell_work, slack_work
from gibbsafe.theorems import Theorem, get

__all__ = ["choose", "choose_sampler", "work_of"]

#: What a draw by an exact sampler in closed form, or of one parameter, takes at most.
EXACT_PASSES = 50.0
CLOSED_FORMS = ("closed-form", "trimmed", "inverse-cdf")
#: Passes of a quick exact draw where nobody says how many records a pass visits; rounds from a public centre that are too many.
QUICK_PASSES, MANY_ROUNDS = 20_000.0, 5000


def choose_sampler(name: str, model: Model) -> str:
    """Name of the sampler to use: the one asked for, or for ``"auto"`` the first that applies.

    Public quantities only: number of parameters, loss, parameter set. Whether the shell sampler is quick enough for every data
    set is for the plan to see (`choose`).

    >>> from gibbsafe.models import LinearRegression, LogisticRegression
    >>> [choose_sampler("auto", LogisticRegression(dimension=d, intercept=False)) for d in (1, 20)]
    ['inverse-cdf', 'shell']
    >>> choose_sampler("auto", LinearRegression(dimension=2, response_bounds=(0, 1)))
    'proximal'
    """
    wanted = _validate.choice("sampler", name, ("auto", *SAMPLERS))
    able = model.samplers
    for sampler in able:
        if wanted in ("auto", sampler):
            return sampler
    asked = SAMPLERS.values() if wanted == "auto" else (SAMPLERS[wanted],)
    needed = "; ".join(f"{sampler.name}: {sampler.condition}" for sampler in asked)
    known = f"; it is drawn by {' or '.join(able)}" if able else ""
    loss = model.loss if isinstance(model, GibbsModel) else None
    remedy = _smooth_instead(loss) if isinstance(loss, KinkedLoss) else ""
    raise PremiseError(f"sampler = {name!r}: none for {model.name} with {model.parameters} parameters ({needed}){known}{remedy}")


def _smooth_instead(loss: KinkedLoss) -> str:
    """Say why a loss with a kink is not drawn with several parameters, and what is."""
    return (
        "; the loss has a kink, where no envelope of several parameters is proved, and rejection from its smoothed form of width "
        f"h may accept one draw in 2^(βnh) only: use {loss.smoothed}, within {loss.smoothing_gap:.3g}·h of it for every record"
    )


def choose(
    request: Request, sampler: str, theorem: str, prior: GaussianPrior | float | None, asked: float | None
) -> tuple[str, Theorem, tuple[Stage, ...]]:
    """Return sampler, theorem and stages: those asked for, or the first that public numbers prove quick for every data set.

    An exact sampler is taken where its worst case is quick, or by name; otherwise proximal rounds from the public centre,
    and where no number of records is public and these would be too many, rounds from the mode within a stated slack.
    """
    named = sampler if sampler != "auto" or theorem == "auto" else get(theorem).sampler
    chosen = choose_sampler(named if named in SAMPLERS else sampler, request.model)
    priced = request.theorem(theorem, chosen)
    stages = stages_of(request, priced, prior, asked)
    if sampler != "auto" or theorem != "auto" or (chosen == "shell" and _quick(request, stages)):
        return chosen, priced, stages
    if chosen == "shell" and "proximal" in request.samplers:
        chosen, priced = "proximal", get(PROXIMAL)
        stages = stages_of(request, priced, prior, asked)
    if chosen == "proximal" and request.public_posterior(stages[-1]).rows is None and _rounds_of(stages) > MANY_ROUNDS:
        priced = get(WITHIN_SLACK)
        stages = stages_of(request, priced, prior, asked)
    return chosen, priced, stages


def _quick(request: Request, stages: tuple[Stage, ...]) -> bool:
    """Whether the shell sampler is proved quick for every data set."""
    works = [shell_work(request.public_posterior(stage), stage.draws) for stage in stages]
    seconds = [work.seconds for work in works if work.seconds is not None]
    if len(seconds) == len(works):
        return math.fsum(seconds) <= QUICK_SECONDS
    return all(work.passes <= QUICK_PASSES * stage.draws for work, stage in zip(works, stages, strict=True))


def _rounds_of(stages: tuple[Stage, ...]) -> int:
    return sum(stage.steps or 0 for stage in stages)


def work_of(request: Request, sampler: str, stages: tuple[Stage, ...]) -> Work:
    """Return what drawing from the stages costs at most, in expectation, for every data set of the declared form."""
    total = Work(0, 0.0, 0.0)
    if isinstance(request.model, Custom):  # how long a function takes, nobody can say
        (stage,) = stages
        return Work(stage.steps or 0, float((stage.steps or 0) * stage.draws), None)
    for stage in stages:
        total += _work_of_scores(request, stage) if stage.scores is not None else Work(0, 0.0, 0.0)
    stages = tuple(stage for stage in stages if stage.scores is None)
    if not stages:
        return total
    if sampler in ("shell", "proximal", "langevin"):
        total += Work(0, 0.0, request.public_posterior(stages[0]).encoding_seconds())
    for stage in stages:
        total += _work_of_stage(request, sampler, stage)
    return total


def _work_of_scores(request: Request, stage: Stage) -> Work:
    """Return what asking costs at the most: the longest path, the second moment, the facts and one score more."""
    posterior, passes = request.public_posterior(stage), float(MOST_SCORES + 3)
    if posterior.rows is None:
        return Work(MOST_SCORES, passes, None)
    return Work(MOST_SCORES, passes, posterior.encoding_seconds() + passes * (posterior.gradient_seconds() + 1e-5))


def _work_of_stage(request: Request, sampler: str, stage: Stage) -> Work:
    if sampler in CLOSED_FORMS:
        rows = request.public_rows
        return Work(0, EXACT_PASSES, None if rows is None else 1e-3 + EXACT_PASSES * 1e-8 * rows)
    if sampler not in ("shell", "proximal", "langevin"):
        raise PremiseError(f"sampler {sampler}: nobody says what it costs; state its work in gibbsafe.planning.rules")
    posterior = request.public_posterior(stage)
    if stage.slack is not None:
        return slack_work(posterior, stage.draws, stage.slack)
    if sampler == "shell":
        return shell_work(posterior, stage.draws)
    assert stage.step is not None
    assert stage.steps is not None
    if sampler == "langevin":
        passes = float(stage.steps * stage.draws)
        return Work(stage.steps, passes, passes * (posterior.gradient_seconds() + 1e-5))
    return proximal_work(posterior, stage.draws, stage.step, stage.steps)
