"""The ledger of a data set as a page shows it: recomputed from its entries every time, with what was spent by whom for what."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gibbsafe.errors import CertificateError, GibbsafeError
from gibbsafe.ledger import check
from gibbsafe.service.authority import Actor
from gibbsafe.service.datasets import as_refusal
from gibbsafe.service.questions import Questions
from gibbsafe.service.views import Book, Spending

__all__ = ["KEY", "Books"]

#: How the worker names charges: the request's id follows.
KEY = "request-"


class Books(Questions):
    """Reading ledgers."""

    def book(self, actor: Actor, dataset_id: str) -> Book:
        """Return the account of a data set, verified now."""
        with self.store.reading() as connection:
            row = self.dataset_row(connection, actor, "read ledger", dataset_id)
        account = self.account_of(row)
        try:
            check(account)
            status, charges = account.status(), account.charges()
        except CertificateError as error:
            return _broken(row, error)
        except GibbsafeError as error:
            raise as_refusal(error) from None
        spending = tuple(
            Spending(
                each["number"], each["time"], each["who"], each["reason"], each["mechanism"], each["share"], each["state"],
                each["key"].removeprefix(KEY) if each["key"].startswith(KEY) else None,
            )
            for each in charges
        )  # fmt: skip
        by: defaultdict[str, float] = defaultdict(float)
        for each in spending:
            by[each.who] += each.share
        return Book(
            row.id, row.account, row.epsilon, row.delta, status["currency"], status["adjacency"], status["share"],
            status["one_more"]["epsilon"], dict(by), spending, status["entries"], status["head"], verified=True,
        )  # fmt: skip


def _broken(row: Any, error: Exception) -> Book:
    told = " ".join(str(error).split())[:500]
    return Book(row.id, row.account, row.epsilon, row.delta, "", "", {}, 0.0, {}, (), 0, "", verified=False, problem=told)
