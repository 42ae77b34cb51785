"""A release from a Parquet file that is much larger than the memory it may use: ``--memory 200MB`` on 2 GB.

Writes the file in a temporary folder, runs ``gibbsafe release`` as a process of its own, and records its largest resident memory
and its time. Fails if the process ever held more than the limit.

    python benchmarks/out_of_core.py --gigabytes 2 --memory 200MB --limit 600
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results" / "out_of_core.json"
PIECE = 200_000


def write_table(path: Path, gigabytes: float, columns: int) -> int:
    """Write a table of random numbers, in one row group per million rows; return its number of rows."""
    generator = np.random.default_rng(0)
    direction = generator.standard_normal(columns)
    rows = int(gigabytes * 1e9 / (8 * columns))
    names = [f"x{k}" for k in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int8())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, PIECE):
            features = generator.uniform(-1, 1, (min(PIECE, rows - start), columns))
            labels = generator.uniform(size=len(features)) < 1 / (1 + np.exp(-features @ direction))
            arrays = [pa.array(features[:, k]) for k in range(columns)] + [pa.array(labels.astype(np.int8))]
            writer.write_batch(pa.record_batch(arrays, schema=schema), row_group_size=1_000_000)
    return rows


def write_study(path: Path, rows: int, columns: int, model: str) -> None:
    """Write the study of that table."""
    lines = [
        f"n = {rows}",
        'adjacency = "replace-one"',
        "[budget]",
        "epsilon = 1.0",
        "delta = 1e-9",
        "[model]",
        f'name = "{model}"',
    ]
    lines += [f"[columns.x{k}]\nbounds = [-1, 1]" for k in range(columns)]
    lines += [] if model == "GaussianMean" else ["[target]", 'name = "y"', "labels = [0, 1]"]
    path.write_text("\n".join(lines) + "\n")


def run(folder: Path, memory: str) -> tuple[float, float]:
    """Run the release; return seconds and the largest resident memory in megabytes."""
    command = [sys.executable, "-m", "gibbsafe", "release", str(folder / "study.toml"), "--data", str(folder / "table.parquet")]
    command += ["--memory", memory, "--no-ledger", "--quiet", "--out", str(folder / "release.json")]
    started = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000


def main() -> None:
    """Run the benchmark and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--memory", default="200MB")
    parser.add_argument("--limit", type=float, default=600.0, help="largest resident memory allowed, in megabytes")
    parser.add_argument("--model", default="LogisticRegression")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = write_table(folder / "table.parquet", options.gigabytes, options.columns)
        size = (folder / "table.parquet").stat().st_size
        write_study(folder / "study.toml", rows, options.columns, options.model)
        seconds, resident = run(folder, options.memory)
    result = {
        "file_bytes": size,
        "rows": rows,
        "columns": options.columns,
        "model": options.model,
        "memory": options.memory,
        "resident_megabytes": round(resident, 1),
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
    }
    print(json.dumps(result, indent=2))
    if resident > options.limit:
        raise SystemExit(f"resident memory {resident:.0f} MB, allowed {options.limit:.0f} MB")
    options.results.parent.mkdir(exist_ok=True)
    options.results.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
