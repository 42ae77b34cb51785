"""Feed commands with broken studies and tables: never a traceback, never an exit code outside {0, 1, 2}, never an uncharged file.

Studies are mutated by character and by structure (keys dropped, renamed, values of wrong types, odd numbers); tables by byte
and by cell. Every case runs ``gibbsafe plan`` and ``gibbsafe release`` in-process, as the shell would.

    python audits/fuzz_inputs.py --cases 10000 --report docs/audit-fuzz.md
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from gibbsafe.cli import main as command

#: Cases that are carried out, and kept, together.
CHUNK = 250

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


def one_case(folder: Path, choose: random.Random) -> Counter[str]:
    """Run one broken study on one broken table; raise `AssertionError` with both if a command misbehaves."""
    study = as_toml(mutate_structure(choose.choice(STUDIES), choose)).encode("utf-8", "surrogatepass")
    if choose.random() < 0.3:
        study = mutate_bytes(study, choose)
    table = (mutate_bytes if choose.random() < 0.4 else mutate_cells)(TABLE, choose)
    suffix = choose.choice(["csv"] * 8 + ["parquet", "npy", "arrow", "tsv"])
    (folder / "study.toml").write_bytes(study)
    (folder / f"table.{suffix}").write_bytes(table)
    out, seen = folder / "release.json", Counter[str]()
    out.unlink(missing_ok=True)
    commands = [["plan", str(folder / "study.toml"), choose.choice(["--quiet"] * 9 + ["--json"])]]
    commands += [
        ["release", str(folder / "study.toml"), "--data", str(folder / f"table.{suffix}"), "--out", str(out), "--no-ledger", "-q"]
    ]
    for arguments in commands:
        code, err = run(arguments)
        seen[f"{arguments[0]}: exit {code}"] += 1
        broken = code not in (0, 1, 2) or "Traceback" in err or (code == 1 and err.count("\n") != 1) or (code == 0) != (not err)
        if broken or (arguments[0] == "release" and out.exists() != (code == 0)):
            raise AssertionError(f"{arguments} ended with {code}:\n{err}\n--- study\n{study!r}\n--- table\n{table!r}")
        if code == 1 and not re.match(r"gibbsafe: .+", err):
            raise AssertionError(f"{arguments}: refusal without a reason: {err!r}")
    return seen


def fuzz(cases: int, seed: int) -> Counter[str]:
    """Run that many cases; return how often each exit code was seen."""
    choose, seen = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(cases):
            seen += one_case(Path(folder), choose)
    return seen


def chunk(seed: int, unit: tuple[int, int]) -> Counter[str]:
    """Run one chunk of the cases, with a seed of its own."""
    number, cases = unit
    return fuzz(cases, seed * 1_000_003 + number)


def main() -> None:
    """Run the audit and write its report."""
    from parts import Part, chunks

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    outcomes, seconds = Part("fuzz", (options.cases, options.seed)).run(
        chunks(options.cases, CHUNK), partial(chunk, options.seed)
    )
    seen = sum(outcomes, Counter())
    lines = [
        "# Audit: broken studies and tables",
        "",
        f"`audits/fuzz_inputs.py --cases {options.cases} --seed {options.seed}`: {options.cases:,} random studies and tables,",
        "most of them broken, were given to `gibbsafe plan` and `gibbsafe release`. No traceback, no exit code outside",
        "{0, 1, 2}, no file after a refusal, and every refusal one line.",
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
