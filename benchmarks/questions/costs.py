"""A cost model of passes over a cluster, fitted to runs here and checked with late and slow workers.

A pass takes t₀ + t₁·(tasks) + c·(numbers of the slowest worker): a round to the scheduler and back, the scheduler's work for each
task, and the sums. t₀, t₁ and c are fitted by least squares of relative errors to passes over tables of several sizes, cut into
several numbers of runs, on one and two workers. The model then says how long passes take where workers answer late, or where one
is slow; these are measured too: workers sleep."""

from __future__ import annotations

import sys
import time
from functools import partial

from benchmarks import harness  # isort: skip  - before NumPy

import numpy as np
from scipy.optimize import nnls

from benchmarks.questions.workers import FEATURES, arrays_of, cluster_of, gradient_of, plan_of
from gibbsafe.data.census import Unit
from gibbsafe.data.cluster import encoding
from gibbsafe.data.cluster.crews import Crew, crew_of
from gibbsafe.data.cluster.encoding import encode_on_cluster
from gibbsafe.data.cluster.tables import ClusterTable
from gibbsafe.data.cluster.tasks import attempt
from gibbsafe.data.options import EncodingOptions

#: Rows × runs on one and on two workers.
FITTED = [(n, runs, workers) for n in (100_000, 500_000, 1_500_000) for runs in (2, 12) for workers in (1, 2)]
QUICK = [(n, runs, workers) for n in (70_000, 200_000) for runs in (2, 6) for workers in (1, 2)]
#: Seconds that every task is late, and how many times as long as others one worker takes.
CHECKED = [(0.05, 1.0), (0.2, 1.0), (0.0, 3.0), (0.05, 3.0)]
#: What is assumed of machines that are not here: bytes of memory, and bytes a second from disk, of each of many workers.
ASSUMED = {"workers": 100, "memory": 64e9, "disk": 1e9}
SIZES = (1e9, 1e10, 1e11)


def late(seconds, factor, order, function, *arguments):
    """Do a task as a worker far away would, and one of them slowly."""
    from distributed import get_worker

    start = time.perf_counter()
    found = attempt(order, function, *arguments)
    slow = factor > 1 and str(get_worker().name) == "0"
    time.sleep(seconds + (factor - 1) * (time.perf_counter() - start) * slow)
    return found


class LateCrew(Crew):
    """Workers who are late."""

    def map(self, failure, function, told, *items):
        same = [[each] * len(items[0]) for each in (self.order(failure), function, *told)]
        return list(self.client.map(partial(late, *self.delay), *same, *items, pure=False))


