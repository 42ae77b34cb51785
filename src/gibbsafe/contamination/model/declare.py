"""Contaminated models declared as plain data: the ``[contamination]`` table of a study file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, fail
from gibbsafe.contamination.model import densities, models, regressions
from gibbsafe.contamination.model.models import ContaminatedModel

__all__ = ["model_from_table"]

MODELS: dict[str, type[ContaminatedModel]] = {
    cls.name: cls
    for cls in (
        models.ContaminatedNormalMean,
        regressions.ContaminatedLinearRegression,
        regressions.ContaminatedLogisticRegression,
        regressions.ContaminatedCauchyRegression,
        regressions.ContaminatedQuantileRegression,
    )
}
DENSITIES = {cls.__name__: cls for cls in (densities.StudentT, densities.Cauchy, densities.Normal, densities.UniformLabels)}
OPTIONS = (
    "n", "delta", "repeats", "quantile", "method", "adjacency", "truth", "confidence", "particles", "accept_invalid", "seed",
    "workers",
)  # fmt: skip


def _density(table: object) -> densities.Density:
    if not isinstance(table, Mapping):
        fail("density", table, "a table with the density's name and parameters")
    fields = dict(table)
    cls = DENSITIES[choice("density.name", fields.pop("name", None), DENSITIES)]
    _known("density", fields, cls)
    return cls(**fields)


def _known(where: str, fields: Document, cls: type) -> None:
    allowed = [name for name in inspect.signature(cls).parameters if name != "contamination"]
    for name in fields:
        choice(f"{where} option", name, allowed)


def model_from_table(table: Document) -> tuple[ContaminatedModel, JSON]:
    """Return the model that a table declares, and the options of the estimate."""
    fields = dict(table)
    cls = MODELS[choice("contamination.model", fields.pop("model", None), MODELS)]
    options = {name: fields.pop(name) for name in OPTIONS if name in fields}
    density = fields.pop("density", None)
    for name in fields:
        choice("contamination option", name, [*inspect.signature(cls).parameters, "density", "model", *OPTIONS])
    for name in ("space", "parameter_bounds"):
        if isinstance(fields.get(name), list):
            fields[name] = tuple(fields[name])
    if density is not None:
        fields["contamination"] = _density(density)
    return cls(**fields), options
