"""How records are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gibbsafe._validate import choice
from gibbsafe.data.blocks import Blocks

__all__ = ["Encoder", "EncodingOptions"]


@dataclass(frozen=True)
class EncodingOptions:
    """How a record is read: none of it depends on the records.

    Whose records they are, and how many there may be, is no business of a model: `gibbsafe.data.census` counts and caps rows.
    """

    on_invalid: str = "error"
    storage: str = "float64"

    def __post_init__(self) -> None:
        choice("on_invalid", self.on_invalid, ("error", "replace"))
        choice("storage", self.storage, ("float64", "float32"))


class Encoder(Protocol):
    """Whoever knows the declared form of records: a model."""

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return clipped, encoded and scaled records, one row each and in their order; refuse what has not the declared form."""
