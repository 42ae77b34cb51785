"""Hu et al. 2026, Figure 1: private means compared at equal budgets.

CoinPress runs both ways: told the data's scale σ = 8, and with the scale left at 1 as if records had unit variance. Only the
second shows what the paper says of three steps, that they cease to improve with n; whether the authors ran it so is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gibbsafe._plotting import panels
from gibbsafe._types import JSON, Floats
from gibbsafe.contamination import ContaminatedNormalMean, sample_posterior
from gibbsafe.reproduce import baselines
from gibbsafe.reproduce.hu import PAPER, SCALE, TRUTH, delta_of, paper_model, public_model
from gibbsafe.reproduce.results import Results

__all__ = ["averages", "conversions", "draw_figure1", "figure1"]

#: How CoinPress is told the scale of the records: the true one, or none, which it takes for 1.
TOLD = {"told σ": SCALE, "scale = 1": 1.0}
#: Contaminations of one data set: the draws are shared among them.
CONTAMINATIONS = 5


def conversions(epsilon: float, delta: float) -> dict[str, float]:
    """Return ρ of (ε, δ) by the paper's rule ε²/(2 ln 1/δ) and by Bun and Steinke's theorem, (√(l + ε) − √l)² (E25).

    >>> {name: round(rho, 5) for name, rho in conversions(0.94, 1e-4).items()}
    {'paper': 0.04797, 'corrected': 0.02283}
    """
    log = math.log(1 / delta)
    return {"paper": epsilon**2 / (2 * log), "corrected": (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2}


def _mechanisms(records: baselines.SortedRecords, rho: float, rng: np.random.Generator) -> dict[str, Callable[[], float]]:
    def coinpress(steps: int, scale: float) -> Callable[[], float]:
        return lambda: baselines.coinpress(records, steps, rho, rng, scale=scale).value

    def clipped(offset: float) -> Callable[[], float]:
        return lambda: baselines.clipped_mean_after_quantiles(records, rho, rng, offset=offset).value

    pressed = {f"CoinPress, {steps} steps, {told}": coinpress(steps, scale) for steps in (3, 10) for told, scale in TOLD.items()}
    return pressed | {
        "clipped mean, offset 1": clipped(1.0),
        "clipped mean, offset 3": clipped(3.0),
        "Gaussian on [−300, 300]": lambda: baselines.gaussian_mean(records, -300.0, 300.0, rho, rng).value,
    }


def draws_of(model: ContaminatedNormalMean, clean: tuple[Floats, Floats], draws: int, rng: np.random.Generator) -> Floats:
    """Return ``draws`` draws of the contaminated posterior, over a few contaminations of the same records."""
    each = max(1, draws // CONTAMINATIONS)
    kept = [
        sample_posterior(model, model.contaminate(clean, rng, truth=np.array([TRUTH])), each, generator=rng).draws
        for _ in range(min(CONTAMINATIONS, draws))
    ]
    return np.concatenate(kept)


def _errors(n: int, draws: int, epsilon: float, rng: np.random.Generator) -> list[list[Any]]:
    """Return [method, conversion, mean squared error] on one data set."""
    clean = paper_model().simulate(n, np.array([TRUTH]), rng)
    records = baselines.SortedRecords(clean[0])
    made: list[list[Any]] = [["mean", "none", (float(clean[0].mean()) - TRUTH) ** 2]]
    for name, model in (("posterior draw", paper_model()), ("posterior draw, public g", public_model())):
        made.append([name, "none", float(np.mean((draws_of(model, clean, draws, rng) - TRUTH) ** 2))])
    for conversion, rho in conversions(epsilon, delta_of(n)).items():
        for name, mechanism in _mechanisms(records, rho, rng).items():
            made.append([name, conversion, float(np.mean([(mechanism() - TRUTH) ** 2 for _ in range(draws)]))])
    return made


def simulate(piece: JSON) -> list[Any]:
    """Return the errors on the data sets of one piece."""
    seeds = ([piece["seed"], piece["n"], piece["first"] + k] for k in range(piece["count"]))
    return [_errors(piece["n"], piece["draws"], piece["epsilon"], np.random.default_rng(seed)) for seed in seeds]


def figure1(
    *,
    sizes: Sequence[int] = tuple(PAPER),
    sets: int = 100,
    draws: int = 40,
    seed: int = 2,
    epsilons: dict[int, float] | None = None,
    workers: int = 1,
    results: Results | None = None,
    progress: bool | None = False,
) -> list[JSON]:
    """Return one row per n, method, conversion and data set: the mean squared error of ``draws`` runs on that data set.

    The budget of the other methods is the paper's ε̂ (or ``epsilons``), converted to ρ by the paper's rule and by the right one.
    The posterior draws need no budget: their ε̂ is what is spent. "mean" is the mean of the clean records, with no privacy.
    """
    budget = epsilons or PAPER
    cells = [{"figure": "hu-figure1", "n": n, "epsilon": budget[n], "draws": draws, "seed": seed} for n in sizes]
    kept = Results() if results is None else results
    found = kept.complete(cells, sets, simulate, size=10, workers=workers, progress=progress)
    return [
        {"n": n, "method": method, "conversion": conversion, "set": index, "mse": value}
        for n, of_size in zip(sizes, found, strict=True)
        for index, errors in enumerate(of_size)
        for method, conversion, value in errors
    ]


def averages(rows: list[JSON]) -> list[JSON]:
    """Return the mean over data sets, with its standard error, for every n, method and conversion."""
    grouped: dict[tuple[int, str, str], list[float]] = {}
    for row in rows:
        grouped.setdefault((row["n"], row["method"], row["conversion"]), []).append(row["mse"])
    return [
        {
            **{"n": n, "method": method, "conversion": conversion, "mse": float(np.mean(values))},
            **{"standard_error": float(np.std(values) / math.sqrt(len(values))), "sets": len(values)},
        }
        for (n, method, conversion), values in grouped.items()
    ]


def draw_figure1(rows: list[JSON], path: Path, *, force: bool = False) -> None:
    """Draw box plots of the mean squared error: a column per conversion of the budget, a row per way of running CoinPress."""
    sizes = sorted({row["n"] for row in rows})
    with panels(path, 2, 2, width=14, height=9, force=force) as axes:
        for line, told in enumerate(TOLD):
            for column, conversion in enumerate(("paper", "corrected")):
                panel = axes[line][column]
                shown = [row for row in rows if row["conversion"] in {"none", conversion} and _belongs(row["method"], told)]
                _draw_boxes(panel, shown, sizes)
                panel.set_yscale("log")
                panel.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
                panel.set_xlabel("records n")
                panel.set_ylabel("mean squared error per data set")
                of_budget = "the paper's conversion" if conversion == "paper" else "the theorem's conversion (E25)"
                of_scale = "CoinPress told σ = 8" if told == "told σ" else "CoinPress with scale = 1"
                panel.set_title(f"Figure 1, {of_scale}; budget by {of_budget}", loc="left", fontsize=9)
                panel.set_ylim(5e-4, 3e2)
            axes[line][0].legend(frameon=False, fontsize=7, ncols=2)


def _belongs(method: str, told: str) -> bool:
    return not method.startswith("CoinPress") or method.endswith(told)


def _place(name: str) -> tuple[bool, int, str]:
    """Return where a method stands: posterior draws first, then by steps and name."""
    return not name.startswith("posterior"), len(name) if name.startswith("CoinPress") else 99, name


def _draw_boxes(panel: Any, rows: list[JSON], sizes: list[int]) -> None:
    def values(name: str) -> list[list[float]]:
        return [[row["mse"] for row in rows if row["method"] == name and row["n"] == n] for n in sizes]

    colours = ("#08519c", "#6baed6", "#a63603", "#fd8d3c", "#238b45", "#a1d99b", "#969696")
    names = sorted({row["method"] for row in rows} - {"mean"}, key=_place)
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
