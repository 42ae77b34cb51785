"""What was promised, beside what the committed results say of it: one list for the page, the README and the tests.

A promise names the results file it is read from and picks its values there, at the promised sizes only: results of other sizes
count as not measured."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from statistics import StatisticsError, median

from benchmarks.report import models, utility
from benchmarks.report.own_models import behind
from benchmarks.report.tables import table

SIGNS = {"≤": operator.le, "≥": operator.ge, "<": operator.lt}


@dataclass(frozen=True)
class Promise:
    """What was promised, in which results file it is found, how it is read from there, and its limits, such as ("≤ 0.350",)."""

    what: str
    source: str
    read: Callable[[dict], list[float]]
    limits: tuple[str, ...]
    form: str = "{:.2f}"

    def values(self, results):
        """The measured values, none where the promised sizes were not measured."""
        try:
            return self.read(results[self.source])
        except (KeyError, TypeError, StatisticsError):  # no such file, or a part of it was skipped
            return []

    def holds(self, results):
        """Whether it was measured and every value is within the limits."""
        values = self.values(results)
        pairs = [limit.split() for limit in self.limits]
        return bool(values) and all(SIGNS[sign](value, float(limit)) for sign, limit in pairs for value in values)

    def measured(self, results):
        """The values as the page shows them: one, or least to greatest."""
        values = self.values(results)
        if not values:
            return "not measured"
        return " to ".join(dict.fromkeys(self.form.format(value) for value in (min(values), max(values))))


def at(entry, **sizes):
    """The entry, if it was measured at these sizes."""
    for name, size in sizes.items():
        if entry[name] != size:
            raise KeyError(f"{name} = {entry[name]}, promised for {size}")
    return entry


def one_of(entries, **sizes):
    """The one of several entries that was measured at these sizes."""
    for entry in entries:
        if all(entry[name] == size for name, size in sizes.items()):
            return entry
    raise KeyError(f"nothing measured at {sizes}")


def nuts(key):
    return lambda r: [at(r["against_nuts"], n=100_000, features=20)[key]]


def kernel(key):
    return lambda r: [at(r["kernels"], n=1_000_000, columns=20)[key]]


def loss(data, epsilon):
    return lambda r: [one_of(r[data], epsilon=epsilon, releases=20)["log_loss"]]


def descent_passes(r):
    """Passes over the estimate's; where it is not reached, those that were tried, which is a lower bound."""
    found = r["gradient_descent_public_rate"]
    passes = found["passes"] or found["tried"][-1]["passes"]
    return [passes / one_of(r["adult"], epsilon=1.0)["passes_median"]]


def over_stages(r):
    """Seconds of an estimate over those of one in stages, by ε."""
    pairs = [(one_of(r["adult"], epsilon=e), one_of(r["adult_stages"], epsilon=e)) for e in (0.1, 0.3, 1.0, 3.0)]
    return [ours["seconds_median"] / theirs["seconds_median"] for ours, theirs in pairs]


def level(method, tuned):
    """The share of cells with enough signal in which an estimate is at least level."""
    return lambda r: [utility.share_level(utility.strong(utility.complete(r)), tuned, method)]


def table_rows(r):
    """The rows of Table 1, all seven of them."""
    return [one_of(r["table"]["rows"], n=n, repeats=1000) for n in (100, 1000, 2000, 5000, 10_000, 20_000, 50_000)]


def gaps(r):
    return sorted(abs(row["literal"] / row["paper"] - 1) for row in table_rows(r))


def worst_case(r, width):
    return one_of(r["worst_case"], width=width, n=1000)


def coinpress(r):
    rows = at(r["means"], coinpress_steps=10)["rows"]
    sizes = (1000, 2000, 5000, 10_000, 20_000, 50_000)
    return [one_of(rows, n=n, data_sets=300)["methods"]["CoinPress, paper"]["mean"] for n in sizes]


def draws_share(draws):
    return lambda r: [one_of(r["rows"], draws=draws)["share"]]


def threads(key):
    return lambda r: [at(r["threads"], n=1_000_000, features=20)[key]]


def cluster(key):
    return lambda r: [float(at(r["cluster"], n=10_000_000, features=20)[key])]


def streamed(key, n=100_000_000):
    """What a draw and an estimate from a file of 1e8 rows took."""
    return lambda r: [one_of(r[of], n=n)[key] for of in ("sizes", "estimates")]


LOSS, TIMES, SHARE, WHOLE = "{:.4f}", "{:.1f}×", "{:.3f}", "{:.0f}"

