"""Write docs/benchmarks.md and its figures from the committed results; every number there comes from a results file."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path

from report_utility import utility

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
FIGURES = HERE.parent / "docs" / "figures"


def row(name, value, promise, holds):
    return f"| {name} | {value} | {promise} | {'yes' if holds else '**no**'} |"


def promised(limit, value, at_most=True):
    return f"{'≤' if at_most else '≥'} {limit:g}{'' if at_most else '×'}", value <= limit if at_most else value >= limit


def main_line(results):
    k, a, s, g, n = (results[name] for name in ("kernels", "adult_one_draw", "against_sklearn", "growth", "against_nuts"))
    first = f"first exact draw sooner than NUTS's first, n = {n['n']:,}, {n['features']} features"
    further = "further exact draw cheaper than an effective NUTS draw, set-up and warm-up excluded"
    single = f"gradient pass over `X.sum()`, {k['n']:,} × {k['columns']}, slopes in single precision, products in double"
    measured = [
        (
            single,
            f"{k['gradient_over_sum']:.2f} (all in double: {k['double_gradient_over_sum']:.2f})",
            *promised(1.75, k["gradient_over_sum"]),
        ),
        (
            "value and gradient over `X.sum()`, same array",
            f"{k['value_and_gradient_over_sum']:.2f}",
            *promised(3.5, k["value_and_gradient_over_sum"]),
        ),
        (
            f"release at n = {s['n']:,}, {s['features']} features, over scikit-learn's fit",
            f"{s['release_over_fit']:.2f} ({s['release_s']:.2f} s / {s['sklearn_fit_s']:.2f} s)",
            *promised(10, s["release_over_fit"]),
        ),
        (
            f"exponent of the cost per draw, n = {g['sizes'][0]:,} to {g['sizes'][-1]:,}",
            f"{g['exponent']:.2f}",
            *promised(1.1, g["exponent"]),
        ),
        (
            first,
            f"{n['first_ratio']:.1f}× ({n['exact_first_s']:.2f} s / {n['nuts_first_s']:.2f} s)",
            *promised(8, n["first_ratio"], False),
        ),
        (
            further,
            f"{n['next_ratio']:.0f}× ({n['exact_next_s'] * 1e3:.2f} ms / {n['nuts_next_effective_s'] * 1e3:.1f} ms)",
            *promised(40, n["next_ratio"], False),
        ),
    ]
    if "skipped" not in a:
        value = f"{a['log_loss']:.4f} ± {a['standard_error']:.4f} (non-private {a['non_private']:.4f})"
        name = f"test log-loss of one draw on Adult, ε = 1, δ = 1e-6, {a['releases']} releases"
        measured.insert(0, (name, value, *promised(0.35, a["log_loss"])))
    return [
        "## The main line",
        "",
        "| what | measured | promised | holds |",
        "|---|---|---|---|",
        *(row(*entry) for entry in measured),
        "",
        f"Counting our extra set-up for {n['exact_further_draws']:,} draws, the last ratio is",
        f"{n['next_ratio_with_warmup']:.0f} against NUTS with its warm-up, and",
        f"{n['next_ratio_setup_against_no_warmup']:.0f} against NUTS without it, the hardest comparison for us. NUTS is",
        "numpyro's, in single precision on the same",
        f"potential, {n['nuts_warmup']} warm-up steps, one compiled loop whose compilation is not counted, effective",
        "draws by its own estimate",
        f"({n['nuts_effective']:.0f} of {n['nuts_samples']}); it carries no certificate. Everything ran on",
        f"{results['machine']['threads']} thread; `X.sum()` took {k['sum_ms']:.1f} ms.",
        "Kernels are the best of nine in turn, medians over several arrays; the rest the best of two or three.",
        "",
    ]


PROMISED = {
    ("Adult", 0.1): 0.41,
    ("Adult", 0.3): 0.365,
    ("Adult", 1.0): 0.341,
    ("Adult", 3.0): 0.333,
    ("iso 1e4 × 20", 1.0): 0.458,
}


def estimates(results, cells):
    lines = [
        "## Estimates",
        "",
        'Promised test log-loss of `purpose="estimate"` with default settings, δ = 1e-6 (more cells below):',
        "",
        "| data | ε | log-loss | promised | holds | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for cell in cells:
        limit, entry = PROMISED.get((cell["data"], cell["epsilon"])), cell["methods"].get("estimate")
        if limit is not None and entry is not None:
            lines.append(
                f"| {cell['data']} | {cell['epsilon']:g} | {entry['log_loss']:.4f} ± {entry['log_loss_error']:.4f} | "
                f"≤ {limit:g} | "
                f"{'yes' if entry['log_loss'] <= limit else '**no**'} | {entry['seconds']:.2f} |"
            )
    if "estimate" not in results:
        return [*lines, ""]
    ours = results["estimate"]
    lines += [
        "",
        f"What it costs on {ours['data']} at ε = {ours['epsilon']:g} ({ours['stages']} stages, {ours['releases']}",
        f"releases): {ours['passes_median']:.0f} passes over the records,",
        f"{ours['seconds_median']:.1f} s, for a log-loss of {ours['log_loss']:.4f}. Averaged private gradient descent",
        "reaches that log-loss with",
        "",
    ]
    for key, words in (
        ("public_rate", "a step size from public constants"),
        ("tuned_on_test", "a step size tuned on the test set (not private, its best case)"),
    ):
        found = results["gradient_descent"][key]
        last = found["tried"][-1]
        if found["passes"] is None:
            text = f"not within {last['passes']:,} passes ({last['log_loss']:.4f})"
        else:
            ratio = found["passes"] / ours["passes_median"]
            text = f"{found['passes']:,} passes ({last['seconds']:.1f} s), {ratio:.1f} times the estimate's"
        lines.append(f"- {words}: {text}")
    return [
        *lines,
        "",
        "One pass of the exact sampler serves a whole batch of proposals, so passes are not seconds, and gradient",
        "descent is often the",
        "faster of the two in seconds. Its guarantee needs the step count fixed in advance, as ours needs the",
        "schedule; neither may be",
        "tuned on the data.",
        "",
    ]


def speed(results):
    lines = [
        "## Speed of exact draws",
        "",
        "Seconds to the first draw (set-up or warm-up included), and per further draw (an *effective* one for NUTS;",
        "set-up and warm-up",
        "excluded), on the posterior of one draw at (1, 1e-6), isotropic data, one thread.",
        "",
        "| n | parameters | exact: first | further | numpyro: first | further | ratios | nutpie: first | further | ratios |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]

    def chain(entry):
        if entry is None:
            return ["–", "–", "–"]
        times = [f"{entry['first_s']:.2f} s", f"{entry['next_effective_s'] * 1e3:.2f} ms"]
        return [*times, f"{entry['first_ratio']:.1f}×, {entry['next_ratio']:.1f}×"]

    for cell in results["cells"]:
        exact = cell["exact"]
        shown = [
            f"{exact['first_s']:.2f} s",
            f"{exact['next_s'] * 1e3:.2f} ms",
            *chain(cell.get("numpyro")),
            *chain(cell.get("nutpie")),
        ]
        lines.append(f"| {cell['n']:,} | {cell['parameters']} | " + " | ".join(shown) + " |")
    lines += [
        "",
        "A ratio above 1 favours the exact sampler. NUTS is left out (–) where its first draw would take minutes.",
        "nutpie drives this",
        "library's own fused kernel, so its ratio compares algorithms rather than kernels. At small n a chain's",
        "further draws are nearly",
        "free and the exact sampler's proposals are not: there the ratio is smallest.",
        "",
        "![Time to the first draw](figures/speed.png)",
        "",
        "| kernel, in units of `X.sum()` on the same array | threads | gradient | all in double | value and gradient |",
        "|---|---|---|---|---|",
    ]
    for entry in results["kernels"]:
        lines.append(
            f"| {entry['n']:,} × {entry['columns']} | {entry['threads']} | {entry['gradient_over_sum']:.2f} | "
            f"{entry['double_gradient_over_sum']:.2f} | {entry['value_and_gradient_over_sum']:.2f} |"
        )
    return [
        *lines,
        "",
        "`X.sum()` uses one thread whatever the setting; two threads serve the matrix products only.",
        "",
    ]


def tightness(results):
    lines = [
        "## Tightness",
        "",
        f"Inverse temperature β that a theorem allows (prior precision {results['prior_precision']:g}), as a share of",
        "the largest β at which the worst",
        "neighbours found by `gibbsafe.audit` still meet the budget, computed exactly by quadrature. 100 % is tight:",
        "no proof can allow more.",
        "",
        "| model | ε | δ | Gaussian DP | Theorem 7, sharpened | Corollary 8 |",
        "|---|---|---|---|---|---|",
    ]

    def share(cell, theorem):
        beta = cell["allowed"].get(theorem)
        return "refused" if beta is None else f"{100 * beta / cell['exact']['at_most']:.1f} %"

    for cell in results["cells"]:
        if cell["draws"] == 1:
            shares = " | ".join(share(cell, name) for name in ("gaussian-dp", "log-sobolev", "log-sobolev-simple"))
            lines.append(f"| {cell['model']} | {cell['epsilon']:g} | {cell['delta']:g} | {shares} |")
    lines += [
        "",
        "For logistic regression the worst case is a supremum that needs extreme data (all records far in the loss's",
        "tail); the pair found",
        "here, label flips, attains half of it. That gap may be the search's or the theorem's: it is an upper limit of the loss.",
        "",
        "The price of 100 draws: β by Gaussian DP (which shrinks like 1/√N), over β by the papers' way, Corollary 8 at",
        "(ε/N, δ/N) for each:",
        "",
        "| model | ε | δ | ratio |",
        "|---|---|---|---|",
    ]
    for cell in results["cells"]:
        if cell["draws"] == 100 and cell["papers"] is not None:
            ratio = cell["allowed"]["gaussian-dp"] / cell["papers"]
            lines.append(f"| {cell['model']} | {cell['epsilon']:g} | {cell['delta']:g} | {ratio:.1f} |")
    return [*lines, ""]


def means(results):
    lines = [
        "## Means and regression",
        "",
        f"Mean squared error over 20 seeds where not said otherwise, δ = {results['delta']:g} where a method has one.",
        "diffprivlib and the Welsch",
        "location guarantee pure ε. Bold is the best private value.",
        "",
    ]
    tasks = list(dict.fromkeys(cell["task"] for cell in results["cells"]))
    for task in tasks:
        cells = [cell for cell in results["cells"] if cell["task"] == task]
        names = list(cells[0]["methods"])
        lines += [f"**{task.capitalize()}**", "", "| n | d | ε | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 3)]
        for cell in cells:
            private = {k: v["mean"] for k, v in cell["methods"].items() if "non-private" not in k}
            least = min(private.values())
            shown = [f"**{v['mean']:.3g}**" if v["mean"] == least else f"{v['mean']:.3g}" for v in cell["methods"].values()]
            lines.append(f"| {cell['n']:,} | {cell['d']} | {cell['epsilon']:g} | " + " | ".join(shown) + " |")
        lines.append("")
    return [
        *lines,
        "In one dimension Laplace noise of pure ε is smaller than Gaussian noise at δ = 1e-6, so diffprivlib's mean",
        "wins there; with 20",
        "coordinates its budget is split and it loses. `GaussianMean` is the Gaussian mechanism at its exact price, to",
        "the digits; OpenDP's",
        "differs by its conversion from zCDP. `LinearRegression` pays for a Lipschitz constant on a whole parameter",
        "ball, and AdaSSP,",
        "which perturbs sufficient statistics, overtakes it as n grows; `PseudoHuberRegression` needs no bound on the",
        "response. For",
        "unbounded records the others must clip at the same ±100 within which the Welsch location searches.",
        "",
    ]


def contamination(results):
    lines = ["## Contamination", ""]
    if "table" in results:
        gap = results["table"]
        lines += [
            f"Table 1 of Hu et al.: median relative gap to the printed values {gap['median_gap']:.3f}, largest",
            f"{gap['largest_gap']:.3f}.",
            "",
        ]
    lines += ["| one data set of Algorithm 1 | n | seconds | over 10,000 particles evaluated directly |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {entry['n']:,} | {entry['seconds']:.2f} | {entry['ratio']:.0f}× faster |"
        for name, entry in results["speed"].items()
    ]
    lines += ["", "| width | n | Welsch | Laplace, clipped | trimmed mean |", "|---|---|---|---|---|"]
    lines += [
        f"| {entry['width']:g} | {entry['n']:,} | {entry['welsch']:.2f} ± {entry['welsch_standard_error']:.2f} | "
        f"{entry['laplace']:.1f} ± {entry['laplace_standard_error']:.1f} | "
        f"{entry['trimmed']:.1f} ± {entry['trimmed_standard_error']:.1f} |"
        for entry in results["worst_case"]
    ]
    pairs = ", ".join(f"{entry['mse_ratio']:.2f} (n = {entry['n']:,})" for entry in results["coinpress"])
    return [
        *lines,
        "",
        "Mean squared errors of private means at worst (first table), and the posterior's over CoinPress's at the ρ",
        "that Algorithm 1",
        f"estimates: {pairs}. Above 1 CoinPress is the better mean; what the posterior offers there is a whole distribution.",
        "",
    ]


def networks(results):
    counting, made = results["counting"], results["release"]
    return [
        "## Networks",
        "",
        f"Counting the {counting['cells']:,} cells of a network of {counting['nodes']} nodes over {counting['rows']:,}",
        f"rows takes {counting['ratio']:.2f} times as long as",
        f"`numpy.bincount` on ready-made joint codes ({counting['seconds']:.2f} s / {counting['bincount_seconds']:.2f}",
        "s); a whole release, rows encoded and checked,",
        f"{made['seconds']:.2f} s.",
        "",
    ]


def scale(results):
    lines = [
        "## Scale",
        "",
        f"One draw from a Parquet file, {results['features']} features, encoded rows allowed",
        f"{results['memory_mib']:.0f} MiB of memory (the rest in a file):",
        "",
        "| rows | file, MiB | seconds | peak memory, MiB |",
        "|---|---|---|---|",
    ]
    lines += [f"| {e['n']:,} | {e['file_mib']:.0f} | {e['seconds']:.1f} | {e['peak_mib']:.0f} |" for e in results["sizes"]]
    return [
        *lines,
        "",
        f"Fitted exponents from 100,000 rows on: time {results['seconds_exponent']:.2f}, peak memory",
        f"{results['peak_mib_exponent']:.2f}. A hundred million rows",
        "(8 GB of file and as much again beside it) were not run on this shared machine.",
        "",
        "![Time and memory against rows](figures/scale.png)",
        "",
    ]


NAMES = ("main_line", "utility", "estimates", "speed", "tightness", "means", "contamination", "network_statistics", "scale")


def load_all(quick=False, folder=HERE / "results"):
    """Every results file that exists, by name."""
    found = {}
    for name in NAMES:
        path = Path(folder) / f"{name}{'_quick' if quick else ''}.json"
        if path.exists():
            found[name] = json.loads(path.read_text())
    return found


def head(results):
    versions = {}
    for document in results.values():
        versions |= {name: version for name, version in document["versions"].items() if version}
    machine = next(iter(results.values()))["machine"]
    dates = sorted({document["date"] for document in results.values()})
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        "# Benchmarks",
        "",
        f"Written by `make bench` ({' to '.join(dict.fromkeys((dates[0], dates[-1])))}); {machine['cores']} cores of",
        f"{machine['processor']}, shared with other work and",
        "noisy: read ratios within a table, not seconds between tables. Each question is one file of `benchmarks/`,",
        "its results are in",
        "`benchmarks/results/`, and this page is made from them by `benchmarks/report.py`; a test compares. `make",
        "bench QUICK=1` runs",
        "small sizes of everything in minutes.",
        "",
        f"Versions: {listed}.",
        "",
    ]


def page(results):
    """The whole page."""
    lines = head(results)
    makers = {
        "main_line": main_line,
        "estimates": lambda document: estimates(document, results.get("utility", {"cells": []})["cells"]),
        "utility": utility,
        "speed": speed,
        "tightness": tightness,
        "means": means,
        "contamination": contamination,
        "network_statistics": networks,
        "scale": scale,
    }
    for name, make in makers.items():
        if name in results:
            lines += make(results[name])
    return "\n".join(wrapped(lines)).rstrip() + "\n"


def wrapped(lines):
    """Lines with their prose refilled; tables, headings, lists and pictures as they are."""
    done, prose = [], []
    for line in [*lines, ""]:
        if line and not re.match(r"[|#!\-*\n ]", line) and "\n" not in line:
            prose.append(line)
            continue
        done += textwrap.wrap(" ".join(prose), 126, break_on_hyphens=False, break_long_words=False)
        done.append(line)
        prose = []
    return done


def main():
    quick = "--quick" in sys.argv[1:]
    results = load_all(quick)
    if quick:
        print(page(results))
        return
    from figures import draw_all

    FIGURES.mkdir(exist_ok=True)
    draw_all(results, FIGURES)
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
