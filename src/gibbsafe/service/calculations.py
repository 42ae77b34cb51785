"""What takes long and needs public numbers alone: plans, an attacker's chances, rehearsals, reports. Apart from the pages.

A desk that is served has a process of its own for them: pages, which share one interpreter, then wait for none of it, and a study
that somebody else wrote can be given up when it takes too long. Without that process (commands, tests) they are done in place.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from gibbsafe._types import JSON
from gibbsafe.errors import GibbsafeError
from gibbsafe.ledger.journal import canonical, digest
from gibbsafe.planning import Plan
from gibbsafe.privacy import Guarantee
from gibbsafe.release import Release
from gibbsafe.report import render
from gibbsafe.report.attack import attack_view
from gibbsafe.service.priority import give_way
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings
from gibbsafe.service.studies import planned
from gibbsafe.study import Study
from gibbsafe.study.rehearsal import rehearse

__all__ = ["Calculations"]

#: Plans and rehearsals that are kept: they depend on the study alone.
KEPT = 500
#: Stated seconds of a plan's work beyond which nothing is rehearsed in a page.
LONGEST_REHEARSED = 5.0
#: Threads that may wait for a calculation: pages need the others. Where any do, nothing is rehearsed.
MOST_WAITING, FEW = 24, 0
#: Seconds that somebody waits for their turn, and that one calculation may take.
PATIENCE, LONGEST = 20.0, 60.0
BUSY = "the desk calculates for many others; nothing was done, try again in a minute"
GIVEN_UP = "the desk could not calculate this in time; nothing was done, ask for fewer columns or draws"


class Calculations:
    """Calculations of one desk, kept for whoever asks again."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._kept: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._memory, self._turn = threading.Lock(), threading.Lock()
        self._held = 0  # threads that calculate or wait for it
        self._apart: _Apart | None = None

    def start(self) -> None:
        """Calculate in a process of its own from now on."""
        self._apart = _Apart()

    def stop(self) -> None:
        """End that process."""
        if self._apart is not None:
            self._apart.end()

    def plan(self, study: JSON) -> Plan:
        """Return the plan of a checked study."""
        found: Plan = self._once("plan", canonical(study), planned, study, self.settings)
        return found

    def attack(self, study: JSON, plan: Plan) -> JSON:
        """Return what the best attacker gains from a release by the plan."""
        found: JSON = self._once("attack", canonical(study), _attack, plan.guarantee)
        return found

    def rehearsal(self, study: JSON, plan: Plan) -> JSON | None:
        """Return made-up tables released as the study would; None where that cannot be, takes long, or many wait."""
        stated = plan.work.seconds
        if stated is None or not stated <= LONGEST_REHEARSED:
            return None
        key = "rehearsal", digest(canonical(study))
        if self._held > FEW and key not in self._kept:
            return None
        try:
            found: JSON | None = self._once("rehearsal", canonical(study), _rehearsed, study, self.settings.preview_rows)
        except Refusal:  # too many wait, or it took too long: a preview is whole without it
            return None
        return found

    def report(self, release: str) -> str:
        """Return the report of a release: one HTML page that needs nothing else."""
        return str(self._alone(_report, release))

    # -- inside --------------------------------------------------------------------------------------------------

    def _once(self, kind: str, text: str, work: Callable[..., Any], *given: Any) -> Any:
        """Return what was calculated before, or calculate and keep it."""
        key = kind, digest(text)
        with self._memory:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        return self._alone(work, *given, key=key)

    def _alone(self, work: Callable[..., Any], *given: Any, key: tuple[str, str] | None = None) -> Any:
        """Wait for one's turn, not for ever and not with too many others, and calculate."""
        with self._memory:
            if self._held >= MOST_WAITING:
                raise Refusal(503, BUSY)
            self._held += 1
        try:
            if not self._turn.acquire(timeout=PATIENCE):
                raise Refusal(503, BUSY)
            try:
                if key is not None and key in self._kept:  # the second of two equal questions finds the answer
                    return self._kept[key]
                found = work(*given) if self._apart is None else self._apart.run(work, *given)
                with self._memory:
                    if key is not None:
                        self._kept[key] = found
                    while len(self._kept) > KEPT:
                        self._kept.popitem(last=False)
                return found
            finally:
                self._turn.release()
        finally:
            with self._memory:
                self._held -= 1


class _Apart:
    """A process that calculates whatever it is sent; one that hangs or dies is replaced, and whoever asked is refused."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, other = context.Pipe()
        self._process: BaseProcess = context.Process(target=_calculate, args=(other,), name="gibbsafe-calculator", daemon=True)
        self._process.start()
        other.close()

    def run(self, work: Callable[..., Any], *given: Any) -> Any:
        """Return what the work gives there; refuse what it refuses."""
        try:
            self._line.send((work, given))
            if not self._line.poll(LONGEST):
                raise TimeoutError
            refused, found = self._line.recv()
        except (OSError, EOFError):
            self.end()
            self._begin()
            raise Refusal(503, GIVEN_UP) from None
        if refused == 500:
            raise RuntimeError(found)
        if refused is not None:
            raise Refusal(refused, found)
        return found

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._line.close()


def _calculate(line: Connection) -> None:
    """Calculate until nobody is at the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    give_way(5)
    while True:
        try:
            work, given = line.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[int | None, Any] = None, work(*given)
        except Refusal as refusal:
            answer = refusal.status, str(refusal)
        except Exception as error:  # nothing of it is said but its kind, as the application does
            answer = 500, f"a calculation failed: {type(error).__name__}"
        line.send(answer)


def _attack(guarantee: Guarantee) -> JSON:
    return attack_view(guarantee).to_dict()


def _rehearsed(document: JSON, most: int) -> JSON | None:
    try:
        study = Study.from_dict(document)
        return rehearse(study, epsilons=(study.budget.epsilon,), rows=min(study.n or most, most), repeats=2).to_dict()
    except (GibbsafeError, ArithmeticError, ValueError, TypeError, LookupError):
        return None


def _report(text: str) -> str:
    return render(Release.from_dict(json.loads(text)))
