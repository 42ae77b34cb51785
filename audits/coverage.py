"""Count how often nominal 90 % intervals for the true parameter hold it, in settings drawn by a seed and on two real tables.

Every cell has a population with a known true parameter (`coverage_cells.py`): data sets are drawn from it, each is released once
with default settings, and `Release.population` is asked for intervals. Beside them stand an oracle's width, and the intervals
that somebody would take who forgot something: the textbook's, the draws' own, and those of a private bootstrap.

    python audits/coverage.py --report docs/audit-coverage.md
    python audits/coverage.py --seed 7 --cells 3,17,42      other seeds and single cells, while something is being developed
"""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from coverage_cells import DELTA, Cell, Labels, Population, cells, population_of, settle
from coverage_store import PATH, Store
from parts import ROOT, STATE, carried_out
from scipy.special import expit, ndtri, stdtrit

import gibbsafe as gs
from gibbsafe._types import Floats
from gibbsafe.planning import Plan
from gibbsafe.privacy import GaussianDP
from gibbsafe.privacy.profiles import gaussian_mu
from gibbsafe.release import Release

#: Cells that were not looked at while the rules were written.
SEED = 2028
#: Releases of a cell in the long version.
RELEASES = 200
LEVEL = 0.9
#: The share of the budget that posterior draws keep for intervals here; they have none by default.
KEPT = 0.5
#: From this share on a parameter counts as decided by the data.
DECIDED = 0.5
#: The private bootstrap: so many releases of resampled records, each for its part of the budget, on data sets of at most so many
#: records, for one of so many data sets.
BOOTSTRAPS, SMALL, ONE_OF = 5, 3000, 25
#: Draws of the true parameter behind an interval.
DRAWS = 320
#: Real tables, resampled around their full fit, with their ε.
TABLES = (("Adult", 1.0), ("digits", 1.0), ("digits", 3.0))


@dataclass(frozen=True)
class Outcome:
    """What a cell gave: per parameter the share covered, width over the oracle's, how often it was called decided, and the
    share covered where it was; of other intervals mean coverage and mean width over the oracle's; processor seconds, and those of
    asking releases for intervals."""

    signal: float
    distance: float
    releases: int
    covered: Floats
    widths: Floats
    called: Floats
    covered_if_called: Floats
    holds_mean: bool
    others: dict[str, tuple[float, float]]
    seconds: float
    asking: float


# -- one cell ----------------------------------------------------------------------------------------------------------


def plan_of(cell: Cell, population: Population) -> Plan:
    """Return the plan of a cell's releases."""
    budget = gs.Budget(cell.epsilon, DELTA)
    asked: dict[str, Any] = {"n": cell.n, "adjacency": "replace-one"}
    if cell.draws == 0:
        return gs.plan(population.model, budget, purpose="estimate", mechanism="noisy-scores", **asked)
    return gs.plan(population.model, budget, draws=cell.draws, uncertainty=KEPT, **asked)


def intervals_of(release: Release) -> tuple[Floats, Floats, Floats, Floats]:
    """Return lower and upper ends, what the data decided (0 to 1), and the mean of the draws that the intervals came from."""
    found = release.population(DRAWS)
    ends = found.interval(LEVEL)
    return ends.lower, ends.upper, np.asarray(found.decided_by_data), np.asarray(found.mean)


class Count:
    """Coverage and width of one kind of interval, data set by data set."""

    def __init__(self) -> None:
        self.hits: list[Floats] = []
        self.widths: list[Floats] = []

    def add(self, lower: Floats, upper: Floats, truth: Floats) -> None:
        """Take the intervals of one release."""
        self.hits.append((lower <= truth) & (truth <= upper))
        self.widths.append(upper - lower)

    def means(self, oracle: Floats) -> tuple[float, float]:
        """Mean coverage, and mean width over the oracle's."""
        return float(np.mean(self.hits)), float(np.nanmean(np.mean(self.widths, axis=0) / oracle))


