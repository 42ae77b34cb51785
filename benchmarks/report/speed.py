"""The page's sections on time, passes and memory: the main line, estimates, speed, scale."""

from __future__ import annotations

from benchmarks.report.promises import one_of
from benchmarks.report.tables import budget, listed, table


def main_line(results):
    """Everything that was measured; parts that were not run are left out."""
    rows, notes = [], []
    for name, make in MAIN_LINE.items():
        if name in results and "skipped" not in results[name]:
            made, said = make(results[name])
            rows += made
            notes += said
    threads = results["machine"]["threads"]
    loops = "gibbsafe's compiled loops" if results["machine"].get("compiled") else "NumPy alone"
    return [
        "## The main line",
        "",
        f"Draws at {budget(results)}, on {threads} thread{'s' * (threads > 1)}, passes by {loops}.",
        "",
        *table(("what", "measured"), rows),
        "",
        *notes,
        "",
    ]


def adult_one_draw(a):
    name = f"test log-loss of one draw on Adult, n = {a['n']:,}, {a['parameters']} parameters, {a['releases']} releases"
    return [(name, f"{a['log_loss']:.4f} ± {a['standard_error']:.4f} (non-private {a['non_private']:.4f})")], []


def kernels(k):
    rows = [
        (f"gradient pass over `X.sum()`, {k['n']:,} × {k['columns']}", f"{k['gradient_over_sum']:.2f}"),
        ("the same by NumPy alone, without the compiled loops", f"{k['gradient_by_numpy_over_sum']:.2f}"),
        ("value and gradient over `X.sum()`, same array", f"{k['value_and_gradient_over_sum']:.2f}"),
    ]
    each = k["gradient_over_sum_each"]
    return rows, [
        f"Kernels are medians over {k['arrays']} arrays, the best of {k['repeats']} runs in turn on each; the gradient's ratio",
        f"was {min(each):.2f} to {max(each):.2f} on them, and `X.sum()` took {k['sum_ms']:.1f} ms.",
    ]


def against_sklearn(s):
    name = f"release at n = {s['n']:,}, {s['features']} features, over scikit-learn's fit"
    return [(name, f"{s['release_over_fit']:.2f} ({s['release_s']:.2f} s / {s['sklearn_fit_s']:.2f} s)")], []


def growth(g):
    name = f"exponent of the cost per draw, n = {g['sizes'][0]:,} to {g['sizes'][-1]:,}, {g['features']} features"
    costs = ", ".join(f"{1e3 * seconds:.2f}" for seconds in g["seconds_per_draw"])
    local = g.get("largest_local_exponent")
    steepest = "" if local is None else f"; between neighbouring sizes the exponent is at most {local:.2f}"
    sizes = ", ".join(f"{n:,}" for n in g["sizes"])
    why = "Sums that decide most proposals without the data are built only where they are worth their set-up: it jumps there."
    return [(name, f"{g['exponent']:.2f}")], [f"The cost per draw is {costs} ms at n = {sizes}{steepest}. {why}"]


def against_nuts(n):
    rows = [
        (
            f"first exact draw sooner than NUTS's first, n = {n['n']:,}, {n['features']} features",
            f"{n['first_ratio']:.1f}× ({n['exact_first_s']:.2f} s / {n['nuts_first_s']:.2f} s)",
        ),
        (
            "further exact draw cheaper than an effective NUTS draw, set-up and warm-up excluded",
            f"{n['next_ratio']:.1f}× ({n['exact_next_s'] * 1e3:.2f} ms / {n['nuts_next_effective_s'] * 1e3:.1f} ms)",
        ),
    ]
    return rows, [
        f"Counting our extra set-up for {n['exact_further_draws']:,} draws, the ratio of the last row is",
        f"{n['next_ratio_with_warmup']:.1f} against NUTS with its warm-up, and {n['next_ratio_setup_against_no_warmup']:.1f}",
        "against NUTS without it, the hardest comparison for us. NUTS is numpyro's, in single precision on the same potential,",
        f"{n['nuts_warmup']} warm-up steps, one compiled loop whose compilation is not counted, effective draws by its own",
        f"estimate ({n['nuts_effective']:.0f} of {n['nuts_samples']}); it carries no certificate.",
    ]


MAIN_LINE = {
    "adult_one_draw": adult_one_draw,
    "kernels": kernels,
    "against_sklearn": against_sklearn,
    "growth": growth,
    "against_nuts": against_nuts,
}


