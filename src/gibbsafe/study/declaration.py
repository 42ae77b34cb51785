"""Study files: one TOML file says what is public about a table and what to release of it (docs/study.md)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, count, fail, positive
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.files import CsvFormat
from gibbsafe.domains.column import Column, no_charges, no_expansions
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.ledger.database import parse_reference
from gibbsafe.models import MODELS, GaussianPrior, Model
from gibbsafe.models.capabilities import ReadsColumns
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.planning import Plan, plan
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.release import Release
from gibbsafe.study.columns import read_columns, read_table, read_target, refuse_weights, require_known
from gibbsafe.study.formula import read_formula

__all__ = ["Study", "read_toml"]

FORMAT = "gibbsafe/study/1"
#: Studies above this size are refused unread.
LARGEST_STUDY = 10_000_000
#: Every key of a study's top level, in the order of the documentation.
KEYS = (
    "format",
    "title",
    "n",
    "adjacency",
    "draws",
    "purpose",
    "mechanism",
    "uncertainty",
    "loss",
    "row_norm",
    "scale",
    "prior_radius",
    "prior_precision",
    "inverse_temperature",
    "budget",
    "model",
    "formula",
    "interactions",
    "columns",
    "target",
    "persons",
    "sampler",
    "ledger",
    "csv",
    "contamination",
)
#: Those that are handed on as they stand.
AS_STATED = ("title", "draws", "purpose", "mechanism", "uncertainty", "loss", "inverse_temperature", "prior_precision")


def is_estimated(data: Document) -> bool:
    """Whether the budget of a study is an estimated one."""
    budget = data.get("budget")
    return isinstance(budget, dict) and ("failure" in budget or "confidence" in budget)


def read_toml(path: Path | str) -> JSON:
    """Return the content of a TOML file; whatever is none, nested too deeply or an integer without end is refused in one line."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_STUDY + 1)
    except OSError as error:
        raise GibbsafeError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(content) > LARGEST_STUDY:
        raise ParameterError(f"{path}: larger than {LARGEST_STUDY:,} bytes, the most that is read")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: not a TOML file ({' '.join(str(error).split())[:200]})") from error


