"""What an estimate costs: passes over the records and seconds, by default, with all of the budget for the point, and in stages,
all in one run; beside scikit-learn's fit; and how many passes averaged private gradient descent needs to match it.

    python -m benchmarks.questions.estimates --only costs against_sklearn      leaves gradient descent as it was measured"""

from __future__ import annotations

import time

import numpy as np

import gibbsafe as gs
from benchmarks import datasets, harness
from benchmarks.peers.baselines import gradient_descent
from gibbsafe.data import blocks as blocks_module

DELTA = 1e-6
#: Rates in units of 1/n. The losses' sum is n/4-smooth: 4 is the textbook's step 1/smoothness, 8 the largest that is stable
#: in the worst case, larger ones only hindsight can choose.
#: How estimates are made, by the name of their results.
MECHANISMS = {
    "": {},
    "_point": {"mechanism": "noisy-scores", "uncertainty": 0},
    "_stages": {"mechanism": "stages"},
}
RATES = {"public_rate": (4.0,), "largest_safe_rate": (8.0,), "tuned_on_test": (8.0, 16.0, 32.0, 64.0)}


class PassCounter:
    """Counts passes over the records while it is active: rows visited by `Blocks.reduce`, in units of the data's rows."""

    def __init__(self, rows):
        self.rows, self.passes = rows, 0.0

    def __enter__(self):
        self.original = blocks_module.Blocks.reduce
        counter = self

        def reduce(blocks, *args, **kwargs):
            counter.passes += blocks.n_rows / counter.rows
            return counter.original(blocks, *args, **kwargs)

        blocks_module.Blocks.reduce = reduce
        return self

    def __exit__(self, *_):
        blocks_module.Blocks.reduce = self.original


def cost(table, epsilon, number, **options):
    """Log-loss, passes and seconds of independent releases, with default settings unless others are given."""
    plan = gs.plan(table.model, gs.Budget(epsilon, DELTA), n=table.n, adjacency="replace-one", purpose="estimate", **options)
    draws, passes, seconds = [], [], []
    for seed in range(number):
        start = time.perf_counter()
        with PassCounter(table.n) as counter:
            made = plan.release((table.X, table.y), generator=np.random.default_rng(seed))
        seconds.append(time.perf_counter() - start)
        passes.append(counter.passes)
        draws.append(table.model.from_original(made.draws)[0])
    loss, error = harness.mean_and_error(table.score(np.array(draws))[0])
    return {
        "data": table.name,
        "n": table.n,
        "parameters": table.d,
        "epsilon": epsilon,
        "releases": number,
        "stages": len(plan.stages),
        "mechanism": plan.mechanism,
        "log_loss": loss,
        "standard_error": error,
        "passes_median": float(np.median(passes)),
        "seconds_median": float(np.median(seconds)),
    }


def passes_to_match(table, epsilon, target, *, rates, seeds, longest):
    """The fewest passes with which gradient descent reaches ``target``, its rate the best of ``rates`` on the test set."""
    steps, tried = 50, []
    while steps <= longest:
        start = time.perf_counter()
        found = gradient_descent(table.signed, epsilon, DELTA, steps=steps, rates=rates, seeds=range(seeds))
        seconds = (time.perf_counter() - start) / (len(rates) * seeds)
        losses = [float(np.mean(table.score(thetas)[0])) for thetas in found]
        best = int(np.argmin(losses))
        tried.append({"passes": steps, "log_loss": losses[best], "rate": rates[best], "seconds": seconds})
        harness.log(f"  gradient descent, {steps} passes: {losses[best]:.4f} at rate {rates[best]:g}")
        if losses[best] <= target:
            return {"passes": steps, "rates": rates, "seeds": seeds, "tried": tried}
        steps = round(steps * 1.1)
    return {"passes": None, "rates": rates, "seeds": seeds, "tried": tried}


def costs(tables, epsilons, releases):
    """Every way of making an estimate on every table, one beside the other, so that seconds can be compared."""
    found = {f"{name}{suffix}": [] for name in tables for suffix in MECHANISMS}
    for name, table in tables.items():
        for epsilon in epsilons:
            for suffix, options in MECHANISMS.items():
                found[f"{name}{suffix}"].append(cost(table, epsilon, releases, **options))
                harness.log(f"{found[f'{name}{suffix}'][-1]}")
    return found


def against_sklearn(n, d, repeats=3):
    """Seconds of a default estimate at ε = 1 over those of scikit-learn's fit, best of several."""
    from sklearn.linear_model import LogisticRegression

    table = datasets.isotropic(n, d)
    plan = gs.plan(table.model, gs.Budget(1.0, DELTA), n=n, adjacency="replace-one", purpose="estimate")
    fit, _ = harness.best_of(repeats, lambda: LogisticRegression().fit(table.X, table.y))
    made, _ = harness.best_of(repeats, lambda: plan.release((table.X, table.y), generator=np.random.default_rng(0)))
    return {"n": n, "features": d, "sklearn_fit_s": fit, "estimate_s": made, "estimate_over_fit": made / fit}


def run(
    table, isotropic, *, epsilons=(0.1, 0.3, 1.0, 3.0), matched=1.0, releases=20, seeds=8, longest=4000, parts=(), size=1_000_000
):
    """The parts that are asked for, or all: costs on both tables, or on the second alone; scikit-learn's fit; gradient descent's
    passes to match the first table's estimate at one ε."""
    document = {"delta": DELTA}
    tables = {"iso": isotropic} if table is None else {"iso": isotropic, "adult": table}
    if not parts or "costs" in parts:
        document |= ({} if table is not None else {"adult": {"skipped": "data absent"}}) | costs(tables, epsilons, releases)
    if not parts or "against_sklearn" in parts:
        document["against_sklearn"] = against_sklearn(size, 20)
    if table is not None and (not parts or "gradient_descent" in parts):
        adult = document.get("adult") or harness.load("estimates")["adult"]
        target = next(entry["log_loss"] for entry in adult if entry["epsilon"] == matched)
        for name, rates in RATES.items():
            found = passes_to_match(table, matched, target, rates=rates, seeds=seeds, longest=longest)
            document[f"gradient_descent_{name}"] = found
    return document


def main():
    options = harness.arguments(__doc__)
    quick = options.quick
    table, isotropic = (None, datasets.isotropic(2000, 5)) if quick else (datasets.adult_table(), datasets.isotropic(10_000, 20))
    sizes = {"releases": 2, "epsilons": (1.0,), "size": 20_000} if quick else {}
    name = "estimates_quick" if quick else "estimates"
    kept = harness.resume(name, quick, "scikit-learn") if options.only else harness.head(quick, "scikit-learn")
    harness.save(name, kept | run(table, isotropic, parts=options.only, **sizes))


if __name__ == "__main__":
    main()
