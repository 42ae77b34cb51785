"""The report of the audit of coverage: targets, what was met and what was not, every cell."""

from __future__ import annotations

import datetime
import math
import platform
import textwrap
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from coverage_cells import Cell

#: Mean coverage near the prior's ball, its worst parameter, and the width over the oracle's from this signal on; elsewhere.
NEAR, WORST, WIDTH, SIGNAL, FAR = (0.86, 0.95), 0.80, 1.5, 32.0, 0.85
#: A parameter is called decided if it is in more than this share of the releases.
SELDOM = 0.1
WEAK = 8.0

Row = tuple[int, Cell, Any]


def hard(cell: Cell, outcome: Any) -> bool:
    """Whether the truth lies outside the default radius, or rows hardly tell some parameters apart."""
    return outcome.distance > 1 + 1e-9 or cell.design == "ill-conditioned" or cell.place == "full fit"


def width(cell: Cell, outcome: Any) -> float:
    """Width over the oracle's, mean over the parameters of which the oracle knows something; on real tables the median."""
    return float(np.nanmedian(outcome.widths) if cell.place == "full fit" else np.nanmean(outcome.widths))


def misnamed(outcome: Any) -> int:
    """How many parameters are covered too seldom, though called decided by the data; where they are called so, too."""
    often = outcome.called > SELDOM
    return int(np.sum((outcome.covered < WORST) & often & (outcome.covered_if_called < WORST)))


#: Each target: which cells it is for, and whether it is met.
TARGETS: dict[str, tuple[Callable[[Cell, Any], bool], Callable[[Cell, Any], bool]]] = {
    f"θ* within D: mean coverage in [{NEAR[0]:g}, {NEAR[1]:g}]": (
        lambda cell, found: not hard(cell, found),
        lambda cell, found: NEAR[0] <= float(found.covered.mean()) <= NEAR[1],
    ),
    f"θ* within D: worst parameter ≥ {WORST:.2f}": (
        lambda cell, found: not hard(cell, found),
        lambda cell, found: float(found.covered.min()) >= WORST,
    ),
    f"θ* within D, nμ/d ≥ {SIGNAL:g}: width ≤ {WIDTH:g} × oracle": (
        lambda cell, found: not hard(cell, found) and found.signal >= SIGNAL,
        lambda cell, found: width(cell, found) <= WIDTH,
    ),
    f"θ* beyond D, or ill-conditioned: mean coverage ≥ {FAR:.2f}": (
        hard,
        lambda cell, found: float(found.covered.mean()) >= FAR,
    ),
    f"there: every parameter covered below {WORST:.2f} was called undecided": (hard, lambda cell, found: misnamed(found) == 0),
    "every interval holds the mean of the draws it came from": (lambda *_: True, lambda cell, found: found.holds_mean),
}


def missed(cell: Cell, outcome: Any) -> list[str]:
    """The targets that are for this cell and not met."""
    return [name for name, (applies, met) in TARGETS.items() if applies(cell, outcome) and not met(cell, outcome)]


def errors(outcome: Any) -> float:
    """The standard error of one parameter's coverage, if it were as low as allowed."""
    return math.sqrt(WORST * (1 - WORST) / outcome.releases)


#: Reasons that a cell's own numbers bear out.
REASONS: tuple[tuple[str, Callable[[Cell, Any], bool]], ...] = (
    ("wider than it says, not shorter", lambda cell, found: float(found.covered.mean()) > NEAR[1]),
    (f"weak signal, nμ/d < {WEAK:g}", lambda cell, found: found.signal < WEAK),
    ("labels that no logistic model gives, which fits of scores expect", lambda cell, found: other_target(cell)),
    ("curvature changes on the way to a far truth", lambda cell, found: found.distance > 1.5),
    ("within two standard errors of the limit", lambda *each: narrowly(*each)),  # noqa: PLW0108
)


def other_target(cell: Cell) -> bool:
    """Whether labels follow another law than the one behind the calibrated loss and the fit of scores."""
    return cell.model in ("logistic", "soft hinge") and cell.law in ("flips", "other link")


def narrowly(cell: Cell, outcome: Any) -> bool:
    """Whether only the worst of many parameters is low, and by no more than counting error."""
    mean, least = float(outcome.covered.mean()), float(outcome.covered.min())
    return mean >= FAR and WORST > least >= WORST - 2 * errors(outcome)


def reasons(cell: Cell, outcome: Any) -> str:
    """Reasons that apply to a cell that misses; "open" where none does."""
    return "; ".join(label for label, applies in REASONS if applies(cell, outcome)) or "**open**"


# -- tables ------------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def targets(rows: list[Row]) -> list[str]:
    """Every target with the number of cells that meet it."""
    lines = []
    for name, (applies, met) in TARGETS.items():
        asked = [(cell, found) for _, cell, found in rows if applies(cell, found)]
        kept = sum(met(*each) for each in asked)
        lines.append((name, str(len(asked)), str(kept), f"{100 * kept / len(asked):.0f} %" if asked else "–"))
    return table(("target", "cells", "met", "share"), lines)