def released(plan: Plan, population: Population, n: int, seed: list[int], run: int) -> tuple[Any, Release]:
    """Return one data set of a cell, and its release."""
    data = population.sample(n, np.random.default_rng([*seed, run, 0]))
    return data, plan.release(data, generator=np.random.default_rng([*seed, run, 1]), progress=False, workers=1)


def measured(plan: Plan, cell: Cell, population: Population, releases: int, seed: list[int]) -> Outcome:
    """Release ``releases`` data sets of a cell and count."""
    started = time.process_time()
    truth, z = population.original, float(ndtri((1 + LEVEL) / 2))
    oracle, plain = (2 * z * each for each in population.deviations(cell.n, cell.epsilon))
    ours, others, decided, holds, asking = Count(), dict[str, Count](), [], True, 0.0
    for run in range(releases):
        data, release = released(plan, population, cell.n, seed, run)
        asked = time.process_time()
        lower, upper, share, mean = intervals_of(release)
        asking += time.process_time() - asked
        ours.add(lower, upper, truth)
        decided.append(share >= DECIDED)
        holds &= bool(np.all((lower <= mean) & (mean <= upper)))
        middle = release.draws.mean(axis=0)
        others.setdefault("textbook", Count()).add(middle - plain / 2, middle + plain / 2, truth)
        if cell.draws >= 5:
            half = z * release.draws.std(axis=0, ddof=1)
            others.setdefault("draws' own", Count()).add(middle - half, middle + half, truth)
        if cell.draws == 0 and cell.n <= SMALL and run % ONE_OF == 0:
            others.setdefault("bootstrap", Count()).add(*bootstrap(cell, population, data, [*seed, run]), truth)
    hits, called = np.array(ours.hits), np.array(decided)
    return Outcome(
        signal=cell.n * gaussian_mu(cell.epsilon, DELTA) / population.model.parameters,
        distance=population.distance,
        releases=releases,
        covered=hits.mean(axis=0),
        widths=np.mean(ours.widths, axis=0) / oracle,
        called=called.mean(axis=0),
        covered_if_called=(hits & called).sum(axis=0) / np.maximum(1, called.sum(axis=0)),
        holds_mean=holds,
        others={name: count.means(oracle) for name, count in others.items()},
        seconds=time.process_time() - started,
        asking=asking,
    )


def bootstrap(cell: Cell, population: Population, data: Any, seed: list[int]) -> tuple[Floats, Floats]:
    """Return intervals of a private bootstrap: estimates of resampled records, each at μ/√k, and Student's quantile."""
    mu = gaussian_mu(cell.epsilon, DELTA) / math.sqrt(BOOTSTRAPS)
    budget, asked = gs.Budget(GaussianDP(mu).epsilon(DELTA), DELTA), {"n": cell.n, "adjacency": "replace-one"}
    plan = gs.plan(population.model, budget, purpose="estimate", mechanism="noisy-scores", uncertainty=0, **asked)
    points = []
    for k in range(BOOTSTRAPS):
        rng = np.random.default_rng([*seed, 2, k])
        rows = rng.integers(cell.n, size=cell.n)
        again = tuple(each[rows] for each in data) if isinstance(data, tuple) else data[rows]
        points.append(plan.release(again, generator=rng, progress=False).draws[0])
    half = float(stdtrit(BOOTSTRAPS - 1, (1 + LEVEL) / 2)) * np.std(points, axis=0, ddof=1)
    return np.mean(points, axis=0) - half, np.mean(points, axis=0) + half


# -- real tables -------------------------------------------------------------------------------------------------------


