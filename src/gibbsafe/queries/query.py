"""What a question is, what it sees, and what comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import choice, count, fail, open_probability
from gibbsafe.bounds import average_error, query_regret
from gibbsafe.errors import GibbsafeError

if TYPE_CHECKING:
    from gibbsafe.models import Model

__all__ = ["FREE", "Answer", "ErrorBound", "Query", "Sample", "answer"]

#: Why no answer costs anything.
FREE = "free: a function of draws already released, so asking spends no privacy, however many questions there are"


@dataclass(frozen=True, eq=False)
class Sample(Mapping[str, Floats]):
    """Draws, released or of the true parameter, as a mapping from parameter to its column; functions of the user receive this."""

    array: Floats
    names: tuple[str, ...]
    model: Model
    of: str = "draws"

    def __getitem__(self, name: str) -> Floats:
        return self.array[:, self.names.index(choice("parameter", name, self.names))]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return len(self.array)

    def select(self, parameters: str | Sequence[str] | None) -> tuple[tuple[str, ...], Floats]:
        """Return the named parameters' columns, all if none are named; refuse names that do not exist."""
        chosen = self.names if parameters is None else (parameters,) if isinstance(parameters, str) else tuple(parameters)
        if not chosen:
            fail("parameters", parameters, "None for all, a name, or a list of names")
        return chosen, np.column_stack([self[name] for name in chosen])

    def need_spread(self, what: str) -> None:
        """Refuse a question about spread where there is one draw."""
        if self.draws < 2:
            raise GibbsafeError(f"{what}: one draw shows no spread; plan several draws, or use release.interval")


@dataclass(frozen=True)
class ErrorBound:
    """How far answers can be from those of the whole posterior, for ``questions`` at once, but for a probability ``failure``."""

    bound: float
    of: str
    failure: float
    questions: int
    reference: str

    def __str__(self) -> str:
        many = "this question" if self.questions == 1 else f"{self.questions} questions"
        return (
            f"{self.of} at most {self.bound:.4g} with probability {1 - self.failure:g} over the draws, for {many} at once, "
            f"chosen before the draws were seen ({self.reference})"
        )

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {name: getattr(self, name) for name in ("bound", "of", "failure", "questions", "reference")}

    @classmethod
    def of_average(cls, draws: int, failure: float, questions: int, of: str) -> ErrorBound:
        """Return Hoeffding's bound for averages over draws of functions into [0, 1]."""
        return cls(average_error(draws, failure=failure, questions=questions), of, failure, questions, "Hoeffding")

    @classmethod
    def of_regret(cls, draws: int, responses: int, failure: float, questions: int) -> ErrorBound:
        """Return Lemma 11's bound for responses chosen by average utility."""
        bound = min(1.0, query_regret(draws, responses=responses, failure=failure, questions=questions))
        reference = "Dimitrakakis et al. 2017, Lemma 11, union bound: E14"
        return cls(bound, "expected utility short of the best response", failure, questions, reference)


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer: ``value`` (a number, an array with one entry per name, or a response), and what is known about its error."""

    question: str
    value: object
    draws: int
    names: tuple[str, ...] = ()
    error: ErrorBound | None = None
    of: str = "draws"
    cost: str = FREE

    def __getitem__(self, name: str) -> Any:
        """Return the entry of one parameter."""
        return np.asarray(self.value)[self.names.index(choice("parameter", name, self.names))]

    def to_dict(self) -> JSON:
        """Return plain data."""
        value = self.value.tolist() if isinstance(self.value, np.ndarray | np.generic) else self.value
        error = None if self.error is None else self.error.to_dict()
        parts = {"question": self.question, "value": value, "parameters": list(self.names), "draws": self.draws}
        return parts | {"of": self.of, "error": error, "cost": self.cost}

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        rows = [f"  {name:<{width}}  {_text(self[name])}" for name in self.names]
        about = " of the true parameter" if self.of == "population" else ""
        head = f"{self.question}, from {self.draws} draw{'s' * (self.draws != 1)}{about}"
        lines = [head + ("" if rows else f": {_text(self.value)}"), *rows]
        lines += [f"error: {self.error}"] if self.error is not None else []
        return "\n".join([*lines, f"cost: {self.cost}"])


def _text(value: object) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return "  ".join(_text(each) for each in value)
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


@dataclass(frozen=True, eq=False, kw_only=True)
class Query(ABC):
    """A question to a release: ``of`` its ``"draws"``, or of the ``"population"``; None is the release's default."""

    of: str | None = None

    @property
    @abstractmethod
    def title(self) -> str:
        """The question in words."""

    @abstractmethod
    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return the answer by these draws, its error bound holding for ``questions`` such questions at once."""


class Answering(Protocol):
    """Whatever holds released draws: a release, or an estimated one."""

    @property
    def draws(self) -> Floats:
        """The draws, one per row."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of their columns."""

    @property
    def plan(self) -> Any:
        """What they were drawn by."""

    def sample_of(self, of: str | None) -> tuple[str, Floats]:
        """Return what was asked for, ``"population"`` or ``"draws"``, and its draws."""


def answer(release: Answering, query: Query, of: str | None, questions: int, failure: float) -> Answer:
    """Ask one question of a release."""
    if not isinstance(query, Query):
        fail("query", query, "a question of gibbsafe.queries, such as gs.queries.mean()")
    chance, many = open_probability("failure", failure), count("questions", questions)
    chosen, draws = release.sample_of(query.of if of is None else of)
    found = query.respond(Sample(draws, release.parameters, release.plan.model, chosen), chance, many)
    # Bounds on the error are those of independent draws; chains of the population are not independent, and as long as wanted.
    return replace(found, of=chosen, error=None if chosen == "population" else found.error)
