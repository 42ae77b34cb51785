"""Hu et al. 2026: Figure 1 (private means compared) and Figures 2 and 3 (ε̂ against n for three regressions)."""

from __future__ import annotations

import math
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
    sample_posterior,
)
from gibbsafe.contamination.epsilon.quantiles import percentile_order
from gibbsafe.contamination.epsilon.repeats import Task, run
from gibbsafe.contamination.epsilon.tuning import fitted_exponent
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.reproduce import baselines
from gibbsafe.reproduce.hu import PAPER, SCALE, TRUTH, delta_of, paper_model, public_model

__all__ = ["REGRESSIONS", "conversions", "draw_figure1", "draw_figure2", "figure1", "figure2"]


def conversions(epsilon: float, delta: float) -> dict[str, float]:
    """Return ρ of (ε, δ) by the paper's rule ε²/(2 ln 1/δ) and by Bun and Steinke's theorem, (√(l + ε) − √l)² (E25).

    >>> {name: round(rho, 5) for name, rho in conversions(0.94, 1e-4).items()}
    {'paper': 0.04797, 'corrected': 0.02283}
    """
    log = math.log(1 / delta)
    return {"paper": epsilon**2 / (2 * log), "corrected": (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2}


def _mechanisms(records: baselines.SortedRecords, rho: float, rng: np.random.Generator) -> dict[str, Callable[[], float]]:
    return {
        "CoinPress, 3 steps": lambda: baselines.coinpress(records, 3, rho, rng, scale=SCALE).value,
        "CoinPress, 10 steps": lambda: baselines.coinpress(records, 10, rho, rng, scale=SCALE).value,
        "clipped mean, offset 1": lambda: baselines.clipped_mean_after_quantiles(records, rho, rng, offset=1.0).value,
        "clipped mean, offset 3": lambda: baselines.clipped_mean_after_quantiles(records, rho, rng, offset=3.0).value,
        "Gaussian on [−300, 300]": lambda: baselines.gaussian_mean(records, -300.0, 300.0, rho, rng).value,
    }


def figure1(
    *,
    sizes: Sequence[int] = tuple(PAPER),
    sets: int = 100,
    draws: int = 40,
    seed: int = 2,
    epsilons: dict[int, float] | None = None,
) -> list[JSON]:
    """Return one row per n, method, conversion and data set: the mean squared error of ``draws`` runs on that data set.

    The budget of the other methods is the paper's ε̂ (or ``epsilons``), converted to ρ by the paper's rule and by the right one.
    The posterior draws need no budget: their ε̂ is what is spent. "mean" is the mean of the clean records, with no privacy.
    """
    rng = np.random.default_rng(seed)
    rows: list[JSON] = []
    for n in sizes:
        budget = conversions((epsilons or PAPER)[n], delta_of(n))
        for index in range(sets):
            clean, w = paper_model().simulate(n, np.array([TRUTH]), rng)
            records = baselines.SortedRecords(clean)
            errors: dict[tuple[str, str], float] = {("mean", "none"): (float(clean.mean()) - TRUTH) ** 2}
            for name, model in (("posterior draw", paper_model()), ("posterior draw, public g", public_model())):
                kept = [
                    sample_posterior(
                        model, model.contaminate((clean, w), rng, truth=np.array([TRUTH])), max(1, draws // 5), generator=rng
                    ).draws
                    for _ in range(5)
                ]
                errors[name, "none"] = float(np.mean((np.concatenate(kept) - TRUTH) ** 2))
            for conversion, rho in budget.items():
                for name, mechanism in _mechanisms(records, rho, rng).items():
                    errors[name, conversion] = float(np.mean([(mechanism() - TRUTH) ** 2 for _ in range(draws)]))
            rows += [
                {"n": n, "method": name, "conversion": conversion, "set": index, "mse": value}
                for (name, conversion), value in errors.items()
            ]
    return rows


def draw_figure1(rows: list[JSON], path: Path, *, force: bool = False) -> None:
    """Draw box plots of the mean squared error, one panel per conversion; the clean mean's average error as short lines."""
    sizes = sorted({row["n"] for row in rows})
    with panels(path, 1, 2, width=13, height=4.8, force=force) as axes:
        for panel, conversion in zip(axes.flat, ("paper", "corrected"), strict=True):
            shown = [row for row in rows if row["conversion"] in {"none", conversion}]
            _draw_boxes(panel, shown, sizes)
            panel.set_yscale("log")
            panel.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
            panel.set_xlabel("records n")
            panel.set_ylabel("mean squared error per data set")
            title = "budget by the paper's conversion" if conversion == "paper" else "budget by the theorem's conversion (E25)"
            panel.set_title(title, loc="left")
        axes.flat[0].legend(frameon=False, fontsize=7, ncols=2)


def _draw_boxes(panel: Any, rows: list[JSON], sizes: list[int]) -> None:
    def values(name: str) -> list[list[float]]:
        return [[row["mse"] for row in rows if row["method"] == name and row["n"] == n] for n in sizes]

    colours = ("#08519c", "#6baed6", "#a63603", "#fd8d3c", "#238b45", "#a1d99b", "#969696")
    names = sorted({row["method"] for row in rows} - {"mean"}, key=lambda name: (not name.startswith("posterior"), name))
    for k, name in enumerate(names):
        places = np.arange(len(sizes)) + (k - (len(names) - 1) / 2) * 0.8 / len(names)
        style = {"color": colours[k % len(colours)]}
        face = {"facecolor": style["color"], "alpha": 0.5, "edgecolor": style["color"]}
        panel.boxplot(
            values(name), positions=places, widths=0.7 / len(names), showfliers=False, patch_artist=True, boxprops=face,
            medianprops=style, whiskerprops=style, capprops=style,
        )  # fmt: skip
        panel.plot([], [], color=style["color"], linewidth=5, alpha=0.6, label=name)
    means = [float(np.mean(part)) for part in values("mean")]
    centres = np.arange(len(sizes))
    panel.hlines(means, centres - 0.45, centres + 0.45, color="black", linestyle=":", label="mean without privacy")


def _truth(d: int) -> Floats:
    return 0.5 * np.where(np.arange(d) % 2 == 0, 1.0, -1.0)


#: The paper's regressions (§4.3): name, contaminated, model of d columns. Only the linear one follows the truth, as printed.
REGRESSIONS: tuple[tuple[str, bool, Callable[[int], ContaminatedModel]], ...] = (
    ("linear", True, lambda d: ContaminatedLinearRegression(columns=d, contamination=CentredAtTruth(StudentT(5.0)))),
    ("logistic", True, lambda d: ContaminatedLogisticRegression(columns=d)),
    ("logistic", False, lambda d: ContaminatedLogisticRegression(columns=d, contaminated=False)),
    ("Cauchy", True, lambda d: ContaminatedCauchyRegression(columns=d)),
    ("Cauchy", False, lambda d: ContaminatedCauchyRegression(columns=d, contaminated=False)),
)


def figure2(
    *,
    sizes: Sequence[int] = (1000, 2000, 5000, 10_000, 20_000, 50_000),
    dimensions: Sequence[int] = (5, 10),
    repeats: int = 60,
    seed: int = 3,
    workers: int = 1,
) -> list[JSON]:
    """Return ε̂ by Algorithm 1 (boxes sized by half-spaces instead of particles) for every regression, d and n.

    Each row has the 99 % quantile and the median over ``repeats`` data sets, the normal approximation of one data set's exact ε,
    and the exponents fitted over the sizes.
    """
    rows: list[JSON] = []
    for name, contaminated, build in REGRESSIONS:
        for d in dimensions:
            of_size: list[JSON] = []
            for n in sizes:
                task = Task(build(d), n, _truth(d), delta_of(n), "paper", "replace-one", None)
                values = np.sort(run(task, repeats, seed, workers=workers, progress=False))
                shortcut = Task(build(d), n, _truth(d), delta_of(n), "gaussian", "replace-one")
                of_size.append(
                    {
                        "model": name,
                        "contaminated": contaminated,
                        "d": d,
                        "n": n,
                        "quantile99": float(values[percentile_order(repeats, 0.99) - 1]),
                        "median": float(np.median(values)),
                        "gaussian_approximation": shortcut.one(np.random.SeedSequence(seed)),
                        "repeats": repeats,
                    }
                )
            for row in of_size:
                row["exponent_quantile99"] = fitted_exponent(sizes, [other["quantile99"] for other in of_size])
                row["exponent_median"] = fitted_exponent(sizes, [other["median"] for other in of_size])
            rows += of_size
    return rows


def draw_figure2(rows: list[JSON], path: Path, *, force: bool = False) -> None:
    """Draw ε̂ against n on linear (Figure 2) and logarithmic axes (Figure 3), with the fitted powers continued palely."""
    with panels(path, 2, 3, width=12, height=7, force=force) as axes:
        for column, name in enumerate(("linear", "logistic", "Cauchy")):
            for line, scale in enumerate(("linear", "log")):
                panel = axes[line][column]
                _draw_panel(panel, [row for row in rows if row["model"] == name])
                panel.set_xscale("log")
                panel.set_yscale(scale)
                panel.set_title(f"{name} regression", loc="left")
                panel.set_xlabel("records n")
                panel.set_ylabel("ε̂ (99 % quantile)")
                panel.legend(frameon=False, fontsize=7, handlelength=4)


def _draw_panel(panel: Any, rows: list[JSON]) -> None:
    for d, colour in ((5, "#08519c"), (10, "#a63603")):
        for contaminated, dash in ((True, "-"), (False, "--")):
            shown = [row for row in rows if row["d"] == d and row["contaminated"] is contaminated]
            if not shown:
                continue
            n = np.array([row["n"] for row in shown], dtype=np.float64)
            epsilon = np.array([row["quantile99"] for row in shown])
            slope = shown[0]["exponent_quantile99"]
            label = f"d = {d}, {'contaminated' if contaminated else 'not contaminated'}: n^{slope:.2f}"
            panel.plot(n, epsilon, dash, marker="o", markersize=3, color=colour, label=label)
            far = np.geomspace(n[-1], 1e7, 20)
            panel.plot(far, epsilon[-1] * (far / n[-1]) ** slope, dash, color=colour, alpha=0.25)
