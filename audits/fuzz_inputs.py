"""Feed commands with broken files and arguments: no traceback, no exit code outside {0, 1, 2}, no leftover, within 60 s and 1 GB.

Studies are mutated by character and by structure (keys dropped, renamed, values of wrong types, odd numbers); tables by byte
and by cell; plans, releases, ledger rows, Parquet tables and command lines as `fuzz_documents.py` says. Cases run in-process as
the shell would, ``--processes`` of them as processes of their own. Work is done in pieces of 500 cases, each with a seed of its
own: an audit that was stopped goes on where it was (`parts.py`).

    python audits/fuzz_inputs.py --cases 100000 --processes 2000 --workers 2 --report docs/audit-fuzz.md
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_documents as documents

from gibbsafe.cli import main as command

#: Cases of a piece in-process and as processes, what a case may take, and how often each kind comes.
PIECE, PROCESSES = 500, 20
SECONDS, BYTES = 60.0, 10**9
KINDS = {"study": 4, "document": 3, "ledger": 2, "parquet": 1, "arguments": 2}

STUDIES = [
    {
        "n": 8,
        "adjacency": "replace-one",
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "model": {"name": "LogisticRegression"},
        "columns": {"a": {"bounds": [0, 10]}, "b": {"levels": ["u", "v"], "other": "v"}},
        "target": {"name": "y", "labels": ["no", "yes"]},
    },
    {
        "n": 8,
        "adjacency": "replace-one",
        "row_norm": 3.0,
        "budget": {"epsilon": 0.5, "delta": 1e-5},
        "model": {"name": "GaussianMean"},
        "columns": {"a": {"bounds": [0, 10]}, "c": {"bounds": [0, 5], "transform": "log1p", "missing": 1}},
    },
    {
        "adjacency": "add-remove",
        "draws": 2,
        "budget": {"epsilon": 2.0},
        "model": {"name": "BetaBernoulli", "trim": [0.2, 0.7]},
        "target": {"name": "y", "labels": ["no", "yes"]},
    },
    {
        "adjacency": "add-remove",
        "budget": {"epsilon": 2.0, "delta": 1e-3},
        "model": {"name": "PseudoHuberRegression", "width": 2.0},
        "columns": {"c": {"bounds": [0, 5], "scale": "unit"}},
        "target": {"name": "a", "bounds": [0, 10]},
        "csv": {"delimiter": ","},
        "persons": {"column": "p", "rows_per_person": 2},
    },
]
ROWS = ["a,b,c,p,y"] + [f"{k}.5,{'uvw'[k % 3]},{k / 2},{k // 2},{'no' if k % 2 else 'yes'}" for k in range(8)]
TABLE = ("\n".join(ROWS) + "\n").encode()

NUMBERS: list[Any] = [True, -1, 0, 1, 3, 10**400, 1e308, -0.0, float("inf"), float("nan"), 1e-320]
TEXTS = ["", "x" * 50, "a", "replace-one", "log1p", "auto", "\u0000", "ä\n"]
MODELS = [
    "MarkovChain",
    "Categorical",
    "BayesianNetwork",
    "WelschLocation",
    "NormalPrecision",
    "FiniteFamily",
    "LinearRegression",
]
SHAPES: list[Any] = [None, [], [0], [1, 0], [0, 1], [[0, 1]], ["u"], {}, {"a": 1}]
ODD_VALUES = [*NUMBERS, *TEXTS, *MODELS, *SHAPES]
ODD_CELLS = ["", "NaN", "inf", "-inf", "1e400", "x", '"', '"a\nb"', "0x10", "1,5", "\0", "ü", "true", "1" * 400, "-0", " 1", "'"]


def toml_value(value: Any) -> str:
    """Return a value as TOML; None becomes nonsense on purpose."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml_value(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value)
    return "nothing" if value is None else repr(value)


def as_toml(study: dict[str, Any]) -> str:
    """Return a study with its tables in a line each."""
    return "\n".join(f"{json.dumps(key)} = {toml_value(value)}" for key, value in study.items()) + "\n"


