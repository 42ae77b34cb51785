"""Previews: what a study would release and cost, from public numbers alone, before anybody asks for it."""

from __future__ import annotations

from gibbsafe.ledger.journal import digest
from gibbsafe.planning.describe import plan_facts
from gibbsafe.service.approvals import Approvals
from gibbsafe.service.authority import Actor
from gibbsafe.service.queue import work_slots
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.requests import Asked
from gibbsafe.service.studies import parse_study, seconds_of, wizard_study
from gibbsafe.service.views import Choice, Preview, Quote

__all__ = ["Previews"]

ONE_OF = "study: state it in exactly one way"


class Previews(Approvals):
    """What the budget buys."""

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
        rehearsal = self.calculations.rehearsal(asked.study, asked.plan)
        first = {} if rehearsal is None else rehearsal["releases"][0]["parameters"]
        widths = {name: each["interval"][1] - each["interval"][0] for name, each in first.items() if each["interval"] is not None}
        return Preview(
            study=asked.study,
            plan=tuple(plan_facts(asked.plan)),
            plan_sha256=digest(asked.plan_text),
            epsilon=budget.epsilon,
            delta=budget.delta,
            quote=_quoted(asked),
            attack=self.calculations.attack(asked.study, asked.plan),
            rehearsal=rehearsal,
            widths=widths,
            due=work_slots(seconds_of(asked.plan, self.settings), self.settings),
            warnings=() if price.fits else ("this release does not fit into what is left of the data set's budget",),
        )

    def price(self, actor: Actor, dataset_id: str, study: object) -> Quote:
        """Return what a study would cost as the account stands now: what an owner decides by."""
        with self.store.reading() as connection:
            row = self.dataset_row(connection, actor, "preview", dataset_id)
        return _quoted(self.asked(row, study))

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


def _quoted(asked: Asked) -> Quote:
    price = asked.price
    return Quote(price.shares, price.fits, price.one_more, price.delta)
