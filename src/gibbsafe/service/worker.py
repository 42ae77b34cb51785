"""The worker: the one process that reads records. It takes jobs at whole slots, charges, samples, signs and stores.

A charge comes before the first record is decoded, under a key that the ledger takes once. Whatever kills the worker, the job is
then either not charged, and taken up again, or charged, and never sampled again: the ledger decides, not the worker's memory.
Nothing that depends on records leaves it but the release: no duration, no size, no message, no log line.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select, update

from gibbsafe._types import Document
from gibbsafe.errors import BudgetError, GibbsafeError
from gibbsafe.ledger import Account, Charge, Database, parse_reference
from gibbsafe.ledger.journal import canonical, digest
from gibbsafe.planning import Plan
from gibbsafe.release.signing import key_id, read_private, sign
from gibbsafe.service.books import KEY
from gibbsafe.service.clerk import Clerk
from gibbsafe.service.files import FileRefusal, fingerprint, look, resolved, worker_secret
from gibbsafe.service.locks import sole_worker
from gibbsafe.service.queue import claim_job, slot_after
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings
from gibbsafe.service.store import Store
from gibbsafe.service.studies import held_to, planned
from gibbsafe.service.tables import datasets, jobs, results, users
from gibbsafe.service.telemetry import note_beginning
from gibbsafe.study import Study

__all__ = ["Worker"]

logger = logging.getLogger("gibbsafe.worker")

#: What people read of a job that gave nothing. Each depends on the plan, the form of the file and the ledger only.
OVER = "the data set's budget did not admit it any more; nothing was charged"
OTHER_PLAN = "this version makes another plan of the study; nothing was charged, submit it again"
TWICE = "the same file is registered already: records have one account, or their budget would be none"
AFTER_CHARGE = "it failed after the charge, which stands; nothing is sampled under it again"


class Worker:
    """Works through the queue. `step` does what is to be done now, `run` steps at every slot until it is told to stop.

    ``pause_at`` is called with the name of every step that is about to be done; tests kill the process there.
    """

    def __init__(self, settings: Settings, pause_at: Callable[[str], None] = lambda step: None) -> None:
        self.settings, self.pause_at = settings, pause_at
        self.store, self.name = Store(settings.database), settings.new_id()
        self.secret, self.private = worker_secret(settings), read_private(settings.key)
        self.signer = key_id(self.private.public_key())
        self.holding: set[str] = set()
        self.clerk = Clerk(settings, self.store, self.name, self.holding, pause_at)

    def run(self, stop: threading.Event) -> None:
        """Work at every slot until ``stop`` is set. A clerk of its own publishes and gives signs of life meanwhile."""
        with sole_worker(self.settings.database) as alone:
            clerk = threading.Thread(target=self.clerk.run, args=(stop, alone), daemon=True)
            clerk.start()
            while not stop.is_set():
                now = self.settings.clock()
                if not stop.wait(max(0.0, slot_after(now + 0.001, self.settings) - now)):
                    self._try_step()
            clerk.join(timeout=10)

    def _try_step(self) -> None:
        try:
            self.step()
        except Exception:  # what it was may depend on records, so that nothing is said of it
            logger.error("a step was not possible; trying again at the next slot")

    def step(self) -> bool:
        """Take one job and carry it out; return whether there was one."""
        self.pause_at("claim")
        job: Any = None
        try:
            with self.store.writing() as connection:
                job = claim_job(connection, self.settings, self.name)
                if job is None:
                    return False
                self.holding.add(job.id)  # before the claim is committed: the clerk never sees it as a dead worker's
            self.pause_at("claimed")
            note_beginning("gibbsafe.job", kind=job.kind)
            self._look(job) if job.kind == "look" else self._release(job)
        finally:
            if job is not None:
                self.holding.discard(job.id)  # whatever state it is in: if it is not done, the clerk decides by the ledger
        return True

    # -- looking at a file ---------------------------------------------------------------------------------------

    def _look(self, job: Any) -> None:
        """See whether a data set's file is what its study declares, and keep its fingerprint; the clerk tells it on the slot."""
        found, note = None, ""
        try:
            path = resolved(job.source, self.settings)
            look(path, Study.from_dict(json.loads(job.declared)))
            found = fingerprint(path, self.secret)
        except FileRefusal as refusal:
            note = str(refusal)
        except Exception:  # of a kind that depends on what the file holds
            note = "its file is no table that can be read"
        with self.store.writing() as connection:
            # Of the same owner alone: whether somebody else's file is a guess of theirs, no owner may learn.
            same = datasets.c.fingerprint == found, datasets.c.id != job.dataset_id, datasets.c.owner_id == job.owner_id
            if found is not None and connection.execute(select(datasets.c.id).where(*same)).first() is not None:
                found, note = None, TWICE
            connection.execute(update(datasets).where(datasets.c.id == job.dataset_id).values(fingerprint=found))
            self._finish(connection, job, "looked", note)
        logger.info("data set %s: seen", job.dataset_id)

    # -- releasing -----------------------------------------------------------------------------------------------

    def _release(self, job: Any) -> None:
        """Charge, read, sample, sign and store; whatever goes wrong leaves a charge and nothing else, or no charge."""
        payer = _Payer(self, job, self._account(job))
        try:
            text = self._sampled(job, payer)
        except _NotCharged as reason:
            self._end(job, "failed", str(reason))
            return
        except Exception:
            if not payer.charged:  # nobody knows: database or ledger do not answer
                raise
            self._end(job, "lost", AFTER_CHARGE)
            return
        self.pause_at("store")
        with self.store.writing() as connection:
            state = connection.execute(select(jobs.c.state, jobs.c.worker).where(jobs.c.id == job.id).with_for_update()).one()
            if (state.state, state.worker) != ("charged", self.name):  # it was taken for dead: what it drew is not released
                return
            connection.execute(insert(results).values(request_id=job.request_id, release=text))
            self._finish(connection, job, "stored", "")
        self.pause_at("stored")
        logger.info("job %s: done", job.id)

    def _sampled(self, job: Any, payer: _Payer) -> str:
        """Return the signed release's text."""
        plan, study = self._plan(job)
        try:
            path = resolved(job.source, self.settings)
            if job.fingerprint is None or fingerprint(path, self.secret) != job.fingerprint:
                raise FileRefusal("its file is not the one that was registered; nothing was charged, ask its owner")
            look(path, study)
        except FileRefusal as refusal:
            raise _NotCharged(f"data set: {refusal}") from None
        self.pause_at("charge")
        try:
            released = plan.release(study.read(path), ledger=payer, persons=study.person_column, untrusted=True, progress=False)
        except Exception:
            if payer.charged or payer.uncertain:
                raise
            raise _NotCharged("data set: its file cannot be read as it was declared; nothing was charged") from None
        self.pause_at("sampled")
        return json.dumps(sign(released, self.private).to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def _plan(self, job: Any) -> tuple[Plan, Study]:
        """Return the plan that was approved, made anew, and the study that reads the file for it."""
        try:
            document = held_to(json.loads(job.study), json.loads(job.declared))
            plan = planned(document, self.settings)
        except Refusal as refusal:
            if refusal.status == 503:
                raise
            raise _NotCharged(OTHER_PLAN) from None
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError):
            raise _NotCharged(OTHER_PLAN) from None
        if digest(canonical(plan.to_dict())) != job.plan_sha256:
            raise _NotCharged(OTHER_PLAN)
        return plan, Study.from_dict(document)

    def _account(self, job: Any) -> Account:
        return Account(Database(parse_reference(f"{self.settings.ledger}#x")[0]), job.account, self.settings.anchor)

    def _end(self, job: Any, state: str, note: str) -> None:
        with self.store.writing() as connection:
            self._finish(connection, job, state, note)
        logger.info("job %s: done", job.id)

    def _finish(self, connection: Any, job: Any, state: str, note: str) -> None:
        """Note the end of a job that is still this worker's; it is shown when it is due, or whole slots later."""
        shown = max(job.due, slot_after(self.settings.clock(), self.settings))
        mine = jobs.c.id == job.id, jobs.c.worker == self.name
        connection.execute(update(jobs).where(*mine).values(state=state, note=note, shown=shown))


