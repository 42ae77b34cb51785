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
            "further exact draw cheaper than an effective NUTS draw, same posterior",
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
        f"NUTS is numpyro's, in single precision on the same potential, {n['nuts_warmup']} warm-up steps, compilation not",
        f"counted, effective draws by its own estimate ({n['nuts_effective']:.0f} of {n['nuts_samples']}); it carries no",
        f"certificate. Everything ran on {results['machine']['threads']} thread; `X.sum()` took {k['sum_ms']:.1f} ms. Kernels",
        "are the best of nine runs, the rest the best of two or three.",
        "",
    ]


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
    text = "\n".join(lines)
    if quick:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
