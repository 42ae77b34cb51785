"""What an estimate costs: passes over the records and seconds, and how many passes averaged private gradient descent needs to
match it."""

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


def cost(table, epsilon, number):
    """Log-loss, passes and seconds of independent releases with default settings."""
    plan = gs.plan(table.model, gs.Budget(epsilon, DELTA), n=table.n, adjacency="replace-one", purpose="estimate")
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


def run(table, isotropic, *, epsilons=(0.1, 0.3, 1.0, 3.0), matched=1.0, releases=20, seeds=8, longest=4000):
    """Costs on both tables, and gradient descent's passes to match the first at one ε; without that table, the second's alone."""
    document = {"delta": DELTA, "iso": [cost(isotropic, epsilon, releases) for epsilon in epsilons]}
    if table is None:
        return document | {"adult": {"skipped": "data absent"}}
    document["adult"] = [cost(table, epsilon, releases) for epsilon in epsilons]
    target = next(entry["log_loss"] for entry in document["adult"] if entry["epsilon"] == matched)
    for name, rates in RATES.items():
        document[f"gradient_descent_{name}"] = passes_to_match(table, matched, target, rates=rates, seeds=seeds, longest=longest)
    return document


def main():
    quick = harness.arguments(__doc__).quick
    table, isotropic = (None, datasets.isotropic(2000, 5)) if quick else (datasets.adult_table(), datasets.isotropic(10_000, 20))
    sizes = {"releases": 2, "epsilons": (1.0,)} if quick else {}
    document = harness.head(quick) | run(table, isotropic, **sizes)
    harness.save("estimates_quick" if quick else "estimates", document)


if __name__ == "__main__":
    main()
