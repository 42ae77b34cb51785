"""Rehearsals: what a study would release of a made-up table of its shape, at several ε, before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from gibbsafe._plotting import panels, require_picture
from gibbsafe._types import JSON, Floats, Values
from gibbsafe._validate import count, fail, positive
from gibbsafe.domains.encoding import Design
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.capabilities import PredictsProbabilities
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.release import Release
from gibbsafe.study.declaration import Study
from gibbsafe.study.shapes import INVERSES, linear_model, made_up_columns, made_up_response, true_parameter

__all__ = ["Rehearsal", "rehearse"]

#: Rows that are simulated unless another number is asked for, at most; and fresh ones on which releases are judged.
MOST_ROWS, JUDGED = 100_000, 5_000
#: Rows under add-remove, where a study has no n.
WITHOUT_N = 10_000
#: The share of further releases that the stated error is about.
LEVEL = 0.95
#: Parameters that a picture has room for.
MOST_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What was released of made-up tables. ``loss`` is on fresh rows; the true parameter and knowing nothing stand beside it.

    Attributes:
        epsilons: the budgets, with the study's δ.
        estimates: per ε, repeat and parameter, in the table's units: means of what was released.
        intervals: per ε and parameter (low, high) of the first repeat, 90 % for the true parameter; NaN where there is none.
        losses: per ε and repeat.
        reach: per parameter how far its column goes, from one declared end to the other: pictures show coefficients times that.
    """

    epsilons: tuple[float, ...]
    parameters: tuple[str, ...]
    truth: Floats
    estimates: Floats
    intervals: Floats
    losses: Floats
    loss_of_truth: float
    loss_of_nothing: float
    loss: str
    rows: int
    note: str
    reach: Floats

    def expected(self) -> list[tuple[float, float, float]]:
        """Return per ε the mean loss, and between which ends that of one more release lies, 19 times in 20 (Student's t).

        No loss is below 0, and no interval reaches there.
        """
        k = self.losses.shape[1]
        reach = float(student.ppf((1 + LEVEL) / 2, k - 1)) * np.sqrt(1 + 1 / k) * self.losses.std(axis=1, ddof=1)
        means = self.losses.mean(axis=1)
        return [(float(m), max(float(m - r), 0.0), float(m + r)) for m, r in zip(means, reach, strict=True)]

    def to_dict(self) -> JSON:
        """Return plain data."""
        names = self.parameters
        return {
            "rows": self.rows,
            "note": self.note,
            "truth": dict(zip(names, self.truth.tolist(), strict=True)),
            "loss": {"name": self.loss, "of_truth": self.loss_of_truth, "of_nothing": self.loss_of_nothing},
            "releases": [
                {
                    "epsilon": epsilon,
                    "loss": {"mean": mean, "low": low, "high": high},
                    "parameters": {
                        name: {
                            "mean": float(self.estimates[k, :, j].mean()),
                            "sd": float(self.estimates[k, :, j].std(ddof=1)),
                            "interval": [float(end) for end in self.intervals[k, j]]
                            if np.isfinite(self.intervals[k, j]).all()
                            else None,
                        }
                        for j, name in enumerate(names)
                    },
                }
                for k, (epsilon, (mean, low, high)) in enumerate(zip(self.epsilons, self.expected(), strict=True))
            ],
        }

    def draw(self, path: Path | str, *, force: bool = False) -> None:
        """Draw the first release's coefficients with their intervals, and the loss of all, against ε."""
        require_picture(path, force=force)
        with panels(path, 1, 2, width=11.0, height=4.4, force=force) as axes:
            left, right = axes[0]
            places = np.arange(len(self.epsilons))
            self._draw_coefficients(left, places)
            means, low, high = np.array(self.expected()).T
            right.errorbar(
                places, means, yerr=[means - low, high - means], fmt="o-", capsize=3, label="one more release, 19 of 20"
            )
            right.axhline(self.loss_of_truth, linestyle=":", color="0.3", label="true parameter")
            right.axhline(self.loss_of_nothing, linestyle="--", color="0.6", label="knowing nothing")
            right.set_ylabel(f"{self.loss} on fresh rows")
            right.legend(fontsize=8)
            for each in (left, right):
                each.set_xticks(places, [f"{epsilon:g}" for epsilon in self.epsilons])
                each.set_xlabel("ε")

    def _draw_coefficients(self, axes: Any, places: Any) -> None:
        shown = range(min(len(self.parameters), MOST_SHOWN))
        for j in shown:
            at = places + (j - (len(shown) - 1) / 2) * 0.1
            middle = self.estimates[:, 0, j]
            known = np.isfinite(self.intervals[:, j])
            ends = np.where(known, self.intervals[:, j], middle[:, None])
            bars = np.maximum([middle - ends[:, 0], ends[:, 1] - middle], 0.0) * self.reach[j]
            drawn = axes.errorbar(at, middle * self.reach[j], yerr=bars, fmt="o", capsize=2, label=self.parameters[j])
            axes.plot(at, np.full(len(at), self.truth[j] * self.reach[j]), "_", markersize=12, color=drawn[0].get_color())
        axes.axhline(0.0, linewidth=0.8, color="0.8", zorder=0)
        axes.set_title("90 % intervals of one release; dashes: truth", fontsize=9)
        axes.set_ylabel("coefficient × range of its column")
        axes.legend(fontsize=8)


