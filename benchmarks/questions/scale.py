"""Scale: time and peak memory of a release from a Parquet file against the number of rows, 20 features.

Every size runs in a process of its own, so that its peak memory is its own. Encoded rows may take 256 MiB of memory; what
is beyond is kept in a file without a name. Exponents are slopes on logarithmic axes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
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
COLUMNS = tuple(f"x{k}" for k in range(FEATURES))


def write_table(path, n, seed=0):
    """Write n isotropic rows in single precision with logistic labels, a chunk at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.float32()) for name in COLUMNS] + [("y", pa.int8())])
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=FEATURES)
    direction *= 2 / np.linalg.norm(direction)
    with pq.ParquetWriter(path, schema, compression="none") as writer:
        for start in range(0, n, CHUNK):
            X = rng.standard_normal((min(CHUNK, n - start), FEATURES), dtype=np.float32)
            chance = 1 / (1 + np.exp(0.5 - X @ direction))
            y = (rng.uniform(size=len(X)) < chance).astype(np.int8)
            writer.write_table(pa.table([*(np.ascontiguousarray(X[:, k]) for k in range(FEATURES)), y], schema=schema))


def release_from(path, n):
    """Release one posterior draw from the file; seconds and this process's peak memory in MiB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    radius = math.sqrt(FEATURES)
    model = gs.models.LogisticRegression(dimension=FEATURES, radius=radius, feature_names=COLUMNS, target="y")
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one")
    start = time.perf_counter()
    file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    stream = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(1 << 16, use_threads=False))
    plan.release(stream, storage="float32", memory=MEMORY, generator=np.random.default_rng(0))
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text()  # `ru_maxrss` would count what the parent held when it forked
    return {"seconds": seconds, "peak_mib": int(status.split("VmHWM:")[1].split()[0]) / 1024}


def measure(n, folder):
    """Write the table, release from it in a fresh process, remove it."""
    path = Path(folder) / f"{n}.parquet"
    write_table(path, n)
    size = path.stat().st_size / 2**20
    child = [sys.executable, "-m", "benchmarks.questions.scale", "--child", str(path), str(n)]
    done = subprocess.run(child, check=True, capture_output=True, text=True, cwd=harness.ROOT)
    found = json.loads(done.stdout)
    path.unlink()
    return {"n": n, "file_mib": size, **found}


def exponent(sizes, values):
    """Slope of log values against log sizes, None for fewer than two."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else None


def run(sizes, quick, name):
    document = harness.head(quick, "pyarrow") | {"features": FEATURES, "memory_mib": MEMORY / 2**20}
    document |= {"exponent_from": EXPONENT_FROM, "sizes": []}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            document["sizes"].append(measure(n, folder))
            harness.log(str(document["sizes"][-1]))
            large = [entry for entry in document["sizes"] if entry["n"] >= EXPONENT_FROM]
            for key in ("seconds", "peak_mib"):
                document[f"{key}_exponent"] = exponent([entry["n"] for entry in large], [entry[key] for entry in large])
            harness.save(name, document)
    return document


def main():
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(release_from(Path(sys.argv[2]), int(sys.argv[3]))))
        return
    quick = harness.arguments(__doc__).quick
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
    run(sizes, quick, "scale_quick" if quick else "scale")


if __name__ == "__main__":
    main()
