"""Exact draws from a law over finitely many points: random bits against whole-number weights.

A proposal, uniform over the points, is accepted if a uniform number, compared word by word, is below its weight's share of the
largest power of two: the probability of a point is *exactly* proportional to its weight.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Indices
from gibbsafe._validate import count as whole
from gibbsafe.posteriors.exact_law import WORD, ExactLaw
from gibbsafe.posteriors.finite import FinitePosterior
from gibbsafe.samplers.closed_form import draw_exactly

__all__ = ["draw_positions"]

Words: TypeAlias = npt.NDArray[np.uint64]

#: Proposals that are judged together.
PROPOSED = 2**16


@draw_exactly.register
def _(posterior: FinitePosterior, count: int, generator: np.random.Generator) -> Floats:
    return np.asarray(posterior.points[draw_positions(posterior.law, count, generator)][:, None])


def draw_positions(law: ExactLaw, count: int, generator: np.random.Generator) -> Indices:
    """Return independent draws of positions.

    A proposal of the heaviest point is accepted with probability at least ½, so that 2K proposals are expected at most.
    """
    drawn: list[Any] = []
    missing, points = whole("count", count, least=0), len(law.mantissas)
    first_words = np.array([law.word(k, 0) for k in range(points)], dtype=np.uint64)
    while missing > 0:
        proposed = generator.integers(points, size=min(PROPOSED, 2 * missing * points))
        kept = proposed[_accepted(law, first_words, proposed, generator)][:missing]
        drawn.append(kept)
        missing -= len(kept)
    return np.concatenate(drawn).astype(np.intp) if drawn else np.empty(0, dtype=np.intp)


def _accepted(
    law: ExactLaw, first_words: Words, proposed: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Return whether a uniform number is below each proposal's probability of acceptance: by words, until one decides."""
    uniform = _random_words(generator, len(proposed))
    limits = first_words[proposed]
    accepted = np.asarray(uniform < limits)
    for position in np.flatnonzero(uniform == limits):  # one proposal in 2⁶⁴, or where a word is 0
        accepted[position] = _below(law, int(proposed[position]), generator)
    return accepted


def _below(law: ExactLaw, point: int, generator: np.random.Generator) -> bool:
    """Return whether the further words of a uniform number are below the point's."""
    words = -((law.exponents[point] - law.bits) // WORD)  # behind the last word the expansion is 0, and nothing is below
    for index in range(1, words):
        uniform, limit = int(_random_words(generator, 1)[0]), law.word(point, index)
        if uniform != limit:
            return uniform < limit
    return False


def _random_words(generator: np.random.Generator, number: int) -> Words:
    return generator.integers(0, 2**WORD, size=number, dtype=np.uint64)
