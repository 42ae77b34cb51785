"""Kill releases at random moments: no draw may ever be on disk uncharged, the chain must be whole and the sums right.

Every attempt runs ``gibbsafe release`` in a process of its own and kills it (SIGKILL) after a random part of the time that a
release takes, so that kills fall before the charge, between charge and file, between file and settlement, and after it. After
every attempt the ledger is recomputed from its entries, compared with its anchor, and every file in the folder compared with it.
With ``--state`` the folder is kept: an audit that was stopped goes on where it was.

    python audits/ledger_kill.py --kills 1000 --state killed --report docs/audit-ledger.md
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import gibbsafe as gs
from gibbsafe.cli import main as command
from gibbsafe.ledger import Account, check, open_account
from gibbsafe.ledger import account as find

STUDY = """
n = 300
adjacency = "replace-one"
draws = 40
[budget]
epsilon = 0.02
delta = 1e-6
[model]
name = "LogisticRegression"
[columns.a]
bounds = [0, 1]
[columns.b]
bounds = [0, 1]
[target]
name = "y"
labels = [0, 1]
"""


def prepare(folder: Path, url: str | None) -> tuple[Account, str]:
    """Write study and table, open the account; return it and its reference."""
    generator = np.random.default_rng(0)
    rows = np.column_stack([generator.uniform(size=(300, 2)), generator.integers(0, 2, 300)])
    lines = [f"{a},{b},{int(y)}" for a, b, y in rows.tolist()]
    (folder / "table.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    (folder / "study.toml").write_text(STUDY)
    place, name = url or f"sqlite:///{folder / 'ledger.db'}", f"killed-{os.getpid()}-{time.time_ns()}"
    anchor = str(folder / "marks.jsonl")
    return open_account(place, name, gs.Budget(8.0, 1e-3), adjacency="replace-one", anchor=anchor), f"{place}#{name}"


def release(folder: Path, reference: str, attempt: str) -> None:
    """Run the command as a person would; the child of a fork never returns."""
    sys.argv = ["gibbsafe", "release", str(folder / "study.toml"), "--data", str(folder / "table.csv"), "--quiet"]
    sys.argv += ["--ledger", reference, "--key", attempt, "--out", str(folder / f"release-{attempt}.json")]
    with contextlib.redirect_stderr(io.StringIO()):
        command()


def run_and_kill(folder: Path, reference: str, attempt: str, seconds: float | None) -> float:
    """Fork a release and kill it after ``seconds`` (None: let it end); return how long it took."""
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            release(folder, reference, attempt)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return time.perf_counter() - started


def inspect(folder: Path, account: Account, attempt: str) -> str:
    """Return at which moment the attempt was killed; raise if anything is on disk that was not charged."""
    check(account)
    charges = {entry["key"]: entry["state"] for entry in account.entries() if entry["kind"] == "charge"}
    state, file = charges.get(attempt), folder / f"release-{attempt}.json"
    traces = list(folder.glob(".*"))
    if traces:
        raise SystemExit(f"attempt {attempt}: left {traces} behind")
    if file.exists():
        gs.verify(file)
    if file.exists() and state is None:
        raise SystemExit(f"attempt {attempt}: a draw is on disk, but was never charged")
    if state == "released" and not file.exists():
        raise SystemExit(f"attempt {attempt}: marked released, but there is no file")
    if state is None:
        return "before the charge"
    if state == "released":
        return "after settlement"
    return "between file and settlement" if file.exists() else "between charge and file"


def audit(kills: int, url: str | None, seed: int, folder: Path) -> tuple[Counter[str], dict[str, object]]:
    """Kill that many releases, those of an earlier run in the folder included; return the moments hit and the account's state."""
    memory = folder / "audit.json"
    if memory.exists():
        kept = json.loads(memory.read_text())
        reference, account = kept["reference"], find(kept["reference"])
    else:
        account, reference = prepare(folder, url)
        kept = {"reference": reference, "done": 0, "moments": {}}
    warm = f"warm-{time.time_ns()}"
    with contextlib.suppress(SystemExit):
        release(folder, reference, f"{warm}-0")  # loads every library here, so that the children's time is the release's own
    whole = [run_and_kill(folder, reference, f"{warm}-{k}", None) for k in range(1, 6)]
    moments = Counter[str](kept["moments"])
    for attempt in range(kept["done"], kills):
        seconds = random.Random(f"{seed}-{attempt}").uniform(0.0, 1.2 * sorted(whole)[2])
        name = f"{attempt}-{time.time_ns()}"  # an attempt that the end of an earlier run cut off is another one
        run_and_kill(folder, reference, name, seconds)
        moments[inspect(folder, account, name)] += 1
        (folder / f"release-{name}.json").unlink(missing_ok=True)
        memory.write_text(json.dumps({"reference": reference, "done": attempt + 1, "moments": dict(moments)}))
    return moments, check(account)


def main() -> None:
    """Run the audit and write its report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--url", help="a PostgreSQL URL instead of a SQLite file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, help="a folder where the audit is kept, to go on with it")
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        folder = options.state or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        moments, state = audit(options.kills, options.url, options.seed, folder)
    kind = "PostgreSQL" if options.url else "SQLite"
    lines = [
        "# Audit: releases killed at random moments",
        "",
        f"`audits/ledger_kill.py --kills {options.kills}` on {kind}: {options.kills} releases were killed (SIGKILL) at random",
        "moments. No draw was on disk without its charge, nothing else was left behind, every file that was there verified, and",
        f"after every kill chain, sums and caps were recomputed from the entries ({state['entries']} in the end) and",
        "compared with the anchor.",
        "",
        "| killed | times |",
        "|---|---|",
        *(f"| {moment} | {times} |" for moment, times in sorted(moments.items())),
        "",
    ]
    print("\n".join(lines) + f"\n{time.perf_counter() - started:.0f} s")
    if options.report is not None:
        options.report.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
