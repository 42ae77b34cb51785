"""Outcomes of the audit of coverage in a committed file: a run continues what earlier ones left, on whatever machine.

A cell's outcome stands as long as the code gives what it gave: its first data set, released again from the same seed, must have
the same intervals. Otherwise the outcome is stale and the cell is carried out anew. Every outcome says when and by which commit
it was made.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from parts import ROOT

from gibbsafe._types import Floats

#: The committed file.
PATH = ROOT / "audits" / "coverage.json"
#: By how much ends of intervals may differ, in units of their width: what another machine's linear algebra makes of them.
SAME = 1e-3


class Store:
    """Outcomes by the text of their cell and the settings of the run."""

    def __init__(self, path: Path, settings: str, kind: type) -> None:
        self.path, self.settings, self.kind = path, settings, kind

    def _all(self) -> dict[str, Any]:
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def found(self, cell: str, first: Floats | None = None) -> Any:
        """Return a cell's outcome, None without one, or without one that began with these intervals (lower ends, upper ends)."""
        kept = self._all().get(self.settings, {}).get(cell)
        if kept is None or (first is not None and not _same(first, np.array(kept["first"]))):
            return None
        fields = {name: np.array(value) if isinstance(value, list) else value for name, value in kept["outcome"].items()}
        return self.kind(**fields)

    def keep(self, cell: str, first: Floats, outcome: Any) -> None:
        """Write a cell's outcome down."""
        entry = {
            "commit": _commit(),
            "date": str(datetime.date.today()),
            "first": first.tolist(),
            "outcome": {name: _plain(value) for name, value in dataclasses.asdict(outcome).items()},
        }
        content = self._all()
        content.setdefault(self.settings, {})[cell] = entry
        self.path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def commits(self) -> dict[str, int]:
        """Return how many outcomes each commit made."""
        made = [entry["commit"] for entry in self._all().get(self.settings, {}).values()]
        return {commit: made.count(commit) for commit in dict.fromkeys(made)}


def _plain(value: Any) -> Any:
    return np.round(value, 6).tolist() if isinstance(value, np.ndarray) else value


def _same(first: Floats, kept: Floats) -> bool:
    if first.shape != kept.shape:
        return False
    return bool(np.all(np.abs(first - kept) <= SAME * np.maximum(kept[1] - kept[0], 1e-300)))


def _commit() -> str:
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
