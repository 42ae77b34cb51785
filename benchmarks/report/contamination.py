"""The page's section on contamination: Table 1, times, and private means."""

from __future__ import annotations

import math

from benchmarks.report.tables import span, table


def with_error(mean, error):
    """A mean with its standard error, to about three digits."""
    digits = 2 if mean < 10 else 1 if mean < 100 else 0
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def table1(results):
    rows = results["rows"]
    shown = [
        [
            f"{row['n']:,}",
            f"{row['paper']:g}",
            *(f"{row[name]:.3g}" for name in ("literal", "sound", "tight", "exact")),
            *(f"{100 * row['gaps'][name]:+.1f} %".replace("-", "−") for name in ("literal", "sound", "exact")),
        ]
        for row in rows
    ]
    below = sum(row["exact"] < min(row["literal"], row["sound"]) for row in rows)
    return [
        "Table 1 of Hu et al.: ε̂ as printed; by Algorithm 1 taken literally (99 % quantile over",
        f"K = {span([row['repeats'] for row in rows])} data sets); by its sound and coupled (*tight*) versions (upper bounds of",
        f"that quantile, confidence {rows[0]['bound_confidence']:.2f}, over {span([row['bound_repeats'] for row in rows])});",
        "and the exact curve (largest of",
        f"{span([row['exact_sets'] for row in rows])}). Gaps are relative to the printed value.",
        "",
        *table(["n", "printed", "literal", "sound", "tight", "exact", "literal, gap", "sound, gap", "exact, gap"], shown),
        "",
        f"The literal method's gap is at most {100 * results['largest_gap']:.1f} %, {100 * results['median_gap']:.1f} % in the",
        f"median cell. The exact curve lies below the literal and the sound value in {below} of {len(rows)} cells.",
        "",
    ]


def speed(results):
    rows = [
        [
            name,
            f"{entry['n']:,}",
            f"{entry['seconds']:.2f}",
            f"{entry['particles_timed_seconds']:.1f} for {entry['particles_timed']:,}",
            f"{entry['particle_seconds']:.0f} for {entry['particles']:,}",
            f"{entry['ratio']:.0f}×",
        ]
        for name, entry in results.items()
    ]
    return [
        "Seconds for ε̂ of one data set, against direct evaluation of the log posterior at particles in the same run. Fewer",
        "particles were timed than the algorithm wants; the time of all is scaled in proportion.",
        "",
        *table(["one data set", "n", "seconds", "particles, timed", "particles, scaled", "ratio"], rows),
        "",
    ]


def last_exponent(sizes):
    """The exponent between the last two sizes, where fixed costs weigh least."""
    before, last = sizes[-2:]
    return math.log(last["median"] / before["median"]) / math.log(last["n"] / before["n"])


def growth(results):
    sizes = [row["n"] for row in results[0]["sizes"]]
    rows = [
        [
            entry["case"],
            entry["method"],
            *(f"{row['median']:.3f} ({row['least']:.3f}–{row['greatest']:.3f})" for row in entry["sizes"]),
            f"{entry['exponent']:.2f}",
            f"{last_exponent(entry['sizes']):.2f}",
        ]
        for entry in results
    ]
    repeats = span([row["repeats"] for entry in results for row in entry["sizes"]])
    return [
        f"Seconds of one repeat (a data set simulated, contaminated, and its ε̂) against n: median of {repeats} runs with the",
        "least and the greatest, and the exponent of the medians, fitted to all and between the last two sizes.",
        "",
        *table(["one repeat", "method", *(f"n = {n:,}" for n in sizes), "exponent", "last two"], rows),
        "",
    ]


#: Columns of the table of private means: heading and method of the results.
MEANS = {
    "CoinPress": "CoinPress, paper",
    "clipped mean": "clipped mean, paper",
    "CoinPress, E25": "CoinPress, corrected",
    "clipped mean, E25": "clipped mean, corrected",
    "Welsch, δ = 0": "Welsch",
    "contaminated posterior, ε̂": "contaminated posterior",
    "no privacy": "mean without privacy",
}
#: Those that meet (ε, δ) for every data set.
WITHIN_BUDGET = ("CoinPress, corrected", "clipped mean, corrected", "Welsch")


