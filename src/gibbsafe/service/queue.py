"""The queue of jobs in the database, and the times of everything in it: fixed beforehand, at whole slots.

A job's ``start`` and ``due`` follow from public numbers when it is made: when the jobs before it are due, and the stated work of
its plan. Nothing of records moves them; a worker that is late takes the next job, or shows a result, whole slots later.
"""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from gibbsafe._types import JSON
from gibbsafe.service.settings import Settings
from gibbsafe.service.tables import datasets, jobs, requests

__all__ = ["DONE", "add_job", "claim_job", "slot_after", "work_slots"]

#: queued → claimed → charged → stored → published; or failed (nothing was charged), or lost (charged, never sampled again).
#: A look at a file: queued → claimed → looked → seen.
DONE = ("published", "failed", "lost", "seen")


def slot_after(time: float, settings: Settings) -> int:
    """Return the first whole slot that is not before a time."""
    return math.ceil(time / settings.slot) * settings.slot


def work_slots(seconds: float, settings: Settings) -> int:
    """Return how long a job of this much stated work takes in the plan of the queue: whole slots, one at least.

    >>> from pathlib import Path
    >>> work_slots(61.0, Settings("sqlite:///a", "sqlite:///b", Path("k"), slot=60, speed=1.0))
    120
    """
    return max(1, math.ceil(seconds / settings.speed / settings.slot)) * settings.slot


def add_job(connection: Connection, settings: Settings, dataset_id: str, request_id: str | None, seconds: float) -> Any:
    """Put a job at the end of the queue; return its row's values, with the time at which its result is due."""
    now = settings.clock()
    latest = connection.execute(select(func.max(jobs.c.due)).where(jobs.c.kind == "release")).scalar()
    kind, start = "look" if request_id is None else "release", slot_after(now, settings)
    if kind == "release":
        start = max(start, latest or 0)
    values: JSON = {"id": settings.new_id(), "dataset_id": dataset_id, "request_id": request_id, "kind": kind, "state": "queued"}
    values |= {"start": start, "due": start + work_slots(seconds, settings), "note": ""}
    connection.execute(insert(jobs).values(**values))
    return values


def claim_job(connection: Connection, settings: Settings, worker: str) -> Any:
    """Take the first job whose time has come, or None. Two workers never take one job: a locked row is passed over."""
    now = int(settings.clock())
    ready = select(jobs.c.id).join(datasets, datasets.c.id == jobs.c.dataset_id)
    ready = ready.where(jobs.c.state == "queued", jobs.c.start <= now, datasets.c.paused.is_(False))
    ready = ready.order_by(jobs.c.start, jobs.c.id).limit(1).with_for_update(skip_locked=True, of=jobs)
    found = connection.execute(ready).scalar()
    if found is None:
        return None
    connection.execute(update(jobs).where(jobs.c.id == found).values(state="claimed", worker=worker, sign_of_life=now))
    return job_row(connection, found)


def job_row(connection: Connection, job_id: str) -> Any:
    """Return a job with its data set and its request (whose columns are None for a look at a file)."""
    listed = (
        jobs, datasets.c.owner_id, datasets.c.source, datasets.c.account, datasets.c.fingerprint,
        datasets.c.study.label("declared"), datasets.c.name.label("dataset"), requests.c.study, requests.c.purpose,
        requests.c.plan_sha256, requests.c.analyst_id,
    )  # fmt: skip
    joined = jobs.join(datasets, datasets.c.id == jobs.c.dataset_id).outerjoin(requests, requests.c.id == jobs.c.request_id)
    return connection.execute(select(*listed).select_from(joined).where(jobs.c.id == job_id)).one()
