"""Fifty analysts at once: a real server and its worker on this machine, and what the ledger says afterwards.

Analysts sign in and read HTML pages as people do, one every two to six seconds. Each tries what a few budgets buy and asks for
one release, with budgets of their own, of one of two data sets: "small" has a budget for some of them, "large" for all, and its
releases keep the worker busy all the while. The times of pages are those that analysts wait for, beside those of one analyst
alone when nothing runs.
"""

from __future__ import annotations

import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ANALYSTS = 50
#: Seconds between two pages of an analyst: at least, at most; and in a second minute, which shows what haste costs.
PAUSE, HASTE = (2.0, 6.0), (1.0, 3.0)
#: What the times may be at most, against the idle median.
FACTOR = 3.0
#: Pages that one analyst reads alone, while nothing is released.
IDLE = 120
#: Records of "large", and draws of its releases: seconds of work each.
RECORDS, DRAWS = 100_000, 12


@dataclass
class Visitor:
    """An analyst with a browser's session; notes how long each page took, and each preview and submission."""

    url: str
    token: str
    datasets: tuple[str, ...]
    times: list[float] = field(default_factory=list)
    tries: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refused: int = 0

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def come_in(self) -> None:
        """Sign in by the form, and keep what the session's forms bring back."""
        self.client.post("/sign-in", data={"token": self.token})
        found = re.search('name="csrf" value="([^"]+)"', self.client.get("/").text)
        assert found is not None, "not signed in"
        self.csrf = found[1]

    def look(self, rng: random.Random) -> None:
        """Look at one page."""
        dataset = rng.choice(self.datasets)
        places = ["/", "/requests", f"/datasets/{dataset}", f"/datasets/{dataset}/ask", *self.asked[-1:]]
        path = rng.choice(places)
        started = time.perf_counter()
        answer = self.client.get(path)
        self.times.append(time.perf_counter() - started)
        if answer.status_code != 200:
            self.errors.append(f"{path}: {answer.status_code} {answer.text[:100]}")
        if path.endswith("/ask"):
            self.preview(dataset, 0.5)  # which the page asks for as soon as it is there

    def send(self, path: str, **fields: Any) -> httpx.Response:
        """Send a form and note how long it took."""
        started = time.perf_counter()
        answer = self.client.post(path, data={"csrf": self.csrf, **fields})
        self.tries.append(time.perf_counter() - started)
        return answer

    def preview(self, dataset: str, epsilon: float, draws: int | None = None) -> None:
        """See what a budget buys."""
        answer = self.send(f"/datasets/{dataset}/ask/preview", **_choice(epsilon, draws))
        if answer.status_code != 200 or "claim" not in answer.text:
            self.errors.append(f"preview: {answer.status_code} {answer.text[:200]}")

    def submit(self, dataset: str, epsilon: float, draws: int) -> None:
        """Ask for a release; a budget that is used up is no error."""
        answer = self.send(f"/datasets/{dataset}/ask", purpose="load", **_choice(epsilon, draws))
        if answer.status_code == 303:
            self.asked.append(answer.headers["location"])
        elif answer.status_code == 409 and "budget" in answer.text:
            self.refused += 1
        else:
            self.errors.append(f"submit: {answer.status_code} {re.sub('<[^>]*>', ' ', answer.text)[:300]}")

    def live(self, seconds: float, seed: int, pause: tuple[float, float]) -> None:
        """Do what analysts do for a while: look, try once or twice, and ask once, in the first half of it."""
        rng = random.Random(seed)
        begun, first = time.monotonic(), rng.uniform(0, seconds / 2)
        large = seed % 2
        dataset, draws = self.datasets[large], DRAWS if large else 1
        budgets = [rng.uniform(0.3, 0.8) for _ in range(2)]
        acts = [
            (first, lambda: self.preview(dataset, budgets[0], draws)),
            (first + 5, lambda: self.preview(dataset, budgets[1], draws)),
        ]
        acts.append((first + 8, lambda: self.submit(dataset, budgets[1], draws)))
        while time.monotonic() < begun + seconds:
            time.sleep(rng.uniform(*pause))
            try:
                self.look(rng)
                while acts and time.monotonic() > begun + acts[0][0]:
                    acts.pop(0)[1]()
            except httpx.HTTPError as error:
                self.errors.append(type(error).__name__)


