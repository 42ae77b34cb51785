"""The long audit: for every registered model the worst neighbours that can be found, their exact curve beside the claim, runs of
the sampler, attacks on the declared constants, hostile neighbours. Writes the report that is kept in docs/.

Run ``python audits/privacy.py --report docs/audit.md``; ``--quick`` takes a minute or two.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
from arguments import arguments, finish
from parts import ROOT, Part

import gibbsafe as gs
from gibbsafe.audit.plans import posteriors_of
from gibbsafe.models import MODELS
from gibbsafe.models.families.family import Family
from gibbsafe.release.draw import draw_stage

sys.path.insert(0, str(ROOT / "tests"))

from audit import broken_transcripts as scores  # type: ignore[import-not-found]
from examples import EXAMPLES, SMALL  # type: ignore[import-not-found]

from gibbsafe.audit.transcripts import PARTS, claim_of, concentrated

DELTA = 1e-6
#: Where no exact curve exists: the δ at which ε is estimated from draws.
SAMPLED_DELTA = 1e-3
#: Why the worst neighbours of a family with several parameters stay below half of its claim.
SEVERAL = (
    "the profile is that of the worst law of this range, which has all its mass at the two ends of the log density ratio; a "
    "posterior of several parameters spreads between them. Independent blocks are priced as a composition, gaining from six on"
)


@dataclass(frozen=True)
class Row:
    """One audited plan."""

    model: str
    example: str
    adjacency: str
    plan: gs.Plan
    claim: float
    exact: float
    delta: float
    route: str
    bound: gs.audit.LowerBound
    refuted: tuple[str, ...]
    seconds: float

    @property
    def ratio(self) -> float:
        """How much of the claimed ε was found."""
        return self.exact / self.claim


def sampled_epsilon(plan: gs.Plan, pair: tuple[Any, Any], draws: int, delta: float, seed: int) -> float:
    """Estimate ε at ``delta`` from exact draws of both posteriors: δ(ε) = E_p (1 − e^{ε − L})₊, L the log density ratio."""
    first, second = posteriors_of(plan, *pair)
    (stage,), reached = plan.stages, 0.0
    for p, q in ((first, second), (second, first)):
        thetas, _ = draw_stage(plan, stage, p, draws, np.random.default_rng(seed))
        loss = q.values(thetas) - p.values(thetas)
        loss += np.log(np.mean(np.exp(-loss)))  # the ratio of the normalisers: E_p q/p = 1
        low, high = 0.0, float(loss.max())
        for _ in range(50):
            middle = (low + high) / 2
            value = float(np.mean(-np.expm1(np.minimum(middle - loss, 0.0))))
            low, high = (middle, high) if value > delta else (low, middle)
        reached = max(reached, high)
    return reached


def sizes(adjacency: str, quick: bool) -> tuple[int, ...]:
    """Numbers of records to plan for; under add-remove the search varies them itself."""
    return (12,) if quick or adjacency == "add-remove" else (12, 400)


def audit(name: str, example: str, model: gs.models.Model, adjacency: str, chosen: argparse.Namespace) -> Row | None:
    """Audit one example under one adjacency at the size at which it comes nearest to its claim."""
    started, best = time.process_time(), None
    for n in sizes(adjacency, chosen.quick):
        try:
            plan = gs.plan(model, gs.Budget(1.0, DELTA), n=n, adjacency=adjacency)
        except gs.GibbsafeError:
            return None
        worst = gs.audit.worst_neighbours(plan, effort=chosen.effort // 2 if EXAMPLES[name].slow else chosen.effort)
        pair = worst.data, worst.neighbour
        delta, curve = DELTA, worst.curve
        if curve is None:
            delta, route = SAMPLED_DELTA, f"{chosen.draws:,} draws"
            exact = sampled_epsilon(plan, pair, chosen.draws, delta, chosen.seed)
        else:
            route, exact = curve.route.split(" (")[0], curve.epsilon(max(DELTA, curve.resolution))
        share = exact / plan.guarantee.epsilon(delta)
        if best is None or share > best[0]:
            best = share, plan, pair, curve, route, exact, delta
    assert best is not None
    _, plan, pair, curve, route, exact, delta = best
    bound = gs.audit.estimate_lower_bound(
        gs.audit.mechanism_of(plan),
        *pair,
        draws=chosen.draws,
        confidence=0.9999,
        delta=DELTA,
        score=gs.audit.score_of(plan, *pair),
        vectorised=True,
        progress=False,
    )
    refuted = list(findings(plan, curve, bound, chosen, name))
    seconds = time.process_time() - started
    claim = plan.guarantee.epsilon(delta)
    return Row(name, example, adjacency, plan, claim, exact, delta, route, bound, tuple(refuted), seconds)


def findings(plan: gs.Plan, curve: Any, bound: gs.audit.LowerBound, chosen: argparse.Namespace, name: str) -> Iterator[str]:
    """Yield what refutes a plan."""
    violation = None if curve is None else curve.violation(plan.guarantee)
    if violation is not None:
        yield f"exact curve: {violation}"
    if bound.refutes(plan.guarantee):
        yield f"runs: {bound}"
    constants = gs.audit.refute(plan.model, effort=5 if EXAMPLES[name].slow else chosen.effort // 4)
    if constants.counterexample is not None:
        yield f"constants: {constants.counterexample}"
    same = gs.audit.same_mechanism(plan)
    if same.difference is not None:
        yield f"neighbours: {same.difference}"


# -- transcripts of noisy scores ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """An attack on a transcript of noisy scores, or on a part of it."""

    what: str
    adjacency: str
    claim: float
    found: float
    seconds: float


#: Attacks by name; those on parts are made from the parts that there are.
WHOLE = ("a path of fixed length", "a path whose length and shares follow from its answers")
TRANSCRIPTS = [
    *((f"part: {part}", "replace-one") for part in PARTS),
    *((what, adjacency) for what in WHOLE for adjacency in ("replace-one", "add-remove")),
]


def attack(what: str, adjacency: str, runs: int) -> Attack:
    """Attack the transcript of an example whose scores move by all that is claimed."""
    started, part = time.process_time(), what.removeprefix("part: ") if what.startswith("part: ") else None
    plan = scores.plan_of(adjacency=adjacency)
    if part is not None:
        plan, pair, claim = concentrated(plan, part), scores.WORST[part], claim_of(concentrated(plan, part), part).mu
    else:
        plan = scores.alone(plan, **(scores.ADAPTIVE if what == WHOLE[1] else {"scores": 5}))
        data, other = scores.WORST["path"]
        pair = (data, (data[0][1:], data[1][1:]) if adjacency == "add-remove" else other)
        claim = plan.guarantee.mu
    found = scores.attack(plan, pair, runs=runs, part=part, confidence=0.9999)
    return Attack(what, adjacency, claim, found, time.process_time() - started)


def transcripts(attacks: list[Attack]) -> str:
    """One line per attack."""
    lines = ["| attacked | adjacency | claim μ | found μ | ratio |", "|---|---|---|---|---|"]
    for each in attacks:
        ratio = f"{each.found / each.claim:.2f}" + (" **refuted**" if each.found > each.claim else "")
        lines.append(f"| {each.what} | {each.adjacency} | {each.claim:.3f} | ≥ {each.found:.3f} | {ratio} |")
    return "\n".join(lines)


# -- the report --------------------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """One line per audited plan."""
    lines = [
        "| model | example | adjacency | n | theorem, sampler | δ | claim ε | found ε | ratio | by | μ from runs |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        plan = row.plan
        lines.append(
            f"| {row.model} | {row.example} | {row.adjacency} | {plan.n if row.adjacency == 'replace-one' else 'any'} "
            f"| {plan.theorem.name}, {plan.sampler} | {row.delta:g} | {row.claim:.4g} | {row.exact:.4g} | {row.ratio:.2f} "
            f"| {row.route} | ≥ {row.bound.mu:.3f} |"
        )
    return "\n".join(lines)


def gaps(rows: list[Row]) -> str:
    """Explain every ratio below one half."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.ratio < 0.5:
            several = SEVERAL if isinstance(row.plan.model, Family) and row.plan.model.parameters > 1 else "**not explained**"
            named = f"{row.model}, {row.example}, {row.adjacency} ({row.ratio:.2f})"
            by_reason.setdefault(EXAMPLES[row.model].gap or several, []).append(named)
    lines = [f"- **{'; '.join(names)}**: {reason}." for reason, names in by_reason.items()]
    return "\n".join(lines) or "None: every ratio is at least one half."


