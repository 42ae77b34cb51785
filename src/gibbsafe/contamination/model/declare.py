"""Contaminated models declared as plain data: the ``[contamination]`` table of a study file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, fail
from gibbsafe.contamination.model import densities, models, regressions
from gibbsafe.contamination.model.models import ContaminatedModel

__all__ = ["model_from_table", "table_of"]

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
DENSITIES: dict[str, type[densities.Density]] = {
    cls.__name__: cls for cls in (densities.StudentT, densities.Cauchy, densities.Normal, densities.UniformLabels)
}
OPTIONS = (
    "n", "delta", "repeats", "quantile", "method", "adjacency", "truth", "confidence", "particles", "accept_invalid", "seed",
    "workers",
)  # fmt: skip


def _density(table: object) -> densities.Density:
    if not isinstance(table, Mapping):
        fail("density", table, "a table with the density's name and parameters")
    stated = dict(table)
    cls = DENSITIES[choice("density.name", stated.pop("name", None), DENSITIES)]
    _known("density", stated, cls)
    return cls(**stated)


def _known(where: str, stated: Document, cls: type) -> None:
    allowed = [name for name in inspect.signature(cls).parameters if name != "contamination"]
    for name in stated:
        choice(f"{where} option", name, allowed)


def table_of(model: ContaminatedModel) -> JSON | None:
    """Return the table that declares a model, None where it is made of functions that no file can hold.

    >>> table_of(models.ContaminatedNormalMean(scale=2.0, rate=0.3))["density"]
    {'name': 'StudentT', 'degrees': 5.0, 'location': 0.0, 'scale': 10.0}
    """
    g: Any = model.contamination
    if isinstance(g, densities.Truncated):
        g = g.base  # restricted anew by the model itself
    if type(model) is not MODELS.get(model.name) or (g is not None and type(g) not in DENSITIES.values()):
        return None
    stated = {each.name: getattr(model, each.name) for each in fields(model) if each.init and each.name != "contamination"}
    table: JSON = {"model": model.name, **{name: _plain(value) for name, value in stated.items() if value is not None}}
    if "scale" in stated and stated["scale"] is None:
        table["scale"] = "unknown"
    if g is None:
        return table | {"contaminated": False}
    return table | {"density": {"name": type(g).__name__, **{each.name: getattr(g, each.name) for each in fields(type(g))}}}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def model_from_table(table: Document) -> tuple[ContaminatedModel, JSON]:
    """Return the model that a table declares, and the options of the estimate."""
    stated = dict(table)
    cls = MODELS[choice("contamination.model", stated.pop("model", None), MODELS)]
    options = {name: stated.pop(name) for name in OPTIONS if name in stated}
    density = stated.pop("density", None)
    for name in stated:
        choice("contamination option", name, [*inspect.signature(cls).parameters, "contaminated", "density", "model", *OPTIONS])
    if stated.get("scale") == "unknown":
        stated["scale"] = None
    clean = "contaminated" not in inspect.signature(cls).parameters and stated.pop("contaminated", True) is not True
    if clean:
        stated["contamination"] = None
    for name in ("space", "parameter_bounds"):
        if isinstance(stated.get(name), list):
            stated[name] = tuple(stated[name])
    if density is not None:
        stated["contamination"] = _density(density)
    return cls(**stated), options
