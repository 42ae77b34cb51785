"""What commands read: studies, plans and sizes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gibbsafe._json import read_json
from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError
from gibbsafe.planning import Plan
from gibbsafe.release import Release
from gibbsafe.release.files import is_estimated, read_release
from gibbsafe.study import Study

if TYPE_CHECKING:
    from gibbsafe.contamination import EstimatedPlan, EstimatedRelease

__all__ = ["load_plan", "load_proved_plan", "load_release", "parse_size"]

SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def load_plan(path: Path | str) -> Plan | EstimatedPlan:
    """Return the plan of a study file (``.toml``) or of a plan written by ``gibbsafe plan --out`` (JSON)."""
    place = Path(path)
    if place.suffix.lower() == ".toml":
        return Study.load(place).plan()
    content = read_json(place, "neither a plan (JSON) nor a study (.toml)")
    if isinstance(content, dict) and str(content.get("format")).startswith("gibbsafe/estimated-plan"):
        from gibbsafe.contamination import plan_from_dict

        return plan_from_dict(content)
    return Plan.from_dict(content)


def load_proved_plan(path: Path | str) -> Plan:
    """Return a plan with a guarantee; refuse an estimated one, which claims nothing that an audit could refute."""
    planned = load_plan(path)
    if not isinstance(planned, Plan):
        raise GibbsafeError(f"{path}: an estimated plan, of which nothing is proved; see 'gibbsafe estimate'")
    return planned


def load_release(
    path: Path, public_key: Path | None = None, key_list: Path | None = None, *, simulate: bool = False
) -> Release | EstimatedRelease:
    """Return a release of either type, checked; ``simulate`` has an estimated one simulate some repeats once more."""
    if not is_estimated(read_release(path)):
        return Release.load(path, public_key=public_key, key_list=key_list)
    from gibbsafe.contamination import EstimatedRelease

    return EstimatedRelease.load(path, public_key=public_key, key_list=key_list, simulate=simulate)


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
