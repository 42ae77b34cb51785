"""Estimates: test log-loss over releases with default settings, and what averaged private gradient descent needs to match it."""

import argparse
import datetime
import math
import time

import numpy as np
from harness import adult, iso, log, machine, save, versions

import gibbsafe as gs
from gibbsafe.data import blocks as blocks_module
from gibbsafe.models.model import EncodingOptions
from gibbsafe.privacy.profiles import gaussian_mu

DELTA = 1e-6


def log_loss(rows, theta, truth):
    u = rows @ theta
    return float(np.logaddexp(0, -np.where(truth == 1, u, -u)).mean())


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


def releases(data, epsilon, number):
    X, y, X_test, y_test, radius = data
    model = gs.models.LogisticRegression(dimension=X.shape[1], radius=radius)
    plan = gs.plan(model, gs.Budget(epsilon, DELTA), n=len(y), adjacency="replace-one", purpose="estimate")
    rows = model.encode_features(X_test)
    losses, passes, seconds = [], [], []
    for seed in range(number):
        start = time.perf_counter()
        with PassCounter(len(y)) as counter:
            made = plan.release((X, y), generator=np.random.default_rng(seed))
        seconds.append(time.perf_counter() - start)
        passes.append(counter.passes)
        losses.append(log_loss(rows, model.from_original(made.draws)[0], y_test))
    return {
        "epsilon": epsilon,
        "releases": number,
        "log_loss": float(np.mean(losses)),
        "standard_error": float(np.std(losses, ddof=1) / math.sqrt(number)),
        "passes_median": float(np.median(passes)),
        "seconds_median": float(np.median(seconds)),
    }


def gradient_descent(data, epsilon, *, steps, rate, seeds):
    """Average of the second half of noisy full-gradient steps, noise 2√T/μ per step, on the same scaled rows."""
    X, y, X_test, y_test, radius = data
    model = gs.models.LogisticRegression(dimension=X.shape[1], radius=radius)
    posterior_rows = model.encode((X, y), EncodingOptions()).rows
    rows = model.encode_features(X_test)
    n, d = posterior_rows.shape
    noise = 2 * math.sqrt(steps) / gaussian_mu(epsilon, DELTA)
    losses = []
    start = time.perf_counter()
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        theta, total = np.zeros(d), np.zeros(d)
        for t in range(steps):
            slopes = -1 / (1 + np.exp(posterior_rows @ theta))
            theta = theta - rate / n * (slopes @ posterior_rows + noise * generator.standard_normal(d))
            if t >= steps // 2:
                total += theta
        losses.append(log_loss(rows, total / (steps - steps // 2), y_test))
    return float(np.mean(losses)), (time.perf_counter() - start) / seeds


#: Rates in units of 1/n: 8 is the largest that the worst-case smoothness n/4 allows; larger ones only hindsight can choose.
PUBLIC_RATES, TUNED_RATES = (4.0, 8.0), (8.0, 16.0, 32.0, 64.0)


def passes_to_match(data, epsilon, target, *, rates, seeds, longest):
    """The fewest passes with which gradient descent reaches ``target``, its rate the best of ``rates`` on the test set."""
    steps, tried = 50, []
    while steps <= longest:
        found = []
        for rate in rates:
            loss, seconds = gradient_descent(data, epsilon, steps=steps, rate=rate, seeds=seeds)
            found.append({"passes": steps, "log_loss": loss, "rate": rate, "seconds": seconds})
        best = min(found, key=lambda entry: entry["log_loss"])
        tried.append(best)
        log(f"  gradient descent, {steps} passes: {best['log_loss']:.4f} at rate {best['rate']:g}")
        if best["log_loss"] <= target:
            return {"passes": steps, "tried": tried}
        steps = round(steps * 1.4142)
    return {"passes": None, "tried": tried}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few releases")
    quick = parser.parse_args().quick
    number = 3 if quick else 20
    document = {"date": datetime.date.today().isoformat(), "quick": quick, "machine": machine(), "versions": versions()}
    isotropic = (*iso(10_000, 20, 0), math.sqrt(20))
    document["iso"] = [releases(isotropic, epsilon, number) for epsilon in (0.1, 0.3, 1.0, 3.0)]
    log(f"iso {document['iso']}")
    table = adult()
    if table is None:
        document["adult"] = {"skipped": "data absent"}
    else:
        document["adult"] = []
        for epsilon in (0.1, 0.3, 1.0, 3.0):
            document["adult"].append(releases(table, epsilon, number))
            log(f"Adult {document['adult'][-1]}")
        chosen = document["adult"][2]
        for name, rates in (("public_rate", PUBLIC_RATES), ("tuned_on_test", TUNED_RATES)):
            document[f"gradient_descent_{name}"] = passes_to_match(
                table,
                chosen["epsilon"],
                chosen["log_loss"],
                rates=rates,
                seeds=2 if quick else 4,
                longest=500 if quick else 3200,
            )
    save("estimates_quick" if quick else "estimates", document)


if __name__ == "__main__":
    main()
