"""Attacks on what premises *say*: the numbers are read from the printed sentence, not from the constants behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gibbsafe.audit.checks import Attack, GradientSize, Range, SingleGradient, SingleRange
from gibbsafe.audit.record_losses import RecordLosses
from gibbsafe.errors import GibbsafeError
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import THEOREMS, Constants
from gibbsafe.theorems.bounded_range import loss_difference_range

__all__ = ["attacks_on_premises", "printed_norm", "printed_range"]

_NUMBER = r"([0-9.]+(?:e[+-]?[0-9]+)?)"
_NORM = re.compile(rf"gradient of the loss difference of neighbours has norm at most {_NUMBER}(?: when .* precision \((.*)\))?$")
_RANGE = re.compile(rf"loss difference of neighbours varies by at most {_NUMBER} over the parameters$")


def printed_norm(statement: str) -> tuple[float, list[float]] | None:
    """Return the bound that a sentence about gradients prints, and the precisions of its blocks (none: the plain norm).

    >>> printed_norm("the gradient of the loss difference of neighbours has norm at most 1.5")
    (1.5, [])
    """
    found = _NORM.search(statement)
    return None if found is None else (float(found[1]), [float(m) for m in (found[2] or "").split(", ") if m])


def printed_range(statement: str) -> float | None:
    """Return the bound that a sentence about ranges prints."""
    found = _RANGE.search(statement)
    return None if found is None else float(found[1])


def attacks_on_premises(losses: RecordLosses) -> Iterator[Attack]:
    """Yield an attack on every number about loss differences that a certificate of this model would print."""
    for adjacency in (Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE):
        if adjacency == Adjacency.ADD_REMOVE and losses.nothing is None:
            continue
        for _, constants in losses.constants(adjacency):
            for statement in _statements(losses, constants, adjacency):
                yield from _on_statement(losses, statement, constants, adjacency)


def _statements(losses: RecordLosses, constants: Constants, adjacency: Adjacency) -> Iterator[str]:
    exact = (each for each in THEOREMS.values() if each.sampler is None and losses.model.kind in each.kinds)
    for theorem in exact:
        try:
            premises = theorem.premises(constants, adjacency)
        except GibbsafeError:
            continue  # does not price this model here
        yield from (premise.statement for premise in premises)


def _on_statement(losses: RecordLosses, statement: str, constants: Constants, adjacency: Adjacency) -> Iterator[Attack]:
    alone = adjacency == Adjacency.ADD_REMOVE
    norm, width = printed_norm(statement), printed_range(statement)
    if norm is not None:
        limit, blocks = norm
        weights = np.ones(losses.model.parameters)
        if blocks:  # the last block is the intercept, the first all features
            weights[:] = blocks[0]
            weights[-1] = blocks[-1]
        kind = SingleGradient if alone else GradientSize
        yield kind(losses, "premise", limit, statement, weights)
    elif width is not None and width < loss_difference_range(constants, adjacency):  # otherwise the constant's attack covers it
        yield (SingleRange if alone else Range)(losses, "premise", width, statement)
