"""Tables of counts at equal ε: mean absolute error per cell against OpenDP's and diffprivlib's histograms, and how often
intervals of 90 % cover.

One column of S categories, n records, pure ε, the same relation of neighbours for everyone. Neither peer gives intervals.
OpenDP's histogram is noisy counts, and is also shown with what lies below 0 moved to 0, as the others do; diffprivlib states ε
for adding or removing a record, so it is given ε/2 where a record is replaced."""

from __future__ import annotations

import numpy as np

import gibbsafe as gs
from benchmarks import harness
from benchmarks.peers import environment as peers

#: Categories, and how frequent they are: all alike, or the k-th in proportion to 1/k² (many cells with hardly any record).
SHAPES = {"even": np.ones, "sparse": lambda s: 1.0 / np.arange(1, s + 1) ** 2}
LEVEL = 0.9


def data_of(n, cells, shape):
    """Return the codes of n records, made by largest remainders of the shape's shares."""
    weights = SHAPES[shape](cells)
    exact = n * weights / weights.sum()
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact)[: n - counts.sum()]] += 1
    return np.repeat(np.arange(cells), counts)


def entry(found, truth):
    """Return mean and standard error over releases of the mean absolute error per cell."""
    mean, error = harness.mean_and_error(np.abs(np.asarray(found) - truth).mean(axis=1))
    return {"mean": mean, "error": error, "releases": len(found)}


def ours(codes, cells, epsilon, adjacency, releases):
    """Return estimated counts of every release, and the share of cells that intervals cover."""
    model = gs.models.ContingencyTable(categories={"y": cells})
    plan = gs.plan(model, gs.Budget(epsilon), n=len(codes), adjacency=adjacency)
    truth, found, covered = np.bincount(codes, minlength=cells), [], []
    for seed in range(releases):
        made = plan.release(codes, generator=np.random.default_rng(seed), progress=False)
        known = made.interval(LEVEL)
        found.append(np.clip(made.draws[0], 0, np.inf if adjacency == "add-remove" else len(codes)))
        covered.append(known.covers(truth).mean())
    return np.array(found), float(np.mean(covered))


def cell(n, cells, shape, epsilon, adjacency, releases):  # noqa: PLR0917 - a place of the grid
    """Return the errors of every method on one table."""
    codes = data_of(n, cells, shape)
    truth = np.bincount(codes, minlength=cells)
    found, covered = ours(codes, cells, epsilon, adjacency, releases)
    methods = {"ContingencyTable": entry(found, truth)}
    if peers.available():
        neighbours = 2 if adjacency == "replace-one" else 1
        asked = {"cells": cells, "releases": releases, "epsilon": epsilon, "neighbours": neighbours}
        noisy = peers.ask("opendp_histogram", {"codes": codes}, **asked)["counts"]
        methods["OpenDP"] = entry(noisy, truth)
        methods["OpenDP, from 0 on"] = entry(np.maximum(noisy, 0), truth)
        methods["diffprivlib"] = entry(peers.ask("diffprivlib_histogram", {"codes": codes}, **asked)["counts"], truth)
    place = {"n": n, "cells": cells, "shape": shape, "epsilon": epsilon, "adjacency": adjacency}
    return place | {"methods": methods, "level": LEVEL, "covered": covered}


def places(quick=False):
    """Return every table to measure: records, cells, shape, ε, relation of neighbours."""
    return [
        (n, cells, shape, epsilon, adjacency)
        for n in ((1000,) if quick else (1000, 100_000))
        for cells in ((8,) if quick else (8, 256))
        for shape in SHAPES
        for epsilon in ((1.0,) if quick else (0.1, 1.0))
        for adjacency in ("replace-one", "add-remove")
    ]


def main():
    """Measure every table and keep the results."""
    options = harness.arguments(__doc__)
    quick = options.quick
    name = "tables_quick" if quick else "tables"
    releases = options.seeds or (20 if quick else 400)
    document = harness.resume(name, quick)
    document["versions"] |= peers.peer_versions()
    document["skipped"] = [] if peers.available() else ["OpenDP, diffprivlib: no environment of peers (`make bench` makes it)"]
    for line in document["skipped"]:
        harness.log(f"skipped: {line}")
    found = []
    for place in places(quick):
        found.append(cell(*place, releases))
        harness.log(str(found[-1]))
        harness.save(name, document | {"cells": found})


if __name__ == "__main__":
    main()
