"""Which data sets count as neighbours: a typed choice that every theorem and plan requires."""

from __future__ import annotations

from enum import StrEnum

from gibbsafe._validate import choice

__all__ = ["Adjacency"]


class Adjacency(StrEnum):
    """The neighbouring relation of a guarantee.

    ``REPLACE_ONE``: one record is replaced by another; the number of records n is public.
    ``ADD_REMOVE``: one record is added or removed; n is private and may appear in no rule.

    >>> Adjacency.of("replace-one")
    <Adjacency.REPLACE_ONE: 'replace-one'>
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @classmethod
    def of(cls, value: object) -> Adjacency:
        """Return the adjacency named ``value``; refuse anything else, ``None`` included."""
        return cls(choice("adjacency", value, [member.value for member in cls]))