def mutate_structure(study: dict[str, Any], choose: random.Random) -> dict[str, Any]:
    """Drop, rename, repeat or replace something somewhere."""
    copy: dict[str, Any] = json.loads(json.dumps(study))
    for _ in range(choose.randint(0, 3)):
        place: Any = copy
        while isinstance(place, dict) and place and choose.random() < 0.6:
            inner = place[choose.choice(list(place))]
            if not isinstance(inner, dict) or not inner:
                break
            place = inner
        if not place:
            continue
        key = choose.choice(list(place))
        action = choose.randrange(4)
        if action == 0:
            del place[key]
        elif action == 1:
            place[choose.choice([key + "s", key[:-1] or "q", key.upper(), ""])] = place.pop(key)
        else:
            place[key] = choose.choice(ODD_VALUES)
    return copy


def mutate_bytes(content: bytes, choose: random.Random) -> bytes:
    """Change, cut, repeat or insert a few bytes."""
    data = bytearray(content)
    for _ in range(choose.randint(0, 4)):
        at = choose.randrange(len(data) + 1)
        action = choose.randrange(4)
        if action == 0:
            data[at : at + choose.randint(1, 5)] = bytes(choose.randrange(256) for _ in range(choose.randint(0, 3)))
        elif action == 1:
            del data[at:]
        elif action == 2:
            data[at:at] = data[: choose.randint(0, 30)]
        else:
            data[at:at] = choose.choice([b"\r\n", b",", b'"', b"\xef\xbb\xbf", b"\xff", b"\0", b"[", b"="])
    return bytes(data)


def mutate_cells(content: bytes, choose: random.Random) -> bytes:
    """Put odd values into cells."""
    lines = content.decode().splitlines()
    for _ in range(choose.randint(0, 3)):
        at = choose.randrange(len(lines))
        cells = lines[at].split(",")
        cells[choose.randrange(len(cells))] = choose.choice(ODD_CELLS)
        lines[at] = ",".join(cells)
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def run(arguments: list[str]) -> tuple[int, str]:
    """Run a command in-process; return its exit code and stderr, which holds a traceback if it failed to refuse."""
    out, err, old = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["gibbsafe", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            command()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        code = 99
        err.write(traceback.format_exc())
    finally:
        sys.argv = old
    return code, err.getvalue()


def study_case(folder: Path, choose: random.Random) -> list[list[str]]:
    """Write a broken study and a broken table; return the commands to run on them."""
    study = as_toml(mutate_structure(choose.choice(STUDIES), choose)).encode("utf-8", "surrogatepass")
    if choose.random() < 0.3:
        study = mutate_bytes(study, choose)
    table = (mutate_bytes if choose.random() < 0.4 else mutate_cells)(TABLE, choose)
    suffix = choose.choice(["csv"] * 8 + ["parquet", "npy", "arrow", "tsv"])
    (folder / "study.toml").write_bytes(study)
    (folder / f"table.{suffix}").write_bytes(table)
    plan = ["plan", "study.toml", choose.choice(["--quiet"] * 9 + ["--json"])]
    return [plan, ["release", "study.toml", "--data", f"table.{suffix}", "--out", "release.json", "--no-ledger", "-q"]]


def prepare(kind: str, folder: Path, choose: random.Random) -> list[list[str]]:
    """Write the files of one case; return its commands."""
    study = as_toml(choose.choice(STUDIES)).encode()
    if kind == "study":
        return study_case(folder, choose)
    if kind == "document":
        return documents.document_case(folder, choose, mutate_bytes)
    if kind == "ledger":
        return documents.ledger_case(folder, choose, mutate_bytes)
    if kind == "parquet":
        return documents.parquet_case(folder, choose, study, mutate_bytes)
    return documents.arguments_case(folder, choose, study, TABLE)


def run_process(arguments: list[str]) -> tuple[int, str]:
    """Run a command as a process of its own."""
    done = subprocess.run([sys.executable, "-m", "gibbsafe", *arguments], capture_output=True, timeout=10 * SECONDS, check=False)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def judge(arguments: list[str], code: int, err: str, seconds: float, left: set[str]) -> None:
    """Raise `AssertionError` if a command misbehaved."""
    reason = None
    if code not in (0, 1, 2) or "Traceback" in err:
        reason = "a traceback or another exit code"
    elif code == 1 and not re.fullmatch(r"gibbsafe: [^\n]+\n", err):
        reason = "a refusal that is not one line"
    elif code != 0 and left:
        reason = f"left {sorted(left)} behind"
    elif any(name.startswith(".") for name in left):
        reason = "left a hidden file behind"
    elif seconds > SECONDS:
        reason = f"took {seconds:.0f} s"
    if reason is not None:
        raise AssertionError(f"{arguments} ended with {code}: {reason}\n{err[-3000:]}")


def one_case(folder: Path, choose: random.Random, *, as_process: bool = False) -> Counter[str]:
    """Run one case; raise `AssertionError` with its files in place if a command misbehaves."""
    documents.clean(folder)
    kind = choose.choices(list(KINDS), list(KINDS.values()))[0]
    seen, here = Counter[str](), Path.cwd()
    os.chdir(folder)  # names as a person types them, and nothing outside the folder is written
    try:
        for arguments in prepare(kind, folder, choose):
            before, started = {path.name for path in folder.iterdir()}, time.perf_counter()
            code, err = (run_process if as_process else run)(arguments)
            after = {path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm", "-journal"))}
            judge(arguments, code, err, time.perf_counter() - started, after - before)
            seen[f"{kind}, {arguments[0] if kind == 'study' else 'command'}: exit {code}"] += 1
    finally:
        os.chdir(here)
    return seen


def piece(seed: int, number: int, cases: int = PIECE, *, as_process: bool = False) -> Counter[str]:
    """Run the cases of one piece; they depend on seed and number only."""
    choose, seen = random.Random(f"{seed}-{number}-{as_process}"), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for case in range(cases):
            try:
                seen += one_case(Path(folder), choose, as_process=as_process)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, piece {number}, case {case}: {error}") from error
    return seen


def fuzz(cases: int, seed: int) -> Counter[str]:
    """Run that many cases in this process; return how often each outcome was seen."""
    return piece(seed, 0, cases)


def limited_piece(seed: int, unit: tuple[int, int, bool]) -> Counter[str]:
    """Run a piece in a worker that may take 1 GB more than it has when the piece starts."""
    number, cases, as_process = unit
    documents.documents(), documents.ledger_file()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, resource.RLIM_INFINITY))
    return piece(seed, number, cases, as_process=as_process)


