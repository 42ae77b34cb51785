"""Data sets and plans that are hard on a sampler, each with a neighbour, and what every release of them must satisfy.

Small ones run in the tests, 100,000 releases in `audits/hostile.py`. A case is made from a seed alone, so that a failure is
repeated by its name. Only public functions are used: whatever sampler a plan takes is tried as users would run it.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gibbsafe as gs
from gibbsafe.audit.comparison import same_mechanism
from gibbsafe.audit.records import columns_of, join, replace_record
from gibbsafe.errors import GibbsafeError
from gibbsafe.models import BernoulliLogit, LogisticRegression, PseudoHuberRegression, SoftHinge, SoftQuantileRegression
from gibbsafe.samplers import SAMPLERS

#: A release may take this many times what its plan says it will, and at least this long, in seconds of the processor.
OVERRUN = 20.0
LEAST_SECONDS = 5.0
#: Seconds that a release may be expected to take, by numbers of records: longer plans are left to the benchmarks.
AFFORDABLE = {0: 0.1, 1000: 1.0, 100_000: 2.0, 1_000_000: 10.0}
#: Numbers in a table, so that a process holds a few of them.
LARGEST_TABLE = 25_000_000
LARGEST_PRECISION = 1e6


@dataclass(frozen=True)
class Problem:
    """A model, records, and the options of a plan that make it hard."""

    model: Any
    data: Any
    epsilon: float = 1.0
    prior: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    #: The weakest prior with which the shell sampler is known to be quick on it, so that it may be asked for by name.
    shell_from: float = 0.0
    #: How many different rows there are at most, where many are alike.
    different: float = math.inf


Maker = Callable[[int, np.random.Generator], Problem]


def _classes(n: int, share: float, generator: np.random.Generator) -> np.ndarray:
    return (generator.random(n) < share).astype(int)


def _epsilon(generator: np.random.Generator) -> float:
    return float(generator.choice([0.1, 1.0, 10.0, 100.0]))


def mirrored(n: int, generator: np.random.Generator) -> Problem:
    """Far responses of both signs on the same rows: terms of a centred loss cancel, their rounding does not."""
    d = int(generator.integers(1, 6))
    rows = np.repeat(generator.random(((n + 1) // 2, d)), 2, axis=0)[:n]
    response = 10 ** generator.uniform(0, 12) * np.where(np.arange(n) % 2, 1.0, -1.0)
    bounds = [(0.0, 1.0)] * d
    centre = (0.0,) * d + (float(generator.choice([0.0, 1e2, 1e5])),)
    if generator.random() < 0.5:
        model: Any = SoftQuantileRegression(dimension=d, bounds=bounds, quantile=float(generator.choice([0.1, 0.5, 0.9])))
    else:
        model = PseudoHuberRegression(dimension=d, bounds=bounds, width=float(10 ** generator.uniform(-1, 1)))
    return Problem(model, (rows, response), _epsilon(generator), gs.models.GaussianPrior(1.0, centre))


def saturated(n: int, generator: np.random.Generator) -> Problem:
    """All labels equal and a large β, with a prior that holds the predictor out where the loss is flat."""
    labels = np.full(n, int(generator.integers(0, 2)))
    if generator.random() < 0.5:
        purpose = str(generator.choice(["estimate", "posterior"]))
        return Problem(BernoulliLogit(), labels, 10.0, None, {"purpose": purpose}, different=2)
    rows = generator.uniform(-0.5, 0.5, (n, 3))
    far = gs.models.GaussianPrior(1e12, (0.0, 0.0, 0.0, float(generator.choice([0.0, 14.0, 40.0]))))
    return Problem(LogisticRegression(dimension=3, radius=1.0), (rows, labels), 10.0, far)


def far_centre(n: int, generator: np.random.Generator) -> Problem:
    """A prior far from what the records say, and of any strength."""
    d = int(generator.integers(1, 4))
    rows = generator.uniform(-1, 1, (n, d)) / math.sqrt(d)
    centre = generator.standard_normal(d + 1) * 10 ** generator.uniform(0, 4)
    prior = gs.models.GaussianPrior(float(10 ** generator.uniform(-1, 8)), tuple(centre.tolist()))
    data = rows, _classes(n, 0.3, generator)
    return Problem(LogisticRegression(dimension=d, radius=1.0), data, _epsilon(generator), prior)


def _ill_conditioned(generator: np.random.Generator) -> dict[str, Any]:
    """A prior as weak as plans may admit: `admitted` raises it until one does."""
    return {"epsilon": float(generator.choice([1.0, 100.0])), "prior": float(10 ** generator.uniform(-12, 0))}


def identical(n: int, generator: np.random.Generator) -> Problem:
    """One row repeated, curvature in one direction only, under a weak prior."""
    d = int(generator.integers(1, 6))
    rows = np.repeat(generator.uniform(-1, 1, (1, d)) / math.sqrt(d), n, axis=0)
    model = PseudoHuberRegression(dimension=d, radius=1.0, width=10.0)
    return Problem(model, (rows, np.zeros(n)), **_ill_conditioned(generator), different=1)


def collinear(n: int, generator: np.random.Generator) -> Problem:
    """Every row a multiple of one."""
    d = int(generator.integers(2, 6))
    rows = generator.uniform(-1, 1, (n, 1)) * generator.uniform(-1, 1, (1, d)) / math.sqrt(d)
    model = LogisticRegression(dimension=d, radius=1.0, intercept=bool(generator.integers(0, 2)))
    return Problem(model, (rows, _classes(n, 0.5, generator)), **_ill_conditioned(generator), shell_from=0.1)


def one_hot(n: int, generator: np.random.Generator) -> Problem:
    """A category of 20 to 200 levels, geometric or even, some of them pure."""
    levels = min(int(generator.choice([20, 40, 59, 100, 200])), max(20, LARGEST_TABLE // max(n, 1)))
    even = generator.integers(0, levels, n)
    codes = even if generator.random() < 0.5 else np.minimum(generator.geometric(4 / levels, n) - 1, levels - 1)
    shares = np.where(generator.random(levels) < 0.3, generator.integers(0, 2, levels), generator.random(levels))
    labels = (generator.random(n) < shares[codes]).astype(int)
    return Problem(
        LogisticRegression(dimension=levels, radius=1.0), (np.eye(levels)[codes], labels), 1.0, shell_from=math.inf, different=400
    )


def cauchy(n: int, generator: np.random.Generator) -> Problem:
    """Rows and responses without moments."""
    d = int(generator.integers(1, 6))
    rows, noise = generator.standard_cauchy((n, d)), generator.standard_cauchy(n)
    radius = float(10 ** generator.uniform(-1, 2))
    if generator.random() < 0.5:
        return Problem(LogisticRegression(dimension=d, radius=radius), (rows, (noise > 0).astype(int)), _epsilon(generator))
    model = PseudoHuberRegression(dimension=d, radius=radius, width=float(10 ** generator.uniform(-1, 1)))
    return Problem(model, (rows, rows.sum(axis=1) + noise), _epsilon(generator))


def leverage(n: int, generator: np.random.Generator) -> Problem:
    """A few rows at the clip among tiny ones, down to subnormal."""
    d = int(generator.integers(1, 6))
    rows = generator.uniform(-1, 1, (n, d)) / math.sqrt(d)
    rows *= np.where(generator.random((n, 1)) < 0.02, 1.0, 10.0 ** generator.choice([-3.0, -8.0, -160.0, -310.0]))
    data = rows, _classes(n, 0.5, generator)
    return Problem(LogisticRegression(dimension=d, radius=1.0, intercept=False), data, _epsilon(generator))


def separable(n: int, generator: np.random.Generator) -> Problem:
    """Labels that a plane tells apart."""
    d = int(generator.integers(1, 6))
    rows = generator.standard_normal((n, d))
    data = rows, (rows[:, 0] > 0).astype(int)
    return Problem(LogisticRegression(dimension=d, radius=math.sqrt(d)), data, _epsilon(generator))


def narrow_hinge(n: int, generator: np.random.Generator) -> Problem:
    """A hinge smoothed over little: curvature that changes fast."""
    d = int(generator.integers(1, 4))
    rows = generator.standard_normal((n, d))
    model = SoftHinge(dimension=d, radius=math.sqrt(d), width=float(generator.choice([0.1, 0.3])))
    return Problem(model, (rows, _classes(n, 0.5, generator)), 1.0)


KINDS: dict[str, Maker] = {
    maker.__name__.replace("_", " "): maker
    for maker in (
        mirrored,
        saturated,
        far_centre,
        identical,
        collinear,
        one_hot,
        cauchy,
        leverage,
        separable,
        narrow_hinge,
    )
}


# -- plans -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A plan with two neighbouring data sets."""

    name: str
    plan: gs.Plan
    data: Any
    neighbour: Any