def table_of(name: str) -> tuple[Cell, Population] | None:
    """Return a real table as a cell and a population: its rows, and labels by its fit without privacy; None if absent."""
    beside = ROOT.parent / "shared" / "data"
    if beside.exists():
        os.environ.setdefault("GIBBSAFE_DATA", str(beside))
    sys.path.insert(0, str(ROOT))
    from benchmarks import datasets
    from benchmarks.peers.baselines import non_private

    table = datasets.adult_table() if name == "Adult" else datasets.digits()
    if table is None:
        return None
    fit = non_private(table.signed)
    law = Labels(expit(table.rows @ fit))
    cell = Cell("logistic", table.n, table.model.dimension, 1.0, "full fit", 0, "the model's", name)
    return cell, settle(table.model, table.X, table.rows, law, fit)


# -- the audit ---------------------------------------------------------------------------------------------------------


def units(chosen: Any) -> list[int]:
    """Return the numbers of the cells to run: all, or those named; real tables come last."""
    every = list(range(chosen.settings + len(TABLES)))
    return [int(text) for text in chosen.cells.split(",")] if chosen.cells else every


def store_of(chosen: Any) -> Store:
    """Return where outcomes are kept: committed for the long version, beside other audits' for others."""
    settings = f"seed {chosen.seed}, {chosen.settings} cells, {chosen.releases} releases"
    long = (chosen.seed, chosen.releases) == (SEED, RELEASES)
    return Store(PATH if long else STATE / "coverage.json", settings, Outcome)


def one(chosen: Any, number: int) -> tuple[Cell, Outcome | str, Floats | None]:
    """Carry out one cell, or return what is known of it; with the intervals that it began with, if it is new."""
    if number >= chosen.settings:
        name, epsilon = TABLES[number - chosen.settings]
        found = table_of(name)
        if found is None:
            return Cell("logistic", 0, 0, epsilon, "full fit", 0, "the model's", name), "skipped: data absent", None
        cell, population = replace(found[0], epsilon=epsilon), found[1]
    else:
        cell = cells(chosen.seed, chosen.settings)[number]
        population = population_of(cell, chosen.seed * 1000 + number)
    releases, seed = max(2, chosen.releases // 2) if cell.n >= 100_000 else chosen.releases, [chosen.seed, number]
    try:
        plan = plan_of(cell, population)
        first = np.array(intervals_of(released(plan, population, cell.n, seed, 0)[1])[:2])
        known = store_of(chosen).found(str(cell), first)
        if known is not None:
            return cell, known, None
        outcome = measured(plan, cell, population, releases, seed)
    except gs.GibbsafeError as error:
        return cell, f"refused: {error}", None
    sys.stderr.write(
        f"{number}: {cell}: coverage {outcome.covered.mean():.3f}, least {outcome.covered.min():.2f}, "
        f"width {np.nanmean(outcome.widths):.2f}, {outcome.seconds:.0f} s, {outcome.asking:.0f} s of it for intervals\n"
    )
    return cell, outcome, first


def main() -> None:
    """Command line."""
    from arguments import arguments, finish
    from coverage_report import markdown

    sizes = {"settings": (100, 10), "releases": (RELEASES, 6)}
    texts = {"cells": "numbers of single cells, such as 3,17,42"}
    chosen = arguments(__doc__, sizes, seed=SEED, settings={"workers": 1}, texts=texts)
    store, numbers, found = store_of(chosen), units(chosen), {}
    STATE.mkdir(exist_ok=True)
    began, spent = time.monotonic(), 0.0
    for number, (cell, outcome, first), seconds in carried_out(numbers, partial(one, chosen), chosen.workers):
        if first is not None:
            store.keep(str(cell), first, outcome)
        found[number], spent = (cell, outcome), spent + seconds
        sys.stderr.write(f"{len(found)} of {len(numbers)} cells, {spent:.0f} s\n")
        if time.monotonic() - began > 60 * chosen.minutes:
            break
    done = [(number, *found[number]) for number in numbers if number in found]
    finish(chosen, markdown(done, chosen, store.commits()), [found.get(k) for k in range(chosen.settings + len(TABLES))])


if __name__ == "__main__":
    main()
