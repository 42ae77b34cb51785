"""From a form to a study: a question in plain words, the columns it is about, and a budget, all within what the owner declared.

Nothing here is private: an owner's public study and an analyst's choices go in, a study document comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gibbsafe._types import JSON, Document
from gibbsafe.errors import ParameterError

__all__ = ["QUESTIONS", "Choice", "DeclaredColumn", "Question", "declared_columns", "question_named", "study_of"]

#: Of a number that is a response: what only features can be.
FEATURES_ONLY = ("transform", "edges", "knots", "nodes", "degree", "scale")
#: Levels that a page lists before it says how many there are.
MOST_LEVELS = 6


@dataclass(frozen=True)
class Question:
    """One thing an analyst may want to know.

    Attributes:
        model: the model that answers it, by its registered name.
        words: the question.
        means: how it is answered, in a few words.
        target: kind of the column it explains (``"label"``, ``"category"``, ``"number"``), or None where it explains none.
        features: kind of the columns it explains by; ``""`` for any, None where there are none.
        estimate: whether one point with intervals can be released instead of draws.
    """

    model: str
    words: str
    means: str
    target: str | None
    features: str | None
    estimate: bool = True


QUESTIONS = (
    Question("LogisticRegression", "What goes with one of two outcomes?", "logistic regression", "label", ""),
    Question("PseudoHuberRegression", "What goes with a number?", "regression that outliers cannot bend", "number", ""),
    Question("CountRegression", "What goes with how often something happens?", "negative binomial regression", "number", ""),
    Question("MultinomialRegression", "What goes with one of several outcomes?", "multinomial regression", "category", ""),
    Question("OrdinalRegression", "What goes with a level, from low to high?", "ordinal regression", "category", ""),
    Question("BernoulliLogit", "How frequent is one of two outcomes?", "a share", "label", None),
    Question("GaussianMean", "How large are numbers on average?", "a mean of each column", None, "number", estimate=False),
    Question("ContingencyTable", "How often do categories meet?", "a table of counts", None, "category", estimate=False),
)


@dataclass(frozen=True)
class DeclaredColumn:
    """A column as its owner declared it, and as a page says it."""

    name: str
    kind: str
    words: str
    table: Document

    def fits(self, kind: str | None) -> bool:
        """Whether it can be of this kind: two levels are also two outcomes, and the other way round."""
        two = len(self.table.get("levels", self.table.get("labels", ()))) == 2
        return kind == "" or kind == self.kind or (two and kind in ("label", "category") and self.kind != "number")


def declared_columns(study: Document) -> tuple[DeclaredColumn, ...]:
    """Return every column that a public study declares, its target among them.

    >>> declared_columns({"columns": {"age": {"bounds": [18, 95]}}, "target": {"name": "ill", "labels": ["no", "yes"]}})[1].words
    'no or yes'
    """
    target = dict(study.get("target") or {})
    listed = dict(study.get("columns") or {})
    if target:
        listed[target.pop("name")] = target
    return tuple(DeclaredColumn(name, *_said(table), table) for name, table in listed.items())


def _said(table: Document) -> tuple[str, str]:
    levels = table.get("levels", table.get("labels"))
    if levels is not None:
        shown = [str(level) for level in levels[:MOST_LEVELS]]
        more = f" and {len(levels) - MOST_LEVELS} more" if len(levels) > MOST_LEVELS else ""
        words = " or ".join(shown) if len(levels) == 2 else ", ".join(shown) + more
        return "label" if "labels" in table else "category", words
    if "levels_file" in table:
        return "category", "levels from a list"
    bounds = table.get("bounds")
    words = "a number without bounds" if bounds is None else f"{_number(bounds[0])} to {_number(bounds[1])}"
    return "number", words + (f", as {table['transform']}" if "transform" in table else "")


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


@dataclass(frozen=True)
class Choice:
    """What an analyst chose, as the form has it."""

    question: str
    target: str
    features: tuple[str, ...]
    purpose: str
    draws: int
    epsilon: float
    delta: float


def question_named(model: str) -> Question:
    """Return the question that a model answers."""
    for question in QUESTIONS:
        if question.model == model:
            return question
    raise ParameterError("question: choose one of the list")


def study_of(declared: Document, choice: Choice) -> JSON:
    """Return the study that a choice asks for. Columns stand in it as the owner declared them, and nothing else of theirs."""
    question = question_named(choice.question)
    columns = {column.name: column for column in declared_columns(declared)}
    study: JSON = {
        "adjacency": declared.get("adjacency"),
        "purpose": choice.purpose if question.estimate else "posterior",
        "draws": choice.draws if choice.purpose == "posterior" or not question.estimate else 1,
        "budget": {"epsilon": choice.epsilon, "delta": choice.delta},
        "model": {"name": question.model},
        "columns": {},
    }
    for key in ("n", "persons", "row_norm"):
        if key in declared and (key != "row_norm" or question.target is not None):
            study[key] = declared[key]
    if question.target is not None:
        study["target"] = _target(columns, choice.target, question)
    if question.features is not None:
        study["columns"] = _features(columns, choice, question)
    return study


def _target(columns: Mapping[str, DeclaredColumn], name: str, question: Question) -> JSON:
    column = columns.get(name)
    if column is None or not column.fits(question.target):
        fitting = [each.name for each in columns.values() if each.fits(question.target)]
        remedy = f"choose {' or '.join(fitting)}" if fitting else "ask another question: no declared column fits this one"
        raise ParameterError(f"explained column: {question.means} needs {_KINDS[question.target or '']}; {remedy}")
    table = {key: value for key, value in column.table.items() if key not in FEATURES_ONLY}
    if column.kind != "number":
        levels = table.pop("levels", None) or table.pop("labels", None)
        table |= {"labels" if question.target == "label" else "levels": levels}
    return {"name": name, **table}


_KINDS = {"label": "two outcomes", "category": "a column of levels", "number": "a number"}


def _features(columns: Mapping[str, DeclaredColumn], choice: Choice, question: Question) -> JSON:
    chosen: Sequence[str] = [name for name in choice.features if question.target is None or name != choice.target]
    if not chosen:
        raise ParameterError("columns: choose at least one")
    found: JSON = {}
    for name in chosen:
        column = columns.get(name)
        if column is None:
            raise ParameterError("columns: choose among the declared ones")
        if not column.fits(question.features):
            raise ParameterError(f"column {name}: {question.means} reads {_PLURALS[question.features or '']}; leave it out")
        if column.kind == "number" and "bounds" not in column.table:
            raise ParameterError(f"column {name}: has no declared bounds, so it can be explained and not explain; leave it out")
        table = dict(column.table)
        if "labels" in table:
            table["levels"] = table.pop("labels")
        found[name] = table
    return found


_PLURALS = {"category": "columns of levels", "number": "numbers"}
