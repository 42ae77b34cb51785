"""Studies with an estimated budget: a ``[contamination]`` table instead of a ``[model]``, and nothing proved."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gibbsafe._types import JSON, Document
from gibbsafe._validate import count, fail
from gibbsafe.contamination.model.declare import MODELS, model_from_table
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.release.plans import EstimatedPlan, plan_estimated
from gibbsafe.contamination.release.releases import EstimatedRelease
from gibbsafe.contamination.release.tables import Table
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.files import CsvFormat
from gibbsafe.domains.column import no_charges, no_expansions
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.privacy import Adjacency, EstimatedBudget
from gibbsafe.study import columns, declaration
from gibbsafe.study.declaration import Study

__all__ = ["EstimatedStudy"]

#: Every key of such a study, and what its [contamination] table may not say because another place does.
KEYS = (
    "format", "title", "n", "adjacency", "draws", "scale", "budget", "columns", "target", "ledger", "csv", "contamination",
)  # fmt: skip
ELSEWHERE = {"n": "the study's n", "delta": "[budget]", "quantile": "[budget] failure", "confidence": "[budget]",
             "adjacency": "the study's adjacency"}  # fmt: skip
#: What a table says of the simulation.
OPTIONS = ("truth", "method", "repeats", "seed", "workers")


@dataclass(frozen=True)
class EstimatedStudy(Study):
    """What a study file with an estimated budget declares. Made by `Study.load`."""

    @classmethod
    def from_dict(cls, data: Document, folder: Path | None = None) -> EstimatedStudy:
        """Build it from a TOML document's content."""
        columns.refuse_weights(data)
        columns.require_known("study with an estimated budget", data, KEYS)
        if data.get("format", declaration.FORMAT) != declaration.FORMAT:
            fail("format", data["format"], f"{declaration.FORMAT!r} in this version")
        budget = columns.read_table(data, "budget", ("epsilon", "delta", "failure", "confidence"), needed=True)
        table = columns.read_table(data, "contamination", None, needed=True)
        for name, place in ELSEWHERE.items():
            if name in table:
                fail(f"contamination.{name}", table[name], f"left out: {place} says it")
        ledger = columns.read_table(data, "ledger", ("url", "account", "anchor", "dataset"))
        return cls(
            budget=EstimatedBudget(**{"epsilon": None, "delta": None, **budget}),  # type: ignore[arg-type]
            adjacency=Adjacency.of(data.get("adjacency")),
            n=count("n", data.get("n"), least=2),
            model_name="contamination",
            model_options={},
            columns=columns.read_columns(data.get("columns", {}), data.get("scale", "centred"), folder),
            target=columns.read_target(data, folder),
            title=data.get("title", ""),
            draws=count("draws", data.get("draws", 1)),
            account=declaration.read_account(ledger, folder or Path()),
            anchor=declaration.read_anchor(ledger, folder or Path()),
            dataset=declaration.read_text("ledger.dataset", ledger.get("dataset")),
            csv_format=declaration.read_csv_format(
                columns.read_table(data, "csv", tuple(each.name for each in fields(CsvFormat)))
            ),
            contamination=table,
        )

    @property
    def table(self) -> Table:
        """Which columns are response and covariates."""
        if self.target is None:
            raise ParameterError("target: missing; write a table [target] with the name of the response column")
        no_expansions((self.target, *self.columns), "a contaminated model")
        no_charges((self.target, *self.columns), "a contaminated model")
        return Table(self.target, self.columns)

    def declared(self) -> tuple[ContaminatedModel, JSON]:
        """Return the contaminated model, and what the table says of its simulation."""
        table = dict(self.contamination or {})
        model = MODELS.get(table.get("model", ""))
        if model is not None and not model.on_a_line:
            table.setdefault("columns", self.table.covariates)
        try:
            return model_from_table(table)
        except GibbsafeError:
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise ParameterError(f"contamination: an option is not understood ({' '.join(str(error).split())[:200]})") from error

    def model(self) -> Any:
        """Return the contaminated model."""
        return self.declared()[0]

    def plan(self, **options: Any) -> Any:
        """Simulate and return the estimated plan: no data are read. The options go before those of the file."""
        model, stated = self.declared()
        for name in stated:
            if name not in OPTIONS:
                fail(f"contamination.{name}", stated[name], "left out of a study that releases")
        run = {"n": self.n, "adjacency": self.adjacency, "draws": self.draws, "table": self.table}
        planned: EstimatedPlan = plan_estimated(model, self.budget, **{**run, **stated, **options})  # type: ignore[arg-type]
        return planned

    def read(self, source: object) -> DeclaredTable:
        """Return the declared columns of a file or table."""
        table = self.table
        return DeclaredTable(source, (), (table.target, *table.features), (), self.csv_format)

    def release(self, source: object, **options: Any) -> Any:
        """Plan and release at once."""
        released: EstimatedRelease = self.plan().release(self.read(source), **options)
        return released