def pass_seconds(client, n, runs, repeats, delay=None):
    """Least seconds of a gradient pass over n rows in so many runs."""
    X, y, _, _ = harness.iso(n, FEATURES, 0, 0)
    plan = plan_of(n)
    encoding.run_bytes = lambda crew: -(-n * (FEATURES + 2) * 8 // runs)
    with crew_of(client) as crew:
        table = ClusterTable(arrays_of(X, y, -(-n // 4)), crew)
        blocks = encode_on_cluster(plan.model, table, EncodingOptions(), unit=Unit())
        if delay is not None:
            changed = LateCrew(crew.client)
            object.__setattr__(changed, "delay", delay)
            object.__setattr__(blocks, "crew", changed)
        gradient = gradient_of(plan, blocks)
        gradient()
        times = [harness.best_of(1, gradient)[0] for _ in range(repeats)]
        return {"n": n, "tasks": len(blocks.runs), "seconds": min(times)}


def terms(entry):
    """What t₀, t₁ and c are multiplied by."""
    shares = -(-entry["tasks"] // entry["workers"]) / entry["tasks"]
    return [1.0, entry["tasks"], entry["n"] * (FEATURES + 1) * shares]


def fit(entries):
    """Least squares of relative errors, none of the three below 0."""
    scale = np.array([entry["seconds"] for entry in entries])
    found, _ = nnls(np.array([terms(entry) for entry in entries]) / scale[:, None], np.ones(len(entries)))
    return dict(zip(("round", "task", "number"), found.tolist(), strict=True))


def predicted(costs, entry, lateness=0.0, factor=1.0):
    """Seconds of a pass: every worker takes its tasks one after another, each late; the slow one takes longer over its sums."""
    one, tasks, numbers = terms(entry)
    turns = -(-entry["tasks"] // entry["workers"])
    return costs["round"] * one + costs["task"] * tasks + costs["number"] * numbers * factor + turns * lateness


def extrapolated(costs, n, passes):
    """What many workers would take: seconds of a pass, hours of an estimate, and what is the most of it."""
    workers, run = ASSUMED["workers"], encoding.RUN_SHARE * ASSUMED["memory"]
    row = (FEATURES + 1) * 8
    entry = {"n": n, "workers": workers, "tasks": workers * max(1, round(n * row / workers / run))}
    one, tasks, numbers = (cost * term for cost, term in zip(costs.values(), terms(entry), strict=True))
    held = n * row / workers
    disk = max(0.0, held - 0.6 * ASSUMED["memory"]) / ASSUMED["disk"]
    parts = {"the round": one, "the scheduler": tasks, "sums": numbers, "disk": disk}
    total = sum(parts.values())
    return {"n": n, "tasks": entry["tasks"], "held_gb": held / 1e9, "pass_s": total, "hours": passes * total / 3600,
            "most": max(parts, key=parts.get), "parts": parts}  # fmt: skip


def passes_of_an_estimate(n=50_000):
    """How many passes an estimate takes: its plan says, for any data."""
    from gibbsafe.data.blocks import Blocks

    calls, reduce = [], Blocks.reduce
    X, y, _, _ = harness.iso(n, FEATURES, 0, 0)
    Blocks.reduce = lambda blocks, *arguments: calls.append(1) or reduce(blocks, *arguments)
    try:
        plan_of(n).release((X, y), generator=np.random.default_rng(0), workers=1)
    finally:
        Blocks.reduce = reduce
    return len(calls)


def run(name, quick, sizes, checked, repeats):
    document = harness.head(quick, "dask", "distributed") | {"features": FEATURES, "assumed": ASSUMED, "fitted": []}
    for workers in (1, 2):
        made, client = cluster_of(workers)
        with made, client:
            for n, runs, wanted in sizes:
                if wanted == workers:
                    document["fitted"].append(pass_seconds(client, n, runs, repeats) | {"workers": workers})
                    harness.log(str(document["fitted"][-1]))
            if workers == 2:
                costs = document["costs"] = fit(document["fitted"])
                document["checked"] = [check(client, costs, checked, delay, max(3, repeats // 3)) for delay in CHECKED]
    document["worst"] = max(abs(each["predicted"] / each["seconds"] - 1) for each in document["checked"])
    document["passes"] = passes_of_an_estimate()
    document["extrapolated"] = [extrapolated(costs, n, document["passes"]) for n in SIZES]
    harness.save(name, document)
    return document


def check(client, costs, n, delay, repeats):
    """A pass with late workers, or a slow one, beside what the model says of it."""
    entry = pass_seconds(client, n, 4, repeats, delay) | {"workers": 2, "late": delay[0], "slow": delay[1]}
    entry["predicted"] = predicted(costs, entry, *delay)
    harness.log(str(entry))
    return entry


# -- the section of docs/scale.md ----------------------------------------------------------------------------------------


def section(results):
    """The numbers of docs/scale.md: what was fitted, what was checked, what follows for many workers."""
    from benchmarks.report.tables import table

    costs, assumed = results["costs"], results["assumed"]
    per = f"{1e9 * costs['number']:.2f} ns for a number of a row on the slowest worker"
    fitted = [(f"{e['n']:,}", str(e["workers"]), str(e["tasks"]), f"{1e3 * e['seconds']:.0f}",
               f"{1e3 * predicted(costs, e):.0f}") for e in results["fitted"]]  # fmt: skip
    checked = [(f"{1e3 * e['late']:.0f}", f"{e['slow']:.0f}", f"{1e3 * e['seconds']:.0f}", f"{1e3 * e['predicted']:.0f}",
                f"{100 * (e['predicted'] / e['seconds'] - 1):+.0f} %") for e in results["checked"]]  # fmt: skip
    beyond = [(f"{e['n']:.0e}".replace("e+", "e"), f"{e['held_gb']:,.0f}", f"{e['tasks']:,}", f"{e['pass_s']:,.1f}",
               f"{e['hours']:,.2f}", e["most"]) for e in results["extrapolated"]]  # fmt: skip
    return "\n".join([
        f"Measured {results['date']} on {results['machine']['cores']} shared cores: gradients of {results['features']} features.",
        "",
        f"A pass takes {1e3 * costs['round']:.1f} ms for the round, {1e3 * costs['task']:.2f} ms for each task, and {per}.",
        "",
        *table(("rows", "workers", "tasks", "a pass, ms", "by the model, ms"), fitted),
        "",
        f"With late and slow workers the model is off by at most {100 * results['worst']:.0f} %:",
        "",
        *table(("every task late by, ms", "one worker slower, times", "a pass, ms", "by the model, ms", "off by"), checked),
        "",
        f"On {assumed['workers']} workers, each of these cores, with {assumed['memory'] / 1e9:.0f} GB of memory and "
        f"{assumed['disk'] / 1e9:.0f} GB/s from disk (assumed), an estimate of {results['passes']} passes would take:",
        "",
        *table(("rows", "GB a worker", "tasks a pass", "a pass, s", "an estimate, hours", "most of it"), beyond),
        "",
    ])  # fmt: skip


def main():
    quick = harness.arguments(__doc__).quick
    if quick:
        run("costs_quick", True, QUICK, 140_000, 5)
        return
    document = run("costs", False, FITTED, 1_000_000, 15)
    page = harness.ROOT / "docs" / "scale.md"
    before, _, after = parted(page.read_text())
    page.write_text(before + section(document) + after)


MARKERS = "<!-- costs -->\n", "<!-- /costs -->"


def parted(text):
    """What stands before, between and after the markers, which stay with their sides."""
    before, rest = text.split(MARKERS[0])
    inside, after = rest.split(MARKERS[1])
    return before + MARKERS[0], inside, MARKERS[1] + after


if __name__ == "__main__":
    sys.exit(main())
