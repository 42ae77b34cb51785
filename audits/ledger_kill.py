"""Kill releases at random moments: no draw may ever be on disk uncharged, the chain must be whole and the sums right.

Every attempt runs ``gibbsafe release`` in a process of its own and kills it (SIGKILL) after a random part of the time that a
release takes, so that kills fall before the charge, between charge and file, between file and settlement, and after it. After
every attempt the ledger is recomputed from its entries, compared with its anchor, and every file in the folder compared with it.
An audit that was stopped goes on where it was (`parts.py`).

    .ci/postgres python audits/ledger_kill.py --kills 1000 --postgres-kills 300 --report docs/audit-ledger.md
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import gibbsafe as gs
from gibbsafe.cli import main as command
from gibbsafe.ledger import Account, check, open_account

#: Kills that are carried out, and kept, together.
CHUNK = 50

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


def audit(kills: int, url: str | None, seed: int) -> tuple[Counter[str], dict[str, object]]:
    """Kill that many releases; return the moments that were hit and the account's final state."""
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        account, reference = prepare(folder, url)
        with contextlib.suppress(SystemExit):
            release(folder, reference, "warm-0")  # loads every library here, so that the children's time is the release's own
        whole = [run_and_kill(folder, reference, f"warm-{k}", None) for k in range(1, 6)]
        moments: Counter[str] = Counter()
        for attempt in range(kills):
            run_and_kill(folder, reference, str(attempt), choose.uniform(0.0, 1.2 * sorted(whole)[2]))
            moments[inspect(folder, account, str(attempt))] += 1
            (folder / f"release-{attempt}.json").unlink(missing_ok=True)
        return moments, check(account)


def chunk(urls: Mapping[str, str | None], seed: int, unit: tuple[str, int, int]) -> tuple[Counter[str], int]:
    """Kill one chunk of releases, on an account of their own; return the moments and the account's entries."""
    database, number, kills = unit
    moments, state = audit(kills, urls[database], seed * 1_000_003 + number)
    return moments, int(str(state["entries"]))


def table(database: str, outcomes: Sequence[tuple[Counter[str], int]]) -> list[str]:
    """Return the report's section on one database."""
    moments: Counter[str] = sum((seen for seen, _ in outcomes), Counter())
    entries = sum(count for _, count in outcomes)
    return [
        f"## {database}",
        "",
        f"{moments.total():,} kills; {entries:,} entries in the end, on {len(outcomes)} accounts.",
        "",
        "| killed | times |",
        "|---|---|",
        *(f"| {moment} | {times} |" for moment, times in sorted(moments.items())),
        "",
    ]


def main() -> None:
    """Run the audit on both databases and write its report."""
    from arguments import arguments, finish
    from parts import Part, chunks

    # on SQLite, and on the server of GIBBSAFE_TEST_POSTGRES (.ci/postgres)
    options = arguments(__doc__, {"kills": (1000, 20), "postgres-kills": (300, 20)})
    urls = {"SQLite": None, "PostgreSQL": os.environ.get("GIBBSAFE_TEST_POSTGRES")}
    if options.postgres_kills and not urls["PostgreSQL"]:
        raise SystemExit("no PostgreSQL here: install it, or pass --postgres-kills 0")
    wanted = {"SQLite": options.kills, "PostgreSQL": options.postgres_kills}
    units = [(database, *each) for database, kills in wanted.items() for each in chunks(kills, CHUNK)]
    part = Part("ledger", (options.kills, options.postgres_kills, options.seed))
    # one at a time: the moments of the kills are measured in units of an undisturbed release
    outcomes, seconds = part.run(units, partial(chunk, urls, options.seed), workers=1, minutes=options.minutes)
    lines = [
        "# Audit: releases killed at random moments",
        "",
        f"`{options.command}`: so many releases were",
        "killed (SIGKILL) at random moments. No draw was on disk without its charge, nothing else was left behind, every file",
        "that was there verified, and after every kill chain, sums and caps were recomputed from the entries and compared",
        "with the anchor.",
        "",
    ]
    for database in (database for database, kills in wanted.items() if kills):
        done = [outcome for unit, outcome in zip(units, outcomes, strict=True) if outcome is not None and unit[0] == database]
        lines += table(database, done)
    sys.stderr.write(f"{seconds:.0f} s\n")
    finish(options, "\n".join(lines), outcomes)


if __name__ == "__main__":
    main()
