"""Requests: what an analyst asks of a data set, from a preview to what became of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, or_, select, update

from gibbsafe._types import JSON
from gibbsafe.errors import GibbsafeError
from gibbsafe.ledger import Quote as Price
from gibbsafe.ledger import quote
from gibbsafe.ledger.journal import canonical, digest
from gibbsafe.planning import Plan
from gibbsafe.planning.describe import plan_facts
from gibbsafe.service.authority import ANY, OWN, Actor, decide, reach
from gibbsafe.service.base import said
from gibbsafe.service.calculations import Calculations
from gibbsafe.service.datasets import Datasets, as_refusal
from gibbsafe.service.queue import DONE, slot_after
from gibbsafe.service.refusals import Refusal, no_such
from gibbsafe.service.settings import Settings
from gibbsafe.service.studies import held_to
from gibbsafe.service.tables import datasets, jobs, requests, users
from gibbsafe.service.views import Request

__all__ = ["Asked", "Requests"]

JOINED = (
    select(
        requests, datasets.c.name.label("dataset"), datasets.c.owner_id, datasets.c.paused, users.c.name.label("analyst"),
        jobs.c.state.label("job"), jobs.c.due, jobs.c.shown, jobs.c.note.label("job_note"),
    )
    .select_from(
        requests.join(datasets, datasets.c.id == requests.c.dataset_id)
        .join(users, users.c.id == requests.c.analyst_id)
        .outerjoin(jobs, jobs.c.request_id == requests.c.id)
    )
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A study that was checked, its plan, and what it would cost."""

    study: JSON
    plan: Plan
    price: Price

    @property
    def plan_text(self) -> str:
        """The plan as it is hashed and charged."""
        return canonical(self.plan.to_dict())

    @property
    def about(self) -> JSON:
        """What people read of it."""
        facts = [list(pair) for pair in plan_facts(self.plan)]
        budget = self.plan.budget
        return {"facts": facts, "epsilon": budget.epsilon, "delta": budget.delta, "shares": self.price.shares}


