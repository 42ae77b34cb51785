"""The blocks of docs/contamination.md that replay the third paper, from the rows in docs/figures that its commands wrote.

``python -m benchmarks.report.third_paper`` rewrites them; a test checks that the page is what this writes. The rows come from

    gibbsafe reproduce hu-table1 --results hu.jsonl --csv docs/figures/hu-table1.csv
    gibbsafe reproduce hu-figure1 --results hu.jsonl --csv docs/figures/hu-figure1.csv --out docs/figures/hu-figure1.png
    gibbsafe reproduce hu-figure2 --results hu.jsonl --csv docs/figures/hu-figure2.csv --out docs/figures/hu-figure2.png
    gibbsafe reproduce hu-figure3 --results hu.jsonl --out docs/figures/hu-figure3.png
    gibbsafe reproduce hu-factor --results hu.jsonl --csv docs/figures/hu-factor.csv

with the sizes and repeats that the rows name.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from benchmarks.report.tables import table, wrapped
from gibbsafe.contamination import ContaminatedNormalMean
from gibbsafe.contamination.theory import begins_at

DOCS = Path(__file__).parents[2] / "docs"


def rows(name):
    """The rows of a CSV file, numbers as numbers."""
    with (DOCS / "figures" / f"{name}.csv").open(encoding="utf-8") as file:
        return [{key: value_of(text) for key, text in row.items()} for row in csv.DictReader(file)]


def value_of(text):
    """A number, list or truth value as such; other text as it is."""
    if text in ("True", "False", ""):
        return {"True": True, "False": False, "": None}[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def span(interval, digits=3):
    """An interval in brackets."""
    return "–" if interval is None else "[" + ", ".join(f"{end:.{digits}g}" for end in interval) + "]"


def begins():
    """From which n on each condition of Theorem 4 holds."""
    found = begins_at(ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0), 30.0)
    shown = [[each.condition, each.statement, "–" if each.n is None else f"{each.n:.1e}"] for each in found]
    return table(["condition", "asks that", "from n on"], shown)


def table1():
    """Table 1, with what differs."""
    found = rows("hu-table1")
    shown = [
        [
            f"{row['n']:,}",
            f"{row['paper']:.2f}",
            f"{row['literal']:.3g}",
            span(row["literal_interval"]),
            ", ".join(f"{value:.3g}" for value in row["literal_by_seed"]),
            f"*{row['verdict']}*" if row["verdict"] == "differs" else row["verdict"],
            *(f"{row[name]:.3g}" for name in ("sound", "tight", "exact")),
        ]
        for row in found
    ]
    headings = ["n", "printed", "literal", "95 % interval", "by seed", "printed value", "sound", "tight", "exact"]
    differs = sum(row["verdict"] == "differs" for row in found)
    said = f"Of {len(found)} printed values {differs} differ. Data sets per n: {found[0]['repeats']:,} for each of "
    return [*table(headings, shown), "", said + f"{len(found[0]['literal_by_seed'])} seeds."]


def figure1():
    """What Figure 1 shows, in words and errors of CoinPress."""
    found = {(row["n"], row["method"], row["conversion"]): row for row in rows("hu-figure1")}
    sizes = sorted({n for n, _, _ in found})
    names = ["posterior draw", *(f"CoinPress, {steps} steps, {told}" for told in ("told σ", "scale = 1") for steps in (3, 10))]
    names += ["clipped mean, offset 1", "clipped mean, offset 3"]

    def value(n, name):
        return found.get((n, name, "paper"), found.get((n, name, "none")))["mse"]

    shown = [[f"{n:,}", *(f"{value(n, name):.3g}" for name in names)] for n in sizes]
    untold = [value(n, "CoinPress, 3 steps, scale = 1") for n in sizes]
    told = [value(n, "CoinPress, 3 steps, told σ") for n in sizes]
    sets = next(iter(found.values()))["sets"]
    return [
        "`hu-figure1` draws CoinPress both ways: told the records' scale σ = 8, and with `scale = 1`, as if they had unit",
        'variance. The paper says that with three steps "the performance of the estimator ceases to improve with n". That',
        f"happens only in the second case: from n = {sizes[3]:,} to {sizes[-1]:,} the error goes from {untold[3]:.3g} to",
        f"{untold[-1]:.3g}, where CoinPress that is told σ goes from {told[3]:.3g} to {told[-1]:.3g}. Whether the authors ran",
        f"it so is not known. Mean squared errors over {sets} data sets at the budget of the paper's conversion (the right one,",
        "E25, is in the figure):",
        "",
        *table(["n", *names], shown),
    ]


def figure2():
    """Exponents and repeats of Figures 2 and 3."""
    found = rows("hu-figure2")
    curves = {(row["model"], row["contaminated"], row["d"]): row for row in found}
    shown = [
        [
            f"{model}, {'contaminated' if contaminated else 'not contaminated'}",
            str(d),
            f"{row['exponent']:.2f} {span(row['exponent_interval'], 2)}".replace("-", "−"),
        ]
        for (model, contaminated, d), row in curves.items()
    ]
    sizes = sorted({(row["n"], row["repeats"]) for row in found})
    counts = ", ".join(f"{repeats} at {n:,}" for n, repeats in sizes)
    top = [n for n in sorted({row["n"] for row in found}) if all(r["quantile99"] is not None for r in found if r["n"] == n)]
    quantile = f"at {' and '.join(f'{n:,}' for n in top)}" if top else "nowhere"
    return [
        f"`hu-figure2` and `hu-figure3` show median ε̂ with its interval for n up to {sizes[-1][0]:,} at θ* = ½(1, −1, 1, …),",
        "which the paper does not give; the 99 % quantile only where there are data sets enough to have one",
        f"({quantile}). Data sets: {counts}.",
        f"Exponents are fitted to medians from n = {found[0]['exponent_from']:,} on, with 95 % intervals by resampling:",
        "",
        *table(["regression", "d", "exponent"], shown),
    ]


def factor():
    """The factor of four."""
    found = rows("hu-factor")
    low, high = (pick(found, key=lambda row: row["factor"]) for pick in (min, max))
    shown = [
        [f"{row['truth']:g}·(1, −1, …)", str(row["d"]), f"{row['n']:,}", f"{row['factor']:.2f}", span(row["interval"])]
        for row in found
    ]
    return [
        'Contamination of logistic regression reduces ε̂, the paper says, "approximately by a factor of four", without saying at',
        "which θ*. We",
        f"find {low['factor']:.2f} (θ* = {low['truth']:g}, d = {low['d']}, n = {low['n']:,}) to {high['factor']:.2f} (θ* = "
        f"±{high['truth']:g}, d = {high['d']}, n = {high['n']:,}): it takes a large θ*, many",
        "columns and few records, where the box A_n is saturated (`gibbsafe reproduce hu-factor`).",
        "",
        *table(["θ*", "d", "n", "factor", "95 % interval"], shown),
    ]


BLOCKS = {"begins": begins, "hu-table1": table1, "hu-figure1": figure1, "hu-figure2": figure2, "hu-factor": factor}


def page(text):
    """The page with every marked block written anew."""
    for name, block in BLOCKS.items():
        made = f"<!-- {name} -->\n" + "\n".join(wrapped(block())).strip() + f"\n<!-- end of {name} -->"
        text, found = re.subn(rf"<!-- {name} -->.*?<!-- end of {name} -->", lambda _, made=made: made, text, flags=re.DOTALL)
        assert found == 1, name
    return text


if __name__ == "__main__":
    target = DOCS / "contamination.md"
    target.write_text(page(target.read_text(encoding="utf-8")), encoding="utf-8")