def welsch_limit(epsilon):
    """n·MSE/σ² of a Welsch draw on many normal records: the Welsch location's own 8/√27, and 4√2/ε for drawing."""
    return 8 / math.sqrt(27) + 4 * math.sqrt(2) / epsilon


def means_row(row):
    """One row of the table, the best of those that meet (ε, δ) for every data set in bold."""
    methods = row["methods"]
    best = min(WITHIN_BUDGET, key=lambda name: methods[name]["mean"])
    shown = {name: with_error(entry["mean"], entry["error"]) for name, entry in methods.items()}
    shown[best] = f"**{shown[best]}**"
    return [f"{row['n']:,}", f"{row['epsilon']:g}", f"{row['delta']:g}", *(shown[name] for name in MEANS.values())]


def means(results):
    rows = results["rows"]
    low, high = results["range"]
    return [
        f"n·MSE/σ² of private means at the budgets of Table 1, over {span([row['data_sets'] for row in rows])} data sets with",
        f"{span([row['draws'] for row in rows])} runs on each (± one standard error between data sets). CoinPress has",
        f"{results['coinpress_steps']} steps and is told σ; the clipped mean lies between private quantiles, rank offset",
        f"{results['rank_offset']:g}; they and the Welsch draw search [−{-low:g}, {high:g}]. The first two spend",
        "the ρ of the paper's conversion, or (*E25*) that of Bun and Steinke's theorem, which alone is within (ε, δ). The Welsch",
        "draw is ε-DP with δ = 0. The contaminated posterior's ε̂ is an estimate for data of the model. Bold is the best of those",
        "that meet (ε, δ) for every data set.",
        "",
        *table(["n", "ε", "δ", *MEANS], [means_row(row) for row in rows]),
        "",
        "A draw pays twice, for the records' scatter and for its own. A Welsch draw has a temperature that does not rise with n:",
        f"on many normal records n·MSE/σ² is 8/√27 + 4√2/ε, {welsch_limit(1.0):.2f} at ε = 1 and",
        f"{welsch_limit(rows[-1]['epsilon']):.1f} at ε = {rows[-1]['epsilon']:g}. The contaminated posterior has the share",
        f"n^(−1/8) of the records replaced, {100 * rows[0]['contamination_rate']:.0f} % at n = {rows[0]['n']:,} and",
        f"{100 * rows[-1]['contamination_rate']:.0f} % at n = {rows[-1]['n']:,}.",
        "",
    ]


def worst_case(results):
    names = ("welsch", "laplace", "trimmed")
    rows = [
        [f"{row['width']:,g}", f"{row['n']:,}", *(with_error(row[name], row[f"{name}_standard_error"]) for name in names)]
        for row in results
    ]
    return [
        f"n·MSE/σ² at ε = 1, δ = 0, on bounds of two widths ({span([row['data_sets'] for row in results])} data sets; trimmed:",
        f"{span([row['trimmed_data_sets'] for row in results])}):",
        "",
        *table(["width", "n", "Welsch draw", "Laplace on the clipped mean", "trimmed contaminated likelihood"], rows),
        "",
    ]


def public_density(results):
    made = results["epsilon"]
    return [
        f"The {results['method']} ε̂ at n = {results['n']:,} ({100 * results['quantile']:g} % quantile,",
        f"{results['repeats']} data sets) is {made['public']:.3f} with a public contamination of the prior's shape and",
        f"{made['truth-centred']:.3f} with the paper's, which is centred at the truth.",
        "",
    ]


PARTS = {
    "table": table1,
    "speed": speed,
    "growth": growth,
    "means": means,
    "worst_case": worst_case,
    "public_density": public_density,
}


def contamination(document: dict) -> list[str]:
    """The section, from whichever parts the results have."""
    lines = ["## Contamination", ""]
    for name, make in PARTS.items():
        if name in document:
            lines += make(document[name])
    return lines
