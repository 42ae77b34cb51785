"""The clerk of a worker: publishes results when they are due, gives signs of life, and finds jobs whose worker died."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, or_, select, update

from gibbsafe.ledger import Account, Database, parse_reference
from gibbsafe.release import Release
from gibbsafe.service.books import KEY
from gibbsafe.service.queue import slot_after
from gibbsafe.service.settings import Settings
from gibbsafe.service.store import Store
from gibbsafe.service.tables import datasets, jobs, results

__all__ = ["LOST", "Clerk"]

logger = logging.getLogger("gibbsafe.worker")

LOST = "the worker stopped after the charge, which stands; nothing is sampled under it again"
#: States in which a worker has a job in its hands.
HELD = ("claimed", "charged")


class Clerk:
    """What has to happen while a worker samples, at times that do not depend on how long it does."""

    def __init__(
        self, settings: Settings, store: Store, name: str, holding: set[str], pause_at: Callable[[str], None] = lambda step: None
    ) -> None:
        self.settings, self.store, self.name, self.holding, self.pause_at = settings, store, name, holding, pause_at

    def run(self, stop: threading.Event, alone: bool = False) -> None:
        """Do everything once a slot, on the slot, until ``stop`` is set. If it is ``alone``, all others are dead."""
        if alone:
            self._try(lambda: self.recover(int(self.settings.clock()) + 1))
        while not stop.is_set():
            now = self.settings.clock()
            stop.wait(max(0.0, min(slot_after(now + 0.001, self.settings) - now, self.settings.lease / 4)))
            self._try(self.step)

    @staticmethod
    def _try(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:  # database or ledger do not answer
            logger.error("the clerk could not work; trying again at the next slot")

    def step(self) -> None:
        """Give a sign of life, recover what dead workers left, publish what is due."""
        now = int(self.settings.clock())
        with self.store.writing() as connection:
            mine = jobs.c.id.in_(sorted(self.holding)), jobs.c.worker == self.name, jobs.c.state.in_(HELD)
            connection.execute(update(jobs).where(*mine).values(sign_of_life=now))
        self.recover(now - int(self.settings.lease))
        self.tell(now)
        self.publish(now)

    def tell(self, now: int) -> None:
        """Say what was found of new data sets' files once it is due: how long a look takes depends on what a file holds."""
        with self.store.writing() as connection:
            looked = jobs.c.state == "looked", jobs.c.shown <= now
            for job in connection.execute(select(jobs.c.id, jobs.c.dataset_id, jobs.c.note).where(*looked)).all():
                found = {"state": "unreadable" if job.note else "ready", "note": job.note}
                connection.execute(update(datasets).where(datasets.c.id == job.dataset_id).values(**found))
                connection.execute(update(jobs).where(jobs.c.id == job.id).values(state="seen", note=""))

    # -- publishing ----------------------------------------------------------------------------------------------

    def publish(self, now: int) -> None:
        """Mark charges released whose results are due within a slot, and show them then; late ones whole slots later."""
        with self.store.reading() as connection:
            due = select(jobs.c.id, jobs.c.request_id, jobs.c.shown).where(
                jobs.c.state == "stored", jobs.c.shown <= now + self.settings.slot
            )
            waiting = connection.execute(due.order_by(jobs.c.shown, jobs.c.id)).all()
        for job in waiting:
            with self.store.reading() as connection:
                text = connection.execute(select(results.c.release).where(results.c.request_id == job.request_id)).scalar_one()
                account = self._account(connection, job.id)
            self.pause_at("settle")
            self._settle(account, Release.from_dict(json.loads(text)), f"{KEY}{job.request_id}")
            self.pause_at("settled")
            with self.store.writing() as connection:
                mine = jobs.c.id == job.id, jobs.c.state == "stored"
                shown = max(job.shown, slot_after(self.settings.clock(), self.settings))
                connection.execute(update(jobs).where(*mine).values(state="published", shown=shown))

    @staticmethod
    def _settle(account: Account, release: Release, key: str) -> None:
        """Mark a charge released, unless a clerk before did so and died before it could say it."""
        state = next((entry["state"] for entry in account.entries() if entry.get("key") == key), None)
        if state == "unreleased":
            account.find_charge(release).settle(release)

    # -- recovering ----------------------------------------------------------------------------------------------

    def recover(self, before: int) -> None:
        """Take jobs from workers without a sign of life since: uncharged ones are queued again, charged ones are lost."""
        with self.store.reading() as connection:
            silent = jobs.c.state.in_(HELD), or_(jobs.c.sign_of_life < before, jobs.c.worker == self.name)
            found = connection.execute(select(jobs.c.id, jobs.c.request_id).where(*silent)).all()
        for job in found:
            if job.id not in self.holding:
                self._recover(job.id, job.request_id, before)

    def _recover(self, job_id: str, request_id: str | None, before: int) -> None:
        """Decide by the ledger. The row is locked meanwhile, so that a worker that only slept cannot note a charge then."""
        with self.store.writing() as connection:
            silent = or_(jobs.c.sign_of_life < before, jobs.c.worker == self.name)
            held = select(jobs).where(jobs.c.id == job_id, jobs.c.state.in_(HELD), silent)
            row = connection.execute(held.with_for_update(skip_locked=True)).first()
            if row is None:
                return
            again = {"state": "queued", "worker": None, "sign_of_life": None}
            if request_id is None or not self._charged(connection, job_id, request_id):
                connection.execute(update(jobs).where(jobs.c.id == job_id).values(**again))
                return
            shown = max(row.due, slot_after(self.settings.clock(), self.settings))
            lost = {"state": "lost", "worker": None, "note": LOST, "shown": shown}
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(**lost))

    def _charged(self, connection: Connection, job_id: str, request_id: str) -> bool:
        entries = self._account(connection, job_id).entries()
        return any(entry.get("key") == f"{KEY}{request_id}" for entry in entries)

    def _account(self, connection: Connection, job_id: str) -> Account:
        wanted = select(datasets.c.account).join(jobs, jobs.c.dataset_id == datasets.c.id).where(jobs.c.id == job_id)
        name: Any = connection.execute(wanted).scalar_one()
        return Account(Database(parse_reference(f"{self.settings.ledger}#x")[0]), name, self.settings.anchor)
