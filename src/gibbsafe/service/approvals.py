"""Approvals: an owner's answer to a request, or a policy's, within the caps of data set, analyst and request."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select, update

from gibbsafe._types import JSON
from gibbsafe.ledger import Caps
from gibbsafe.service.authority import Actor
from gibbsafe.service.base import said
from gibbsafe.service.queue import add_job
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.requests import Asked, Requests
from gibbsafe.service.studies import seconds_of
from gibbsafe.service.tables import datasets, jobs, policies, requests
from gibbsafe.service.views import Request

__all__ = ["Approvals"]

OUTDATED = "plan: is not the one that you saw; load the request again and look at it anew"
PARTS = ("main", "slack", "failure")


class Approvals(Requests):
    """Answering requests. Each answer is one transaction that holds the data set's row: two never add up beyond a cap."""

    def submit(self, actor: Actor, dataset_id: str, study: object, purpose: str, key: str | None = None) -> Request:
        """Submit a study, as `Requests.submit`; a policy that allows it approves it at once."""
        made = super().submit(actor, dataset_id, study, purpose, key)
        with self.store.reading() as connection:
            allowed = self.dataset_row(connection, actor, "read policy", dataset_id).automatic_epsilon
        if made.state != "pending" or allowed is None or made.epsilon > allowed:
            return made
        try:
            self._approve(Actor("policy", "policy"), made.id, made.plan_sha256, automatic=True)
        except Refusal as refusal:
            if refusal.status == 503:
                raise
        return self.request(actor, made.id)  # what a policy does not approve waits for the owner

    def approve(self, actor: Actor, request_id: str, plan_sha256: str) -> Request:
        """Approve a request as it was seen: ``plan_sha256`` is the plan's. The time of its result is fixed now."""
        with self.store.reading() as connection:
            self.request_row(connection, actor, "approve request", request_id)
        self._approve(actor, request_id, plan_sha256)
        return self.request(actor, request_id)

    def refuse(self, actor: Actor, request_id: str, reason: str) -> Request:
        """Refuse a request, with a reason for the analyst."""
        with self.store.writing() as connection:
            row = self.request_row(connection, actor, "refuse request", request_id, lock=True)
            if row.state != "pending":
                raise Refusal(409, f"request: is {row.state} already")
            reason = said("reason", reason, 1000)
            answer = {"state": "refused", "note": reason, "decided": self.now(), "decided_by": actor.name}
            connection.execute(update(requests).where(requests.c.id == request_id).values(**answer))
            self.note(connection, actor, "refuse request", request_id)
        return self.request(actor, request_id)

    def _approve(self, actor: Actor, request_id: str, plan_sha256: str, *, automatic: bool = False) -> None:
        with self.store.reading() as connection:
            seen = connection.execute(select(requests.c.study).where(requests.c.id == request_id)).scalar_one()
        self._plan_beforehand(json.loads(seen))
        with self.store.writing() as connection:
            row = self._locked(connection, request_id)
            if row.state != "pending":
                raise Refusal(409, f"request: is {row.state} already")
            if row.plan_sha256 != plan_sha256:
                raise Refusal(409, OUTDATED)
            if automatic and (row.automatic_epsilon is None or json.loads(row.about)["epsilon"] > row.automatic_epsilon):
                raise Refusal(409, "policy: does not approve this")
            asked = self._still_asked(row)
            self._refuse_beyond_caps(connection, row, asked)
            answer = {"state": "approved", "decided": self.now(), "decided_by": actor.name}
            connection.execute(update(requests).where(requests.c.id == request_id).values(**answer))
            add_job(connection, self.settings, row.dataset_id, request_id, seconds_of(asked.plan, self.settings))
            self.note(connection, actor, "approve request", request_id)

    def _plan_beforehand(self, study: JSON) -> None:
        """Make the plan while nobody waits for rows that are locked; what is wrong with it is said where they are."""
        try:
            self.calculations.plan(study)
        except Refusal as refusal:
            if refusal.status == 503:  # nobody waits once more while others wait for rows
                raise

    @staticmethod
    def _locked(connection: Connection, request_id: str) -> Any:
        """Return a request with its data set and policy; both rows are locked, the data set's first."""
        wanted = requests.c.id == request_id
        dataset_id = connection.execute(select(requests.c.dataset_id).where(wanted)).scalar_one()
        connection.execute(select(datasets.c.id).where(datasets.c.id == dataset_id).with_for_update())
        connection.execute(select(requests.c.id).where(wanted).with_for_update())
        joined = requests.join(datasets, datasets.c.id == requests.c.dataset_id)
        joined = joined.join(policies, policies.c.dataset_id == datasets.c.id)
        of_data = (
            datasets.c.study.label("declared"), datasets.c.account, datasets.c.delta, datasets.c.paused,
            datasets.c.state.label("file"), policies,
        )  # fmt: skip
        return connection.execute(select(requests, *of_data).select_from(joined).where(wanted)).one()

    def _still_asked(self, row: Any) -> Asked:
        """Plan again what was submitted: the data set, its policy or this version may have changed since."""
        if row.paused:
            raise Refusal(409, "dataset: is paused; resume it first")
        if row.file != "ready":
            raise Refusal(409, f"dataset: its file is {row.file}; a worker has to see it first")
        try:
            asked = self.asked(_AsDataset(row), json.loads(row.study))
        except Refusal as refusal:
            raise refusal if refusal.status == 503 else Refusal(409, f"plan: cannot be made any more ({refusal})") from None
        if asked.plan_text != row.plan:
            raise Refusal(409, "plan: this version makes another one of the study; refuse it and ask for a new request")
        return asked

    def _refuse_beyond_caps(self, connection: Connection, row: Any, asked: Asked) -> None:
        """Refuse what does not fit beside everything that is approved and not yet charged, or beyond an analyst's share."""
        listed = select(requests.c.price, requests.c.analyst_id, jobs.c.state).join(jobs, jobs.c.request_id == requests.c.id)
        approved = connection.execute(listed.where(requests.c.dataset_id == row.dataset_id)).all()
        price = asked.price
        waiting = [Caps.from_dict(json.loads(each.price)) for each in approved if each.state in ("queued", "claimed")]
        for part in PARTS:
            taken = sum(getattr(each, part) for each in waiting) + getattr(price.cost, part)
            if taken > getattr(price.left, part):
                raise Refusal(409, "budget: this release does not fit beside those that are approved already")
        mine = [each for each in approved if each.analyst_id == row.analyst_id and each.state != "failed"]
        spent = sum(Caps.from_dict(json.loads(each.price)).main for each in mine) + price.cost.main
        if spent > Fraction(row.analyst_share) * price.caps.main:
            raise Refusal(409, f"budget: beyond the share of {row.analyst_share:.0%} that one analyst gets of this data set")


class _AsDataset:
    """The row of an approval, as `Requests.asked` reads data sets."""

    def __init__(self, row: Any) -> None:
        self.study, self.account, self.delta, self.request_epsilon = row.declared, row.account, row.delta, row.request_epsilon
