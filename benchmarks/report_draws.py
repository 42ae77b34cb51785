"""The page's section on the time to a draw: five kinds of data, every route of a plan, NUTS beside them."""

from __future__ import annotations

from report_tables import budget, table

CHAINS = ("numpyro", "nutpie")


def seconds(value):
    if value is None:
        return "–"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def pair(entry):
    """First draw and a further one, or where it was stopped."""
    if entry is None:
        return "–"
    if "stopped_s" in entry:
        return f"stopped after {seconds(entry['stopped_s'])}"
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
        f"{budget(results)}, replace-one. *Rows* are what a pass visits after identical records were merged. A plan states its",
        "expected time before it reads a record, for the worst data set of its form; it stands in brackets. Chains: to their",
        "first draw with warm-up, and per effective draw; numpyro runs on the records, nutpie on this library's kernel and its",
        "merged rows. A dash is a route that the plan does not offer, or a chain that was not run.",
        "",
        *table(("data", "n", "parameters", "rows", *routes, *CHAINS), rows),
        "",
        *statements(cells),
    ]


def statements(cells):
    """How right the plans were about their time."""
    found = [(cell, each) for cell in cells for each in cell["routes"].values() if each.get("stated_s") and each.get("first_s")]
    if not found:
        return []
    ratios = [each["first_s"] / each["stated_s"] for _, each in found]
    return [
        f"Over {len(found)} releases the time taken was {min(ratios):.2g} to {max(ratios):.2g} times the plan's statement.",
        "",
    ]
