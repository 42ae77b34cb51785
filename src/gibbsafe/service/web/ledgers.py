"""Ledgers and certificates, for owners and auditors: recomputed each time they are shown."""

from __future__ import annotations

import json

from starlette.responses import Response

from gibbsafe.service.web.bars import spent
from gibbsafe.service.web.pages import Here, pages
from gibbsafe.service.web.requests import caps_of
from gibbsafe.service.web.words import share

__all__ = ["routes"]

routes = pages()


@routes.get("/datasets/{dataset_id}/ledger")
def ledger(here: Here, dataset_id: str) -> Response:
    """Show what was spent, by whom, for what."""
    book = here.desk.book(here.actor, dataset_id)
    picture = spent((each.who, each.share) for each in book.spending)
    told = [f"{who} {share(total)}" for who, _, total in picture.people]
    return here.show(
        "ledger.html",
        dataset=here.desk.dataset(here.actor, dataset_id),
        book=book,
        picture={"pieces": picture.pieces, "people": picture.people, "left": picture.left, "words": _said(told, picture.left)},
        caps=caps_of(book.shares, {}),
    )


def _said(told: list[str], left: float) -> str:
    return f"Spent of the budget: {', '.join(told) or 'nothing'}; left: {share(left)}"


@routes.get("/releases/{request_id}/certificate")
def certificate(here: Here, request_id: str) -> Response:
    """Show what a release claims, and what that rests on."""
    found = here.desk.certificate(here.actor, request_id)
    signature = found.signature or {}
    return here.show(
        "certificate.html",
        request=here.desk.request(here.actor, request_id),
        found=found,
        claim=found.certificate["claim"],
        signed_by=signature.get("key", ""),
        as_json=json.dumps(found.certificate, indent=2, ensure_ascii=False),
    )
