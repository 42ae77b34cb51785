"""Synthetic rows from the released draws: free, and no better than the draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gibbsafe._types import JSON, Values
from gibbsafe._validate import count, fail
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.capabilities import Simulates
from gibbsafe.queries.query import FREE

if TYPE_CHECKING:
    from gibbsafe.planning import Plan
    from gibbsafe.release import Release

__all__ = ["SyntheticRows", "simulate"]

#: Most synthetic rows of one table: they are made in memory.
MOST_ROWS = 100_000_000


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Rows drawn from the model at the released parameters, in the form that the model reads; `note` says what they are not."""

    rows: Values
    note: str
    draws: int
    cost: str = FREE

    def __array__(self, dtype: Any = None, copy: Any = None) -> Values:
        return np.array(self.rows, dtype=dtype) if copy or dtype is not None else self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {"rows": self.rows.tolist(), "note": self.note, "draws": self.draws, "cost": self.cost}

    def __str__(self) -> str:
        head = f"{len(self.rows)} synthetic rows from {self.draws} draw{'s' * (self.draws != 1)}"
        return f"{head}\nnote: {self.note}\ncost: {self.cost}"


def _note(plan: Plan, draws: int) -> str:
    """Say in plain words how synthetic rows spread."""
    beta = plan.inverse_temperature
    width = f"{beta**-0.5:.3g} times as widely as those of an untempered posterior"
    spread = "" if beta == 1 else f"; at inverse temperature {beta:.3g} these spread about {width}"
    return (
        f"each row comes from the model at one of {draws} released parameter vectors{spread}. Rows from one draw share its "
        "error, so many rows say no more about the parameters than the draws do: never compute standard errors from synthetic "
        "rows as if they were records; use release.interval"
    )


def simulate(release: Release, rows: int, features: object, generator: np.random.Generator | None) -> SyntheticRows:
    """Spread the rows evenly over the draws, in random order, and let the model make each from its draw.

    Even shares instead of a random draw for every row: the share of each draw is then the same in every synthetic table, which
    removes the noise of choosing. Randomness needs no secrecy here, since the draws are public.
    """
    total, model = count("rows", rows, most=MOST_ROWS), release.plan.model
    given = None if features is None else np.asarray(features)
    if not isinstance(model, Simulates):
        raise GibbsafeError(f"simulate: {model.name} is not a distribution of records")
    if model.simulates_responses:
        if given is None:
            fail("features", None, f"rows to simulate responses for: {model.name} does not describe features")
        if len(given) != total:
            fail("features", f"{len(given)} rows", f"as many as rows ({total})")
    elif given is not None:
        fail("features", "given", f"left out: {model.name} has none")
    random = np.random.default_rng() if generator is None else generator
    owners = random.permutation(np.arange(total) % len(release.draws))
    order = np.argsort(owners, kind="stable")
    parts = []
    for k, share in enumerate(np.bincount(owners, minlength=len(release.draws)).tolist()):
        if share:
            own = None if given is None else given[owners == k]
            parts.append(np.asarray(model.simulate(release.draws[k], share, random, own)))
    stacked = np.concatenate(parts)
    table = np.empty_like(stacked)
    table[order] = stacked
    return SyntheticRows(table, _note(release.plan, len(release.draws)), len(release.draws))
