"""Hu et al. 2026, Figures 2 and 3: ε̂ against n for three regressions; and the factor by which contamination lowers it.

The paper does not give the true parameters: here θ* = a·(1, −1, 1, …) with a = ½ unless said otherwise, an intercept column and
uniform covariates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gibbsafe._plotting import panels
from gibbsafe._types import JSON, Floats
from gibbsafe.contamination import (
    CentredAtTruth,
    ContaminatedCauchyRegression,
    ContaminatedLinearRegression,
    ContaminatedLogisticRegression,
    StudentT,
)
from gibbsafe.contamination.epsilon.quantiles import interval_orders, percentile_order
from gibbsafe.contamination.epsilon.repeats import Task
from gibbsafe.contamination.epsilon.tuning import fitted_exponent
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.reproduce.hu import delta_of, seed_of
from gibbsafe.reproduce.results import Results

__all__ = ["REGRESSIONS", "SIZES", "draw_regressions", "logistic_factor", "regressions"]

SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 500_000)
#: From here on exponents are fitted: below, the box is saturated and the slope says nothing about larger n.
FIT_FROM = 5000
RESAMPLES = 1000

#: The paper's regressions (§4.3): name, contaminated, model of d columns. Only the linear one follows the truth, as printed.
REGRESSIONS: dict[tuple[str, bool], Callable[[int], ContaminatedModel]] = {
    ("linear", True): lambda d: ContaminatedLinearRegression(columns=d, contamination=CentredAtTruth(StudentT(5.0))),
    ("logistic", True): lambda d: ContaminatedLogisticRegression(columns=d),
    ("logistic", False): lambda d: ContaminatedLogisticRegression(columns=d, contaminated=False),
    ("Cauchy", True): lambda d: ContaminatedCauchyRegression(columns=d),
    ("Cauchy", False): lambda d: ContaminatedCauchyRegression(columns=d, contaminated=False),
}


def truth_of(d: int, size: float) -> Floats:
    """Return θ* = a·(1, −1, 1, …)."""
    return size * np.where(np.arange(d) % 2 == 0, 1.0, -1.0)


def simulate(piece: JSON) -> list[Any]:
    """Return ε̂ by Algorithm 1 (boxes sized by half-spaces instead of particles) of the data sets of one piece."""
    n, d = piece["n"], piece["d"]
    model = REGRESSIONS[piece["model"], piece["contaminated"]](d)
    task = Task(model, n, truth_of(d, piece["truth"]), delta_of(n), "paper", "replace-one", None)
    return [task.one(seed_of(piece["seed"], piece["first"] + k)) for k in range(piece["count"])]


def _cell(name: str, contaminated: bool, d: int, n: int, *, truth: float, seed: int) -> JSON:
    return {
        "figure": "hu-regressions", "model": name, "contaminated": contaminated, "d": d, "n": n, "truth": truth, "seed": seed,
    }  # fmt: skip


def _order_statistics(values: Sequence[float], quantile: float) -> tuple[float | None, list[float] | None]:
    """Return a quantile with its 95 % interval; neither where the repeats are too few for an interval."""
    ordered = np.sort(values)
    ends = interval_orders(len(ordered), quantile)
    if ends is None:
        return None, None
    return float(ordered[percentile_order(len(ordered), quantile) - 1]), [float(ordered[end - 1]) for end in ends]


def _resampled_medians(values: Sequence[float], rng: np.random.Generator) -> Floats:
    return np.asarray(np.median(rng.choice(np.asarray(values), (RESAMPLES, len(values))), axis=1), dtype=np.float64)


def _interval(values: Sequence[float] | Floats) -> list[float]:
    low, high = np.quantile(values, (0.025, 0.975))
    return [float(low), float(high)]


def _exponent(sizes: Sequence[int], values: Sequence[Sequence[float]]) -> JSON:
    """Return the slope of log median ε̂ against log n from `FIT_FROM` on, and its 95 % interval by resampling data sets."""
    used = [k for k, n in enumerate(sizes) if n >= FIT_FROM]
    if len(used) < 2:
        used = list(range(len(sizes)))
    if len({sizes[k] for k in used}) < 2:
        return {"exponent": None, "exponent_interval": None, "exponent_from": None}
    rng = np.random.default_rng(0)
    at = [sizes[k] for k in used]
    medians = np.stack([_resampled_medians(values[k], rng) for k in used])
    slopes = [fitted_exponent(at, list(column)) for column in medians.T]
    return {
        "exponent": fitted_exponent(at, [float(np.median(values[k])) for k in used]),
        "exponent_interval": _interval(slopes),
        "exponent_from": min(at),
    }


def regressions(
    *,
    sizes: Sequence[int] = SIZES,
    dimensions: Sequence[int] = (5, 10),
    repeats: int = 40,
    truth: float = 0.5,
    seed: int = 3,
    workers: int = 1,
    results: Results | None = None,
    progress: bool | None = False,
) -> list[JSON]:
    """Return ε̂ by Algorithm 1 for every regression, d and n: what Figures 2 and 3 show.

    Each row has the median over ``repeats`` data sets with its 95 % interval, and the 99 % quantile with its own only where there
    are enough repeats to have one (368 at least); the exponent is fitted to medians, with an interval by resampling.
    """
    curves = [(name, contaminated, d) for name, contaminated in REGRESSIONS for d in dimensions]
    cells = [_cell(*curve, n, truth=truth, seed=seed) for n in sizes for curve in curves]
    kept = Results() if results is None else results
    found = dict(
        zip(
            ((cell["n"], cell["model"], cell["contaminated"], cell["d"]) for cell in cells),
            kept.complete(cells, repeats, simulate, workers=workers, progress=progress),
            strict=True,
        )
    )
    rows: list[JSON] = []
    for name, contaminated, d in curves:
        values = [found[n, name, contaminated, d] for n in sizes]
        fit = _exponent(sizes, values)
        for n, of_size in zip(sizes, values, strict=True):
            quantile, quantile_interval = _order_statistics(of_size, 0.99)
            _, median_interval = _order_statistics(of_size, 0.5)
            row = {"model": name, "contaminated": contaminated, "d": d, "n": n, "truth": truth}
            row |= {"median": float(np.median(of_size)), "median_interval": median_interval}
            row |= {"quantile99": quantile, "quantile99_interval": quantile_interval, "repeats": len(of_size)}
            rows.append(row | fit)
    return rows


def logistic_factor(
    *,
    sizes: Sequence[int] = (1000, 5000, 20_000),
    dimensions: Sequence[int] = (5, 10),
    truths: Sequence[float] = (0.0, 0.5, 1.0),
    repeats: int = 20,
    seed: int = 3,
    workers: int = 1,
    results: Results | None = None,
    progress: bool | None = False,
) -> list[JSON]:
    """Return by what factor contamination lowers the median ε̂ of logistic regression, for true parameters of several sizes.

    The paper says "approximately by a factor of four" without saying at which θ*. The interval is by resampling data sets.
    """
    at = [(truth, d, n) for truth in truths for d in dimensions for n in sizes]
    cells = [
        _cell("logistic", contaminated, d, n, truth=truth, seed=seed) for truth, d, n in at for contaminated in (False, True)
    ]
    kept = Results() if results is None else results
    found = kept.complete(cells, repeats, simulate, workers=workers, progress=progress)
    rng, rows = np.random.default_rng(0), []
    for (truth, d, n), clean, contaminated in zip(at, found[::2], found[1::2], strict=True):
        ratios = _resampled_medians(clean, rng) / _resampled_medians(contaminated, rng)
        factor = float(np.median(clean) / np.median(contaminated))
        rows.append({"truth": truth, "d": d, "n": n, "factor": factor, "interval": _interval(ratios), "repeats": len(clean)})
    return rows


def draw_regressions(rows: list[JSON], path: Path, *, number: int, force: bool = False) -> None:
    """Draw Figure 2 (ε̂ on a linear axis) or Figure 3 (the same on a logarithmic one), with the fitted powers continued palely."""
    quantiles = any(row["quantile99"] is not None for row in rows)
    said = "ε̂: median with 95 % interval" + ("; △ 99 % quantile, where repeats suffice" if quantiles else "")
    with panels(path, 1, 3, width=14, height=4.6, force=force) as axes:
        for panel, name in zip(axes.flat, ("linear", "logistic", "Cauchy"), strict=True):
            _draw_panel(panel, [row for row in rows if row["model"] == name])
            panel.set_xscale("log")
            panel.set_yscale("linear" if number == 2 else "log")
            panel.set_title(f"Figure {number}: {name} regression", loc="left")
            panel.set_xlabel("records n")
            panel.set_ylabel(said, fontsize=8)
            panel.legend(frameon=False, fontsize=7, handlelength=4)


def _draw_panel(panel: Any, rows: list[JSON]) -> None:
    for d, colour in ((5, "#08519c"), (10, "#a63603")):
        for contaminated, dash in ((True, "-"), (False, "--")):
            shown = [row for row in rows if row["d"] == d and row["contaminated"] is contaminated]
            if not shown:
                continue
            n = np.array([row["n"] for row in shown], dtype=np.float64)
            median = np.array([row["median"] for row in shown])
            ends = np.array([row["median_interval"] or [row["median"]] * 2 for row in shown]).T
            label = f"d = {d}, {'contaminated' if contaminated else 'not contaminated'}"
            slope, interval = shown[0]["exponent"], shown[0]["exponent_interval"]
            if slope is not None:
                label += f": n^{slope:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
                far = np.geomspace(n[-1], 1e7, 20)
                panel.plot(far, median[-1] * (far / n[-1]) ** slope, dash, color=colour, alpha=0.25)
            spread = np.abs(ends - median)
            panel.errorbar(n, median, spread, fmt=dash, marker="o", markersize=3, color=colour, label=label, capsize=2)
            top = [(row["n"], row["quantile99"]) for row in shown if row["quantile99"] is not None]
            if top:
                panel.plot(*zip(*top, strict=True), "^", markerfacecolor="none", color=colour, markersize=5)
