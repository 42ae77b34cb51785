"""What every benchmark shares: threads set before NumPy loads, repeats, ratios in one run, results as JSON.

Import this module before NumPy. Times on a shared machine are noisy, so a benchmark reports the best of several repeats for
fixed work and compares only times that were measured in the same run.
"""

from __future__ import annotations

import os

THREADS = os.environ.get("GIBBSAFE_BENCH_THREADS", "1")
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = THREADS
os.environ.setdefault("XLA_FLAGS", f"--xla_cpu_multi_thread_eigen={'false' if THREADS == '1' else 'true'}")

import argparse  # noqa: E402
import datetime  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import shlex  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import tomllib  # noqa: E402
from importlib import metadata  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = Path(os.environ.get("GIBBSAFE_RESULTS", HERE / "results"))
#: Where the public tables lie: inside the clone, or where the environment says.
DATA = Path(os.environ.get("GIBBSAFE_DATA", HERE / "data"))


#: What times are measured by; a benchmark whose work is all in its own process may count that process's seconds instead.
clock = time.perf_counter


def best_of(repeats, work):
    """Return the shortest of several runs in seconds, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = clock()
        result = work()
        times.append(clock() - start)
    return min(times), result


def spread_of(repeats, work):
    """Return median, least and greatest of several runs in seconds, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        seconds, result = best_of(1, work)
        times.append(seconds)
    return {"median": float(np.median(times)), "least": min(times), "greatest": max(times), "repeats": repeats}, result


def mean_and_error(values):
    """Return mean and standard error; no error for fewer than two values."""
    values = np.asarray(values, dtype=float)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return float(values.mean()), error


def head(quick, *packages):
    """Return what every results file begins with: date, machine, versions, command line."""
    return {
        "date": datetime.date.today().isoformat(),
        "quick": quick,
        "command": shlex.join(["python", "-m", f"benchmarks.questions.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
        "machine": machine(),
        "versions": versions(*packages),
    }


def resume(name, quick, *packages):
    """Return a benchmark's results so far with this run's head, for a run that replaces some of them; earlier commands and
    the versions of what takes no part this time stay listed."""
    before = load(name) or {}
    new = head(quick, *packages)
    new["versions"] = before.get("versions", {}) | {name: found for name, found in new["versions"].items() if found}
    commands = [*before.get("earlier_commands", []), *([before["command"]] if "command" in before else [])]
    return before | new | {"earlier_commands": [c for c in dict.fromkeys(commands) if c != new["command"]]}


def arguments(description):
    """Parse the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute or so")
    parser.add_argument("--only", nargs="*", default=[], help="names of the parts to run; the rest keeps its old results")
    parser.add_argument("--tables", nargs="*", default=[], help="names of the tables to run them on")
    parser.add_argument("--missing", action="store_true", help="run only what has no results yet")
    parser.add_argument("--seeds", type=int, help="seeds per cell, instead of the table's own number")
    return parser.parse_args()


def load(name):
    """Return one benchmark's committed results, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def versions(*packages):
    """Return the versions of what took part."""
    found = {"python": platform.python_version()}
    for name in ("gibbsafe", "numpy", "scipy", *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def machine():
    """Return what the machine says of itself, and whether passes ran by gibbsafe's compiled loops."""
    from gibbsafe.losses.kernels import is_compiled

    found = {"processor": platform.machine(), "cores": os.cpu_count(), "threads": int(THREADS), "system": platform.system()}
    return found | {"compiled": is_compiled()}


def save(name, document):
    """Write one benchmark's results."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {path.name}", file=sys.stderr)


def log(text):
    print(text, file=sys.stderr, flush=True)


def iso(n, d, seed, test_rows=None):
    """Return isotropic synthetic data: coefficients a random direction with predictor of root mean square 2, intercept −0.5."""
    rng = np.random.default_rng(seed)
    rows = n + (test_rows if test_rows is not None else max(2000, n // 5))
    X = rng.normal(size=(rows, d))
    direction = rng.normal(size=d)
    u = X @ (direction / np.linalg.norm(direction) * 2) - 0.5
    y = (rng.uniform(size=rows) < 1 / (1 + np.exp(-u))).astype(int)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    X *= np.minimum(1, np.sqrt(d) / norms)
    return X[:n], y[:n], X[n:], y[n:]


def adult():
    """Return UCI Adult under its public encoding: train and test features, labels 0/1, and the row norm; None if absent."""
    path = DATA / "adult.toml"
    if not path.exists():
        return None
    import csv

    scheme = tomllib.loads(path.read_text())

    def read(name):
        with open(DATA / name, newline="") as file:
            records = list(csv.DictReader(file))
        columns = []
        for column in scheme["numeric"]:
            low, high = column["bounds"]
            values = np.clip(np.array([float(r[column["name"]]) for r in records]), low, high)
            if column.get("transform") == "log1p":
                values, low, high = np.log1p(values), np.log1p(low), np.log1p(high)
            columns.append((values - low) / (high - low))
        for column in scheme["categorical"]:
            values = np.array([r[column["name"]] for r in records])
            columns += [(values == level).astype(float) for level in column["levels"]]
        labels = scheme["target"]["labels"]
        y = np.array([labels.index(r[scheme["target"]["name"]]) for r in records])
        return np.column_stack(columns), y

    return *read("adult_train.csv"), *read("adult_test.csv"), scheme["row_norm"]
