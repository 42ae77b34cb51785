"""How much of a table the declared domain changes: counts for the curator's eyes, which no release ever contains."""

from __future__ import annotations

from collections import Counter

import numpy as np

from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.sources import batches_of
from gibbsafe.domains.column import Column
from gibbsafe.domains.entries import dictionary

__all__ = ["count_clipped"]


def count_clipped(table: DeclaredTable) -> dict[str, str]:
    """Return, per column, how many entries are clipped, missing or of an undeclared level. Depends on the data: not private."""
    columns = (*table.raw, *table.prepared)
    counts: Counter[tuple[str, str]] = Counter()
    rows = 0
    for batch in batches_of(table.source):
        rows += batch.num_rows
        for column in columns:
            for what, number in _counts(column, batch.column(column.source)).items():
                counts[column.name, what] += number
    changed = {}
    for column in columns:
        found = {what: counts[column.name, what] for what in ("clipped", "missing", "undeclared")}
        parts = [f"{number} {what}" for what, number in found.items() if number]
        changed[column.name] = f"{', '.join(parts) or 'nothing changed'} of {rows} rows"
    return changed


def _counts(column: Column, raw: object) -> dict[str, int]:
    if column.kind == "number":
        values = column.numbers(raw)
        missing = np.isnan(values)
        low, high = column.bounds or (-np.inf, np.inf)
        return {"clipped": int(((values < low) | (values > high)).sum()), "missing": int(missing.sum())}
    distinct, positions = dictionary(raw)
    seen = np.bincount(positions, minlength=len(distinct) + 1)
    known = set(column.levels or ())
    undeclared = sum(int(seen[k]) for k, value in enumerate(distinct) if value is not None and value not in known)
    return {"missing": int(seen[len(distinct)]), "undeclared": undeclared}
