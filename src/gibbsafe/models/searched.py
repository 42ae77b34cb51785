"""What a search for counterexamples did, as a model of the user's own carries it into plans and certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from gibbsafe._json import canonical_bytes
from gibbsafe._types import JSON, Document
from gibbsafe._validate import count, fail
from gibbsafe.errors import PremiseError

__all__ = ["SearchRecord", "Searched", "as_record", "declaration_digest", "search_statement"]

NOT_REFUTED = "not refuted"


@dataclass(frozen=True)
class SearchRecord:
    """How many evaluations with which seed found nothing against which declaration (its SHA-256)."""

    evaluations: int
    seed: int
    result: str
    declaration: str

    def __post_init__(self) -> None:
        count("evaluations", self.evaluations)
        count("seed", self.seed, least=0)
        if self.result != NOT_REFUTED:
            raise PremiseError(f"record: {str(self.result)[:200]}; a model with a counterexample is not planned with, correct it")
        if not isinstance(self.declaration, str) or len(self.declaration) != 64:
            fail("record", self.declaration, "of a declaration, by its SHA-256")

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self)


@runtime_checkable
class Searched(Protocol):
    """What `gibbsafe.audit.refute` returns."""

    @property
    def record(self) -> SearchRecord:
        """What was done, refused where a counterexample was found."""


def declaration_digest(declaration: Document) -> str:
    """Return the SHA-256 of a declaration, whatever record it carries."""
    return hashlib.sha256(canonical_bytes({name: each for name, each in declaration.items() if name != "record"})).hexdigest()


def as_record(given: object) -> SearchRecord | None:
    """Return the record of a search: as `refute` gives it, or as a file holds it."""
    if given is None or isinstance(given, SearchRecord):
        return given
    if isinstance(given, Searched):
        return given.record
    if isinstance(given, Mapping):
        return SearchRecord(**given)
    return fail("record", type(given).__name__, "what gibbsafe.audit.refute returned")


def search_statement(record: SearchRecord | None) -> str:
    """Return how a declaration was searched, as plans and certificates say it."""
    if record is None:
        return "declared by the user, and no search for a counterexample was made (gs.audit.refute)"
    return f"declared by the user, not refuted in {record.evaluations:,} evaluations (seed {record.seed})"
