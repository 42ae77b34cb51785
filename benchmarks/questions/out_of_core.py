"""A release from a Parquet file that is much larger than the memory it may use: ``--memory 200MB`` on 2 GB.

Writes the file in a temporary folder, runs ``gibbsafe release`` as a process of its own, and records its largest resident memory
and its time. Fails if the process ever held more than the limit.

    python -m benchmarks.questions.out_of_core --gigabytes 2 --memory 200MB --limit 600
"""

from __future__ import annotations

from benchmarks import harness  # isort: skip - sets the number of threads before NumPy loads

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PIECE = 200_000
#: `python -m gibbsafe` that ends by writing its own peak memory. (What the parent learns of a child's peak includes the
#: parent's own memory, which the child shares until it starts.)
COMMAND = """
import atexit, pathlib, runpy, sys
peak = pathlib.Path(sys.argv.pop(1))
atexit.register(lambda: peak.write_text(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]))
runpy.run_module("gibbsafe", run_name="__main__", alter_sys=True)
"""


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


def release(folder: Path, memory: str) -> tuple[float, float]:
    """Run the release; return seconds and the largest resident memory in megabytes."""
    peak = folder / "peak_kib"
    command = [sys.executable, "-c", COMMAND, str(peak), "release", str(folder / "study.toml")]
    command += ["--data", str(folder / "table.parquet"), "--memory", memory, "--no-ledger", "--quiet"]
    started = time.perf_counter()
    subprocess.run([*command, "--out", str(folder / "release.json")], check=True)
    return time.perf_counter() - started, int(peak.read_text()) * 1024 / 1e6


def run(gigabytes: float, columns: int, memory: str, model: str, limit: float) -> dict:
    """Write the table, release from it, and return what was measured."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = write_table(folder / "table.parquet", gigabytes, columns)
        size = (folder / "table.parquet").stat().st_size
        write_study(folder / "study.toml", rows, columns, model)
        seconds, resident = release(folder, memory)
    return {
        "file_bytes": size,
        "rows": rows,
        "columns": columns,
        "model": model,
        "memory": memory,
        "limit_megabytes": limit,
        "resident_megabytes": round(resident, 1),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Run the benchmark and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fifty megabytes")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--memory", default="200MB")
    parser.add_argument("--limit", type=float, default=600.0, help="largest resident memory allowed, in megabytes")
    parser.add_argument("--model", default="LogisticRegression")
    options = parser.parse_args()
    gigabytes = 0.05 if options.quick else options.gigabytes
    result = run(gigabytes, options.columns, options.memory, options.model, options.limit)
    harness.log(str(result))
    harness.save("out_of_core_quick" if options.quick else "out_of_core", harness.head(options.quick, "pyarrow") | result)
    if result["resident_megabytes"] > options.limit:
        raise SystemExit(f"resident memory {result['resident_megabytes']:.0f} MB, allowed {options.limit:.0f} MB")


if __name__ == "__main__":
    main()