class _NotCharged(Exception):  # noqa: N818 - an end of a job, not an error
    """Why nothing was charged: a sentence that people may read."""


@dataclass
class _Payer:
    """Charges a job's account once, under the request's own key, and notes in the queue that it did."""

    worker: Worker
    job: Any
    account: Account
    charged: bool = False
    uncertain: bool = False

    def charge(self, plan: Plan) -> _Receipt:
        """Charge before the first record; a charge that is there already was another worker's, and stays unreleased."""
        worker, job = self.worker, self.job
        with worker.store.reading() as connection:
            who = connection.execute(select(users.c.name).where(users.c.id == job.analyst_id)).scalar_one()
        self.uncertain = True
        try:
            paid: Charge = self.account.charge(
                plan, key=f"{KEY}{job.request_id}", who=who, reason=job.purpose, dataset=job.dataset_id, signer=worker.signer
            )
        except BudgetError:
            self.charged = any(entry.get("key") == f"{KEY}{job.request_id}" for entry in self.account.entries())
            self.uncertain = False
            raise (GibbsafeError("another worker charged it") if self.charged else _NotCharged(OVER)) from None
        worker.pause_at("charged")
        self.uncertain, self.charged = False, True
        with worker.store.writing() as connection:
            mine = jobs.c.id == job.id, jobs.c.worker == worker.name, jobs.c.state == "claimed"
            if connection.execute(update(jobs).where(*mine).values(state="charged")).rowcount != 1:
                raise GibbsafeError("the job was given to another worker")
        worker.pause_at("sample")
        return _Receipt(paid.receipt)


@dataclass(frozen=True)
class _Receipt:
    """What a release says of its charge; it is settled when it is published."""

    receipt: Document | None
