"""The desk attacked: cases against every endpoint, workers killed, neighbouring data sets, fifty analysts at once.

Cases are schemathesis's over the OpenAPI document, with canaries in the data that are searched for in every byte sent, logged or
stored. Workers are killed (SIGKILL) at named steps and at random moments. Neighbouring data sets go through the whole flow with
the draws replaced by one, and every byte is compared. The load is a real server with its worker on this machine. An audit that
was stopped goes on where it was (`parts.py`).

    python audits/service.py --cases 20000 --kills 200 --report docs/audit-service.md
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

#: Cases, and kills, that are carried out and kept together.
CASES, KILLS = 500, 20


def shapes(unit: tuple[int, int], seed: int) -> tuple[Counter, int]:
    """Return how often each status was answered; anything wrong ends the audit."""
    from gibbsafe.service.application import create_app
    from tests.service.shapes import attack
    from tests.service.test_shapes import logged, stored
    from tests.service.world import CANARIES, build, fill

    number, cases = unit
    with tempfile.TemporaryDirectory() as folder, logged() as log:
        world = fill(build(Path(folder)))
        world.keep()
        seen = attack(world, create_app(world.settings, world.desk), cases, seed + number)
        kept = stored(world)
    assert not seen.wrong, seen.wrong[:3]
    assert not any(canary in log.getvalue() or canary.encode() in kept for canary in CANARIES), "a canary was stored or logged"
    return seen.statuses, seen.cases


def roles(_: int) -> tuple[int, int]:
    """Ask every route of the API and every page as every role, about one's own and others' objects; return how many cells."""
    from starlette.testclient import TestClient

    from gibbsafe.service.application import create_app
    from tests.service import test_authority as api
    from tests.service.visiting import doors
    from tests.service.web import test_pages as pages
    from tests.service.world import build, fill

    with tempfile.TemporaryDirectory() as folder:
        world = fill(build(Path(folder)))
        world.keep()
        app = create_app(world.settings, world.desk)
        with TestClient(app, raise_server_exceptions=False) as client:
            api.test_every_route_is_in_the_matrix(client)
            api.test_the_role_matrix(world, client)
        visit = doors(world, app)
        pages.test_every_route_of_the_pages_is_in_the_matrix()
        for role in pages.PEOPLE:
            pages.test_a_page_is_for_those_whom_it_is_for(role, world, visit)
            pages.test_a_form_is_refused_from_whom_it_is_not_for(role, world, visit)
        for name in ("oscar", "aron"):
            pages.test_what_belongs_to_others_is_not_there(name, world, visit)
    return len(api.MAY) * len(api.ASKS) * 2, (len(pages.PAGES) + len(pages.FORMS)) * len(pages.PEOPLE)


def kills(unit: tuple[int, int], seed: int) -> Counter:
    """Kill a worker again and again, at steps and at moments; return what became of the requests and where it died."""
    from tests.service.killing import STEPS, afterwards, kill_at, outcome
    from tests.service.world import STUDY, build, register

    number, times = unit
    rng = random.Random(seed + number)
    told: Counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        world = build(Path(folder), most_pending=1000, slot=5)
        dataset = register(world, "olga", "killed", epsilon=50.0)
        olga, ana = world.actor("olga"), world.actor("ana")
        requests = []
        for _ in range(times):
            asked = world.desk.submit(ana, dataset, STUDY, "to see")
            approved = world.desk.approve(olga, asked.id, asked.plan_sha256)
            requests.append(asked.id)
            world.clock.time = max(world.clock.time, float(approved.due))
            world.desk.store.engine.dispose()
            world.worker.store.engine.dispose()
            step = rng.choice([*STEPS, None, None, None])
            died = kill_at(world.settings, step) if step else kill_at_moment(world.settings, rng.uniform(0.0, 0.15))
            told["killed at a step" if died and step else "killed at a moment" if died else "ended before"] += 1
            afterwards(world.settings, world.clock, rounds=2)
        afterwards(world.settings, world.clock)
        with world.desk.store.reading() as connection:
            account = world.desk.dataset_row(connection, olga, "read dataset", dataset).account
        told.update(outcome(world.settings, account, requests, world.desk, ana).values())
    return told


def kill_at_moment(settings: object, seconds: float) -> bool:
    """Let a worker work in a process of its own and kill it after a time; return whether it still worked."""
    from gibbsafe.service.worker import Worker

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            worker = Worker(settings)  # type: ignore[arg-type]
            worker.step()
            worker.clerk.step()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def neighbours(row: str) -> bool:
    """Return whether a neighbouring data set gave the same bytes."""
    from tests.service.neighbours import HOSTILE, transcript

    with tempfile.TemporaryDirectory() as folder:
        transcript(Path(folder))  # what is logged once, when packages are first used, is logged here
        return transcript(Path(folder), releases=2) == transcript(Path(folder), HOSTILE[row], releases=2)


def main() -> None:
    """Run the audit and write its report."""
    from arguments import arguments, finish
    from parts import Part, chunks
    from service_load import load

    from tests.service.neighbours import HOSTILE

    warnings.simplefilter("ignore")
    options = arguments(__doc__, {"cases": (20_000, 500), "kills": (200, 20), "seconds": (60, 10)})
    about = options.command
    answered, one = Part("service-shapes", about).run(
        chunks(options.cases, CASES), partial(shapes, seed=options.seed), minutes=options.minutes
    )
    killed, two = Part("service-kills", about).run(chunks(options.kills, KILLS), partial(kills, seed=options.seed))
    rows = list(HOSTILE)
    same, three = Part("service-neighbours", about).run(rows, neighbours)
    ((cells, page_cells),), _ = Part("service-roles", about).run([0], roles, workers=1)
    (loaded,), four = Part("service-load", about).run([options.seconds], load, workers=1)
    statuses = sum((each[0] for each in answered if each), Counter())
    told = sum((each for each in killed if each), Counter())
    assert all(same), [row for row, equal in zip(rows, same, strict=True) if not equal]
    lines = [
        "# Audit: the desk as a service",
        "",
        f"`{options.command}`",
        "",
        f"**Shapes.** {sum(each[1] for each in answered if each):,} cases of schemathesis over every operation of the API,",
        "good and bad, as everybody and nobody, about objects that exist and others: no server error, no answer of another shape",
        "than documented, and none of the canary values of the data in any byte sent, logged or stored outside the data.",
        "",
        "| status | answers |",
        "|---|---|",
        *(f"| {status} | {count:,} |" for status, count in sorted(statuses.items())),
        "",
        f"**Roles.** Every route of the API as every role, about one's own object and somebody else's ({cells} cells), and every",
        f"page and form as every role ({page_cells} cells; and as another owner, another analyst): none answered wrongly.",
        "",
        f"**Kills.** {told['killed at a step']} workers were killed at a named step and {told['killed at a moment']} at a random",
        f"moment ({told['ended before']} had ended before). Of their requests {told['released']} were released, each with one",
        f"charge; {told['lost']} are charged and unreleased, and were never sampled again; {told['uncharged']} failed uncharged.",
        "None was released twice, none uncharged.",
        "",
        f"**Neighbours.** One record replaced ({', '.join(rows)}):",
        "every answer, log line and stored row of the whole flow is the same to the last byte, with what the sampler drew",
        "replaced by one draw after it was drawn.",
        "",
        *loaded,
        "",
    ]
    sys.stderr.write(f"{one + two + three + four:.0f} s\n")
    finish(options, "\n".join(lines))


if __name__ == "__main__":
    main()
