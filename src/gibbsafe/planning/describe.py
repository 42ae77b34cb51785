"""Plans as text that people read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._text import counted
from gibbsafe.errors import PremiseError
from gibbsafe.models.capabilities import HoldsCode
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning.facts import describe_prior
from gibbsafe.posteriors.stage import ChainRule, Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers.score_path import MOST_SCORES
from gibbsafe.samplers.trajectory import noise_of
from gibbsafe.theorems import get

if TYPE_CHECKING:
    from gibbsafe.planning.plans import Plan

__all__ = ["describe_guarantee", "describe_plan", "duration", "plan_facts", "table_of"]

WIDTH = 22
#: Seconds beyond which a plan says how to be quicker.
LONG_SECONDS = 120.0


def table_of(pairs: list[tuple[str, str]]) -> str:
    """Return names and values in two columns."""
    return "\n".join(f"  {name:<{WIDTH}}{value}" for name, value in pairs)


def _precision(plan: Plan) -> str:
    values = np.atleast_1d(plan.prior_precision)
    return f"{values[0]:.6g}" if len(values) == 1 else f"{values.min():.4g} to {values.max():.4g}, one per parameter"


def _declared_prior(plan: Plan) -> str:
    return ", ".join(f"{name} {value}" for name, value in describe_prior(plan.model, plan.stages[-1]).items()) or "flat"


def _radius(plan: Plan) -> list[tuple[str, str]]:
    if plan.prior_radius is None or plan.mechanism == "noisy-scores":
        return []
    return [("prior radius", f"{plan.prior_radius:.4g} (public guess of |θ| in scaled units: the one knob worth turning)")]


def _stages(plan: Plan) -> list[tuple[str, str]]:
    """Return one pair of lines for one stage, or one line per stage."""
    last = plan.stages[-1]
    if last.scores is not None:
        return _scores(plan)
    if last.chain is not None:
        return _chain(plan, last, last.chain)
    steps = "" if last.steps is None else f", {_steps(plan, last.steps)} of size {last.step:.3g}"
    if len(plan.stages) == 1:
        prior = ("prior precision", _precision(plan)) if last.prior_precision else ("prior", _declared_prior(plan))
        return [("inverse temperature", f"{last.inverse_temperature:.6g}{steps}"), prior]
    lines = []
    for k, (stage, claim) in enumerate(zip(plan.stages, plan.stage_guarantees, strict=True), start=1):
        centre = "the public centre" if stage.prior_centre is not None else "the draw before"
        spread = 1 / np.sqrt(stage.prior_precision[0])
        text = f"{claim}: inverse temperature {stage.inverse_temperature:.4g}, prior of sd {spread:.3g} around {centre}"
        lines.append((f"stage {k}", text + ("" if stage.steps is None else f", {_steps(plan, stage.steps)}")))
    return lines


def _scores(plan: Plan) -> list[tuple[str, str]]:
    """Return what noisy scores are asked, in words."""
    rule = plan.scores
    loss = f"{plan.model.name}'s own loss"
    if rule.clip is not None:
        loss = f"calibrated loss, C = {rule.clip:.3g}"
    elif rule.width is not None:
        loss = f"pseudo-Huber loss of width {rule.width:.3g}"
    steps = "steps by the noisy second moment of rows" if rule.preconditioned else "steps of one size"
    count = f"{rule.scores} of them (up to {MOST_SCORES} where the fit is far)"
    shares = f"{rule.path:.0%} the path to a fit, {rule.moment:.0%} the second moment of rows, "
    shares += f"{rule.facts:.0%} size and steepness of slopes"
    shares += f", {rule.point:.0%} a last score at the fit" if rule.point > 0 else ""
    return [
        ("mechanism", f"noisy scores of the {loss}: {count}, {steps}"),
        ("noise", f"{1 / math.sqrt(plan.inverse_temperature):.4g} standard deviation of all scores together (scaled units)"),
        ("shares of the budget", shares),
    ]


def _own_coordinates(plan: Plan) -> bool:
    return isinstance(plan.model, Custom) and plan.model.coordinates.are_own


def _chain(plan: Plan, stage: Stage, rule: ChainRule) -> list[tuple[str, str]]:
    """Return how a trajectory is made, in words."""
    tempered = "the likelihood itself" if rule.power == 1 else f"the likelihood to the power {rule.power:.3g}"
    clip = plan.constants.need("clip")[0] / plan.rows_per_person
    return [
        (
            "mechanism",
            f"{counted(stage.steps or 0, 'Langevin step')} of {counted(rule.chains, 'chain')}, all released; {tempered}",
        ),
        ("step and noise", f"size {stage.step:.3g}; gradients clipped to {clip:.4g}, noise {noise_of(stage):.4g} in their sum"),
        ("coordinates", "yours" if _own_coordinates(plan) else "public ones, of which a synthetic record tells evenly"),
        ("draws", f"{rule.kept:,} last iterates of each chain, free; their law is a chain's, not proved to be the posterior"),
        ("prior", _declared_prior(plan)[:100]),
    ]


def describe_guarantee(plan: Plan) -> str:
    """Return what the release claims; of several stages, which are listed one by one, what they come to."""
    if len(plan.stages) == 1:
        return str(plan.guarantee)
    try:
        return f"{plan.guarantee.gaussian()}, of {len(plan.stages)} stages"
    except PremiseError:  # a slack, or a claim that is not Gaussian
        return str(plan.guarantee)


def _declared_by_user(plan: Plan) -> list[tuple[str, str]]:
    """Return what rests on the user's word alone."""
    said = plan.model.declared_by_user if isinstance(plan.model, HoldsCode) else ()
    return [("asserted" if k == 0 else "", sentence) for k, sentence in enumerate(said)]


