"""Feed commands with broken files and arguments: no traceback, no exit code outside {0, 1, 2}, no leftover, within 60 s and 1 GB.

Studies are mutated by character and by structure (keys dropped, renamed, values of wrong types, odd numbers); tables by byte
and by cell; plans, releases, ledger rows, Parquet tables and command lines as `fuzz_documents.py` says. Cases run in-process as
the shell would, ``--processes`` more as processes of their own, each with its own exit code, limits and output: every tenth is
started by the command itself, which takes a second for its imports, the others are forked where these are done already. Work is
done in pieces of 500 cases, each with a seed of its own: an audit that was stopped goes on where it was (`parts.py`).

    python audits/fuzz_inputs.py --cases 100000 --processes 2000 --workers 2 --report docs/audit-fuzz.md
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_documents as documents

from gibbsafe import models
from gibbsafe.cli import main as command

#: Cases of a piece in-process and as processes, which of the latter begin with an interpreter, and what a case may take.
PIECE, PROCESSES, STARTED = 500, 20, 10
SECONDS, BYTES = 60, 10**9
#: How often each kind comes. A table goes with a study that is not broken.
KINDS = {"study": 6, "table": 3, "parquet": 2, "plan": 3, "release": 4, "ledger": 4, "arguments": 4}

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
SHAPES: list[Any] = [None, [], [0], [1, 0], [0, 1], [[0, 1]], ["u"], {}, {"a": 1}]
ODD_VALUES = [*NUMBERS, *TEXTS, *models.MODELS, *SHAPES]
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


def write_table(folder: Path, choose: random.Random) -> str:
    """Write a broken table; return its name."""
    table = (mutate_bytes if choose.random() < 0.4 else mutate_cells)(TABLE, choose)
    name = f"table.{choose.choice(['csv'] * 8 + ['parquet', 'npy', 'arrow', 'tsv', 'npz', 'csv.gz'])}"
    (folder / name).write_bytes(gzip.compress(table, 1) if name.endswith("gz") else table)
    return name


def study_case(folder: Path, choose: random.Random) -> list[list[str]]:
    """Write a broken study and a broken table; return a command to run on them."""
    study = as_toml(mutate_structure(choose.choice(STUDIES), choose)).encode("utf-8", "surrogatepass")
    (folder / "study.toml").write_bytes(mutate_bytes(study, choose) if choose.random() < 0.3 else study)
    release = ["release", "study.toml", "--data", write_table(folder, choose), "--out", "release.json", "--no-ledger", "-q"]
    return [choose.choice([["plan", "study.toml", choose.choice(["--quiet"] * 9 + ["--json"])], release])]


def table_case(folder: Path, choose: random.Random, study: bytes) -> list[list[str]]:
    """Write a broken table for a study that is not; return a release of it, for a trusted study or another."""
    (folder / "study.toml").write_bytes(study)
    (folder / "ledger.db").write_bytes(documents.ledger_file())
    ledger = choose.choice([["--no-ledger"]] * 3 + [["--ledger", "ledger.db#clinic", "--untrusted-study"]])
    return [["release", "study.toml", "--data", write_table(folder, choose), "--out", "release.json", "-q", *ledger]]


def prepare(kind: str, folder: Path, choose: random.Random) -> list[list[str]]:
    """Write the files of one case; return its commands."""
    study = as_toml(choose.choice(STUDIES)).encode()
    if kind == "study":
        return study_case(folder, choose)
    if kind == "table":
        return table_case(folder, choose, study)
    if kind == "parquet":
        return documents.parquet_case(folder, choose, study, mutate_bytes)
    if kind == "arguments":
        return documents.arguments_case(folder, choose, study, TABLE)
    return {"plan": documents.plan_case, "release": documents.release_case, "ledger": documents.ledger_case}[kind](
        folder, choose, mutate_bytes
    )


def start(arguments: list[str]) -> tuple[int, str]:
    """Run a command as the shell does, with an interpreter of its own."""
    done = subprocess.run([sys.executable, "-m", "gibbsafe", *arguments], capture_output=True, timeout=10 * SECONDS, check=False)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def fork(arguments: list[str]) -> tuple[int, str]:
    """Run a command in a process of its own, forked from this one, which has imported the libraries."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            signal.alarm(SECONDS)  # ends it, with the signal for exit code
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115 - a child's own
            code = 99
            try:
                code, text = run(arguments)
                sys.stderr.write(text)
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), errors.read().decode("utf-8", "replace")


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