def admitted(problem: Problem, relation: dict[str, Any], sampler: str) -> gs.Plan | None:
    """The plan, with the weakest prior at or above the problem's that plans admit; None where none is.

    Plans refuse by public numbers alone: a refusal is the same for all data sets.
    """
    prior = problem.prior
    budget = gs.Budget(problem.epsilon, 1e-6)
    while True:
        try:
            made = gs.plan(problem.model, budget, prior=prior, sampler=sampler, **relation, **problem.options)
        except GibbsafeError:
            made = None
        if made is not None and not _affordable(made, problem):
            made = None
        if made is not None and (made.sampler != "shell" or sampler == "auto"):
            return made  # such a plan chose a sampler that is quick on every data set
        given = prior if isinstance(prior, float) else math.inf
        if made is not None and (problem.shell_from == 0 or problem.shell_from <= given < math.inf):
            return made
        if given > LARGEST_PRECISION:
            return None
        prior = 10 * given


def _seconds(plan: gs.Plan, records: int, different: float = math.inf) -> float:
    """What a release is stated to take at most, if a pass visits this many rows: also where no number of records is public."""
    work, p, rows = plan.work, plan.model.parameters, min(records, different)
    each, encoding = rows * (2 * p + 25) * 1e-9, records * (30 * p + 100) * 1e-9
    if work.rounds and math.isfinite(work.passes):
        return encoding + work.rounds * (4e-4 if work.seconds is not None else 2e-2) + work.passes * each
    if plan.slack:  # rounds from the mode, by the numbers of the data: as with a public n
        return encoding + 2e-4 * rows + 25 * rows * each
    return encoding + 0.05 + min(work.passes, 1e4) * each