def whole(rows: list[Row]) -> list[str]:
    """Mean coverage over cells, ours beside the others'."""
    kinds = {"ours": [(float(found.covered.mean()), width(cell, found)) for _, cell, found in rows]}
    for _, _, found in rows:
        for name, pair in found.others.items():
            kinds.setdefault(name, []).append(pair)
    lines = []
    for name, pairs in kinds.items():
        coverage, widths = np.array(pairs).T
        shown = f"{coverage.mean():.3f}", f"{coverage.min():.2f}", f"{np.median(widths):.2f}", f"{widths.max():.1f}"
        lines.append((name, str(len(pairs)), *shown))
    return table(("intervals", "cells", "mean coverage", "least", "median width ÷ oracle", "largest"), lines)


def every_cell(rows: list[Row]) -> list[str]:
    """One line per cell."""
    lines = []
    for number, cell, found in rows:
        what = "estimate" if cell.draws == 0 else f"{cell.draws} draws"
        naive = ", ".join(f"{name} {a:.2f} ({b:.1f})" for name, (a, b) in found.others.items())
        undecided = int(np.sum(found.called < 0.5))
        lines.append(
            (
                f"{number}: {cell.model}, {cell.n:,} × {cell.d}, {cell.design}, {cell.law}",
                f"{cell.epsilon:g}",
                f"{cell.place} ({found.distance:.1f} D)",
                what,
                f"{found.signal:.0f}",
                f"{found.covered.mean():.3f}",
                f"{found.covered.min():.2f}",
                f"{width(cell, found):.2f}",
                f"{undecided} of {len(found.called)}",
                naive,
                "yes" if not missed(cell, found) else "no",
            )
        )
    head = ("cell", "ε", "θ*", "release", "nμ/d", "mean", "worst", "÷ oracle", "undecided", "others: coverage (÷ oracle)", "met")
    return table(head, lines)


def misses(rows: list[Row]) -> list[str]:
    """Cells that miss a target, with the reason."""
    lines = [
        (f"{number}: {cell}", "; ".join(missed(cell, found)), reasons(cell, found))
        for number, cell, found in rows
        if missed(cell, found)
    ]
    return table(("cell", "missed", "reason"), lines) if lines else ["None."]


def markdown(done: list[tuple[int, Cell, Any]], chosen: Any, commits: dict[str, int]) -> str:
    """The whole report."""
    rows = [row for row in done if not isinstance(row[2], str)]
    skipped = [f"- {number}: {cell}: {outcome}" for number, cell, outcome in done if isinstance(outcome, str)]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("gibbsafe", "numpy", "scipy"))
    clean = sum(not missed(cell, found) for _, cell, found in rows)
    seconds = sum(found.seconds for *_, found in rows)
    releases, asking = sum(found.releases for *_, found in rows), sum(found.asking for *_, found in rows)
    intro = f"""Written by `{chosen.command}`: how often nominal 90 % intervals of `Release.population` hold the true parameter
(δ = 1e-6, replace-one, default settings; posterior draws keep half of the budget for intervals). {len(rows)} cells, {releases:,}
releases, each of a fresh data set. Models, sizes, ε, the place of θ* (D = 3√p in scaled units, p parameters), the law of the
response, the design and what is released were drawn by the seed; the last cells resample real tables around their full fit.
The true parameter is the minimiser of the model's expected loss, whether or not the response follows the model. *÷ oracle* is
the width over that of somebody who knows curvature and score covariance and spends the whole budget on one perturbed objective.
*Undecided* counts parameters that the data decided by less than half in most releases. *Textbook* intervals take the point for a
fit without privacy, *draws' own* the draws for a posterior, *bootstrap* five private estimates of resampled records."""
    parts = [
        "# Coverage of intervals for the true parameter",
        "",
        *textwrap.wrap(" ".join(intro.split()), 126, break_on_hyphens=False),
        "",
        f"**{clean} of {len(rows)} cells meet every target that is set for them.**",
        "",
        *targets(rows),
        "",
        *whole(rows),
        "",
        *(["Cells without intervals:", "", *skipped, ""] if skipped else []),
        "## Cells that miss a target",
        "",
        *misses(rows),
        "",
        "## Every cell",
        "",
        *every_cell(rows),
        "",
        f"{datetime.date.today()}, Python {platform.python_version()}, {versions}, {seconds:.0f} seconds of one core,",
        f"{asking:.0f} of them for asking releases for intervals. Cells by commit: "
        + ", ".join(f"{commit} ({number})" for commit, number in commits.items())
        + ".",
    ]
    return "\n".join(parts) + "\n"
