"""All theorems side by side on one set of constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gibbsafe._types import JSON, Document
from gibbsafe._validate import count
from gibbsafe.errors import GibbsafeError
from gibbsafe.privacy import Adjacency, Budget, Guarantee
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.theorem import THEOREMS, Theorem

__all__ = ["Comparison", "Row", "compare"]


@dataclass(frozen=True)
class Row:
    """One theorem's answer: the largest inverse temperature it allows, or the premise that fails."""

    theorem: Theorem
    inverse_temperature: float | None
    guarantee: Guarantee | None
    failure: str | None
    note: str = ""

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {
            "theorem": self.theorem.name,
            "reference": self.theorem.reference,
            "inverse_temperature": self.inverse_temperature,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "failure": self.failure,
            "note": self.note,
        }


@dataclass(frozen=True)
class Comparison:
    """Every theorem of the registry on the same constants, coldest posterior first, refusals last."""

    budget: Budget
    adjacency: Adjacency
    draws: int
    rows: tuple[Row, ...]

    @property
    def best(self) -> Row | None:
        """The row that allows the coldest posterior, if any theorem applies."""
        return self.rows[0] if self.rows and self.rows[0].inverse_temperature is not None else None

    def row(self, name: str) -> Row:
        """Return the row of one theorem."""
        return next(row for row in self.rows if row.theorem.name == name)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "adjacency": self.adjacency.value,
            "draws": self.draws,
            "theorems": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        plural = "" if self.draws == 1 else "s"
        lines = [f"Largest inverse temperature β at {self.budget}, {self.adjacency}, {self.draws} draw{plural}", ""]
        lines.append(f"{'theorem':<22} {'β':>12}  {'of best':>7}  what it claims, or the premise that fails")
        for row in self.rows:
            if row.inverse_temperature is None:
                lines.append(f"{row.theorem.name:<22} {'—':>12}  {'':>7}  {row.failure}")
                continue
            assert self.best is not None
            assert self.best.inverse_temperature is not None
            share = row.inverse_temperature / self.best.inverse_temperature
            claim = f"{row.guarantee}" + (f"; {row.note}" if row.note else "")
            lines.append(f"{row.theorem.name:<22} {row.inverse_temperature:>12.6g}  {share:>7.1%}  {claim}")
        return "\n".join(lines)


def compare(constants: Constants | Document, budget: Budget, adjacency: Adjacency | str, draws: int = 1) -> Comparison:
    """Return every theorem with the inverse temperature it allows, or the premise it fails.

    >>> table = compare({"lipschitz": 1.0, "convex": True, "prior_precision": 1.0}, Budget(1.0, 1e-6), "replace-one")
    >>> table.best.theorem.name, round(table.best.inverse_temperature, 6)
    ('gaussian-dp', 0.118352)
    >>> table.row("bounded-loss").failure
    'loss_bound: not declared (or loss_interval)'
    """
    declared, relation = Constants.of(constants), Adjacency.of(adjacency)
    draws = count("draws", draws)
    rows = [_row(theorem, declared, budget, relation, draws) for theorem in THEOREMS.values()]
    rows.sort(key=lambda row: -(row.inverse_temperature or 0.0))
    return Comparison(budget, relation, draws, tuple(rows))


def _row(theorem: Theorem, constants: Constants, budget: Budget, adjacency: Adjacency, draws: int) -> Row:
    try:
        beta = theorem.calibrate(constants, budget, adjacency=adjacency, draws=draws)
        claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency, draws=draws)
        return Row(theorem, beta, claim, None, theorem.note(constants, beta, adjacency))
    except GibbsafeError as refusal:
        return Row(theorem, None, None, str(refusal))
