"""Made-up tables of a declared shape: columns drawn evenly over what a study declares, and responses from the model itself.

Nothing here is private: only bounds, levels, transforms and a seed go in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from gibbsafe._types import JSON, Floats, Values
from gibbsafe.domains.column import Column
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.base import Model
from gibbsafe.models.capabilities import Simulates
from gibbsafe.models.linear.classifier import LinearClassifier
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.linear.regressor import LinearRegressor
from gibbsafe.study.declaration import Study

__all__ = ["linear_model", "made_up_columns", "made_up_response", "true_parameter"]

#: The way back from a transform.
INVERSES: dict[str, Callable[[Floats], Floats]] = {
    "log1p": np.expm1,
    "signed-log": lambda values: np.sign(values) * np.expm1(np.abs(values)),
}


def linear_model(study: Study, what: str) -> LinearModel:
    """Return the study's model, if it has a linear predictor of declared columns."""
    model: Model = study.model()
    if not isinstance(model, LinearModel) or model.columns is None:
        raise GibbsafeError(f"{what}: for studies of a linear model with columns and a target, not {model.name}")
    return model


def made_up_columns(columns: tuple[Column, ...], rows: int, generator: np.random.Generator) -> JSON:
    """Return every declared column of the table: numbers even over their bounds (after a curve), levels equally likely."""
    return {column.source: _made_up(column, rows, generator) for column in columns}


def _made_up(column: Column, rows: int, generator: np.random.Generator) -> Values:
    if column.kind != "number":
        levels = column.levels or ()
        return np.array([levels[k] for k in generator.integers(len(levels), size=rows)], dtype=object)
    if column.plain:
        low, high = column.interval.low, column.interval.high
    else:
        low, high = column.bounds or (0.0, 1.0)
    values = generator.uniform(low, high, rows)
    if column.plain and column.transform is not None:
        values = INVERSES[column.transform](values)
    if column.origin is not None:
        return np.asarray(np.datetime64(column.origin, "us") + (values * 86_400e6).astype("timedelta64[us]"))
    return np.asarray(values)


def _unit(model: LinearModel, target: Column | None) -> tuple[float, float]:
    """Return from where responses are measured, and in which unit: the model's own, or what fits into the target's bounds."""
    if not isinstance(model, LinearRegressor) or target is None or target.bounds is None:
        return 0.0, model.parameter_scale
    low, high = target.interval.low, target.interval.high
    return (low / 2 + high / 2 if model.intercept else 0.0), min(model.parameter_scale, (high - low) / 8)


def true_parameter(
    model: LinearModel, columns: JSON, effect: float, generator: np.random.Generator, target: Column | None = None
) -> Floats:
    """Return parameters, in the user's units, whose predictors spread by ``effect`` units of the response, or what a ball admits.

    Responses lie around the middle of the target's bounds, where it has some.
    """
    rows = model.encode_features(columns)
    centre, unit = _unit(model, target)
    direction = generator.choice([-1.0, 1.0], size=model.parameters) * generator.uniform(0.5, 1.0, model.parameters)
    if model.intercept:
        direction[-1] = 0.0
    spread = float((rows @ direction).std())
    # A parameter on a ball must lie inside it; elsewhere the response's own scale is the unit.
    size = effect * (unit if model.ball is None else min(1.0, model.ball / 4))
    scaled = direction * (size / spread if spread > 0 else 0.0)
    if model.ball is not None:
        scaled *= min(1.0, 0.9 * model.ball / max(float(np.linalg.norm(scaled)), 1e-300))
    truth = np.asarray(model.to_original(scaled[None])[0])
    if centre:
        truth[-1] += centre
    return truth


def made_up_response(
    model: LinearModel, columns: JSON, truth: Floats, generator: np.random.Generator, target: Column | None = None
) -> Values:
    """Return responses: from the likelihood where there is one, else logistic labels, or the predictor with unit noise."""
    features = model.encode_features(columns)
    rows = len(features)
    if isinstance(model, Simulates):
        return np.asarray(model.simulate(truth, rows, generator, columns))
    predictor = features @ model.from_original(truth[None])[0]
    if isinstance(model, LinearClassifier):
        chosen: Any = model.labels
        return np.where(generator.random(rows) < expit(predictor), np.array([chosen[1]]), np.array([chosen[0]]))
    return np.asarray(predictor + _unit(model, target)[1] * generator.standard_normal(rows))