PROMISES = (
    Promise(
        "test log-loss of one draw on Adult, ε = 1, δ = 1e-6, 20 releases",
        "main_line",
        lambda r: [at(r["adult_one_draw"], releases=20)["log_loss"]],
        ("≤ 0.350",),
        LOSS,
    ),
    Promise("gradient pass over `X.sum()`, 1,000,000 × 20", "main_line", kernel("gradient_over_sum"), ("≤ 1.75",)),
    Promise("value and gradient over `X.sum()`, same array", "main_line", kernel("value_and_gradient_over_sum"), ("≤ 3.5",)),
    Promise("first exact draw sooner than NUTS's, n = 100,000, 20 features", "main_line", nuts("first_ratio"), ("≥ 8",), TIMES),
    Promise("further exact draw cheaper than an effective NUTS draw", "main_line", nuts("next_ratio"), ("≥ 40",), TIMES),
    Promise(
        "release at n = 1,000,000, 20 features, over scikit-learn's fit",
        "main_line",
        lambda r: [at(r["against_sklearn"], n=1_000_000, features=20)["release_over_fit"]],
        ("≤ 10",),
    ),
    Promise(
        "exponent of the cost per draw, n = 10,000 to 1,000,000",
        "main_line",
        lambda r: [r["growth"]["exponent"]] if {10_000, 1_000_000} <= set(r["growth"]["sizes"]) else [],
        ("≤ 1.1",),
    ),
    *(
        Promise(f"test log-loss of an estimate on {name}, ε = {epsilon:g}", "estimates", loss(data, epsilon), (limit,), LOSS)
        for name, data, epsilon, limit in (
            ("Adult", "adult", 0.1, "≤ 0.377"),
            ("Adult", "adult", 0.3, "≤ 0.347"),
            ("Adult", "adult", 1.0, "≤ 0.3335"),
            ("Adult", "adult", 3.0, "≤ 0.3304"),
            ("Adult, all for the point", "adult_point", 0.1, "≤ 0.372"),
            ("Adult, all for the point", "adult_point", 0.3, "≤ 0.345"),
            ("Adult, all for the point", "adult_point", 1.0, "≤ 0.3325"),
            ("Adult, all for the point", "adult_point", 3.0, "≤ 0.3302"),
            ("iso 1e4 × 20", "iso", 1.0, "≤ 0.458"),
        )
    ),
    Promise(
        "passes over Adult for an estimate, every ε",
        "estimates",
        lambda r: [one_of(r["adult"], epsilon=epsilon)["passes_median"] for epsilon in (0.1, 0.3, 1.0, 3.0)],
        ("≤ 400",),
        WHOLE,
    ),
    Promise("seconds of an estimate on Adult over those of one in stages, every ε", "estimates", over_stages, ("≤ 0.3334",)),
    Promise(
        "estimate at n = 1,000,000, 20 features, over scikit-learn's fit",
        "estimates",
        lambda r: [at(r["against_sklearn"], n=1_000_000, features=20)["estimate_over_fit"]],
        ("≤ 5",),
    ),
    *(
        Promise(
            f"cells with nμ/d ≥ {utility.SIGNAL:g} in which *{method}* is at least level with the best opponent, "
            f"{utility.AGAINST[tuned]}",
            "utility",
            level(method, tuned),
            (f"≥ {target:g}",),
        )
        for (method, tuned), target in utility.TARGETS.items()
    ),
    Promise(
        "excess of an estimate over the non-private fit, over that in stages, median of these cells",
        "utility",
        lambda r: [median(utility.excess_ratios(utility.strong(utility.complete(r))))],
        (f"≤ {utility.EXCESS_TARGET:g}",),
    ),
    *(
        Promise(
            f"mean squared error of `{model}` in stages over that of its default estimate, median of the means table",
            "means",
            lambda r, model=model: [median(models.over_stages(r["cells"], model))],
            ("≥ 1.5",),
        )
        for model in ("PseudoHuberRegression", "SoftQuantileRegression")
    ),
    Promise(
        "passes of averaged private gradient descent with step 1/smoothness, for the estimate's log-loss on Adult at ε = 1",
        "estimates",
        descent_passes,
        ("≥ 10",),
        TIMES,
    ),
    Promise(
        "error of the robust regressions without a bound on the response over the non-private error, n = 100,000",
        "heavy_tails",
        lambda r: [row["ratio"] for row in at(r, n=100_000)["rows"]],
        ("≤ 2",),
    ),
    Promise(
        "counts of a network of 50 nodes with 4 states, 1,000,000 rows, over `numpy.bincount`",
        "network_statistics",
        lambda r: [at(r["counting"], rows=1_000_000, nodes=50, states=4)["ratio"]],
        ("≤ 3",),
    ),
    Promise("100 draws of a trimmed proportion, share of the paper's 2NL", "families", draws_share(100), ("≤ 0.32",), LOSS),
    Promise("10,000 draws of it, share of the paper's 2NL", "families", draws_share(10_000), ("≤ 0.05",), LOSS),
    Promise("Table 1 of Hu et al.: gap to the printed value, every cell", "contamination", gaps, ("≤ 0.20",), SHARE),
    Promise("Table 1: median gap", "contamination", lambda r: [gaps(r)[3]], ("≤ 0.10",), SHARE),
    Promise(
        "Table 1: exact ε over the smaller of sound and literal, every size",
        "contamination",
        lambda r: [row["exact"] / min(row["sound"], row["literal"]) for row in table_rows(r)],
        ("< 1",),
    ),
    Promise(
        "one data set of Algorithm 1, n = 500,000, faster than 10,000 particles: one parameter, regression",
        "contamination",
        lambda r: [
            at(r["speed"][case], n=500_000, particles=10_000)["ratio"] for case in ("one parameter", "regression, d = 10")
        ],
        ("≥ 50",),
        TIMES,
    ),
    Promise(
        "n·MSE/σ² of a Welsch draw at ε = 1, n = 1,000, widths 600 and 6,000",
        "contamination",
        lambda r: [worst_case(r, width)["welsch"] for width in (600.0, 6000.0)],
        ("≤ 7.6",),
    ),
    Promise(
        "the same over the Laplace mechanism's at width 6,000",
        "contamination",
        lambda r: [worst_case(r, 6000.0)["welsch"] / worst_case(r, 6000.0)["laplace"]],
        ("< 1",),
        LOSS,
    ),
    Promise(
        "n·MSE/σ² of CoinPress with ten steps, budgets of Table 1 by the paper's conversion, n from 1,000 to 50,000",
        "contamination",
        coinpress,
        ("≥ 1.2", "≤ 2.8"),
    ),
    Promise(
        "NumPyro model of 16 groups: held-out log-loss above the best tuned opponent's, in paired standard errors",
        "own_models",
        lambda r: [behind(row) for row in at(r, n=20_000)["rows"]],
        ("≤ 2",),
        "{:.1f}",
    ),
    Promise(
        "MB resident, release from a Parquet file of 2 GB with `--memory 200MB`",
        "out_of_core",
        lambda r: [at(r, memory="200MB")["resident_megabytes"]] if r["file_bytes"] >= 2e9 else [],
        ("< 600",),
        WHOLE,
    ),
    Promise("two threads over one, gradient pass, 1,000,000 × 20", "workers", threads("gradient_ratio"), ("≥ 1.7",)),
    Promise("two threads over one, estimate, 1,000,000 × 20", "workers", threads("release_ratio"), ("≥ 1.5",)),
    Promise("Dask cluster of two workers over two threads, 10,000,000 × 20", "workers", cluster("ratio"), ("≤ 1.5",)),
    Promise("overhead of a round of a cluster, ms", "workers", cluster("round_ms"), ("≤ 20",), "{:.0f}"),
    Promise(
        "same bytes by 1, 2 and 4 workers, file, directory, Dask and with a worker killed",
        "workers",
        lambda r: [float(r["same_bytes"]["same"]), float(r["cluster"]["same"]), float(r["cluster"]["killed"]["same"])],
        ("≥ 1",),
        "{:.0f}",
    ),
    Promise(
        "exponent of time between the last two sizes, draw and estimate streamed from a file",
        "scale",
        lambda r: [r["last_exponent"], r["of_estimates"]["last_exponent"]] if streamed("seconds")(r) else [],
        ("≤ 1.05",),
    ),
    Promise("anonymous memory, MiB, 100,000,000 rows streamed", "scale", streamed("anonymous_mib"), ("≤ 600",), WHOLE),
    Promise(
        "seconds of a draw from 100,000,000 rows, half of 377",
        "scale",
        lambda r: [at(one_of(r["sizes"], n=100_000_000), n=100_000_000)["seconds"]] if "estimates" in r else [],
        ("≤ 188.5",),
        WHOLE,
    ),
)


def kept(results):
    """The number of promises that hold."""
    return sum(promise.holds(results) for promise in PROMISES)


def section(results):
    """The page's lines: every promise, measured or not."""
    rows = [
        (
            promise.what,
            promise.measured(results),
            " and ".join(promise.limits),
            "yes" if promise.holds(results) else "**no**",
            f"`{promise.source}.json`",
        )
        for promise in PROMISES
    ]
    return [
        "## What was promised",
        "",
        f"The limits were set before the work was done. {kept(results)} of {len(PROMISES)} hold in these results; a",
        "test fails if one does not.",
        "",
        *table(("what", "measured", "promised", "holds", "results"), rows),
        "",
    ]
