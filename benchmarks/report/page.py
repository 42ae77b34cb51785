"""Write docs/benchmarks.md, its figures and the README's paragraph from the committed results; every number there comes from a
results file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.report import promises
from benchmarks.report.asked import counts as tables_of_counts
from benchmarks.report.asked import gains
from benchmarks.report.contamination import contamination
from benchmarks.report.draws import draws
from benchmarks.report.models import families, heavy_tails, means, networks, tightness
from benchmarks.report.own_models import own_models
from benchmarks.report.speed import estimates, main_line, out_of_core, scale, speed
from benchmarks.report.tables import budget, fill, span, table, wrapped
from benchmarks.report.utility import SIGNAL, complete, counts, share_level, strong, utility
from benchmarks.report.workers import workers

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = ROOT / "docs" / "figures"
README = ROOT / "README.md"
MARKERS = "<!-- benchmarks -->\n", "<!-- /benchmarks -->"

#: Results files and what makes their sections, in the order of the page.
SECTIONS = {
    "main_line": main_line,
    "estimates": estimates,
    "utility": utility,
    "speed": speed,
    "draws": draws,
    "tightness": tightness,
    "means": means,
    "heavy_tails": heavy_tails,
    "gains": gains,
    "tables": tables_of_counts,
    "families": families,
    "own_models": own_models,
    "contamination": contamination,
    "network_statistics": networks,
    "scale": scale,
    "workers": workers,
    "out_of_core": out_of_core,
}


# -- the page --------------------------------------------------------------------------------------------------------


def load_all(quick=False, folder=RESULTS):
    """Every results file that exists, by name."""
    found = {}
    for name in SECTIONS:
        path = Path(folder) / f"{name}{'_quick' if quick else ''}.json"
        if path.exists():
            found[name] = json.loads(path.read_text())
    return found


def head(results):
    versions = {}
    for document in results.values():
        versions |= {name: version for name, version in document["versions"].items() if version}
    machine = next(iter(results.values()))["machine"]
    return [
        "# Benchmarks",
        "",
        f"Measured {span([document['date'] for document in results.values()], '{}')} on {machine['cores']} cores of",
        f"{machine['processor']}, shared with other work and noisy: read ratios within a table, not seconds between tables. Each",
        "question is one file of `benchmarks/questions/`, its results are in `benchmarks/results/`, and this page is made from",
        "them by `benchmarks/report/`; a test compares. `make bench` runs everything and writes the page anew, `make bench",
        "QUICK=1` runs small sizes in minutes. The commands stand [at the end](#runs).",
        "",
        f"Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}.",
        "",
    ]


def runs(results):
    """Date and commands of every results file."""
    rows = []
    for name, document in results.items():
        commands = [*document.get("earlier_commands", []), *([document["command"]] if "command" in document else [])]
        rows.append((f"`{name}.json`", document["date"], "<br>".join(f"`{command}`" for command in commands)))
    return ["## Runs", "", *table(("results", "date of the last run", "commands"), rows), ""]


def page(results, quick=False):
    """The whole page; promises are about full sizes."""
    lines = head(results) + ([] if quick else promises.section(results))
    for name, document in results.items():
        lines += SECTIONS[name](document)
    return "\n".join(wrapped([*lines, *runs(results)])).rstrip() + "\n"


# -- the README ------------------------------------------------------------------------------------------------------


def readme_draw(results):
    a = results["adult_one_draw"]
    if "skipped" in a:
        return ""
    return (
        f"On UCI Adult at {budget(results)} one posterior draw has test log-loss {a['log_loss']:.4f} ({a['non_private']:.4f} "
        "without privacy)."
    )


def readme_estimate(results):
    found = [cell["methods"] for cell in results["cells"] if (cell["data"], cell["epsilon"]) == ("Adult", 1.0)]
    return f"An estimate at ε = 1 has {found[0]['estimate']['log_loss']:.4f}." if found and "estimate" in found[0] else ""


def readme_nuts(results):
    n = results["against_nuts"]
    return (
        f"At n = {n['n']:,} with {n['features']} features the first exact draw comes {n['first_ratio']:.1f} times sooner than "
        f"NUTS's first, and a further one costs {n['next_ratio']:.1f} times less than an effective NUTS draw."
    )


def readme_utility(results):
    cells = strong(complete(results))
    if not cells:
        return ""
    found = counts(cells)
    return (
        f"Against the best private opponent of each cell, opponents tuned on the test set included, the estimate is better in "
        f"{found['better']}, level in {found['level']} and worse in {found['worse']} of the {len(cells)} cells with "
        f"nμ/d ≥ {SIGNAL:g}: at least level in {100 * share_level(cells):.0f} %."
    )


def readme_scale(results):
    largest = results["sizes"][-1]
    return f"A release from {largest['n']:,} rows of a Parquet file peaks at {largest['peak_mib']:,.0f} MiB."


def readme(results):
    """The README's paragraph."""
    makers = (
        ("main_line", readme_draw),
        ("utility", readme_estimate),
        ("utility", readme_utility),
        ("main_line", readme_nuts),
        ("scale", readme_scale),
    )
    sentences = [make(results[name]) for name, make in makers if name in results]
    kept = f"Of {len(promises.PROMISES)} promised figures {promises.kept(results)} hold in the committed run."
    where = "[docs/benchmarks.md](docs/benchmarks.md) has all tables, losses as plainly as wins."
    return "\n".join(fill(" ".join(filter(None, ["**Measured.**", *sentences, kept, where])))) + "\n"


def between_markers(text):
    """What stands before, between and after the README's markers."""
    before, rest = text.split(MARKERS[0])
    paragraph, after = rest.split(MARKERS[1])
    return before, paragraph, after


def main():
    quick = "--quick" in sys.argv[1:]
    results = load_all(quick)
    if quick:
        print(page(results, quick))
        return
    from benchmarks.report.figures import draw_all

    FIGURES.mkdir(exist_ok=True)
    draw_all(results, FIGURES)
    PAGE.write_text(page(results))
    before, _, after = between_markers(README.read_text())
    README.write_text(before + MARKERS[0] + readme(results) + MARKERS[1] + after)


if __name__ == "__main__":
    main()