def markdown(rows: list[Row], attacks: list[Attack], chosen: argparse.Namespace, seconds: float) -> str:
    """The report that is kept."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("gibbsafe", "numpy", "scipy"))
    refuted = [f"- {row.model}, {row.example}, {row.adjacency}: {reason}" for row in rows for reason in row.refuted]
    missing = sorted(set(MODELS) - {row.model for row in rows})
    left_out = f" Models without an example: {', '.join(missing)}." if missing else ""
    return f"""# Audit of every model

Written by `{chosen.command}{" --quick" if chosen.quick else ""}` on
{datetime.date.today().isoformat()} in {seconds:.0f} s of processor time (Python {platform.python_version()}, {versions}).

For each model, a plan at ε = 1 and δ = {DELTA:g} is made for several n, neighbouring data sets are searched that the posterior
tells apart best, and their **exact** curve is put beside the claim: *found ε* is what the pair shows at the same δ, and the ratio
says how tight the claim is. A ratio above 1 would refute it. Where no exact curve exists (more than two parameters without a
closed form) ε is estimated from {chosen.draws:,} draws at δ = {SAMPLED_DELTA:g}, and compared with the claim there. *μ from runs*
is the lower confidence bound (99.99 %) from {chosen.draws:,} runs of the plan's own sampler on each data set. Every model's
declared constants were attacked and its hostile neighbours released as well. How to read this and to audit a mechanism of your
own: [auditing.md](auditing.md).{left_out}