def _affordable(plan: gs.Plan, problem: Problem) -> bool:
    """Whether a release takes seconds: rows that are alike are merged, which no plan knows."""
    n = len(columns_of(problem.data)[0])
    most = max(seconds for least, seconds in AFFORDABLE.items() if n >= least)
    return not _seconds(plan, n, problem.different) > most


def case(kind: str, n: int, seed: int) -> Case:
    """The case of this kind with n records: adjacency, whether n is public, the sampler and the neighbour by the seed."""
    generator = np.random.default_rng([seed, n, list(KINDS).index(kind)])
    problem = KINDS[kind](n, generator)
    relations = [{"adjacency": "add-remove", "n": None}]
    if n:
        relations += [{"adjacency": "replace-one", "n": n}, {"adjacency": "add-remove", "n": n}]
    relation = relations[generator.integers(0, len(relations))]
    wanted = [name for name in SAMPLERS if name in problem.model.samplers]
    samplers = [*generator.permutation(["auto", "auto", *wanted]).tolist(), "auto", "langevin"]
    everywhere = [*relations, {"adjacency": "replace-one", "n": n}] if n else relations
    choices = [(relation, sampler) for sampler in samplers] + [(each, "langevin") for each in everywhere]
    for chosen, sampler in choices:
        plan = admitted(problem, chosen, sampler)
        if plan is not None:
            public = "n public" if plan.n is not None else "n = None"
            name = f"{kind}, n = {n}, {plan.adjacency.value}, {public}, {plan.sampler}, seed {seed}"
            return Case(name, plan, problem.data, _neighbour(plan, problem.data, generator))
    return case("separable" if kind != "separable" else "saturated", n, seed + 1)


