"""Columns of a table as records of a contaminated model: a response, covariates in [−1, 1], and the constant 1 first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import fail
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.data.sources import is_table, read_columns
from gibbsafe.domains.column import Column
from gibbsafe.domains.encoding import Design
from gibbsafe.errors import CertificateError, DomainError

__all__ = ["Table", "read_records"]

#: Farther than so many scales a record tells nothing more, and its fourth power still has room: one public map of all records.
FARTHEST = 1e60


@dataclass(frozen=True)
class Table:
    """Which column is the response and which are covariates; numbers are mapped to [−1, 1] by declared bounds."""

    target: Column
    features: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        if self.target.kind != "number" and len(self.target.levels or ()) != 2:
            fail(f"target {self.target.name!r}", self.target.levels, "a number, or two labels with the positive one last")
        if self.features:
            _ = self.design

    @property
    def design(self) -> Design:
        """How covariates become numbers."""
        return Design(self.features)

    @property
    def covariates(self) -> int:
        """Number of covariates, the constant included."""
        return 1 + (self.design.dimension if self.features else 0)

    def require(self, model: ContaminatedModel) -> None:
        """Refuse columns that are not the model's."""
        if model.covariate_count != self.covariates:
            fail("columns", self.covariates, f"{model.covariate_count} with the intercept, as the contaminated model declares")
        if model.labels != (self.target.kind != "number"):
            fail(f"target {self.target.name!r}", self.target.kind, "labels = [no, yes]" if model.labels else "a number")

    def read(self, data: object) -> tuple[Floats, Floats]:
        """Return (x, w) of a table."""
        raw = read_columns(data, (self.target, *self.features))
        column = raw[self.target.name]
        number = self.target.kind == "number"
        x = np.array(self.target.values(column) if number else self.target.codes(column), dtype=np.float64)
        w = np.ones((len(x), 1))
        if self.features:
            matrix = self.design.read(raw)
            if not np.isfinite(matrix).all():
                raise DomainError("data: a covariate is missing or not finite; declare missing = …, or clean the table")
            w = np.hstack([w, self.design.encode(matrix)])
        return x, w

    def names(self, model: ContaminatedModel) -> tuple[str, ...]:
        """Return the parameters' names."""
        if not self.features:
            return model.parameter_names
        return ("intercept", *self.design.names, *model.parameter_names[self.covariates :])

    def to_original(self, draws: Floats) -> Floats:
        """Return coefficients of the table's own units."""
        if not self.features:
            return draws
        d, design = self.covariates, self.design
        result = draws.copy()
        result[:, 1:d] = draws[:, 1:d] * design.scale
        result[:, 0] = draws[:, 0] - result[:, 1:d] @ design.offset
        return result

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {"target": self.target.to_dict(), "features": [column.to_dict() for column in self.features]}

    @classmethod
    def from_dict(cls, data: Document) -> Table:
        """Rebuild from `to_dict`'s data."""
        if set(data) != {"target", "features"}:
            raise CertificateError("plan: table must have a target and features")
        return cls(Column.from_dict(data["target"]), tuple(Column.from_dict(each) for each in data["features"]))


def read_records(model: ContaminatedModel, table: Table | None, data: object) -> tuple[Floats, Floats]:
    """Return a curator's records as (x, w): from arrays x or (x, w), or from a table with the declared columns."""
    if is_table(data):
        if table is None:
            raise DomainError("data: a table, but the plan declares no columns; pass arrays x or (x, w), or plan with a table")
        data = table.read(data)
    x, w = model.read(data)
    farthest = FARTHEST * model.noise
    return np.clip(x, -farthest, farthest), w