def audit(cases: int, processes: int, seed: int, workers: int) -> tuple[list[Counter[str]], float]:
    """Run all pieces that were not done before, in-process ones first; return their outcomes and the seconds they took."""
    from parts import Part, chunks, digest

    watched = hashlib.sha256(Path(documents.__file__).read_bytes()).hexdigest()
    units = [(*unit, False) for unit in chunks(cases, PIECE)] + [(*unit, True) for unit in chunks(processes, PROCESSES)]
    part = Part("fuzz", (cases, processes, seed), watched=lambda: digest() + watched)
    return part.run(units, partial(limited_piece, seed), workers=workers)


def main() -> None:
    """Run the audit and write its report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=0, help="cases that run as processes of their own")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    outcomes, seconds = audit(options.cases, options.processes, options.seed, options.workers)
    seen = sum(outcomes, Counter())
    lines = [
        "# Audit: broken files and arguments",
        "",
        f"`audits/fuzz_inputs.py --cases {options.cases} --processes {options.processes} --seed {options.seed}`:",
        f"{options.cases:,} random studies, tables, plans, releases, ledgers and command lines, mostly broken, in-process,",
        f"and {options.processes:,} more as processes of their own. No traceback, no exit code outside {{0, 1, 2}}, no file",
        f"after a refusal, every refusal one line, nothing above {SECONDS:.0f} s or {BYTES / 1e9:.0f} GB.",
        "",
        "| outcome | times |",
        "|---|---|",
        *(f"| {outcome} | {times:,} |" for outcome, times in sorted(seen.items())),
        "",
    ]
    print("\n".join(lines) + f"\n{seconds:.0f} s")
    if options.report is not None:
        options.report.write_text("\n".join(lines))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
