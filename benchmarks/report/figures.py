"""The figures of docs/benchmarks.md, from results alone."""

from __future__ import annotations

import math

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.report.utility import best_opponent, complete

COLUMNS = 4
CURVES = (
    ("one draw", "C0:", lambda cell: cell["methods"].get("draw")),
    ("estimate", "C0-", lambda cell: cell["methods"]["estimate"]),
    ("best opponent, public rule", "C1-", lambda cell: (best_opponent(cell, tuned=False) or (None, None))[1]),
    ("best opponent, tuned on test", "C3--", lambda cell: (best_opponent(cell, tuned=True) or (None, None))[1]),
)


def excess(cell, entry):
    """Log-loss beyond the non-private fit's; not a number where there is none."""
    if entry is None or "log_loss" not in entry:
        return math.nan
    return entry["log_loss"] - cell["methods"]["non-private"]["log_loss"]


def utility(document, path):
    """Excess log-loss over the non-private fit against ε, a panel per table; triangles stand for means at or below the fit's."""
    cells = complete(document)
    names = list(dict.fromkeys(cell["data"] for cell in cells))
    rows = -(-len(names) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(3.4 * COLUMNS, 2.6 * rows), squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names, strict=False):
        mine = [cell for cell in cells if cell["data"] == name]
        for place, (label, style, pick) in enumerate(CURVES):
            values = [excess(cell, pick(cell)) for cell in mine]
            shown = [value if value > 0 else math.nan for value in values]
            axis.plot([cell["epsilon"] for cell in mine], shown, style, label=label, marker="o", ms=3)
            below = [1.12 ** (place - 2) * cell["epsilon"] for cell, value in zip(mine, values, strict=True) if value <= 0]
            foot = axis.get_xaxis_transform()  # ε across, 0 at the axis
            marks = axis.plot(below, [0.0] * len(below), style[:2] + "v", ms=6, transform=foot, clip_on=False, zorder=5)
            marks[0].set_in_layout(False)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
        axis.tick_params(axis="x", which="minor", bottom=False)
        axis.tick_params(labelsize=7, which="both")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("ε", fontsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("excess log-loss", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(CURVES), fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def speed(document, path):
    """Seconds to the first draw against n."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.2))
    sizes = sorted({cell["parameters"] for cell in document["cells"]})
    for shade, d in enumerate(sizes):
        mine = [cell for cell in document["cells"] if cell["parameters"] == d]
        for method, marker, line in (("exact", "o", "-"), ("numpyro", "s", "--"), ("nutpie", "^", ":")):
            found = [cell for cell in mine if method in cell]
            ns = [cell["n"] for cell in found]
            further = "next_s" if method == "exact" else "next_effective_s"
            label = f"{method}, {d} parameters"
            axes[0].plot(
                ns, [cell[method]["first_s"] for cell in found], line, color=f"C{shade}", marker=marker, ms=4, label=label
            )
            later = [cell[method][further] if cell[method][further] > 1e-8 else math.nan for cell in found]  # else lost in noise
            axes[1].plot(ns, later, line, color=f"C{shade}", marker=marker, ms=4)
    for axis, title in zip(axes, ("first draw", "further (effective) draw"), strict=True):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("records")
        axis.set_ylabel("seconds")
        axis.set_title(title, fontsize=10)
    figure.legend(loc="center right", fontsize=7, frameon=False)
    figure.tight_layout(rect=(0, 0, 0.8, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def scale(document, path):
    """Time and memory against rows."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.9))
    ns = [entry["n"] for entry in document["sizes"]]
    for axis, key, label in ((axes[0], "seconds", "seconds"), (axes[1], "peak_mib", "peak memory, MiB")):
        axis.loglog(ns, [entry[key] for entry in document["sizes"]], "o-")
        axis.set_xlabel("rows")
        axis.set_ylabel(label)
    axes[1].loglog(ns, [entry["file_mib"] for entry in document["sizes"]], "0.6", ls="--", label="size of the file")
    axes[1].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_all(results, folder):
    """Draw what has results."""
    for name, draw in {"utility": utility, "speed": speed, "scale": scale}.items():
        if name in results:
            draw(results[name], folder / f"{name}.png")