def rehearse(
    study: Study,
    *,
    epsilons: Sequence[float] | None = None,
    rows: int | None = None,
    repeats: int = 3,
    effect: float = 1.0,
    seed: int = 0,
) -> Rehearsal:
    """Simulate tables of the declared shape and release each as the study would, at several ε. No data, no ledger, no charge.

    Columns are independent, even over their bounds and levels; responses come from the model at a made-up parameter.

    Args:
        study: with a linear model, its columns and target.
        epsilons: by default a quarter of the study's ε to four times it.
        rows: by default the study's n (at most 100,000; 10,000 under add-remove).
        repeats: made-up tables for every ε, 2 or more; their spread is the stated error.
        effect: standard deviation of the true predictor, of log odds or in the model's unit of the response.
        seed: of all simulations.
    """
    model = linear_model(study, "rehearse")
    base = study.budget.epsilon
    listed = tuple(positive("epsilon", each) for each in (epsilons or (base / 4, base / 2, base, 2 * base, 4 * base)))
    size = count("rows", min(study.n or WITHOUT_N, MOST_ROWS) if rows is None else rows)
    repeats, effect = count("repeats", repeats, least=2), positive("effect", effect)
    if not isinstance(study.budget, Budget):
        fail("budget", study.budget, "a proved one")
    random = np.random.default_rng(count("seed", seed, least=0))
    fresh = made_up_columns(study.columns, JUDGED, random)
    truth = true_parameter(model, fresh, effect, random, study.target)
    answers = made_up_response(model, fresh, truth, random, study.target)
    of_n = study.adjacency == Adjacency.REPLACE_ONE
    estimates, intervals, losses = [], [], []
    for epsilon in listed:
        planned = replace(study, budget=Budget(epsilon, study.budget.delta), n=size if of_n else study.n)
        released = [_released(planned, model, truth, size, random) for _ in range(repeats)]
        estimates.append([release.draws.mean(axis=0) for release in released])
        intervals.append(_interval(released[0]))
        losses.append([_loss(model, release.draws, fresh, answers)[1] for release in released])
    name, least = _loss(model, truth[None], fresh, answers)
    _, nothing = _loss(model, model.to_original(np.zeros((1, model.parameters))), fresh, answers)
    fewer = "" if study.n in (None, size) else f", of {study.n:,} that the study declares"
    note = f"made-up tables of {size:,} rows{fewer}; columns independent and even over what is declared, effect {effect:g}"
    return Rehearsal(
        listed, model.parameter_names, truth, np.array(estimates), np.array(intervals), np.array(losses), least, nothing, name,
        size, note, _reach(model),
    )  # fmt: skip


def _reach(model: LinearModel) -> Floats:
    """Return how far each encoded column goes in the table's units; 1 for the intercept."""
    domain = model.domain
    assert isinstance(domain, Design)
    low, high = domain.encoded_ends()
    return np.concatenate([(high - low) / domain.scale, np.ones(model.parameters - model.dimension)])


def _released(study: Study, model: LinearModel, truth: Floats, rows: int, random: np.random.Generator) -> Release:
    """Release one made-up table as `Study.release` would."""
    columns = made_up_columns(study.columns, rows, random)
    target = study.target
    assert target is not None
    response: Any = made_up_response(model, columns, truth, random, target)
    if target.transform is not None:
        response = INVERSES[target.transform](response)
    people = {} if study.person_column is None else {study.person_column: np.arange(rows)}
    return study.release({**columns, target.source: response, **people}, generator=random, progress=False)


def _interval(released: Release) -> Floats:
    """Return the 90 % interval of every true parameter; NaN where the release knows none."""
    try:
        found = released.interval(0.9)
    except GibbsafeError:
        return np.full((len(released.parameters), 2), np.nan)
    return np.column_stack([found.lower, found.upper])


def _loss(model: LinearModel, draws: Floats, columns: JSON, answers: Values) -> tuple[str, float]:
    """Return how wrong predictions are: log-loss of probabilities, else the share of wrong labels or the mean absolute error."""
    labels = getattr(model, "labels", None)
    if isinstance(model, PredictsProbabilities) and labels is not None:
        chances = model.predict_proba(columns, draws)[:, 1]
        positive_class = np.asarray(answers == labels[1])
        chosen = np.where(positive_class, chances, 1 - chances)
        return "log-loss", float(-np.log(np.maximum(chosen, 1e-300)).mean())
    predicted: Any = model.predict(columns, draws)  # type: ignore[attr-defined]
    if labels is not None:
        return "share of wrong labels", float(np.mean(predicted != answers))
    return "mean absolute error", float(np.mean(np.abs(predicted - answers)))
