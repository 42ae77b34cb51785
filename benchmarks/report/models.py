"""The page's sections on theorems and models: tightness, means, heavy tails, conjugate families, networks."""

from __future__ import annotations

from statistics import median

from benchmarks.report.tables import budget, listed, small, table


def tightness(results):
    def share(cell, theorem):
        beta = cell["allowed"].get(theorem)
        return "refused" if beta is None else f"{100 * beta / cell['exact']['at_most']:.1f} %"

    theorems = ("gaussian-dp", "log-sobolev", "log-sobolev-simple")
    rows = [
        (*place(cell), str(cell["draws"]), *(share(cell, name) for name in theorems))
        for cell in results["cells"]
        if "exact" in cell
    ]
    return [
        "## Tightness",
        "",
        f"Inverse temperature β that a theorem allows (prior precision {results['prior_precision']:g}), as a share of the",
        "largest β at which the worst neighbours found by `gibbsafe.audit` still meet the budget, computed exactly by",
        "quadrature. 100 % is tight: no proof can allow more. Worse neighbours than those found may exist, so a share below",
        "100 % may be the search's weakness as well as the theorem's; they are searched for at one draw.",
        "",
        *table(("model", "ε", "δ", "draws", "Gaussian DP", "Theorem 7", "Corollary 8"), rows),
        "",
        *price_of_draws(results["cells"]),
    ]


def place(cell):
    return cell["model"], f"{cell['epsilon']:g}", small(cell["delta"])


def price_of_draws(cells):
    """What N draws cost by Gaussian DP beside the papers' way."""
    ratios = {}
    for cell in cells:
        if cell["draws"] > 1 and cell["papers"] is not None:
            ratios.setdefault(place(cell), {})[cell["draws"]] = cell["allowed"]["gaussian-dp"] / cell["papers"]
    if not ratios:
        return []
    numbers = sorted({number for found in ratios.values() for number in found})
    rows = [
        (*where, *(f"{found[number]:.1f}" if number in found else "–" for number in numbers)) for where, found in ratios.items()
    ]
    return [
        "The price of N draws: β by Gaussian DP (which shrinks like 1/√N), over β by the papers' way, Corollary 8 at (ε/N, δ/N)",
        "for each:",
        "",
        *table(("model", "ε", "δ", *(f"{number:,} draws" for number in numbers)), rows),
        "",
    ]


def means(results):
    cells = results["cells"]
    seeds = listed(entry["seeds"] for cell in cells for name, entry in cell["methods"].items() if "non-private" not in name)
    lines = [
        "## Means and regression",
        "",
        f"Mean squared error over {seeds} releases, δ = {small(results['delta'])} where a method has one; diffprivlib and the",
        "Welsch location guarantee pure ε. Bold is the best private value.",
        "",
    ]
    for task in dict.fromkeys(cell["task"] for cell in cells):
        lines += means_of([cell for cell in cells if cell["task"] == task])
    return [
        *lines,
        *beside_stages(cells),
        "Laplace noise of pure ε is smaller than Gaussian noise at small δ in one dimension; with more coordinates diffprivlib's",
        "budget is split between them. `GaussianMean` is the Gaussian mechanism at its exact price; OpenDP's differs by its",
        "conversion from zCDP. `LinearRegression` pays for a Lipschitz constant on a whole parameter ball, AdaSSP perturbs",
        "sufficient statistics instead, `PseudoHuberRegression` needs no bound on the response. The Welsch location needs none",
        "on the records: the others clip them to the interval in which it searches.",
        "",
    ]


def over_stages(cells, model):
    """Mean squared error of a model's estimate in stages over that of its default estimate, cell by cell."""
    both = [cell["methods"] for cell in cells if {model, f"{model}, stages"} <= set(cell["methods"])]
    return [methods[f"{model}, stages"]["mean"] / methods[model]["mean"] for methods in both]


def beside_stages(cells):
    """Lines on the robust regressions' estimates beside those in stages."""
    lines = []
    for model in ("PseudoHuberRegression", "SoftQuantileRegression"):
        ratios = over_stages(cells, model)
        if ratios:
            words = f"- `{model}`: mean squared error in stages over that of the default estimate, median {median(ratios):.2f}"
            lines.append(f"{words} of {len(ratios)} cells ({min(ratios):.2f} to {max(ratios):.2f}).")
    return [*lines, ""] if lines else []


def means_of(cells):
    """One task's table, and who is best in how many of its cells."""
    names = list(cells[0]["methods"])
    best, rows = [], []
    for cell in cells:
        private = {name: entry["mean"] for name, entry in cell["methods"].items() if "non-private" not in name}
        best.append(min(private, key=private.get))
        shown = [f"{cell['methods'][name]['mean']:.3g}" if name in cell["methods"] else "–" for name in names]
        shown = [f"**{text}**" if name == best[-1] else text for name, text in zip(names, shown, strict=True)]
        rows.append((f"{cell['n']:,}", str(cell["d"]), f"{cell['epsilon']:g}", *shown))
    won = ", ".join(f"{name} in {best.count(name)}" for name in names if name in best)
    title = f"**{cells[0]['task'].capitalize()}**"
    return [title, "", *table(("n", "d", "ε", *names), rows), "", f"Best of {len(cells)} cells: {won}.", ""]


def heavy_tails(results):
    outliers = f", {results['outliers']} responses between 1e3 and 1e6 in size" if "outliers" in results else ""
    d = f", d = {results['d']}" if "d" in results else ""
    keys = ("private", "largest", "plain")
    at = f" at {budget(results)}" if budget(results) else ""
    rows = [
        (row["features"], f"`{row['estimator']}`", *(f"{row[key]:.4f}" for key in keys), f"{row['ratio']:.2f}")
        for row in results["rows"]
    ]
    return [
        "## Heavy tails without a bound on the response",
        "",
        f"Distance of the coefficients to the truth{at}, mean of {results['data_sets']} data sets with one release each:",
        f"n = {results['n']:,}{d}, Student noise with two degrees of freedom{outliers}, default settings. *Without privacy* is",
        "the minimiser of the same loss.",
        "",
        *table(("features", "estimator", "error", "largest", "without privacy", "ratio"), rows),
        "",
    ]


def families(results):
    low, high = results["trim"]
    rows = [
        (
            f"{row['draws']:,}",
            f"{row['paper']:,.2f}",
            f"{row['epsilon']:.2f}",
            min(row["routes"], key=row["routes"].get),
            f"{row['share']:.4f}",
        )
        for row in results["rows"]
    ]
    return [
        "## Conjugate families",
        "",
        f"ε of N draws of a proportion trimmed to [{low:g}, {high:g}] at δ = {small(results['delta'])}, by the best route of",
        "composition for a bounded range, beside the paper's 2NL (Dimitrakakis et al., Corollary 10), which has δ = 0:",
        "",
        *table(("draws", "paper's 2NL", "ε", "route", "share of 2NL"), rows),
        "",
    ]


def networks(results):
    counting, made = results["counting"], results["release"]
    return [
        "## Networks",
        "",
        f"Counting the {counting['cells']:,} cells of a network of {counting['nodes']} nodes over {counting['rows']:,}",
        f"rows takes {counting['ratio']:.2f} times as long as `numpy.bincount` on ready-made joint codes (median of",
        f"{counting['repeats']} ratios; at best {counting['seconds']:.2f} s / {counting['bincount_seconds']:.2f} s); a whole",
        f"release, rows encoded and checked, {made['seconds']:.2f} s.",
        "",
    ]