def _neighbour(plan: gs.Plan, data: Any, generator: np.random.Generator) -> Any:
    """The data with one record replaced by an extreme one, or under add-remove sometimes removed or added."""
    corners = plan.model.corners()
    record, size = corners[generator.integers(0, len(corners))], len(columns_of(data)[0])
    if plan.adjacency.value == "add-remove" and (size == 0 or generator.random() < 0.5):
        if size and generator.random() < 0.5:
            removed = [np.delete(column, generator.integers(0, size), axis=0) for column in columns_of(data)]
            return tuple(removed) if isinstance(data, tuple) else removed[0]
        added = [np.concatenate(pair) for pair in zip(columns_of(data), columns_of(join([(record, 1)])), strict=True)]
        return tuple(added) if isinstance(data, tuple) else added[0]
    return replace_record(data, int(generator.integers(0, size)), record)


# -- what every release must satisfy ---------------------------------------------------------------------------------


@dataclass
class Tally:
    """What was seen: releases, by sampler too; the largest log acceptance; the most time in units of the stated one; failures."""

    releases: int = 0
    cases: int = 0
    samplers: dict[str, int] = field(default_factory=dict)
    largest: float = -math.inf
    overrun: float = 0.0
    failures: list[str] = field(default_factory=list)


def shortcomings(release: Any) -> Iterator[str]:
    """What is wrong with a release: draws that are not finite, or an envelope below the density."""
    if not np.isfinite(release.draws).all():
        yield "a draw is not finite"
    for seen in release.curator_diagnostics.values:
        if not seen.log_acceptance <= 0:
            yield f"log acceptance {seen.log_acceptance}"


class OvertimeError(GibbsafeError):
    """A release that takes far longer than its plan says."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `OvertimeError` in the main thread when the process has used up its time."""

    def stop(*_: Any) -> None:
        raise OvertimeError(f"not done after {seconds:.0f} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def examine(made: Case, repeats: int, tally: Tally, seed: int = 0) -> None:
    """Release both data sets of a case ``repeats`` times and note all that is wrong, neighbours treated unlike included."""
    tally.cases += 1
    stated = made.plan.work.seconds
    if stated is None or math.isinf(stated):
        stated = _seconds(made.plan, len(columns_of(made.data)[0]))
    limit = min(3600.0, max(LEAST_SECONDS, OVERRUN * stated))

    def run(data: Any) -> Any:
        tally.releases += 1
        tally.samplers[made.plan.sampler] = tally.samplers.get(made.plan.sampler, 0) + 1
        generator, start = np.random.default_rng([seed, tally.releases]), time.process_time()
        try:
            with within(limit):
                release = made.plan.release(data, generator=generator, progress=False)
        except Exception as error:
            tally.failures.append(f"{made.name}: {type(error).__name__}: {error}")
            raise
        seconds = time.process_time() - start
        tally.failures += [f"{made.name}: {wrong}" for wrong in shortcomings(release)]
        tally.largest = max([tally.largest, *(seen.log_acceptance for seen in release.curator_diagnostics.values)])
        if seconds > LEAST_SECONDS / OVERRUN:
            tally.overrun = max(tally.overrun, seconds / max(stated, LEAST_SECONDS / OVERRUN))
        return release

    for _ in range(repeats):
        outcome = same_mechanism(made.plan, mechanism=run, pairs=[(made.name, made.data, made.neighbour)])
        if outcome.refuted:
            tally.failures.append(str(outcome))
