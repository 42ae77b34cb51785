"""Sufficient statistics of a network of 50 nodes: one pass over the rows against `numpy.bincount` on ready-made joint codes."""

from benchmarks import harness  # isort: skip - sets the number of threads before NumPy loads

import numpy as np

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions

NODES, STATES, PARENTS = 50, 4, 2


def network(seed):
    """Return a random network in which every node has up to two earlier ones as parents."""
    rng = np.random.default_rng(seed)
    chosen = {k: rng.choice(k, size=min(k, PARENTS), replace=False) for k in range(NODES)}
    return gs.models.BayesianNetwork(
        states={f"x{k}": STATES for k in range(NODES)},
        parents={f"x{k}": [f"x{j}" for j in earlier] for k, earlier in chosen.items()},
        smallest_probability=0.01,
    )


def joint_codes(model, codes):
    """Return, per node, the number of its cell in every row as `numpy.bincount` likes it best, and the number of cells."""
    place = {node: k for k, node in enumerate(model.nodes)}
    made = []
    for node in model.nodes:
        cell = np.zeros(len(codes), dtype=np.intp)
        for each in (*model.parents[node], node):
            cell = cell * STATES + codes[:, place[each]]
        made.append((cell, STATES ** (1 + len(model.parents[node]))))
    return made


def measure(rows, repeats):
    model = network(seed=0)
    codes = np.random.default_rng(1).integers(0, STATES, size=(rows, NODES), dtype=np.int8)
    encode_seconds, blocks = harness.best_of(1, lambda: model.encode(codes, EncodingOptions()))
    joint = joint_codes(model, codes)

    def counted():
        return np.concatenate([np.bincount(cell, minlength=cells) for cell, cells in joint])

    ratios, ours, theirs = [], [], []
    for _ in range(repeats):  # in turn, so that both see the same machine
        seconds, reference = harness.best_of(1, counted)
        passed, counts = harness.best_of(1, lambda: model.count_cells(blocks))
        ratios.append(passed / seconds)
        ours.append(passed)
        theirs.append(seconds)
    assert np.array_equal(counts, reference)
    return {
        "rows": rows,
        "nodes": NODES,
        "states": STATES,
        "parents": PARENTS,
        "cells": model.parameters,
        "repeats": repeats,
        "ratio": float(np.median(ratios)),
        "ratio_of_best": min(ours) / min(theirs),
        "seconds": min(ours),
        "bincount_seconds": min(theirs),
        "encode_seconds": encode_seconds,
    }


def release_time(rows):
    """Return the seconds of a whole release of one draw: encoding, counting, and an exact draw of every table."""
    model = network(seed=0)
    codes = np.random.default_rng(2).integers(0, STATES, size=(rows, NODES), dtype=np.int8)
    plan = gs.plan(model, gs.Budget(1.0), n=rows, adjacency="replace-one")
    seconds, _ = harness.best_of(1, lambda: plan.release(codes, generator=np.random.default_rng(0)))
    return {"rows": rows, "parameters": model.parameters, "seconds": seconds}


def run(rows, repeats=9):
    """Counting and a whole release at one number of rows."""
    counting = measure(rows, repeats)
    harness.log(f"network counts: {counting['ratio']:.2f} times numpy.bincount ({counting['seconds']:.3f} s)")
    return {"counting": counting, "release": release_time(rows)}


def main():
    quick = harness.arguments(__doc__).quick
    document = harness.head(quick) | run(100_000 if quick else 1_000_000)
    harness.save("network_statistics_quick" if quick else "network_statistics", document)


if __name__ == "__main__":
    main()