def one_case(folder: Path, choose: random.Random, call: Callable[[list[str]], tuple[int, str]] = run) -> Counter[str]:
    """Run one case; raise `AssertionError` with its files in place if a command misbehaves."""
    documents.clean(folder)
    kind = choose.choices(list(KINDS), list(KINDS.values()))[0]
    seen, here = Counter[str](), Path.cwd()
    os.chdir(folder)  # names as a person types them, and nothing outside the folder is written
    try:
        for arguments in prepare(kind, folder, choose):
            before, started = {path.name for path in folder.iterdir()}, time.perf_counter()
            code, err = call(arguments)
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
            call = run if not as_process else fork if case % STARTED else start
            try:
                seen += one_case(Path(folder), choose, call)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, piece {number}, case {case}: {error}") from error
    return seen


def fuzz(cases: int, seed: int) -> Counter[str]:
    """Run that many cases in this process; return how often each outcome was seen."""
    return piece(seed, 0, cases)


def remember_curves() -> None:
    """Compute each point of a Gaussian curve once: plans ask for the same ones, a pure function, thousands of times."""
    from gibbsafe.privacy import profiles

    if not hasattr(profiles._gaussian_log_delta, "cache_info"):
        profiles._gaussian_log_delta = lru_cache(2**19)(profiles._gaussian_log_delta)  # type: ignore[assignment]


def limited_piece(seed: int, unit: tuple[int, int, bool]) -> Counter[str]:
    """Run a piece in a worker that may take 1 GB more than it has when the piece starts."""
    number, cases, as_process = unit
    documents.documents(), documents.ledger_file()
    remember_curves()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + BYTES, resource.RLIM_INFINITY))
    return piece(seed, number, cases, as_process=as_process)


def audit(
    cases: int, processes: int, seed: int, workers: int = 2, minutes: float = math.inf
) -> tuple[list[Counter[str] | None], float]:
    """Run all pieces that were not done before, in-process ones first; return their outcomes and the seconds they took."""
    from parts import Part, chunks, digest

    watched = hashlib.sha256(Path(documents.__file__).read_bytes()).hexdigest()
    units = [(*unit, False) for unit in chunks(cases, PIECE)] + [(*unit, True) for unit in chunks(processes, PROCESSES)]
    part = Part("fuzz", (cases, processes, seed), watched=lambda: digest() + watched)
    return part.run(units, partial(limited_piece, seed), workers=workers, minutes=minutes)


def main() -> None:
    """Run the audit and write its report."""
    from arguments import arguments, finish

    # processes: cases that run as processes of their own
    options = arguments(__doc__, {"cases": (100_000, 500), "processes": (2000, 10)})
    outcomes, seconds = audit(options.cases, options.processes, options.seed, minutes=options.minutes)
    seen = sum((each for each in outcomes if each is not None), Counter[str]())
    lines = [
        "# Audit: broken files and arguments",
        "",
        f"`{options.command}`:",
        f"{options.cases:,} random studies, tables, plans, releases, ledgers and command lines, mostly broken, in-process,",
        f"and {options.processes:,} more as processes of their own (every tenth started by the command, the others forked where",
        "the imports are done). No traceback, no exit code outside {0, 1, 2}, no file after a refusal, every refusal one line,",
        f"nothing above {SECONDS:.0f} s or {BYTES / 1e9:.0f} GB.",
        "",
        "| outcome | times |",
        "|---|---|",
        *(f"| {outcome} | {times:,} |" for outcome, times in sorted(seen.items())),
        "",
    ]
    sys.stderr.write(f"{seconds:.0f} s\n")
    finish(options, "\n".join(lines), outcomes)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
