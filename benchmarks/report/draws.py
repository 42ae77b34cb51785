"""The page's section on the time to a draw: five kinds of data, every route of a plan, NUTS beside them."""

from __future__ import annotations

import math

from benchmarks.report.tables import budget, span, table

CHAINS = ("numpyro", "nutpie")


#: A difference of two runs below this is none that a clock can tell.
LEAST = 1e-6


def seconds(value):
    if value is None or value < LEAST:
        return "–"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def pair(entry):
    """First draw and a further one, or where it was stopped."""
    if entry is None:
        return "–"
    if "stopped_s" in entry:
        return f"stopped after {seconds(entry['stopped_s'])}"
    if entry.get("effective", math.inf) <= 1:
        return f"{seconds(entry['first_s'])}, stuck"
    return f"{seconds(entry['first_s'])}, {seconds(entry['next_s'])}"


def route(entry):
    """Sampler, times, and what the plan had said."""
    if entry is None:
        return "–"
    said = "" if entry["stated_s"] is None else f" (said {seconds(entry['stated_s'])})"
    return f"{entry['sampler']}: {pair(entry)}{said}"


def draws(results):
    cells = results["cells"]
    routes = list(dict.fromkeys(name for cell in cells for name in cell["routes"]))
    rows = [
        (
            cell["kind"],
            f"{cell['n']:,}",
            str(cell["parameters"]),
            f"{next(iter(cell['routes'].values())).get('rows_per_pass') or cell['n']:,}",
            *(route(cell["routes"].get(name)) for name in routes),
            *(pair(cell.get(name)) for name in CHAINS),
        )
        for cell in cells
    ]
    return [
        "## Time to a draw",
        "",
        "Seconds to the first draw, a whole release with encoding and set-up, and to a further draw of the same sampler, at",
        f"{budget(results)}, replace-one: seconds that the process's own threads took, since the machine was busy. *Rows* are",
        "what a pass visits after identical records were merged. A plan states its expected time before it reads a record, for",
        "the worst data set of its form and records that all differ; it stands in brackets. *Default* is three e-folds of rounds",
        "wherever the sampler is proximal. Chains are short, 300 draws after 300 of warm-up, 100 after 100 for large data: to",
        "their first draw with warm-up, and per effective draw; numpyro runs in single precision on the records where the loss",
        "is logistic, its compilation not counted, nutpie on this library's kernel and its merged rows. Neither proves its",
        "draws. A dash is a chain that was not run, further draws that would have taken too long, or a difference of two runs",
        "that is too small to tell; a chain is *stuck* where it had no more than one effective draw.",
        "",
        *table(("data", "n", "parameters", "rows", *routes, *CHAINS), rows),
        "",
        *statements(cells),
    ]


def taken(cells):
    """Cells with each route that was taken to its end."""
    return [(cell, name, each) for cell in cells for name, each in cell["routes"].items() if each.get("first_s")]


def statements(cells):
    """The longest waits on hard data, how right the plans were about their time, and their rounds' proposals."""
    found, lines = taken(cells), []
    hard = [(name, each["first_s"]) for cell, name, each in found if cell["kind"] != "iso" and cell["n"] <= 30_000]
    for route_name in dict.fromkeys(name for name, _ in hard):
        longest = max(value for name, value in hard if name == route_name)
        lines.append(f"- Hard data (all but iso) with n ≤ 30,000, {route_name}: the longest first draw took {seconds(longest)}.")
    million = [
        each["first_s"] / each["stated_s"]
        for cell, name, each in found
        if name == "default" and cell["n"] >= 1_000_000 and each["rows_per_pass"] == cell["n"] and each["first_s"] > 60
    ]
    if million:
        lines.append(f"- n = 1,000,000, more than a minute: {span(million, '{:.2f}')} times what the plan had stated.")
    ratios = [each["first_s"] / each["stated_s"] for _, name, each in found if name == "default"]
    lines.append(
        f"- All {len(ratios)} default releases took {min(ratios):.2g} to {max(ratios):.2g} times what their plan had stated; the "
        "least are those whose records merge."
    )
    proposed = [each["proposals"] / each["proposals_at_most"] for _, _, each in found if "proposals" in each]
    if proposed:
        lines.append(
            f"- Rounds by tangents made {min(proposed):.2g} to {max(proposed):.2g} times as many proposals as the plan's bound "
            "on their expectation."
        )
    return [*lines, *against_chains(cells), ""]


def against_chains(cells):
    """How often the default plan's draws come sooner than those of the quicker chain."""
    lines = []
    for what, key in (
        ("first draw came sooner than the first", "first_s"),
        ("further draw cost less than an effective one", "next_s"),
    ):
        pairs = []
        for cell in cells:
            chains = [cell[name] for name in CHAINS if cell.get(name, {}).get("effective", 0) > 1]
            theirs = [chain[key] for chain in chains if chain[key] >= LEAST]
            ours = cell["routes"]["default"].get(key)
            if theirs and ours is not None:
                pairs.append((ours, min(theirs)))
        if pairs:
            sooner = sum(ours < theirs for ours, theirs in pairs)
            lines.append(f"- The default plan's {what} of the quicker chain in {sooner} of {len(pairs)} cells.")
    return lines