def estimates(results):
    ways = [data + suffix for data in ("adult", "iso") for suffix in ("", "_point", "_stages")]
    entries = [(data, entry) for data in ways if isinstance(results.get(data), list) for entry in results[data]]
    rows = []
    for data, entry in entries:
        name = entry.get("data", data.capitalize())
        way = {"point": "all for the point", "stages": "stages"}.get(data.partition("_")[2], "default")
        size = f", n = {entry['n']:,}, {entry['parameters']} parameters" if "n" in entry else ""
        loss = f"{entry['log_loss']:.4f} ± {entry['standard_error']:.4f}"
        cost = (f"{entry['passes_median']:.0f}", f"{entry['seconds_median']:.2f}")
        rows.append((name + size, f"{entry['epsilon']:g}", way, loss, *cost))
    delta = f", {budget(results)}," if "delta" in results else ""
    lines = [
        "## Estimates",
        "",
        f'Mean test log-loss of `purpose="estimate"`{delta} over',
        f"{listed(entry['releases'] for _, entry in entries)} independent releases; passes over the records and seconds are",
        "medians of one release. *All for the point* keeps nothing for intervals, *stages* is the older way.",
        "",
        *table(("data", "ε", "estimate", "log-loss", "passes", "seconds"), rows),
        "",
        *beside_fit(results.get("against_sklearn")),
    ]
    if "gradient_descent_public_rate" in results:
        lines += matching(results, one_of(results["adult"], epsilon=1.0))
    return lines


def beside_fit(found):
    """The estimate's seconds beside scikit-learn's fit."""
    if found is None:
        return []
    words = (
        f"At n = {found['n']:,} with {found['features']} features an estimate takes {found['estimate_s']:.1f} s, scikit-learn's"
    )
    return [f"{words} `LogisticRegression` {found['sklearn_fit_s']:.1f} s: {found['estimate_over_fit']:.1f} times as long.", ""]


def matching(results, ours):
    """Gradient descent's passes to reach the estimate's log-loss."""
    seeds = results["gradient_descent_public_rate"].get("seeds")
    runs = "" if seeds is None else f", mean of {seeds} runs,"
    lines = [
        f"Averaged private gradient descent on Adult at ε = 1{runs} until it reaches the estimate's log-loss, for which the",
        f"estimate needs {ours['passes_median']:.0f} passes and {ours['seconds_median']:.2f} s:",
        "",
    ]
    for key, words in (
        ("gradient_descent_public_rate", "the textbook's step size, one over the smoothness"),
        ("gradient_descent_largest_safe_rate", "twice that, the largest that is stable in the worst case"),
        ("gradient_descent_tuned_on_test", "step size tuned on the test set (not private, its best case)"),
    ):
        found = results[key]
        last = found["tried"][-1]
        text = f"not reached in {last['passes']:,} passes, log-loss {last['log_loss']:.4f}"
        if found["passes"] is not None:
            before = f", {found['tried'][-2]['passes']:,} were not enough" if len(found["tried"]) > 1 else ""
            text = f"{found['passes']:,} passes, {found['passes'] / ours['passes_median']:.1f} times the estimate's{before}"
        lines.append(f"- {words}: {text} ({last['seconds']:.2f} s)")
    return [
        *lines,
        "",
        "One pass of the exact sampler serves a whole batch of proposals, so passes are not seconds. Gradient descent's",
        "guarantee needs the step count fixed in advance, as ours needs the schedule; neither may be tuned on the data.",
        "",
    ]


CHAINS = ("numpyro", "nutpie")
NOISE = 1e-8  # seconds per draw below which the longer chain was not slower than the shorter one


def per_draw(entry, key):
    """Time per further draw."""
    seconds = entry[key]
    shown = f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
    return "lost in noise" if seconds < NOISE else shown


def exact_times(cell, usual):
    few = f", {cell['further_draws']} draws" if cell["further_draws"] < usual else ""
    return f"{cell['exact']['first_s']:.2f} s", per_draw(cell["exact"], "next_s") + few


def chain_times(entry):
    if entry is None:
        return "–", "–", "–"
    ratio = (
        "–"
        if entry["next_effective_s"] < NOISE
        else f"{entry['next_ratio']:.2g}×"
        if entry["next_ratio"] < 1
        else f"{entry['next_ratio']:,.0f}×"
    )
    return f"{entry['first_s']:.2f} s", per_draw(entry, "next_effective_s"), f"{entry['first_ratio']:.1f}×, {ratio}"


def sizes_of(cells):
    return ", ".join(f"{cell['n']:,} × {cell['parameters']}" for cell in cells)


def speed_table(cells, usual):
    head = ["n", "parameters", "exact: first", "further"]
    head += [f"{name}: {part}" for name in CHAINS for part in ("first", "further", "ratios")]
    rows = []
    for cell in cells:
        chains = [part for name in CHAINS for part in chain_times(cell.get(name))]
        rows.append((f"{cell['n']:,}", str(cell["parameters"]), *exact_times(cell, usual), *chains))
    return table(head, rows)