def _steps(plan: Plan, steps: int) -> str:
    return counted(steps, "Langevin step" if plan.sampler == "langevin" else "proximal round")


def _rounded(plan: Plan) -> str:
    return "the point" if plan.mechanism == "noisy-scores" else "draws"


def _convergence(plan: Plan) -> list[tuple[str, str]]:
    """Return how far proximal rounds go, and what they cost beside an exact draw."""
    last = plan.stages[-1]
    if plan.sampler != "proximal" or last.step is None or last.steps is None:
        return []
    folds = last.steps * math.log1p(last.step)
    exact = get("gaussian-dp").guarantee(plan.constants, inverse_temperature=last.inverse_temperature, adjacency=plan.adjacency)
    share = plan.stage_guarantees[-1].gaussian().mu / math.sqrt(last.draws) / exact.gaussian().mu
    text = f"τ = {folds:.2f} e-folds (start's share at most {math.exp(-folds):.2g}), μ_k/μ = {share:.4f} of an exact draw's price"
    return [("convergence", text)]


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds:.2g} seconds"


def _work(plan: Plan) -> list[tuple[str, str]]:
    """Return the bound on the expected work, for every data set, and what to do where it is long."""
    work = plan.work
    if not math.isfinite(work.passes):
        return [("expected work", "no bound without a public number of records; it grows with their square at worst")]
    text = f"at most {work.passes:{',.0f' if work.passes < 1e12 else '.3g'}} passes over the records"
    if work.seconds is not None:
        text += f", about {duration(work.seconds)} on one core"
    lines = [("expected work", text + ", whatever the data")]
    if work.seconds is not None and work.seconds > LONG_SECONDS and plan.theorem.name != "approximate-sampling":
        remedy = "theorem = 'approximate-sampling' is quick where rows spread evenly over directions, at a slack of 1e-9"
        if "proximal" not in plan.request().samplers:
            remedy = "where rows spread evenly over directions it is quick; sampler = 'langevin' has a fixed number of steps"
        lines.append(("", f"long: {remedy}"))
    return lines


def plan_facts(plan: Plan) -> list[tuple[str, str]]:
    """Return what is claimed and why, as names and values."""
    unit = "" if plan.rows_per_person == 1 else f", per person of at most {plan.rows_per_person} records"
    size = f"{plan.n or 0:,}{' persons' if unit else ''}"
    known = f", n = {size}" if plan.adjacency == Adjacency.REPLACE_ONE else ", n private"
    return [
        ("budget", f"{plan.budget}, {plan.adjacency}{unit}{known}"),
        ("guarantee", describe_guarantee(plan)),
        ("theorem", f"{plan.theorem.name} ({plan.theorem.reference})"),
        *_declared_by_user(plan),
        *_stages(plan),
        *_radius(plan),
        *_convergence(plan),
        *_work(plan),
        ("sampler", f"{plan.sampler}; {_rounded(plan)} rounded to multiples of {plan.grid:.3g} (scaled units)"),
    ]


def describe_plan(plan: Plan) -> str:
    """Return the plan: what is claimed and why, what it buys, what else was considered."""
    known = plan.adjacency == Adjacency.REPLACE_ONE
    utility, model = plan.utility, plan.model
    what = "posterior draw" if plan.purpose == "posterior" else "estimate"
    head = f"Plan: {counted(plan.draws, what)} of {model.name}, {counted(model.parameters, 'parameter')}"
    claim = table_of(plan_facts(plan))
    buys = []
    if utility.prior_sd is not None:
        buys.append(("prior noise", f"{utility.prior_sd:.4g} standard deviation per parameter (scaled units)"))
    if known and utility.noise_sd is not None:
        buys.append(("expected noise", f"{utility.noise_sd:.4g} {utility.typical_case}"))
    if known and utility.excess_risk is not None:
        risk = f"mean training loss at most {utility.excess_risk:.4g} above the best |θ| ≤ D, in expectation"
        buys.append(("excess risk", risk))
    buys += [
        ("attacker's advantage", f"at most {utility.advantage:.4g} over guessing who is in the data"),
        ("", f"finds at most {utility.true_positive_rate:.2%} of members at 1 false alarm in 100"),
    ]
    rows = []
    for row in plan.alternatives:
        if row.inverse_temperature is not None:
            share = row.inverse_temperature / plan.inverse_temperature
            mark = "chosen" if row.theorem.name == plan.theorem.name else f"{share:.1%} of the chosen β"
            rows.append((row.theorem.name, mark))
    refused = [row for row in plan.alternatives if row.inverse_temperature is None]
    if refused:
        rows.append(("not applicable", ", ".join(row.theorem.name for row in refused)))
    return "\n".join([head, claim, "", "What it buys", table_of(buys), "", "Theorems under the same prior", table_of(rows)])
