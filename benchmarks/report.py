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


PROMISED = {"adult": {0.1: 0.41, 0.3: 0.365, 1.0: 0.341, 3.0: 0.333}, "iso": {1.0: 0.458}}
TABLES = {"adult": "Adult, n = 32,561, 50 parameters", "iso": "iso, n = 10,000, 21 parameters"}


def estimates(results):
    entries = [(data, entry) for data in ("adult", "iso") if isinstance(results[data], list) for entry in results[data]]
    stages = sorted({entry.get("stages", 4) for _, entry in entries})  # results without the field are of four stages
    lines = [
        "## Estimates",
        "",
        f'Mean test log-loss of `purpose="estimate"` with {" or ".join(map(str, stages))} stages, δ = 1e-6, over independent',
        "releases; passes over the records and seconds are medians of one release.",
        "",
        "| data | ε | log-loss | promised | holds | passes | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for data, entry in entries:
        limit = PROMISED[data].get(entry["epsilon"])
        holds = ["", ""] if limit is None else [f"≤ {limit:g}", "yes" if entry["log_loss"] <= limit else "**no**"]
        loss = f"{entry['log_loss']:.4f} ± {entry['standard_error']:.4f}"
        cost = [f"{entry['passes_median']:.0f}", f"{entry['seconds_median']:.2f}"]
        lines.append("| " + " | ".join([TABLES[data], f"{entry['epsilon']:g}", loss, *holds, *cost]) + " |")
    if "gradient_descent_public_rate" in results:
        lines += matching(results, next(entry for entry in results["adult"] if entry["epsilon"] == 1.0))
    return [*lines, ""]


def matching(results, ours):
    """Gradient descent's passes to reach the estimate's log-loss."""
    lines = ["", "Averaged private gradient descent on Adult at ε = 1, until it reaches the estimate's log-loss:", ""]
    for key, words in (
        ("gradient_descent_public_rate", "step size from public constants"),
        ("gradient_descent_tuned_on_test", "step size tuned on the test set (not private, its best case)"),
    ):
        found = results[key]
        last = found["tried"][-1]
        text = f"not reached in {last['passes']:,} passes ({last['log_loss']:.4f})"
        if found["passes"] is not None:
            ratio = found["passes"] / ours["passes_median"]
            text = f"{found['passes']:,} passes ({last['seconds']:.1f} s), {ratio:.1f} times the estimate's"
        lines.append(f"- {words}: {text}")
    return [
        *lines,
        "",
        "One pass of the exact sampler serves a whole batch of proposals, so passes are not seconds: the estimate takes",
        f"{ours['seconds_median']:.1f} s here, and gradient descent is the faster of the two on this table. Its",
        "guarantee needs the step",
        "count fixed in advance, as ours needs the schedule; neither may be tuned on the data.",
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
        if entry["next_effective_s"] < 1e-8:  # the longer chain was not slower than the shorter one
            return [f"{entry['first_s']:.2f} s", "lost in noise", f"{entry['first_ratio']:.1f}×, –"]
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
        "A ratio above 1 favours the exact sampler, one below 1 the chain. NUTS is left out (–) where its first draw would take",
        "minutes; sizes with fewer than 50 records per parameter are left out because there the exact sampler accepts",
        "so rarely that",
        "hundreds of draws take minutes. nutpie drives",
        "this library's own fused kernel, so its ratio compares algorithms rather than kernels.",
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
        "| model | ε | δ | Gaussian DP | Theorem 7 | Corollary 8 |",
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
        "For logistic regression the worst case is a supremum over data that lie far in the loss's tail; the pair",
        "found here attains",
        "half of it. How much of that gap is the search's and how much the theorem's is open.",
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
        f"Mean squared error over 20 seeds, δ = {results['delta']:g} where a method has one.",
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
        "coordinates its budget is split and it loses. `GaussianMean` is the Gaussian mechanism at its exact price; OpenDP's",
        "differs by its conversion from zCDP. `LinearRegression` pays for a Lipschitz constant on a whole parameter",
        "ball, and AdaSSP,",
        "which perturbs sufficient statistics, beats it here; `PseudoHuberRegression` needs no bound on the response. With",
        "heavy tails and many records AdaSSP comes level with it, clipping being nearly free then. For unbounded",
        "records the others",
        "must clip at the same ±100 within which the Welsch location searches.",
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
        "The table gives n·MSE/σ² at ε = 1 for a Welsch draw, the Laplace mechanism on the clipped mean and the",
        "trimmed contaminated",
        "likelihood, on bounds of two widths: only the Laplace mechanism pays for the width. CoinPress with ten steps,",
        "in the same",
        f"units, at the budgets of Table 1 by the paper's conversion: {pairs}.",
        "",
    ]


def heavy_tails(results):
    lines = [
        "## Heavy tails without a bound on the response",
        "",
        f"Distance of the coefficients to the truth at ε = 1, δ = 1e-6, mean of {results['data_sets']} data sets",
        f"with one release each: n = {results['n']:,}, d = 5, Student noise with two degrees of freedom, 50 responses",
        "between 1e3 and 1e6 in size,",
        "default settings. *Without privacy* is the minimiser of the same loss.",
        "",
        "| features | estimator | error | largest | without privacy | ratio |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['features']} | `{row['estimator']}` | {row['private']:.4f} | {row['largest']:.4f} | {row['plain']:.4f} | "
        f"{row['ratio']:.2f} |"
        for row in results["rows"]
    ]
    return [*lines, ""]


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
    fitted = []
    if results["seconds_exponent"] is not None:
        time, memory = results["seconds_exponent"], results["peak_mib_exponent"]
        fitted = [f"Fitted exponents from 100,000 rows on: time {time:.2f}, peak memory {memory:.2f}."]
    largest = f"{results['sizes'][-1]['n']:,} rows is the largest size that was run on this shared machine."
    lines += [f"| {e['n']:,} | {e['file_mib']:.0f} | {e['seconds']:.1f} | {e['peak_mib']:.0f} |" for e in results["sizes"]]
    return [
        *lines,
        "",
        *fitted,
        largest,
        "",
        "![Time and memory against rows](figures/scale.png)",
        "",
    ]


def out_of_core(results):
    return [
        "## Out of core",
        "",
        f"`gibbsafe release` of {results['model']} from a Parquet file of {results['file_bytes'] / 1e9:.1f} GB",
        f"({results['rows']:,} rows, {results['columns']} columns) with `--memory {results['memory']}` held at most",
        f"{results['resident_megabytes']:.0f} MB and took {results['seconds']:.0f} s.",
        "",
    ]


NAMES = (
    "main_line",
    "utility",
    "estimates",
    "speed",
    "tightness",
    "means",
    "heavy_tails",
    "contamination",
    "network_statistics",
    "scale",
    "out_of_core",
)


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
        versions |= {name: version for name, version in document.get("versions", {}).items() if version}
    machine = next(iter(results.values()))["machine"]
    dates = sorted({document["date"] for document in results.values() if "date" in document})
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
        "estimates": estimates,
        "utility": utility,
        "speed": speed,
        "tightness": tightness,
        "means": means,
        "heavy_tails": heavy_tails,
        "contamination": contamination,
        "network_statistics": networks,
        "scale": scale,
        "out_of_core": out_of_core,
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