class Requests(Datasets):
    """Submitting and following requests."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.calculations = Calculations(settings)

    def asked(self, row: Any, study: object) -> Asked:
        """Return a study held to a data set's declaration, planned and priced; refuse what its policy does not allow."""
        checked = held_to(study, json.loads(row.study))
        plan = self.calculations.plan(checked)
        if plan.budget.epsilon > row.request_epsilon:
            raise Refusal(422, f"epsilon: one request to this data set may have {row.request_epsilon:g} at most")
        if plan.budget.delta > row.delta:
            raise Refusal(422, f"delta: one request to this data set may have {row.delta:g} at most")
        try:
            return Asked(checked, plan, quote(self.account_of(row), plan))
        except GibbsafeError as error:
            raise as_refusal(error) from None

    def submit(self, actor: Actor, dataset_id: str, study: object, purpose: str, key: str | None = None) -> Request:
        """Submit a study. The same ``key`` again gives the request that it made the first time, and makes no other."""
        purpose = said("purpose", purpose, 1000)
        key = self.settings.new_id() if key is None else said("key", key, 100)
        with self.store.reading() as connection:
            row = self.dataset_row(connection, actor, "submit request", dataset_id)
            known = self._of_key(connection, actor, key)
        asked = self.asked(row, study)
        text = asked.plan_text
        if known is not None:
            return self._again(actor, known, dataset_id, digest(text))
        values = {"id": self.settings.new_id(), "dataset_id": dataset_id, "analyst_id": actor.user_id, "purpose": purpose}
        values |= {"study": canonical(asked.study), "plan": text, "plan_sha256": digest(text), "key": key, "state": "pending"}
        values |= {"price": canonical(asked.price.cost.to_dict()), "about": canonical(asked.about), "note": ""}
        with self.store.writing() as connection:
            locked = self.dataset_row(connection, actor, "submit request", dataset_id, lock=True)
            known = self._of_key(connection, actor, key)
            if known is None:
                self._refuse_submission(connection, actor, locked, asked)
                connection.execute(insert(requests).values(**values, created=self.now()))
                self.note(connection, actor, "submit request", f"{row.name}: {values['id']}")
        if known is not None:
            return self._again(actor, known, dataset_id, digest(text))
        return self.request(actor, values["id"])

    @staticmethod
    def _of_key(connection: Connection, actor: Actor, key: str) -> Any:
        wanted = requests.c.analyst_id == actor.user_id, requests.c.key == key
        return connection.execute(select(requests).where(*wanted)).first()

    def _again(self, actor: Actor, known: Any, dataset_id: str, plan_sha256: str) -> Request:
        if (known.dataset_id, known.plan_sha256) != (dataset_id, plan_sha256):
            raise Refusal(409, "key: was used for another request; use a new one")
        return self.request(actor, known.id)

    def _refuse_submission(self, connection: Connection, actor: Actor, row: Any, asked: Asked) -> None:
        if row.paused:
            raise Refusal(409, "dataset: is paused by its owner; try again later")
        if row.state == "unreadable":
            raise Refusal(409, "dataset: its file cannot be read as it was declared; ask its owner")
        if asked.price.fits < 1:
            raise Refusal(409, "budget: this release does not fit into what is left of the data set's; ask for less")
        mine = select(func.count()).where(requests.c.analyst_id == actor.user_id, requests.c.state == "pending")
        if connection.execute(mine).scalar_one() >= self.settings.most_pending:
            raise Refusal(429, f"requests: {self.settings.most_pending} of yours wait for an answer; wait, or withdraw some")

    def withdraw(self, actor: Actor, request_id: str) -> Request:
        """Take back a request that nobody has answered yet."""
        with self.store.writing() as connection:
            row = self.request_row(connection, actor, "withdraw request", request_id, lock=True)
            if row.state != "pending":
                raise Refusal(409, f"request: is {row.state} already")
            connection.execute(update(requests).where(requests.c.id == request_id).values(state="withdrawn", decided=self.now()))
            self.note(connection, actor, "withdraw request", request_id)
        return self.request(actor, request_id)

    # -- reading -------------------------------------------------------------------------------------------------

    def requests(self, actor: Actor, dataset_id: str | None = None, state: str | None = None) -> tuple[Request, ...]:
        """Return the requests that somebody may see, newest first: an analyst's own, those about an owner's data."""
        found = reach(actor, "read request")
        mine = {"analyst": requests.c.analyst_id == actor.user_id, "owner": datasets.c.owner_id == actor.user_id}
        query = JOINED.order_by(requests.c.created.desc(), requests.c.id).limit(1000)
        if ANY not in found.values():
            query = query.where(or_(*(mine[role] for role, whose in found.items() if whose == OWN)))
        query = query if dataset_id is None else query.where(requests.c.dataset_id == dataset_id)
        with self.store.reading() as connection:
            listed = [self._request_view(row) for row in connection.execute(query)]
        return tuple(each for each in listed if state is None or each.state == state)

    def request(self, actor: Actor, request_id: str) -> Request:
        """Return a request as it stands now."""
        with self.store.reading() as connection:
            return self._request_view(self.request_row(connection, actor, "read request", request_id))

    def request_row(self, connection: Connection, actor: Actor, operation: str, request_id: str, *, lock: bool = False) -> Any:
        """Return the row of a request that somebody may do this to, locked against others if asked."""
        reach(actor, operation)
        if lock:
            connection.execute(select(requests.c.id).where(requests.c.id == request_id).with_for_update())
        row = connection.execute(JOINED.where(requests.c.id == request_id)).first()
        owners = {} if row is None else {"owner": row.owner_id, "analyst": row.analyst_id}
        decide(actor, operation, owners)
        if row is None:
            raise no_such("request")
        return row

    def _request_view(self, row: Any) -> Request:
        about, state, note, due = json.loads(row.about), row.state, row.note, row.due
        if state == "approved":
            if row.shown is not None and row.shown <= self.now() and row.job in DONE:
                released, due = row.job == "published", row.shown
                state, note = ("released", "") if released else ("failed", row.job_note)
            else:  # the same whether it is done or not
                due = max(due, slot_after(self.settings.clock() + 0.001, self.settings))
        facts = tuple((name, value) for name, value in about["facts"])
        return Request(
            row.id, row.dataset_id, row.dataset, row.analyst, row.purpose, json.loads(row.study), facts, row.plan_sha256,
            about["epsilon"], about["delta"], state, note, row.created, row.decided, row.decided_by, due, about["shares"],
        )  # fmt: skip