@dataclass(frozen=True)
class Study:
    """What a study file declares. Made by `Study.load`; nothing in it comes from data."""

    budget: Budget
    adjacency: Adjacency
    n: int | None
    model_name: str
    model_options: Document
    columns: tuple[Column, ...]
    target: Column | None = None
    title: str = ""
    draws: int = 1
    purpose: str = "posterior"
    mechanism: str = "auto"
    uncertainty: float | str = "auto"
    loss: str = "auto"
    prior_radius: float | None = None
    prior_precision: Any = None
    inverse_temperature: float | None = None
    person_column: str | None = None
    rows_per_person: int = 1
    sampler: str = "auto"
    theorem: str = "auto"
    account: str | None = None
    anchor: str | None = None
    dataset: str | None = None
    csv_format: CsvFormat = field(default_factory=CsvFormat)
    contamination: Document | None = None

    # -- reading the file ----------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: Path | str) -> Study:
        """Read a study file; every refusal names the file, the key and what is allowed."""
        data = read_toml(path)
        try:
            return cls.from_dict(data, Path(path).parent)
        except GibbsafeError as error:
            raise type(error)(f"{path}: {error}") from error

    @classmethod
    def from_dict(cls, data: Document, folder: Path | None = None) -> Study:
        """Build a study from a TOML document's content; SQLite ledgers are found relative to ``folder``.

        A budget with a failing fraction or a confidence is an estimated one: `gibbsafe.study.estimated` reads its study.
        """
        if cls is Study and is_estimated(data):
            from gibbsafe.study.estimated import EstimatedStudy

            return EstimatedStudy.from_dict(data, folder)
        refuse_weights(data)
        require_known("study", data, KEYS)
        if data.get("format", FORMAT) != FORMAT:
            fail("format", data["format"], f"{FORMAT!r} in this version")
        budget = read_table(data, "budget", ("epsilon", "delta"), needed=True)
        model = dict(read_table(data, "model", None, needed=True))
        if "row_norm" in data:
            model.setdefault("row_norm", data["row_norm"])
        person_column, rows_per_person = read_persons(data)
        sampler = read_table(data, "sampler", ("name", "theorem"))
        ledger = read_table(data, "ledger", ("url", "account", "anchor", "dataset"))
        stated = {key: data[key] for key in AS_STATED if key in data}
        columns, target = read_columns(data.get("columns", {}), data.get("scale", "centred"), folder), read_target(data, folder)
        columns = cls._of_terms(data, columns, target, model)
        return cls(
            budget=Budget(**{"epsilon": None, **budget}),
            adjacency=Adjacency.of(data.get("adjacency")),
            n=None if data.get("n") is None else count("n", data["n"]),
            model_name=choice("model.name", model.pop("name", None), MODELS),
            model_options=model,
            columns=columns,
            target=target,
            prior_radius=None if data.get("prior_radius") is None else positive("prior_radius", data["prior_radius"]),
            person_column=person_column,
            rows_per_person=rows_per_person,
            sampler=sampler.get("name", "auto"),
            theorem=sampler.get("theorem", "auto"),
            account=read_account(ledger, folder or Path()),
            anchor=read_anchor(ledger, folder or Path()),
            dataset=read_text("ledger.dataset", ledger.get("dataset")),
            csv_format=read_csv_format(read_table(data, "csv", tuple(each.name for each in fields(CsvFormat)))),
            contamination=data.get("contamination"),
            **stated,
        )

    @staticmethod
    def _of_terms(data: Document, columns: tuple[Column, ...], target: Column | None, options: JSON) -> tuple[Column, ...]:
        """Return the features, by the formula if there is one; put interactions and intercept among the model's options."""
        if "formula" not in data:
            if "interactions" in data:
                options.setdefault("interactions", data["interactions"])
            return columns
        for key, place in (("interactions", data), ("intercept", options)):
            if key in place:
                fail(key, place[key], "left out beside a formula, which says it")
        terms = read_formula(data["formula"], columns, target)
        options |= {"interactions": terms.interactions} if terms.interactions else {}
        options |= {} if terms.intercept else {"intercept": False}
        return terms.columns

    # -- what it is for ------------------------------------------------------------------------------------------

    def model(self) -> Model:
        """Return the declared model: the columns as the model reads them, and its options as they stand in ``[model]``."""
        with self._refusals():
            kind = MODELS[self.model_name]
            if not issubclass(kind, ReadsColumns):
                raise GibbsafeError(f"model {kind.name}: cannot be declared by columns")
            self._refuse_unkept(kind)
            return kind.from_columns(self.columns, self.target, self.model_options)

    def _refuse_unkept(self, kind: type[Model]) -> None:
        """Refuse what only the features of a linear model can be: bins, splines, products, bounds that were released."""
        targets = () if self.target is None else (self.target,)
        no_expansions(targets, "a target")
        if not issubclass(kind, LinearModel):
            no_expansions(self.columns, kind.name)
            no_charges((*self.columns, *targets), kind.name)
            if "interactions" in self.model_options:
                fail("interactions", self.model_options["interactions"], f"left out: {kind.name} has no linear predictor")

    def plan(self) -> Plan:
        """Return the plan: no data are read."""
        with self._refusals():
            prior = None if self.prior_precision is None else GaussianPrior(self.prior_precision)
            return plan(
                self.model(),
                self.budget,
                n=self.n,
                adjacency=self.adjacency,
                draws=self.draws,
                purpose=self.purpose,
                theorem=self.theorem,
                sampler=self.sampler,
                prior_radius=self.prior_radius,
                prior=prior,
                inverse_temperature=self.inverse_temperature,
                rows_per_person=self.rows_per_person,
                mechanism=self.mechanism,
                uncertainty=self.uncertainty,
                loss=self.loss,
            )

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turn what goes wrong with a file's options and numbers, of any type and size, into a refusal in one line."""
        kind = MODELS[self.model_name]
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                yield
        except GibbsafeError:
            raise
        except ArithmeticError as error:
            raise ParameterError(f"model {kind.name}: a declared number is too large or too small ({error})") from error
        except AttributeError as error:
            what = f"an option is not understood ({error})" if self.target else "needs a [target] table with the name of a column"
            raise ParameterError(f"model {kind.name}: {what}") from error
        except (TypeError, ValueError, LookupError) as error:
            raise ParameterError(f"model {kind.name}: {_about_option(error, kind)}") from error

    def read(self, source: object) -> DeclaredTable:
        """Return the declared columns of a file or table, in batches, for `Plan.release` with ``persons=person_column``."""
        model = self.model()
        by_model = isinstance(model, LinearModel) and model.columns is not None
        beside = model.companion if isinstance(model, LinearModel) else None
        targets = tuple(column for column in (self.target, beside) if column is not None)
        raw, prepared = (self.columns, targets) if by_model else ((), (*self.columns, *targets))
        others = () if self.person_column is None else (self.person_column,)
        return DeclaredTable(source, prepared, raw, others, self.csv_format)

    def release(self, source: object, **options: object) -> Release:
        """Plan and release at once; the options are those of `gibbsafe.release.release`."""
        return self.plan().release(self.read(source), persons=self.person_column, **options)


