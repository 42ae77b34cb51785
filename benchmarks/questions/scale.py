"""Scale: time and peak memory of a draw and of an estimate from a Parquet file against the number of rows, 20 features.

Each runs in a process of its own, so that its peak memory is its own. Encoded rows may take 256 MiB of memory; what is beyond is
kept in a file without a name, which the system maps and keeps in its cache as far as it has room. Exponents are slopes on
logarithmic axes. `--missing` goes on where a run ended."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import gibbsafe as gs
from benchmarks import harness

FEATURES = 20
MEMORY = 256 * 2**20
CHUNK = 1 << 17
#: Below this many rows starting costs dominate.
EXPONENT_FROM = 100_000
SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
#: What is released, and under which name its sizes are written.
LISTS = {"draw": "sizes", "estimate": "estimates"}
PARTS = tuple(LISTS)
COLUMNS = tuple(f"x{k}" for k in range(FEATURES))


def write_table(path, n, seed=0):
    """Write n isotropic rows in single precision with logistic labels, a chunk at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.float32()) for name in COLUMNS] + [("y", pa.int8())])
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=FEATURES)
    direction *= 2 / np.linalg.norm(direction)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n, CHUNK):
            X = rng.standard_normal((min(CHUNK, n - start), FEATURES), dtype=np.float32)
            chance = 1 / (1 + np.exp(0.5 - X @ direction))
            y = (rng.uniform(size=len(X)) < chance).astype(np.int8)
            writer.write_table(pa.table([*(np.ascontiguousarray(X[:, k]) for k in range(FEATURES)), y], schema=schema))


def plan_of(what, n):
    """A draw by the sampler of sums, or an estimate."""
    model = gs.models.LogisticRegression(dimension=FEATURES, radius=math.sqrt(FEATURES), feature_names=COLUMNS, target="y")
    how = {"purpose": "estimate"} if what == "estimate" else {"sampler": "shell"}
    return gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **how)


class Watch(threading.Thread):
    """Looks at this process's anonymous memory ten times a second: a mapped file is the system's cache, not in it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.ended = 0.0, threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            self.peak = max(self.peak, memory("RssAnon"))


def memory(field):
    """A line of what the system says of this process, in MiB."""
    return int(Path("/proc/self/status").read_text().split(f"{field}:")[1].split()[0]) / 1024


def release_from(path, what, n):
    """Release from the file; seconds, those of reading, and this process's peak memory in MiB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plan, watch = plan_of(what, n), Watch()
    watch.start()
    start = time.perf_counter()
    file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    read = []

    def batches():
        yield from file.iter_batches(1 << 16, use_threads=False)
        read.append(time.perf_counter() - start)

    stream = pa.RecordBatchReader.from_batches(file.schema_arrow, batches())
    plan.release(stream, storage="float32", memory=MEMORY, generator=np.random.default_rng(0))
    seconds = time.perf_counter() - start
    watch.ended.set()
    peaks = {"peak_mib": memory("VmHWM"), "anonymous_mib": max(watch.peak, memory("RssAnon"))}
    return {"seconds": seconds, "reading_s": read[0], **peaks}


def measure(n, folder, parts=PARTS):
    """Write the table, release from it, for each part in a fresh process, remove it."""
    path = Path(folder) / f"{n}.parquet"
    write_table(path, n)
    found = {}
    for what in parts:
        child = [sys.executable, "-m", "benchmarks.questions.scale", "--child", str(path), what, str(n)]
        done = subprocess.run(child, check=True, capture_output=True, text=True, cwd=harness.ROOT)
        found[what] = {"n": n, "file_mib": path.stat().st_size / 2**20, **json.loads(done.stdout)}
        harness.log(f"{what}: {found[what]}")
    path.unlink()
    return found


def exponent(sizes, values):
    """Slope of log values against log sizes, None for fewer than two."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else None


def fitted(entries):
    """Exponents of time and memory over all large sizes, and of time between the last two."""
    large = [entry for entry in entries if entry["n"] >= EXPONENT_FROM]
    sizes = [entry["n"] for entry in large]
    found = {f"{key}_exponent": exponent(sizes, [entry[key] for entry in large]) for key in ("seconds", "peak_mib")}
    return found | {"last_exponent": exponent(sizes[-2:], [entry["seconds"] for entry in large[-2:]])}


def run(sizes, name, document, save=harness.save):
    """Measure what is missing, smallest first; every size is saved when it is done."""
    document |= {"features": FEATURES, "memory_mib": MEMORY / 2**20, "exponent_from": EXPONENT_FROM}
    before = {what: {entry["n"]: entry for entry in document.get(key, [])} for what, key in LISTS.items()}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            missing = [what for what in PARTS if n not in before[what]]
            for what, entry in (measure(n, folder, missing) if missing else {}).items():
                before[what][n] = entry
            for what, key in LISTS.items():
                document[key] = [before[what][size] for size in sorted(before[what])]
            document |= fitted(document["sizes"]) | {"of_estimates": fitted(document["estimates"])}
            save(name, document)
    return document


def main():
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(release_from(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
        return
    arguments = harness.arguments(__doc__)
    name = "scale_quick" if arguments.quick else "scale"
    document = (harness.resume if arguments.missing else lambda _, *rest: harness.head(*rest))(name, arguments.quick, "pyarrow")
    run((10_000, 100_000) if arguments.quick else SIZES, name, document)


if __name__ == "__main__":
    main()
