"""Workers that are killed: in a process of their own, at a named step, by a signal that nothing catches."""

from __future__ import annotations

import os
import signal
import warnings

from gibbsafe.ledger import Account, Database, check
from gibbsafe.service.books import KEY
from gibbsafe.service.worker import Worker

__all__ = ["STEPS", "afterwards", "kill_at", "outcome"]

#: Every step of a worker and its clerk, and what becomes of the job if it is killed there: released later, or lost.
STEPS = {
    "claim": "released", "claimed": "released", "charge": "released", "charged": "lost", "sample": "lost", "sampled": "lost",
    "store": "lost", "stored": "released", "settle": "released", "settled": "released",
}  # fmt: skip


def kill_at(settings, step):
    """Let a worker work in a process of its own and kill it at a step; return whether it came there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forking where threads are
        child = os.fork()
    if child == 0:
        try:
            worker = Worker(settings, lambda name: name == step and os.kill(os.getpid(), signal.SIGKILL))
            worker.step()
            worker.clerk.publish(int(settings.clock()) + 10**6)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def afterwards(settings, clock, rounds=4):
    """Let another worker do what is left, once the dead one is known to be."""
    worker = Worker(settings)
    for _ in range(rounds):
        clock.time += settings.lease + settings.slot
        worker.clerk.step()
        while worker.step():
            pass
    return worker


def outcome(settings, account, requests, desk, actor):
    """Check the ledger and return what became of every request: released and charged once, or lost and charged once."""
    place = Account(Database(settings.ledger), account)
    check(place)
    charged = {}
    for entry in place.entries():
        if entry.get("key", "").startswith(KEY):
            charged.setdefault(entry["key"].removeprefix(KEY), []).append(entry["state"])
    assert all(len(found) == 1 for found in charged.values()), "charged twice"
    told = {}
    for each in requests:
        seen = desk.request(actor, each)
        states = charged.get(each, [])
        if seen.state == "released":
            assert states == ["released"], (seen.state, states)
            told[each] = "released"
        elif seen.state == "failed":
            assert states in ([], ["unreleased"]), (seen.state, states)
            told[each] = "lost" if states else "uncharged"
        else:
            assert states == [], (seen.state, states)
            told[each] = seen.state
    return told
