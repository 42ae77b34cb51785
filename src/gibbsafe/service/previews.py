"""Previews: what a study would release and cost, from public numbers alone, before anybody asks for it."""

from __future__ import annotations

import threading
from collections import OrderedDict

from gibbsafe._types import JSON
from gibbsafe.errors import GibbsafeError
from gibbsafe.ledger.journal import canonical, digest
from gibbsafe.planning.describe import plan_facts
from gibbsafe.report.attack import attack_view
from gibbsafe.service.approvals import Approvals
from gibbsafe.service.authority import Actor
from gibbsafe.service.queue import work_slots
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.requests import Asked
from gibbsafe.service.settings import Settings
from gibbsafe.service.studies import parse_study, seconds_of, wizard_study
from gibbsafe.service.views import Choice, Preview, Quote
from gibbsafe.study import Study
from gibbsafe.study.rehearsal import rehearse

__all__ = ["Previews"]

ONE_OF = "study: state it in exactly one way"
#: Rehearsals that are kept: they depend on the study alone.
KEPT = 200
#: Stated seconds of a plan's work beyond which nothing is rehearsed in a page.
LONGEST = 5.0
#: Seconds to wait for another preview's rehearsal.
PATIENCE = 5.0


class Previews(Approvals):
    """What the budget buys."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._rehearsed: OrderedDict[str, JSON | None] = OrderedDict()
        self._one_at_a_time = threading.Lock()

    def preview(
        self, actor: Actor, dataset_id: str, study: object | None = None, choice: Choice | None = None, text: str | None = None
    ) -> Preview:
        """Return what would be released: of a study's document, of a study file's text, or of a wizard's choice.

        Nothing is read of the data set but what is public, and nothing is stored.
        """
        with self.store.reading() as connection:
            row = self.dataset_row(connection, actor, "preview", dataset_id)
        asked = self.asked(row, self.study_document(actor, dataset_id, study, choice, text))
        budget, price = asked.plan.budget, asked.price
        rehearsal = self._rehearsal(asked)
        first = {} if rehearsal is None else rehearsal["releases"][0]["parameters"]
        widths = {name: each["interval"][1] - each["interval"][0] for name, each in first.items() if each["interval"] is not None}
        return Preview(
            study=asked.study,
            plan=tuple(plan_facts(asked.plan)),
            plan_sha256=digest(asked.plan_text),
            epsilon=budget.epsilon,
            delta=budget.delta,
            quote=Quote(price.shares, price.fits, price.one_more, price.delta),
            attack=attack_view(asked.plan.guarantee).to_dict(),
            rehearsal=rehearsal,
            widths=widths,
            due=work_slots(seconds_of(asked.plan, self.settings), self.settings),
            warnings=() if price.fits else ("this release does not fit into what is left of the data set's budget",),
        )

    def study_document(
        self, actor: Actor, dataset_id: str, study: object | None, choice: Choice | None, text: str | None
    ) -> object:
        """Return the one study of the three ways to state it."""
        if choice is None:
            return self.one_study(study, text)
        if study is not None or text is not None:
            raise Refusal(422, ONE_OF)
        return wizard_study(choice, self.dataset(actor, dataset_id).study)

    @staticmethod
    def one_study(study: object | None, text: str | None) -> object:
        """Return a study's document: as it is, or from the text of a file."""
        if (study is None) == (text is None):
            raise Refusal(422, ONE_OF)
        return study if text is None else parse_study(text)

    def _rehearsal(self, asked: Asked) -> JSON | None:
        """Return made-up tables released as the study would; None where the model has no made-up tables, or they take long."""
        key = digest(canonical(asked.study))
        if not self._one_at_a_time.acquire(timeout=PATIENCE):  # whoever waits holds a thread that pages need
            return None
        try:  # two cores are few; and the second of two equal questions finds the answer
            if key not in self._rehearsed:
                self._rehearsed[key] = _rehearsed(asked, self.settings.preview_rows)
            self._rehearsed.move_to_end(key)
            while len(self._rehearsed) > KEPT:
                self._rehearsed.popitem(last=False)
            return self._rehearsed[key]
        finally:
            self._one_at_a_time.release()


def _rehearsed(asked: Asked, most: int) -> JSON | None:
    stated = asked.plan.work.seconds
    if stated is not None and not stated <= LONGEST:
        return None
    try:
        study = Study.from_dict(asked.study)
        return rehearse(study, epsilons=(study.budget.epsilon,), rows=min(study.n or most, most), repeats=2).to_dict()
    except (GibbsafeError, ArithmeticError, ValueError, TypeError, LookupError):
        return None
