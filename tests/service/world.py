"""A desk to test: a clock that stands still, two of every role, data with canaries, a release of each analyst's."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gibbsafe.release.signing import new_key
from gibbsafe.service import Actor, Desk, Settings
from gibbsafe.service.people import SYSTEM
from gibbsafe.service.views import Policy
from gibbsafe.service.worker import Worker

__all__ = ["CANARIES", "STUDY", "Clock", "World", "build", "finish", "write_table"]

#: Values of records that nothing but the data may ever hold.
CANARIES = ("17.331733", "CANARY-4711", "0.7719283")
ROWS = 40
STUDY = {
    "title": "Tumours",
    "n": ROWS,
    "adjacency": "replace-one",
    "draws": 1,
    "budget": {"epsilon": 0.5, "delta": 1e-6},
    "model": {"name": "LogisticRegression"},
    "columns": {"radius": {"bounds": [5, 30]}, "texture": {"bounds": [0, 1]}},
    "target": {"name": "benign", "labels": ["no", "yes"]},
}
PEOPLE = {
    "olga": "owner", "oscar": "owner", "ana": "analyst", "aron": "analyst", "uma": "auditor", "udo": "auditor",
    "otto": "operator", "orla": "operator",
}  # fmt: skip


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, time=1_800_000_000.0):
        self.time = time

    def __call__(self):
        return self.time


def write_table(path, first=None):
    """Write a table whose first row holds canaries, or is the given one."""
    random = np.random.default_rng(5)
    rows = [f"{r:.6f},{t:.6f},{'yes' if b else 'no'},P{k}" for k, (r, t, b) in enumerate(
        zip(random.uniform(5, 30, ROWS), random.uniform(0, 1, ROWS), random.integers(0, 2, ROWS), strict=True)
    )]  # fmt: skip
    rows[0] = f"{CANARIES[0]},{CANARIES[2]},yes,{CANARIES[1]}" if first is None else first
    path.write_text("\n".join(["radius,texture,benign,person", *rows]) + "\n")


@dataclass
class World:
    """A desk, its worker, everybody's tokens and the ids of what is there."""

    folder: Path
    settings: Settings
    desk: Desk
    worker: Worker
    clock: Clock
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def actor(self, name) -> Actor:
        return self.desk.authenticate(self.tokens[name])

    def header(self, name):
        return {"authorization": f"Bearer {self.tokens[name]}"}

    def keep(self):
        """Copy the databases, to go back to them by `restore`."""
        self.desk.store.engine.dispose()
        self.worker.store.engine.dispose()
        for name in ("desk.db", "ledger.db"):
            for file in self.folder.glob(f"{name}*"):
                shutil.copy(file, self.folder / f"kept-{file.name}")

    def restore(self):
        self.desk.store.engine.dispose()
        self.worker.store.engine.dispose()
        for name in ("desk.db", "ledger.db"):
            for file in self.folder.glob(f"{name}*"):
                file.unlink()
            for file in self.folder.glob(f"kept-{name}*"):
                shutil.copy(file, self.folder / file.name.removeprefix("kept-"))


def build(folder, *, tables=None, seeded=True, database=None, **settings):
    """Return an empty desk with its people."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "desk.key").exists():
        new_key(folder / "desk.key")
    clock, ids, secrets = Clock(), itertools.count(1), itertools.count(1)
    named = {"new_id": lambda: f"{next(ids):016x}", "new_secret": lambda: f"secret-{next(secrets):036d}"} if seeded else {}
    chosen = Settings(
        f"sqlite:///{folder / 'desk.db'}" if database is None else database,
        f"sqlite:///{folder / 'ledger.db'}" if database is None else database,
        folder / "desk.key",
        data=(folder / "data",),
        secure=False,
        hosts=("testserver", "127.0.0.1", "localhost"),
        requests_per_minute=None,
        preview_rows=200,
        clock=clock,
        **named,
    )
    chosen = replace(chosen, **settings)
    (folder / "data").mkdir(exist_ok=True)
    write_table(folder / "data" / "table.csv") if tables is None else tables(folder / "data" / "table.csv")
    desk = Desk(chosen).open()
    world = World(folder, chosen, desk, Worker(chosen), clock)
    for name, role in PEOPLE.items():
        user = desk.create_user(SYSTEM, name, [role])
        made = desk.create_token(SYSTEM, user.id, "test")
        world.tokens[name], world.ids[name], world.ids[f"token of {name}"] = made.text, user.id, made.token.id
    return world


def register(world, owner, name, epsilon=5.0, policy=None):
    """Register the table, and let the worker see it."""
    made = world.desk.register_dataset(
        world.actor(owner), name=name, source=str(table_of(world, owner)), study=STUDY, epsilon=epsilon, delta=1e-6,
        policy=policy or Policy(epsilon),
    )  # fmt: skip
    world.clock.time += world.settings.slot
    while world.worker.step():
        pass
    world.worker.clerk.step()
    return made.id


def table_of(world, owner):
    """Return an owner's table: olga's is the usual one, others' hold other people."""
    place = world.folder / "data" / ("table.csv" if owner == "olga" else f"{owner}.csv")
    if not place.exists():
        place.write_text((world.folder / "data" / "table.csv").read_text().replace(",P", f",{owner}-"))
    return place


def finish(world, request_id, owner):
    """Approve a request, carry it out and let its time come."""
    asked = world.desk.request(world.actor(owner), request_id)
    approved = world.desk.approve(world.actor(owner), request_id, asked.plan_sha256)
    world.clock.time = float(approved.due)
    while world.worker.step():
        pass
    world.worker.clerk.step()
    world.clock.time += world.settings.slot
    world.worker.clerk.step()


def fill(world):
    """Give both owners a data set, and both analysts a pending request and a release about one of them."""
    for owner, analyst in (("olga", "ana"), ("oscar", "aron")):
        dataset = world.ids[f"dataset of {owner}"] = register(world, owner, f"tumours of {owner}")
        released = world.desk.submit(world.actor(analyst), dataset, STUDY, "to see").id
        finish(world, released, owner)
        pending = world.desk.submit(world.actor(analyst), dataset, STUDY, "to see more")
        world.ids |= {f"release of {owner}": released, f"request of {owner}": pending.id, "plan": pending.plan_sha256}
        world.ids |= {f"release of {analyst}": released, f"request of {analyst}": pending.id}
    return world