def _choice(epsilon: float, draws: int | None) -> dict[str, Any]:
    """Return the wizard's fields; without draws, for an estimate."""
    chosen = {"model": "LogisticRegression", "target": "benign", "columns": ["radius", "texture"]}
    chosen["release"] = "estimate" if draws is None else str(draws)
    return chosen | {"epsilon": str(epsilon), "delta": "1e-7"}


@dataclass(frozen=True)
class Desk:
    """A desk that listens, with its worker: people's tokens and two data sets."""

    url: str
    process: subprocess.Popen[str]
    tokens: list[str]
    datasets: tuple[str, ...]
    accounts: tuple[Any, ...]


def opened(folder: Path) -> Desk:
    """Start a server and its worker, with an owner, analysts and two data sets that the worker has seen."""
    from gibbsafe.ledger import Account, Database
    from gibbsafe.release.signing import new_key
    from gibbsafe.service import Desk as Inside
    from gibbsafe.service import Settings
    from gibbsafe.service.people import SYSTEM
    from gibbsafe.service.views import Policy
    from tests.service.world import ROWS, STUDY

    new_key(folder / "desk.key")
    (folder / "data").mkdir()
    databases = (f"sqlite:///{folder / 'desk.db'}", f"sqlite:///{folder / 'ledger.db'}")
    settings = Settings(*databases, folder / "desk.key", data=(folder / "data",), slot=1)
    desk = Inside(settings).open()
    olga = desk.create_user(SYSTEM, "olga", ["owner"])
    owner = desk.authenticate(desk.create_token(SYSTEM, olga.id, "load").text)
    analysts = [desk.create_user(SYSTEM, f"analyst {k}", ["analyst"]).id for k in range(ANALYSTS)]
    tokens = [desk.create_token(SYSTEM, each, "load").text for each in analysts]
    datasets, accounts = [], []
    for name, epsilon, records in (("small", 1.0, ROWS), ("large", 60.0, RECORDS)):
        source = folder / "data" / f"{name}.csv"
        _write(source, records)
        made = desk.register_dataset(
            owner,
            name=name,
            source=str(source),
            study=STUDY | {"n": records},
            epsilon=epsilon,
            delta=1e-4,
            policy=Policy(1.0, 1.0, 1.0),
        )
        with desk.store.reading() as connection:
            account = desk.dataset_row(connection, owner, "read dataset", made.id).account
        datasets.append(made.id)
        accounts.append(Account(Database(settings.ledger), account))
    process, url = _started(folder)
    while any(each.state != "ready" for each in desk.datasets(owner)):
        time.sleep(0.2)
    desk.store.engine.dispose()
    return Desk(url, process, tokens, tuple(datasets), tuple(accounts))


