"""The report's pictures as inline SVG: drawn once, readable on light and dark pages, nothing fetched from elsewhere.

They need matplotlib; `page` leaves them out where it is absent.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.report.attack import true_positive_rates

if TYPE_CHECKING:
    from gibbsafe.planning import Plan
    from gibbsafe.population import Intervals, Overview

__all__ = ["attack_curve", "forest", "marginals", "privacy_curve"]

INK = "#102030"  # stands for the page's own text colour
ACCENT = "#3f83c5"
WARM = "#d0703a"
#: Draws from which on their density is drawn.
FOR_DENSITY = 30


@contextmanager
def _drawing(width: float, height: float, rows: int = 1, columns: int = 1, label: str = "") -> Iterator[tuple[Any, list[str]]]:
    """Yield axes to draw on; when done, the list holds the SVG element."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "gibbsafe",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "legend.frameon": False,
        "axes.titlesize": 9,
    }
    pictures: list[str] = []
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.subplots(rows, columns, squeeze=False)
        for each in axes.flat:
            each.patch.set_alpha(0)
        yield axes, pictures
        text = io.StringIO()
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    body = text.getvalue()
    svg = body[body.index("<svg") :]
    svg = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg class="figure" viewBox="\1" role="img" aria-label="{label}">', svg, count=1
    )
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px var(--sans)", svg)
    pictures.append(svg.replace(INK, "currentColor"))


def _plain(text: str, most: int = 34) -> str:
    """Return a label that matplotlib will not read as a formula, and that fits."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.replace("$", r"\$")


def privacy_curve(plan: Plan) -> str:
    """Return δ as a function of ε, with the budget marked: the claim is the whole curve, the budget one point of it."""
    guarantee, budget = plan.guarantee, plan.budget
    top = max(2 * budget.epsilon, 1e-3)
    epsilons = np.linspace(0, top, 81)
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in epsilons])
    floor = 1e-15
    with _drawing(6.6, 2.9, label="privacy curve") as (axes, pictures):
        axis = axes[0, 0]
        shown = deltas > floor
        axis.semilogy(epsilons[shown], deltas[shown], color=ACCENT, linewidth=1.8)
        axis.fill_between(epsilons, np.maximum(deltas, floor), 1.0, color=ACCENT, alpha=0.12, linewidth=0)
        marked = max(budget.delta, floor)
        axis.plot([budget.epsilon], [marked], "o", color=WARM, markersize=6)
        axis.annotate(
            f"budget: ε = {budget.epsilon:g}, δ = {budget.delta:g}",
            (budget.epsilon, marked),
            xytext=(8, 8),
            textcoords="offset points",
        )
        axis.set(xlabel="ε", ylabel="δ (upper bound)", xlim=(0, top), ylim=(max(floor, min(marked, deltas[shown].min()) / 10), 1))
    return pictures[0]


def attack_curve(plan: Plan) -> str:
    """Return the best attacker's true-positive rate against the false-positive rate, beside a blind guess."""
    rates = np.concatenate([[1e-4, 3e-4, 1e-3, 3e-3], np.linspace(0.01, 0.99, 50)])
    best = true_positive_rates(plan.guarantee, rates)
    with _drawing(3.6, 3.0, label="what the best membership attacker can do") as (axes, pictures):
        axis = axes[0, 0]
        axis.plot([0, 1], [0, 1], linestyle="--", color=INK, linewidth=0.8, alpha=0.6)
        axis.plot(
            np.append(np.insert(rates, 0, 0), 1),
            np.append(np.insert(best, 0, 0), 1),
            color=WARM,
            linewidth=1.8,
        )
        axis.fill_between(rates, rates, best, color=WARM, alpha=0.15, linewidth=0)
        axis.text(0.62, 0.5, "blind guess", alpha=0.75)
        axis.set(xlabel="false alarms", ylabel="members found, at most", xlim=(0, 1), ylim=(0, 1))
        axis.set_aspect("equal")
    return pictures[0]


def marginals(shown: Overview, chosen: Sequence[int]) -> str:
    """Return the density of the chosen parameters' draws, one small picture each, or where draws are few the draws as dots."""
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    with _drawing(2.6 * columns, 1.45 * rows, rows, columns, label="what is known of each parameter") as (axes, pictures):
        for place, axis in enumerate(axes.flat):
            if place >= len(chosen):
                axis.set_axis_off()
                continue
            values = shown.draws[:, chosen[place]]
            if len(values) >= FOR_DENSITY and values[0] != values[-1]:
                _density(axis, values)
            else:
                axis.plot(values, np.zeros(len(values)), "o", color=ACCENT, markersize=4, alpha=0.7)
            axis.plot([values.mean()], [0], "o", color=WARM, markersize=5, clip_on=False, zorder=3)
            axis.set_title(_plain(shown.names[chosen[place]]), loc="left")
            axis.set_yticks([])
            axis.spines["left"].set_visible(False)
            axis.locator_params(axis="x", nbins=4)
    return pictures[0]


def _density(axis: Any, values: Floats) -> None:
    """Draw a smoothed density: counts in many bins, folded with a bell of Silverman's width."""
    spread = min(float(values.std(ddof=1)), float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.34 or np.inf)
    width = 0.9 * (spread or 1.0) * len(values) ** -0.2
    low, high = values.min() - 3 * width, values.max() + 3 * width
    counts, edges = np.histogram(values, bins=200, range=(low, high))
    middle = (edges[1:] + edges[:-1]) / 2
    bell = np.exp(-(((middle[:, None] - middle) / width) ** 2) / 2)
    height = bell @ counts
    axis.fill_between(middle, height, color=ACCENT, alpha=0.3, linewidth=0)
    axis.plot(middle, height, color=ACCENT, linewidth=1.4)
    axis.set_ylim(0, 1.08 * height.max())


def forest(shown: Overview, intervals: Intervals, chosen: Sequence[int]) -> str:
    """Return an interval per chosen parameter, in units of its half-width, so that parameters of any scale compare."""
    means = shown.mean
    with _drawing(7.4, 0.6 + 0.26 * len(chosen), label="intervals per parameter") as (axes, pictures):
        axis = axes[0, 0]
        for place, index in enumerate(chosen):
            half = max((intervals.upper[index] - intervals.lower[index]) / 2, 1e-300)
            low, middle, high = (value / half for value in (intervals.lower[index], means[index], intervals.upper[index]))
            colour = ACCENT if low <= 0 <= high else WARM
            axis.plot([low, high], [place, place], color=colour, linewidth=2)
            axis.plot([middle], [place], "o", color=colour, markersize=4.5)
        axis.axvline(0, color=INK, linewidth=0.7, alpha=0.6)
        axis.set_yticks(range(len(chosen)), [_plain(shown.names[index]) for index in chosen])
        axis.set_ylim(len(chosen) - 0.5, -0.5)
        axis.set_xlabel("value in units of the interval's half-width; warm intervals leave out 0")
    return pictures[0]
