"""Grouped coefficients: effects of a category's levels with a prior of their own; small levels borrow from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive
from gibbsafe.domains.encoding import Design

__all__ = ["Groups", "check_groups", "group_precisions"]

#: Names of categories, and the prior precision of an effect of each.
Groups = tuple[tuple[str, float], ...]


def check_groups(groups: object, design: object) -> Groups | None:
    """Return the declared groups in order, each a category of the design with a precision above 0."""
    if groups is None:
        return None
    known = [column.name for column in design.columns if column.kind != "number"] if isinstance(design, Design) else []
    listed = groups.items() if isinstance(groups, Mapping) else groups
    if not isinstance(listed, Iterable) or isinstance(listed, str) or not (pairs := list(listed)):
        fail("groups", groups, "a table of categories and the prior precision of their effects, as {ward = 16}")
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            fail("groups", pair, "a category and a precision")
        if pair[0] not in known:
            fail("groups", pair[0], f"a category among the declared columns ({', '.join(known) or 'there is none'})")
    checked = tuple((str(name), positive(f"groups, {name}", precision)) for name, precision in pairs)
    if len(dict(checked)) < len(checked):
        fail("groups", [name for name, _ in checked], "different categories")
    return checked


def group_precisions(groups: Groups, design: Design) -> Floats:
    """Return the declared precision of every encoded column in the user's units; 0 where none is declared."""
    declared, found = dict(groups), np.zeros(design.dimension)  # interactions, which come last, have none
    listed = [declared.get(column.name, 0.0) for column in design.columns for _ in range(column.width)]
    found[: len(listed)] = listed
    return found
