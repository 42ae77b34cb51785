"""Stages as plain data, as they stand in plan files."""

from __future__ import annotations

from dataclasses import asdict

from gibbsafe._types import JSON, Document
from gibbsafe._validate import count, open_probability, positive, real
from gibbsafe.errors import CertificateError
from gibbsafe.posteriors.stage import Stage

__all__ = ["stage_from_dict", "stage_to_dict"]


def stage_to_dict(stage: Stage) -> JSON:
    """Return a stage as JSON would give it back: lists for tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(stage).items()}


def stage_from_dict(data: Document) -> Stage:
    """Rebuild a stage from plain data, every field checked."""
    if set(data) != set(Stage.__dataclass_fields__):
        raise CertificateError(f"stage fields {sorted(set(data) ^ set(Stage.__dataclass_fields__))}: missing or unknown")
    centre = data["prior_centre"]
    return Stage(
        positive("inverse_temperature", data["inverse_temperature"]),
        tuple(positive("prior_precision", x) for x in data["prior_precision"]),
        None if centre is None else tuple(real("prior_centre", x) for x in centre),
        count("draws", data["draws"]),
        None if data["step"] is None else positive("step", data["step"]),
        None if data["steps"] is None else count("steps", data["steps"]),
        None if data["slack"] is None else open_probability("slack", data["slack"]),
    )
