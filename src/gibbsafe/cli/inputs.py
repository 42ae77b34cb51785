"""What commands read: studies, plans and sizes."""

from __future__ import annotations

import re
from pathlib import Path

from gibbsafe._json import read_json
from gibbsafe._validate import fail
from gibbsafe.planning import Plan
from gibbsafe.study import Study

__all__ = ["load_plan", "parse_size"]

SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def load_plan(path: Path | str) -> Plan:
    """Return the plan of a study file (``.toml``) or of a plan written by ``gibbsafe plan --out`` (JSON)."""
    place = Path(path)
    if place.suffix.lower() == ".toml":
        return Study.load(place).plan()
    return Plan.from_dict(read_json(place, "neither a plan (JSON) nor a study (.toml)"))


def parse_size(text: str | None) -> int | None:
    """Return a number of bytes.

    >>> parse_size("200MB"), parse_size("1 GiB"), parse_size(None)
    (200000000, 1073741824, None)
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)\s*", text.lower())
    if match is None or match.group(2) not in SIZES or float(match.group(1)) * SIZES[match.group(2)] < 2**20:
        fail("memory", text, "a size of at least 1MB, like 500MB or 2GB")
    return int(float(match.group(1)) * SIZES[match.group(2)])