## Verdict

{chr(10).join(refuted) if refuted else f"None of the {len(rows)} claims was refuted."}

## Claims and worst neighbours

{table(rows)}

## Transcripts of noisy scores

An example in which a replaced record moves every score, or the second moment of rows, by all that is claimed: pseudo-Huber
regression of {scores.N} records at ε = {scores.BUDGET.epsilon:g}. Each part of the transcript is attacked by itself, with nearly
all of the budget on it, and whole paths by all of their scores; the attacker knows both data sets and uses the exact likelihood
ratio. Lower confidence bounds (99.99 %) from {chosen.draws:,} runs on each data set. Bugs planted in every constant are caught by
the same attack in the tests (`tests/audit/broken_transcripts.py`).

{transcripts(attacks)}

## Ratios below one half

{gaps(rows)}

Bounded-range claims come from the largest and smallest log density ratio; a posterior that spreads over the trimmed parameters
has little mass at either end, so at δ > 0 even its worst neighbours stay below the claim.
"""


def one(chosen: argparse.Namespace, unit: tuple[str, str, str]) -> Row | Attack | str:
    """Audit one unit: model, example, adjacency; or what is attacked of a transcript."""
    name, example, adjacency = unit
    if name == "transcript":
        return attack(example, adjacency, chosen.draws)
    row = audit(name, example, SMALL[name, example], adjacency, chosen)
    if row is not None:
        state = "REFUTED" if row.refuted else f"ratio {row.ratio:.2f}"
        sys.stderr.write(f"{name}, {example}, {adjacency}: {state}, {row.seconds:.1f} s\n")
    return row or "refused"


def main() -> None:
    """Command line."""
    chosen = arguments(__doc__, {"draws": (10_000, 2000), "effort": (100, 60)}, seed=1)
    units = [(name, example, adjacency) for name, example in SMALL for adjacency in ("replace-one", "add-remove")]
    units += [("transcript", *each) for each in TRANSCRIPTS]
    part = Part("privacy", (chosen.draws, chosen.effort, chosen.quick, chosen.seed))
    outcomes, seconds = part.run(units, partial(one, chosen), minutes=chosen.minutes)
    rows = [row for row in outcomes if isinstance(row, Row)]
    attacks = [attack for attack in outcomes if isinstance(attack, Attack)]
    finish(chosen, markdown(rows, attacks, chosen, seconds), outcomes)
    if any(row.refuted for row in rows) or any(attack.found > attack.claim for attack in attacks):
        sys.exit(1)


if __name__ == "__main__":
    main()
