"""Fifty analysts at once: a real server and its worker on this machine, and what the ledger says afterwards."""

from __future__ import annotations

import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx

ANALYSTS = 50
#: Mean seconds between two things that an analyst does.
PAUSE = 4.0
#: What the times may be at most, against the idle median.
FACTOR = 3.0


class Visitor:
    """An analyst who looks at pages and now and then asks for a release; notes how long each answer took."""

    def __init__(self, url: str, token: str, dataset: str, study: object) -> None:
        self.client = httpx.Client(base_url=f"{url}/api/v1", headers={"authorization": f"Bearer {token}"}, timeout=60)
        self.dataset, self.study = dataset, study
        self.times: list[float] = []
        self.errors: list[str] = []
        self.submitted = 0

    def look(self, rng: random.Random) -> None:
        """Look at one page."""
        path = rng.choice(["/me", "/datasets", f"/datasets/{self.dataset}", "/requests", f"/datasets/{self.dataset}/choices"])
        started = time.perf_counter()
        answer = self.client.get(path)
        self.times.append(time.perf_counter() - started)
        if answer.status_code != 200:
            self.errors.append(f"{path}: {answer.status_code} {answer.text[:100]}")

    def submit(self) -> None:
        """Ask for a release."""
        body = {"study": self.study, "purpose": "load"}
        answer = self.client.post(f"/datasets/{self.dataset}/requests", json=body)
        self.submitted += answer.status_code == 201
        if answer.status_code not in (201, 409):  # a budget that is used up is no error
            self.errors.append(f"submit: {answer.status_code} {answer.text[:100]}")

    def live(self, seconds: float, seed: int) -> None:
        """Do what analysts do for a while; one of them asks for a release every two seconds."""
        rng = random.Random(seed)
        end = time.monotonic() + seconds
        asks_at = time.monotonic() + rng.uniform(0, seconds) if seed < seconds / 2 else float("inf")
        while time.monotonic() < end:
            time.sleep(rng.expovariate(1 / PAUSE))
            try:
                self.look(rng)
                if time.monotonic() > asks_at:
                    asks_at = float("inf")
                    self.submit()
            except httpx.HTTPError as error:
                self.errors.append(type(error).__name__)


def load(seconds: int) -> list[str]:
    """Run the load and return the report's lines; an error, an overspent account or slow pages end the audit."""
    from gibbsafe.ledger import Account, Database, check
    from gibbsafe.release.signing import new_key
    from gibbsafe.service import Desk, Settings
    from gibbsafe.service.people import SYSTEM
    from gibbsafe.service.views import Policy
    from tests.service.world import STUDY, write_table

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        new_key(folder / "desk.key")
        (folder / "data").mkdir()
        write_table(folder / "data" / "table.csv")
        settings = Settings(
            f"sqlite:///{folder / 'desk.db'}",
            f"sqlite:///{folder / 'ledger.db'}",
            folder / "desk.key",
            data=(folder / "data",),
            slot=1,
        )
        desk = Desk(settings).open()
        olga = desk.create_user(SYSTEM, "olga", ["owner"])
        owner = desk.authenticate(desk.create_token(SYSTEM, olga.id, "load").text)
        tokens = [
            desk.create_token(SYSTEM, desk.create_user(SYSTEM, f"analyst {k}", ["analyst"]).id, "load").text
            for k in range(ANALYSTS)
        ]
        source = str(folder / "data" / "table.csv")
        dataset = desk.register_dataset(
            owner, name="load", source=source, study=STUDY, epsilon=2.0, delta=1e-6, policy=Policy(1.0, 1.0, 1.0)
        ).id
        process, url = _started(folder)
        try:
            while desk.dataset(owner, dataset).state != "ready":
                time.sleep(0.2)
            idle = Visitor(url, tokens[0], dataset, STUDY)
            for k in range(60):
                idle.look(random.Random(k))
            visitors = [Visitor(url, token, dataset, STUDY) for token in tokens]
            threads = [threading.Thread(target=each.live, args=(seconds, k)) for k, each in enumerate(visitors)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=120)
        with desk.store.reading() as connection:
            account = desk.dataset_row(connection, owner, "read dataset", dataset).account
        place = Account(Database(settings.ledger), account)
        check(place)
        status = place.status()
        desk.store.engine.dispose()
    errors = [line for each in visitors for line in each.errors] + idle.errors
    times = sorted(second for each in visitors for second in each.times)
    median, slow = statistics.median(idle.times), times[int(0.95 * len(times))]
    assert not errors, errors[:5]
    assert status["share"]["main"] <= 1, "overspent"
    assert status["charges"] > 0, "no release ran"
    assert slow <= FACTOR * median, f"p95 {1000 * slow:.0f} ms, idle median {1000 * median:.0f} ms"
    submitted = sum(each.submitted for each in visitors)
    return [
        f"**Load.** {ANALYSTS} analysts at once for {seconds} seconds, one page every {PAUSE:g} seconds each, {submitted}",
        f"requests submitted and approved by a policy as far as the budget goes, releases running meanwhile: {len(times):,}",
        f"pages and no error. The idle median was {1000 * median:.0f} ms, the 95 % point under load {1000 * slow:.0f} ms.",
        f"{status['charges']} releases were charged, {status['share']['main']:.0%} of the cap.",
    ]


def _started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "gibbsafe", "serve", "--database", f"sqlite:///{folder / 'desk.db'}"]
    command += [
        "--key",
        str(folder / "desk.key"),
        "--data",
        str(folder / "data"),
        "--port",
        "0",
        "--slot",
        "1",
        "--insecure-http",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split("at ")[1].split(";")[0]
    for _ in range(300):
        try:
            httpx.get(f"{url}/api/v1/me")
            return process, url
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")
