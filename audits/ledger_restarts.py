"""Crash PostgreSQL again and again while 16 processes charge: no acknowledged charge is lost, and no cap is passed.

Every round opens an account whose cap admits a known number of charges, sets 16 processes on it, and crashes the server once at
a random moment (``pg_ctl stop -m immediate``: nothing is written back), then starts it again. The processes go on until the
account refuses for want of budget. Then the journal must contain every charge that was acknowledged, exactly as many
charges as the cap admits, and a chain that fits and is not behind its anchor. An audit that was stopped goes on where it was
(`parts.py`).

    python audits/ledger_restarts.py --restarts 20 --report docs/audit-restarts.md
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gibbsafe as gs

WRITERS = 16


class Server:
    """A PostgreSQL server of its own, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
        if not found:
            raise SystemExit("no PostgreSQL here: install it to run this audit")
        self.binaries, self.data, self.folder = found[-1].parent, folder / "data", folder
        self.as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if self.as_server:
            shutil.chown(folder, "postgres")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run("initdb", "-A", "trust", "-U", "gibbsafe")
        self.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"postgresql://gibbsafe@127.0.0.1:{self.port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self.as_server, str(self.binaries / program), "-D", str(self.data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-w", "-t", "120", "-l", str(self.folder / "log"), "-o", options, "start")

    def crash(self) -> None:
        """Stop at once, without writing anything back."""
        self._run("pg_ctl", "-m", "immediate", "stop")


def write(reference: str, anchor: str, worker: int, mu: float, acknowledged: Any) -> None:
    """Charge until the budget is spent; report every charge that was acknowledged, and go on after every failure."""
    account = None  # a slow process may look for it in the moment of the crash
    guarantee = gs.privacy.GaussianDP(mu, adjacency="replace-one")
    for attempt in range(100_000):
        key = f"{worker}-{attempt}"
        try:
            account = account or gs.ledger.account(reference, anchor)
            acknowledged.put((key, account.spend(guarantee, key=key).number))
        except gs.BudgetError:
            return
        except gs.CertificateError:
            raise
        except gs.GibbsafeError:  # the server is gone, or comes back: this key may have been charged or not
            time.sleep(0.05)


def one_round(server: Server, folder: Path, number: int, charges: int, choose: random.Random) -> dict[str, Any]:
    """Crash the server once under 16 writers; return what was seen, or raise `SystemExit`."""
    name, anchor = f"round-{number}-{time.time_ns()}", str(folder / "marks.jsonl")
    account = gs.ledger.open_account(server.url, name, gs.Budget(1.0, 1e-6), adjacency="replace-one", anchor=anchor)
    mu = account.status()["caps"]["mu"] / charges**0.5 * (1 - 1e-9)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    writers = [
        context.Process(target=write, args=(f"{server.url}#{name}", anchor, worker, mu, queue)) for worker in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    time.sleep(choose.uniform(0.2, 2.0))
    before = queue.qsize()
    server.crash()
    server.start()
    acknowledged = {}
    while any(writer.is_alive() for writer in writers) or not queue.empty():
        try:
            key, entry = queue.get(timeout=0.2)
            acknowledged[key] = entry
        except Exception:  # nothing there yet
            continue
    if any(writer.exitcode for writer in writers):
        raise SystemExit(f"round {number}: a writer found the ledger inconsistent")
    journal = {entry["key"]: entry["number"] for entry in account.entries() if entry["kind"] == "spend"}
    lost = {key: entry for key, entry in acknowledged.items() if journal.get(key) != entry}
    if lost:
        raise SystemExit(f"round {number}: acknowledged and lost: {lost}")
    if len(journal) != charges:
        raise SystemExit(f"round {number}: {len(journal)} charges, but the cap admits {charges}")
    gs.ledger.check(account)
    return {"round": number, "before": before, "acknowledged": len(acknowledged), "charges": len(journal)}


class Rounds:
    """Rounds on one server, which is started with the first of them."""

    def __init__(self, folder: Path, charges: int, seed: int) -> None:
        self.folder, self.charges, self.seed = folder, charges, seed
        self.server: Server | None = None

    def __call__(self, number: int) -> dict[str, Any]:
        """Run one round, with a seed of its own."""
        if self.server is None:
            os.chmod(self.folder, 0o755)
            (self.folder / "server").mkdir()
            self.server = Server(self.folder / "server")
        return one_round(self.server, self.folder, number, self.charges, random.Random(f"{self.seed}-{number}"))

    def close(self) -> None:
        """Stop the server, if there is one."""
        if self.server is not None:
            self.server.crash()


def audit(restarts: int, charges: int, seed: int, minutes: float = math.inf) -> tuple[list[dict[str, Any]], float]:
    """Run the rounds that were not done before; return all of them and the seconds they took."""
    from parts import Part

    with tempfile.TemporaryDirectory() as place, contextlib.closing(Rounds(Path(place), charges, seed)) as rounds:
        part = Part("restarts", (restarts, charges, seed))
        outcomes, seconds = part.run(range(restarts), rounds, workers=1, minutes=minutes)
        return [each for each in outcomes if each is not None], seconds


def main() -> None:
    """Run the audit and write its report."""
    from arguments import arguments, finish

    # charges: how many the cap of a round admits
    options = arguments(__doc__, {"restarts": (20, 2)}, settings={"charges": 100})
    rounds, seconds = audit(options.restarts, options.charges, options.seed, options.minutes)
    total = sum(each["acknowledged"] for each in rounds)
    unsure = sum(each["charges"] - each["acknowledged"] for each in rounds)
    lines = [
        "# Audit: PostgreSQL crashed under 16 writers",
        "",
        f"`{options.command}`: {len(rounds)} times the server",
        f"was crashed while {WRITERS} processes were charging one account, and started again. All {total:,} charges that were",
        f"acknowledged are in the journals; {unsure} more were committed in the moment of a crash and never acknowledged,",
        f"so that nothing was released under them. Every account ended with exactly the {options.charges} charges of its cap.",
        "",
        "| round | acknowledged before the crash | in all | charges in the journal |",
        "|---|---|---|---|",
        *(f"| {each['round']} | {each['before']} | {each['acknowledged']} | {each['charges']} |" for each in rounds),
        "",
    ]
    sys.stderr.write(f"{seconds:.0f} s\n")
    finish(options, "\n".join(lines))


if __name__ == "__main__":
    main()
