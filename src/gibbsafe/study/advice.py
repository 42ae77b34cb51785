"""Advice from public numbers: what each column costs, what a smaller row norm would buy, and how n, ε and columns trade.

Everything is planned again with one thing changed. The measure is the noise that privacy adds to a prediction, in units of the
linear predictor (log odds, say), for rows of the declared shape: even over bounds and levels, independent columns, the loss
with half its largest curvature. An expectation, not a promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.domains.encoding import Design
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.planning import Plan
from gibbsafe.privacy import Budget
from gibbsafe.samplers import SAMPLERS
from gibbsafe.study.declaration import Study
from gibbsafe.study.shapes import linear_model, made_up_columns

__all__ = ["Advice", "advise", "prediction_noise"]

#: Rows of the declared shape that stand for the table, and most parameters of which they tell enough within a second.
ROWS, MOST_PARAMETERS = 1_500, 200
#: Most columns that are left out in turn, the widest first.
MOST_COLUMNS = 6
SHARES_OF_NORM = (0.8, 0.6, 0.4)


@dataclass(frozen=True)
class Advice:
    """What the study's numbers buy, and what others would.

    Attributes:
        noise: expected noise of a prediction as the study stands.
        columns: per column its parameters, and the noise without it.
        row_norm: per smaller row norm the noise, and the share of rows of the declared shape that it would shorten.
        trade: per (n, ε) the noise.
        remarks: sentences.
    """

    noise: float
    columns: tuple[tuple[str, int, float], ...]
    row_norm: tuple[tuple[float, float, float], ...]
    trade: tuple[tuple[int, float, float], ...]
    remarks: tuple[str, ...]

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {
            "prediction_noise": self.noise,
            "columns": [{"column": name, "parameters": width, "noise_without": noise} for name, width, noise in self.columns],
            "row_norm": [{"row_norm": norm, "noise": noise, "rows_shortened": share} for norm, noise, share in self.row_norm],
            "trade": [{"n": n, "epsilon": epsilon, "noise": noise} for n, epsilon, noise in self.trade],
            "remarks": list(self.remarks),
        }


def prediction_noise(plan: Plan, rows: Floats) -> float:
    """Return the root mean square noise of predictions for encoded rows, that privacy adds in a typical case.

    Draws have covariance (βH + Λ)⁻¹, H = n·h·E zzᵀ with half the largest curvature h; a point found by noisy scores H⁻²/β,
    and no more in any direction than the public guess of the coefficients allows.
    """
    model, stage, n = plan.model, plan.stages[-1], plan.n
    assert isinstance(model, LinearModel)
    assert n is not None
    moment = rows.T @ rows / len(rows)
    if stage.scores is not None:
        sizes, directions = np.linalg.eigh(moment)
        known = stage.inverse_temperature * (n * plan.scores.slope / 2 * np.maximum(sizes, 0.0)) ** 2
        public = plan.model.parameters / (plan.prior_radius or 3 * math.sqrt(plan.model.parameters)) ** 2
        spread = (directions / (known + public)) @ directions.T
    else:
        if not math.isfinite(model.loss.smoothness):
            raise GibbsafeError(f"advice: {model.name} has a kinked loss, whose curvature nobody can say")
        curvature = n * model.loss.smoothness / 2 * moment
        spread = np.linalg.inv(stage.inverse_temperature * curvature + np.diag(stage.prior_precision))
    return float(math.sqrt(np.sum(moment * spread)))


def advise(study: Study, seed: int = 0) -> Advice:
    """Return what other declarations would buy; no data are read. For linear models with columns and a public n."""
    model = linear_model(study, "advice")
    n = study.n
    if n is None:
        raise GibbsafeError("advice: without a public number of records nothing can be said")
    if model.parameters > MOST_PARAMETERS:
        raise GibbsafeError(f"advice: for at most {MOST_PARAMETERS} parameters, not {model.parameters}")
    made = made_up_columns(study.columns, ROWS, np.random.default_rng(seed))
    chosen = study.plan()
    if chosen.sampler in SAMPLERS:  # one thing is changed at a time
        study = replace(study, theorem=chosen.theorem.name, sampler=chosen.sampler)
    encode = cache(lambda other: other.encode_features(made))

    def noise(changed: Study) -> float:
        return prediction_noise(changed.plan(), encode(linear_model(changed, "advice")))

    here = noise(study)
    columns = tuple(sorted(_without(study, noise), key=lambda row: row[2]))
    domain = model.domain
    assert isinstance(domain, Design)
    lengths = np.linalg.norm(domain.encode(domain.read(made)), axis=1)
    norms = []
    for share in SHARES_OF_NORM:
        norm = round(share * domain.natural_radius, 3)
        if norm < domain.radius:
            changed = replace(study, model_options={**study.model_options, "row_norm": norm})
            norms.append((norm, noise(changed), float(np.mean(lengths > norm))))
    epsilon = study.budget.epsilon
    trade = tuple(
        (rows, each, noise(replace(study, n=rows, budget=Budget(each, study.budget.delta))))
        for rows in (max(n // 4, 1), n, 4 * n)
        for each in (epsilon / 2, epsilon, 2 * epsilon)
    )
    return Advice(here, columns, tuple(norms), trade, tuple(_remarks(study, columns, norms, here)))


def _without(study: Study, noise: object) -> list[tuple[str, int, float]]:
    """Return each column with its number of parameters and the noise of predictions without it."""
    found = []
    products = tuple(study.model_options.get("interactions", ()))
    for column in sorted(study.columns, key=lambda column: -column.width)[:MOST_COLUMNS]:
        others = tuple(each for each in study.columns if each is not column)
        kept = [text for text in products if column.name not in text.split(":")]
        if not others:
            continue
        options = {key: value for key, value in study.model_options.items() if key != "interactions"}
        options |= {"interactions": tuple(kept)} if kept else {}
        assert callable(noise)
        found.append((column.name, column.width, noise(replace(study, columns=others, model_options=options))))
    return found


def _remarks(
    study: Study, columns: tuple[tuple[str, int, float], ...], norms: list[tuple[float, float, float]], here: float
) -> list[str]:
    lines = []
    if columns and columns[0][2] < here:
        name, width, without = columns[0]
        what = f"{width} levels or splines" if width > 1 else "one number"
        lines.append(f"{name} ({what}) costs most: without it predictions have {1 - without / here:.0%} less noise")
    for column in study.columns:
        if column.plain and column.kind == "number" and column.transform is None and column.bounds is not None:
            low, high = column.bounds
            if max(abs(low), abs(high)) >= 1e4 and high - low >= 1e4:
                lines.append(
                    f"{column.name}: a range of {high - low:g} leaves most values near 0 once scaled; "
                    "narrow the bounds, or transform = 'signed-log'"
                )
    useful = [row for row in norms if row[1] < here * 0.98 and row[2] < 0.5]
    if useful:
        norm, noise, share = min(useful, key=lambda row: row[1])
        lines.append(f"row_norm = {norm:g} would take {1 - noise / here:.0%} of the noise and shorten {share:.0%} of even rows")
    return lines
