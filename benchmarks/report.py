"""Write docs/benchmarks.md from the committed results; every number there comes from a results file."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"


def row(name, value, promise, holds):
    return f"| {name} | {value} | {promise} | {'yes' if holds else '**no**'} |"


def main_line(results):
    k, a, s, g, n = (results[name] for name in ("kernels", "adult_one_draw", "against_sklearn", "growth", "against_nuts"))
    rows = [
        row(
            f"gradient pass over `X.sum()`, {k['n']:,} × {k['columns']}, slopes in single precision, products in double",
            f"{k['gradient_over_sum']:.2f} (all in double: {k['double_gradient_over_sum']:.2f})",
            "≤ 1.75",
            k["gradient_over_sum"] <= 1.75,
        ),
        row(
            "value and gradient over `X.sum()`, same array",
            f"{k['value_and_gradient_over_sum']:.2f}",
            "≤ 3.5",
            k["value_and_gradient_over_sum"] <= 3.5,
        ),
        row(
            f"release at n = {s['n']:,}, {s['features']} features, over scikit-learn's fit",
            f"{s['release_over_fit']:.2f} ({s['release_s']:.2f} s / {s['sklearn_fit_s']:.2f} s)",
            "≤ 10",
            s["release_over_fit"] <= 10,
        ),
        row(
            f"exponent of the cost per draw, n = {g['sizes'][0]:,} to {g['sizes'][-1]:,}",
            f"{g['exponent']:.2f}",
            "≤ 1.1",
            g["exponent"] <= 1.1,
        ),
        row(
            f"first exact draw sooner than NUTS's first, n = {n['n']:,}, {n['features']} features",
            f"{n['first_ratio']:.1f}× ({n['exact_first_s']:.2f} s / {n['nuts_first_s']:.2f} s)",
            "≥ 8×",
            n["first_ratio"] >= 8,
        ),
        row(
            "further exact draw cheaper than an effective NUTS draw, set-up and warm-up excluded",
            f"{n['next_ratio']:.0f}× ({n['exact_next_s'] * 1e3:.2f} ms / {n['nuts_next_effective_s'] * 1e3:.1f} ms)",
            "≥ 40×",
            n["next_ratio"] >= 40,
        ),
    ]
    if "skipped" not in a:
        value = f"{a['log_loss']:.4f} ± {a['standard_error']:.4f} (non-private {a['non_private']:.4f})"
        name = f"test log-loss of one draw on Adult, ε = 1, δ = 1e-6, {a['releases']} releases"
        rows.insert(0, row(name, value, "≤ 0.350", a["log_loss"] <= 0.350))
    return [
        "## The main line",
        "",
        "| what | measured | promised | holds |",
        "|---|---|---|---|",
        *rows,
        "",
        f"Counting our extra set-up for {n['exact_further_draws']:,} draws, the last ratio is {n['next_ratio_with_warmup']:.0f}",
        f"against NUTS with its warm-up, and {n['next_ratio_setup_against_no_warmup']:.0f} against NUTS without it, the hardest",
        "comparison for us.",
        "",
        f"NUTS is numpyro's, in single precision on the same potential, {n['nuts_warmup']} warm-up steps, compilation not",
        f"counted, effective draws by its own estimate ({n['nuts_effective']:.0f} of {n['nuts_samples']}); it carries no",
        f"certificate. Everything ran on {results['machine']['threads']} thread; `X.sum()` took {k['sum_ms']:.1f} ms. Kernels",
        "are the best of nine in turn, medians over several arrays; the rest the best of two or three.",
        "",
    ]


PROMISED = {"adult": {0.1: 0.41, 0.3: 0.365, 1.0: 0.341, 3.0: 0.333}, "iso": {1.0: 0.458}}
NAMES = {"adult": "Adult, n = 32,561, 50 parameters", "iso": "iso, n = 10,000, 21 parameters"}


def estimates(results):
    lines = [
        "## Estimates",
        "",
        'Mean test log-loss of `purpose="estimate"` with default settings, δ = 1e-6, over independent releases; passes over the',
        "records and seconds are medians of one release.",
        "",
        "| data | ε | log-loss | promised | holds | passes | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for data in ("adult", "iso"):
        for entry in results[data] if isinstance(results[data], list) else []:
            promise = PROMISED[data].get(entry["epsilon"])
            holds = "" if promise is None else ("yes" if entry["log_loss"] <= promise else "**no**")
            lines.append(
                f"| {NAMES[data]} | {entry['epsilon']:g} | {entry['log_loss']:.4f} ± {entry['standard_error']:.4f} | "
                f"{'' if promise is None else f'≤ {promise:g}'} | {holds} | {entry['passes_median']:.0f} | "
                f"{entry['seconds_median']:.2f} |"
            )
    if "gradient_descent_public_rate" in results:
        ours = results["adult"][2]
        lines += ["", "Averaged private gradient descent on Adult at ε = 1, until it reaches the estimate's log-loss:", ""]
        for key, words in (
            ("gradient_descent_public_rate", "step size from public constants"),
            ("gradient_descent_tuned_on_test", "step size tuned on the test set (not private, its best case)"),
        ):
            found = results[key]
            last = found["tried"][-1]
            if found["passes"] is None:
                text = f"not reached in {last['passes']:,} passes ({last['log_loss']:.4f})"
            else:
                ratio = found["passes"] / ours["passes_median"]
                text = f"{found['passes']:,} passes ({last['seconds']:.1f} s), {ratio:.1f} times the estimate's"
            lines.append(f"- {words}: {text}")
        lines += [
            "",
            "One pass of the exact sampler serves a whole batch of proposals, so passes are not seconds: the estimate takes",
            f"{ours['seconds_median']:.1f} s here, and gradient descent is the faster of the two on this table. Its guarantee",
            "needs the step count fixed in advance, as ours needs the schedule; neither may be tuned on the data.",
        ]
    return [*lines, ""]


def main():
    quick = "--quick" in sys.argv[1:]
    results = json.loads((HERE / "results" / f"main_line{'_quick' if quick else ''}.json").read_text())
    listed = ", ".join(f"{name} {version}" for name, version in results["versions"].items() if version)
    machine = results["machine"]
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {results['date']}; {machine['cores']} cores of {machine['processor']}, shared and noisy:",
        f"read ratios, not seconds. Versions: {listed}.",
        "",
        *main_line(results),
    ]
    more = HERE / "results" / f"estimates{'_quick' if quick else ''}.json"
    if more.exists():
        lines += estimates(json.loads(more.read_text()))
    text = "\n".join(lines)
    if quick:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