def speed(results):
    cells = results["cells"]
    usual = max(cell["further_draws"] for cell in cells)
    longest = max((cell["warmup"], cell["samples"]) for cell in cells)
    short = [cell for cell in cells if (cell["warmup"], cell["samples"]) < longest]
    once = ""
    if short:
        once = f" ({short[0]['warmup']} and {short[0]['samples']} at {sizes_of(short)}, each chain run once)"
    said = f", {budget(results)}" if budget(results) else ""
    threads = results["machine"]["threads"]
    return [
        "## Speed of exact draws",
        "",
        "Seconds to the first draw (set-up or warm-up included), and per further draw (an *effective* one for NUTS; set-up and",
        f"warm-up excluded; {usual:,} of ours unless fewer are named), on the posterior of one draw{said}, isotropic data,",
        f"{threads} thread{'s' * (threads > 1)}. A ratio above 1 favours the exact sampler, one below 1 the chain. A dash is a",
        f"chain that was not run. Chains have {longest[0]} warm-up steps and {longest[1]} draws{once}. nutpie drives this",
        "library's own fused kernel, so its ratio compares algorithms rather than kernels.",
        "",
        *speed_table(cells, usual),
        "",
        *slow_cells(cells),
        *unmeasured(cells),
        "![Time to the first draw](figures/speed.png)",
        "",
        *kernel_table(results["kernels"]),
    ]


#: Records per parameter below which it is the envelope that makes exact draws slow.
FEW_RECORDS = 1000


def slow_cells(cells):
    """Where a chain's further draw is cheaper than ours, and why."""
    lost = [cell for cell in cells if any(cell[name]["next_ratio"] < 1 for name in CHAINS if name in cell)]
    thin = [cell for cell in lost if cell["n"] < FEW_RECORDS * cell["parameters"]]
    rich = [cell for cell in lost if cell not in thin]
    lines = []
    if thin:
        lines += [
            f"A chain's draws are cheaper at {sizes_of(thin)}: with few records for so many parameters the",
            "envelope, which must hold in the worst direction, lies far above the density in the usual one, and most proposals",
            "fail. A chain asks for no such proof.",
            "",
        ]
    if rich:
        lines += [
            f"At {sizes_of(rich)} so few draws do not repay the sums that would make each of them cheap, and are made without.",
            "",
        ]
    return lines


def unmeasured(cells):
    """Pairs of the table's numbers of records and parameters that no run finished."""
    done = {(cell["n"], cell["parameters"]) for cell in cells}
    rest = sorted({(n, d) for n, _ in done for _, d in done} - done)
    return [f"Not measured: {', '.join(f'{n:,} × {d}' for n, d in rest)}.", ""] if rest else []


def kernel_table(entries):
    head = ("kernel, in units of `X.sum()` on the same array", "threads", "gradient", "value and gradient")
    keys = ("gradient_over_sum", "value_and_gradient_over_sum")
    rows = [
        (f"{entry['n']:,} × {entry['columns']}", str(entry["threads"]), *(f"{entry[key]:.2f}" for key in keys))
        for entry in entries
    ]
    said = "`X.sum()` and the compiled gradient use one thread whatever the setting; more threads serve matrix products only. "
    said += "The first row repeats the main line's measurement at another hour: neighbours on a shared machine move it."
    return [*table(head, rows), "", said, ""]


def _estimates_at_scale(results):
    """What an estimate from the same files took, and the memory of the process without what it mapped."""
    if "estimates" not in results:
        return []
    keys = (("seconds", 1), ("reading_s", 1), ("anonymous_mib", 0))
    pairs = zip(results["sizes"], results["estimates"], strict=False)
    rows = [(f"{a['n']:,}", *(f"{each[key]:,.{digits}f}" for each in (a, b) for key, digits in keys)) for a, b in pairs]
    head = [f"{what}: {key}" for what in ("draw", "estimate") for key in ("seconds", "of them reading", "anonymous, MiB")]
    last = ", ".join(f"{e:.2f}" for e in (results["last_exponent"], results["of_estimates"]["last_exponent"]) if e is not None)
    said = f"Exponents of time between the last two sizes, of a draw and of an estimate: {last}. A mapped file's pages are the"
    return [*table(("rows", *head), rows), "", said, "system's cache: they count for the peak, and not as anonymous memory.", ""]


def scale(results):
    rows = [
        (f"{entry['n']:,}", *(f"{entry[key]:,.{digits}f}" for key, digits in (("file_mib", 0), ("seconds", 1), ("peak_mib", 0))))
        for entry in results["sizes"]
    ]
    fitted = []
    if results["seconds_exponent"] is not None:
        start = f" from {results['exponent_from']:,} rows on" if "exponent_from" in results else ""
        exponents = f"time {results['seconds_exponent']:.2f}, peak memory {results['peak_mib_exponent']:.2f}"
        fitted = [f"Fitted exponents{start}: {exponents}.", ""]
    return [
        "## Scale",
        "",
        f"One draw from a Parquet file, {results['features']} features, encoded rows allowed {results['memory_mib']:.0f} MiB of",
        "memory (the rest in a file):",
        "",
        *table(("rows", "file, MiB", "seconds", "peak memory, MiB"), rows),
        "",
        *fitted,
        *_estimates_at_scale(results),
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