# -- validation -----------------------------------------------------------------------------------------------------------


def read_persons(data: Document) -> tuple[str | None, int]:
    """Return the column that identifies persons and how many rows of each count; (None, 1) where records are counted."""
    persons = read_table(data, "persons", ("column", "rows_per_person"))
    if not persons:
        return None, 1
    for key in ("column", "rows_per_person"):
        if key not in persons:
            raise ParameterError(f"persons.{key}: missing; a cap on rows per person needs the identifier's column and the number")
    if not isinstance(persons["column"], str) or not persons["column"]:
        fail("persons.column", persons["column"], "the name of the column that identifies persons")
    return persons["column"], count("persons.rows_per_person", persons["rows_per_person"], least=2)


def read_account(ledger: Document, folder: Path) -> str | None:
    """Return ``URL#account``; a SQLite file is found relative to the study."""
    if not ledger:
        return None
    name, url = ledger.get("account"), ledger.get("url", "ledger.db")
    if not isinstance(name, str) or not isinstance(url, str):
        wrong, found = ("account", name) if not isinstance(name, str) else ("url", url)
        fail(f"ledger.{wrong}", found, "a text: account = a name, and url = a path or a database URL")
    place, name = parse_reference(f"{url}#{name}")
    if place.startswith("sqlite:///"):
        place = f"sqlite:///{folder / place.removeprefix('sqlite:///')}"
    return f"{place}#{name}"


def read_anchor(ledger: Document, folder: Path) -> str | None:
    """Return where marks are kept; a file is found relative to the study."""
    place = read_text("ledger.anchor", ledger.get("anchor"))
    if place is None or place == "-" or "://" in place or place.startswith(("env:", "file:")):
        return place
    return str(folder / place)


def read_text(name: str, value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        fail(name, value, "a text")
    return value


def read_csv_format(table: Document) -> CsvFormat:
    for key, value in table.items():
        if not isinstance(value, str) or not value or (key != "encoding" and (len(value) != 1 or not value.isascii())):
            fail(f"csv.{key}", value, "the name of an encoding" if key == "encoding" else "one character")
    return CsvFormat(**table)


def _about_option(error: Exception, kind: type[Model]) -> str:
    """Say which options a model has, where one of them was not understood."""
    text = str(error).split("() ", 1)[-1] or type(error).__name__
    allowed: list[str] = [each.name for each in fields(kind) if each.init] if is_dataclass(kind) else []
    return f"{text}; its options are {', '.join(allowed)}"