def crowd(visitors: list[Visitor], seconds: int, pause: tuple[float, float], seed: int) -> tuple[list[float], list[float]]:
    """Let everybody live at once; return how long pages took, and what plans."""
    for each in visitors:
        each.times, each.tries = [], []
    threads = [threading.Thread(target=each.live, args=(seconds, seed + k, pause)) for k, each in enumerate(visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(each for visitor in visitors for each in visitor.times), sorted(
        each for visitor in visitors for each in visitor.tries
    )


def _most(ordered: list[float]) -> float:
    """Return the 95 % point."""
    return ordered[int(0.95 * len(ordered))]


def load(seconds: int) -> list[str]:
    """Run the load and return the report's lines; an error or an overspent account ends the audit, slow pages are told."""
    from gibbsafe.ledger import check

    with tempfile.TemporaryDirectory() as name:
        desk = opened(Path(name))
        try:
            visitors = [Visitor(desk.url, token, desk.datasets) for token in desk.tokens]
            for each in visitors:
                each.come_in()
            alone = visitors[0]
            rng = random.Random(0)
            for _ in range(IDLE):
                alone.look(rng)
            idle = alone.times[IDLE // 6 :]  # the first pages open files and fill caches
            times, tries = crowd(visitors, seconds, PAUSE, 0)
            hasty, _ = crowd(visitors, seconds, HASTE, 1000)
        finally:
            desk.process.send_signal(signal.SIGTERM)
            desk.process.wait(timeout=120)
        for account in desk.accounts:
            check(account)
        spent = [account.status() for account in desk.accounts]
    errors = [line for each in visitors for line in each.errors]
    median, slow, hurried = statistics.median(idle), _most(times), _most(hasty)
    told = f"p95 {1000 * slow:.1f} ms (in haste {1000 * hurried:.1f}), idle median {1000 * median:.1f} ms"
    sys.stderr.write(f"load: {told}\n")
    assert not errors, errors[:5]
    assert all(each["share"]["main"] <= 1 for each in spent), "overspent"
    assert spent[1]["charges"] > 0, "no release ran"
    asked, refused = sum(len(each.asked) for each in visitors), sum(each.refused for each in visitors)
    small, large = ({"charges": each["charges"], "share": f"{each['share']['main']:.0%}"} for each in spent)
    return [
        f"**Load.** {ANALYSTS} signed-in analysts at once for {seconds} seconds on this machine's two cores (server, worker on",
        f"SQLite, and the analysts' clients together), each with a page every {PAUSE[0]:g} to {PAUSE[1]:g} seconds, two previews",
        f"and a request, while releases of {DRAWS} draws from {RECORDS:,} records ran: {len(times):,} pages, {len(tries)}",
        f"previews and submissions, no error. The idle median of pages, for one analyst alone, was {1000 * median:.1f} ms;",
        f"under load it was {1000 * statistics.median(times):.1f} ms and the 95 % point {1000 * slow:.1f} ms,",
        f"{slow / median:.1f} times the idle median: at most {FACTOR:g} times is demanded, which",
        f"{'holds' if slow <= FACTOR * median else '**does not hold**'} here. Previews and submissions, which plan, took",
        f"{1000 * statistics.median(tries):.0f} ms in the median and {1000 * _most(tries):.0f} ms at the 95 % point.",
        f"In a second minute, in haste, with a page every {HASTE[0]:g} to {HASTE[1]:g} seconds ({len(hasty):,} pages), the 95 %",
        f"point was {1000 * hurried:.1f} ms, {hurried / median:.1f} times the idle median. {asked + refused} requests in all;",
        f"a policy approves them as far as the budget goes. Charged were {small['charges']} releases of the small data set,",
        f"{small['share']} of its cap, and {large['charges']} of the large one, {large['share']} of its; both ledgers check out.",
    ]


def _write(path: Path, records: int) -> None:
    """Write a table of made-up tumours."""
    rng = random.Random(records)
    rows = (f"{rng.uniform(5, 30):.6f},{rng.random():.6f},{rng.choice(('no', 'yes'))}" for _ in range(records))
    path.write_text("\n".join(["radius,texture,benign", *rows]) + "\n")


def _started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "gibbsafe", "serve", "--database", f"sqlite:///{folder / 'desk.db'}"]
    command += ["--key", str(folder / "desk.key"), "--data", str(folder / "data"), "--port", "0", "--slot", "1"]
    process = subprocess.Popen([*command, "--insecure-http"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split("at ")[1].split(";")[0]
    for _ in range(300):
        try:
            httpx.get(f"{url}/sign-in")
            return process, url
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")
