"""Decisions: the response with the largest average utility over the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe._validate import fail
from gibbsafe.queries.events import Event, indicator, unit_values
from gibbsafe.queries.query import Answer, ErrorBound, Query, Sample

__all__ = ["Decision", "Utility", "decision", "utility"]


@dataclass(frozen=True, eq=False)
class Utility(Query):
    """Any bounded utility u(θ, q, r) ∈ [0, 1] over a finite list of responses (Algorithm 2, PSAQR)."""

    function: Callable[[Sample, object, Sequence[object]], npt.ArrayLike]
    responses: Sequence[object]
    question: object = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            fail("utility", self.function, "a function of draws, question and responses")
        if len(self.responses) == 0:
            fail("responses", self.responses, "a list with at least one response")

    @property
    def title(self) -> str:
        """The question in words."""
        return "best response" if self.question is None else f"best response to {self.question}"

    def utilities(self, sample: Sample) -> Floats:
        """Return u for every draw (row) and response (column)."""
        values = self.function(sample, self.question, self.responses)
        return unit_values("utility", values, (sample.draws, len(self.responses)))

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return the response with the largest average utility (the first of equals), and Lemma 11's bound on its regret."""
        best = int(np.argmax(self.utilities(sample).mean(axis=0)))
        error = ErrorBound.of_regret(sample.draws, len(self.responses), failure, questions)
        return Answer(self.title, self.responses[best], sample.draws, error=error)


class Decision(Utility):
    """A decision by a table: what each response is worth in each state, the states being events about the parameters."""

    def __init__(
        self, table: Mapping[object, Mapping[object, float]], states: Mapping[object, Event], *, of: str | None = None
    ) -> None:
        if not table or not states:
            fail("table", table, "utilities of at least one response in at least one state")
        for response, row in table.items():
            if set(row) != set(states):
                fail(f"utilities of {response!r}", sorted(map(str, row)), f"one per state ({', '.join(map(str, states))})")
        worth = unit_values("utility", [[row[state] for row in table.values()] for state in states], (len(states), len(table)))

        def look_up(sample: Sample, _question: object, _responses: Sequence[object]) -> Floats:
            holds = np.array([indicator(event, sample) for event in states.values()])
            if (holds.sum(axis=0) != 1).any():
                fail("states", list(states), "a partition: exactly one must hold for every draw")
            return np.asarray(worth[holds.argmax(axis=0)])

        super().__init__(look_up, list(table), of=of)

    @property
    def title(self) -> str:
        """The question in words."""
        return f"decision between {', '.join(map(str, self.responses))}"


def decision(
    table: Mapping[object, Mapping[object, float]], states: Mapping[object, Event], *, of: str | None = None
) -> Decision:
    """Ask for the response with the largest average utility by a table.

    Args:
        table: response → state → utility in [0, 1].
        states: state → event about the parameters; exactly one holds for every draw.
        of: ``"draws"`` or ``"population"``; see `Release.answer`.

    >>> from gibbsafe import queries
    >>> question = queries.decision(
    ...     {"treat": {"helps": 1.0, "harms": 0.0}, "wait": {"helps": 0.4, "harms": 0.4}},
    ...     states={"helps": "effect > 0", "harms": "effect <= 0"},
    ... )
    >>> question.title
    'decision between treat, wait'
    """
    return Decision(table, states, of=of)


def utility(
    function: Callable[[Sample, object, Sequence[object]], npt.ArrayLike],
    responses: Sequence[object],
    question: object = None,
    *,
    of: str | None = None,
) -> Utility:
    """Ask for the best response under any utility in [0, 1].

    Args:
        function: u(θ, q, r), vectorised: draws (a mapping from parameter to its column, also ``.array``), the question and the
            list of responses → an array with one row per draw and one column per response.
        responses: the finite list to choose from.
        question: passed through to the function.
        of: ``"draws"`` or ``"population"``; see `Release.answer`.
    """
    return Utility(function, responses, question, of=of)
