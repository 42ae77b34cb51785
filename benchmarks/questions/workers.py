"""More than one core: two threads against one, a Dask cluster of two workers against two threads, and the same bytes from all.

Ratios are of times measured in one run. A worker of the cluster is a process with one thread; the client and its scheduler share
the machine with them. The overhead of a round is the time of a pass over a handful of records. `--missing` goes on where a run
ended."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import tempfile
import time
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks import harness  # isort: skip  - before NumPy

import numpy as np

import gibbsafe as gs
from gibbsafe.data.census import Unit
from gibbsafe.data.cluster.blocks import ClusterBlocks
from gibbsafe.data.cluster.crews import crew_of
from gibbsafe.data.cluster.encoding import encode_on_cluster
from gibbsafe.data.cluster.tables import ClusterTable
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sums import working
from gibbsafe.release.draw import blocks_of, posterior_of, storage_of

FEATURES = 20
NAMES = tuple(f"x{k}" for k in range(FEATURES))
PARTITION = 500_000


def plan_of(n, **options):
    model = gs.models.LogisticRegression(dimension=FEATURES, radius=FEATURES**0.5, feature_names=NAMES, target="y")
    return gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **{"purpose": "estimate"} | options)


def digest(draws):
    """A short name for bytes."""
    return hashlib.sha256(np.ascontiguousarray(draws).tobytes()).hexdigest()[:12]


def seeded():
    return np.random.default_rng(1)


def threads(n, repeats):
    """Two threads and one: a gradient pass, and a whole release."""
    X, y, _, _ = harness.iso(n, FEATURES, 0, 0)
    plan, found = plan_of(n), {"n": n, "features": FEATURES}
    found["storage"] = storage_of(plan)
    gradient = gradient_of(plan, blocks_of(plan, (X, y), EncodingOptions(storage=storage_of(plan)), Unit(1, n)))
    for _ in range(repeats):  # in turns, so that whoever else is at work is so for both
        for workers in (1, 2):
            with working(workers):
                gradient()
                _keep_best(found, f"gradient_s_{workers}", harness.best_of(10, gradient)[0])
    for _ in range(max(1, repeats // 3)):
        for workers in (1, 2):
            released = partial(plan.release, (X, y), generator=seeded(), workers=workers)
            _keep_best(found, f"release_s_{workers}", harness.best_of(1, released)[0])
    for what in ("gradient", "release"):
        found[f"{what}_ratio"] = found[f"{what}_s_1"] / found[f"{what}_s_2"]
    return found


def _keep_best(found, name, seconds):
    found[name] = min(seconds, found.get(name, seconds))


def gradient_of(plan, blocks):
    """A pass over records: the gradient at a point."""
    return partial(posterior_of(plan, plan.stages[0], blocks).gradient, np.full(plan.model.parameters, 0.1))


def write_parts(folder, X, y, number=3):
    """Write the table as one Parquet file and as a directory; return their paths."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: np.ascontiguousarray(X[:, k]) for k, name in enumerate(NAMES)} | {"y": y})
    whole, parts = Path(folder) / "whole.parquet", Path(folder) / "parts"
    pq.write_table(table, whole)
    parts.mkdir()
    for k, (first, stop) in enumerate(pairwise([len(y) * k // number for k in range(number + 1)])):
        pq.write_table(table.slice(first, stop - first), parts / f"part-{k:03}.parquet")
    return whole, parts


def declared(path):
    """The columns of a file or directory, as they are."""
    return DeclaredTable(path, (), (), (*NAMES, "y"))


def cluster_of(workers=2):
    """A cluster in processes of its own, and a client of it."""
    from distributed import Client, LocalCluster

    made = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    return made, Client(made, set_as_default=False)


def arrays_of(X, y, rows):
    import dask.array as da

    warnings.filterwarnings("ignore", "Sending large graph")
    return da.from_array(X, chunks=(rows, FEATURES)), da.from_array(y, chunks=rows)


def same_bytes(n):
    """Name the bytes of an estimate and of a draw by every way to the same records."""
    X, y, _, _ = harness.iso(n, FEATURES, 0, 0)
    found = {"n": n, "estimate": {}, "draw": {}}
    made, client = cluster_of()
    with tempfile.TemporaryDirectory() as folder, made, client:
        whole, parts = write_parts(folder, X, y)
        for what, plan in (("estimate", plan_of(n)), ("draw", plan_of(n, purpose="posterior", sampler="shell"))):
            ways = {f"{k} workers": {"data": (X, y), "workers": k} for k in (1, 2, 4)}
            ways |= {"file": {"data": declared(whole)}, "directory": {"data": declared(parts)}}
            ways |= {"Dask": {"data": arrays_of(X, y, n // 3), "cluster": client}}
            for name, options in ways.items():
                found[what][name] = digest(plan.release(generator=seeded(), progress=False, **options).draws)
    found["same"] = all(len(set(found[what].values())) == 1 for what in ("estimate", "draw"))
    return found


def resident(process):
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def cluster(n, repeats):
    """An estimate from a directory by a cluster of two workers over one by two threads; rounds, memory, and a killed worker."""
    X, y, _, _ = harness.iso(n, FEATURES, 0, 0)
    plan, found = plan_of(n), {"n": n, "features": FEATURES, "workers": 2}
    with tempfile.TemporaryDirectory() as folder:
        _, parts = write_parts(folder, X, y, max(4, n // PARTITION))
        del X, y
        here, found["threads_s"] = timed(lambda: plan.release(declared(parts), generator=seeded(), workers=2))
        made, client = cluster_of()
        with made, client:
            processes = client.run(os.getpid).values()
            before = max(map(resident, processes))
            spread = declared(parts)
            there, found["cluster_s"] = timed(lambda: plan.release(spread, cluster=client, generator=seeded()))
            found["memory"] = {
                "encoded_mib_a_worker": n * (FEATURES + 1) * (4 if storage_of(plan) == "float32" else 8) / 2**20 / 2,
                "before_mib": before,
                "peak_mib": max(map(resident, processes)),
            }
            found["round_ms"] = rounds(client, repeats)
            found["killed"] = killed(client, plan, spread, here.draws)
    found["ratio"] = found["cluster_s"] / found["threads_s"]
    return found | {"same": digest(here.draws) == digest(there.draws)}


def timed(work):
    """Return what the work returns, and its seconds."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def rounds(client, repeats):
    """The time of a pass over a handful of records: what a round costs beside its sums."""
    X, y, _, _ = harness.iso(100_000, FEATURES, 0, 0)
    with crew_of(client) as crew:
        plan = plan_of(100_000)
        table = ClusterTable(arrays_of(X[:70_000:1000], y[:70_000:1000], 10), crew)
        gradient = gradient_of(plan, encode_on_cluster(plan.model, table, EncodingOptions(), unit=Unit()))
        gradient()
        return 1000 * float(np.median([harness.best_of(1, gradient)[0] for _ in range(repeats)]))


def killed(client, plan, spread, expected):
    """End one worker by force in the tenth pass; whether the draws are the same, and how much longer it took."""
    passes, reduce = [], ClusterBlocks.reduce

    def counted(blocks, *arguments):
        passes.append(1)
        if len(passes) == 10:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return reduce(blocks, *arguments)

    ClusterBlocks.reduce = counted
    try:
        start = time.perf_counter()
        draws = plan.release(spread, cluster=client, generator=seeded()).draws
        return {"seconds": time.perf_counter() - start, "same": digest(draws) == digest(expected), "passes": len(passes)}
    finally:
        ClusterBlocks.reduce = reduce


def main():
    arguments = harness.arguments(__doc__)
    quick, name = arguments.quick, "workers_quick" if arguments.quick else "workers"
    document = harness.resume(name, quick, "dask", "distributed", "pyarrow")
    parts = {
        "threads": lambda: threads(100_000 if quick else 1_000_000, 3 if quick else 9),
        "same_bytes": lambda: same_bytes(70_000 if quick else 200_000),
        "cluster": lambda: cluster(200_000 if quick else 10_000_000, 30 if quick else 200),
    }
    for part, work in parts.items():
        if (not arguments.only or part in arguments.only) and not (arguments.missing and part in document):
            document[part] = work()
            harness.log(f"{part}: {document[part]}")
            harness.save(name, document)


if __name__ == "__main__":
    sys.exit(main())
