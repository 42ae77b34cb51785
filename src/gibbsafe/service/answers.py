"""What a release answers: true parameters, predictions with intervals, synthetic rows. All from what was released alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.domains.encoding import Design
from gibbsafe.models.capabilities import PredictsOutcomes, PredictsProbabilities
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.population import overview
from gibbsafe.randomness import secure_generator
from gibbsafe.release import Release
from gibbsafe.service.views import Prediction, Summary, SyntheticTable
from gibbsafe.study.shapes import made_up_columns

__all__ = ["predicted", "summarised", "synthesised"]


def summarised(release: Release, level: float) -> Summary:
    """Return per parameter its mean, its interval, the chance that it is above 0, and the share that the data decided.

    About the true parameter where the release can say something of it, else about its draws, with the reason in the note.
    """
    found = overview(release, level)
    ends = (None, None) if found.intervals is None else (found.intervals.lower, found.intervals.upper)
    parts = {
        "mean": found.mean,
        "low": ends[0],
        "high": ends[1],
        "positive": found.positive,
        "decided_by_data": found.decided_by_data,
    }
    listed = {name: [None] * len(found.names) if values is None else values.tolist() for name, values in parts.items()}
    rows = zip(found.names, *listed.values(), strict=True)
    assumptions = () if found.intervals is None else found.intervals.assumptions
    return Summary(
        level,
        tuple(dict(zip(("parameter", *listed), row, strict=True)) for row in rows),
        "; ".join(dict.fromkeys([*found.notes, *assumptions])),
    )


def predicted(release: Release, table: JSON, level: float = 0.9) -> Prediction:
    """Return a prediction per row of a table; where the release tells it the interval for what the true parameter predicts."""
    model = release.plan.model
    told = release.tells_population and isinstance(model, PredictsOutcomes)
    if not isinstance(model, PredictsProbabilities):
        columns: dict[str, Any] = {"prediction": release.predict(table)}
        if told:
            ends = release.predict(table, level)
            columns |= {f"{level:.0%} from": ends.lower, "to": ends.upper}
        return _prediction(columns)
    chances = release.predict_proba(table)
    labels: Any = getattr(model, "labels", None) or getattr(model, "outcomes", None) or range(chances.shape[1])
    shown = range(1, 2) if chances.shape[1] == 2 else range(chances.shape[1])
    ranges = release.predict_proba(table, level) if told else None
    columns = {"prediction": release.predict(table)}
    for k in shown:
        columns[f"chance of {labels[k]}"] = chances[:, k]
        if ranges is not None:
            lower, upper = (_class(end, k) for end in (ranges.lower, ranges.upper))
            suffix = "" if len(shown) == 1 else f", {labels[k]}"
            columns |= {f"{level:.0%} from{suffix}": lower, f"to{suffix}": upper}
    return _prediction(columns)


def _class(values: Floats, k: int) -> Floats:
    return values if values.ndim == 1 else values[:, k]


def _prediction(columns: dict[str, Any]) -> Prediction:
    values = [np.asarray(each).tolist() for each in columns.values()]
    return Prediction(tuple(columns), tuple(zip(*values, strict=True)))


def synthesised(release: Release, rows: int, features: JSON | None = None) -> SyntheticTable:
    """Return synthetic rows under the table's names; for regressions without features, even over what is declared.

    Columns of features that are made up say nothing of the data: only the response is the release's.
    """
    model, note = release.plan.model, ""
    if isinstance(model, LinearModel) and model.columns is not None:
        if features is None:
            features = made_up_columns(model.columns, rows, secure_generator())
            note = "features are made up evenly over what is declared; the response to them is the release's"
        domain = model.domain
        assert isinstance(domain, Design)
        made = release.simulate(rows, domain.read(features))
        response = np.asarray(made.rows).reshape(rows, -1)[:, -1].tolist()
        columns = {column.source: np.asarray(features[column.source]).tolist() for column in model.columns}
        columns[str(model.target or "response")] = response
        return SyntheticTable(
            tuple(columns), tuple(zip(*columns.values(), strict=True)), "; ".join(filter(None, (note, made.note)))
        )
    made = release.simulate(rows, features)
    values = np.asarray(made.rows)
    values = values.reshape(len(values), -1)
    return SyntheticTable(_names(model, values.shape[1]), tuple(map(tuple, values.tolist())), made.note)


def _names(model: Any, width: int) -> tuple[str, ...]:
    """Name the columns of records as the table's where the model knows them."""
    declared = model.to_dict()
    for key in ("columns", "feature_names", "time_names", "states", "categories"):
        names = [each["name"] if isinstance(each, dict) else str(each) for each in declared.get(key) or ()]
        if len(names) == width:
            return tuple(names)
    target = declared.get("target")
    return (str(target),) if target and width == 1 else tuple(f"column {k + 1}" for k in range(width))
