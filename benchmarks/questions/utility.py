"""Utility at equal (ε, δ): test log-loss and accuracy of a draw and of the estimate, beside every private opponent.

One cell is a table and an ε. Methods whose settings a curator cannot know are run twice: with a public rule, and with the
setting that is best on the *test set* (which is not private: the opponent's best case). Tuning uses a few seeds of its own;
what is reported comes from the full number of seeds at the chosen setting. Cells are saved one by one, and a rerun replaces
only what it ran; `--missing` runs what has no results yet, so that opponents, which cost most, are measured once:

    python -m benchmarks.questions.utility --only estimate "estimate, all for the point"      after a change of the estimate
    python -m benchmarks.questions.utility --missing                                          tables and methods that are new"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

import gibbsafe as gs
from benchmarks import datasets, harness
from benchmarks.peers import environment as peers
from benchmarks.peers.baselines import (
    gradient_descent,
    minimise,
    non_private,
    objective_noise,
    objective_perturbation,
    output_perturbation,
    public_steps,
)
from gibbsafe.privacy.profiles import gaussian_mu

DELTA = 1e-6
EPSILONS = (0.1, 0.3, 1.0, 3.0)
#: Ridges that opponents may choose from on the test set, in units of the sum of losses.
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Gradient descent: rates in units of 1/n (8 is the largest safe one; larger ones only hindsight can choose) and passes.
PUBLIC_RATE = 4.0
TUNED_RATES = (2.0, 8.0, 32.0, 128.0)
TUNED_STEPS = (30, 100, 300, 1000)


@dataclass(frozen=True)
class Effort:
    """How much work a table gets: seeds that are reported, seeds for tuning, longest gradient descent."""

    seeds: int = 20
    tuning: int = 4
    longest: int = 1000


# -- gibbsafe --------------------------------------------------------------------------------------------------------


def ours(table, epsilon, effort, **options):
    """Draws of independent releases, in scaled units, and the median seconds of one."""
    plan = gs.plan(table.model, gs.Budget(epsilon, DELTA), n=table.n, adjacency="replace-one", **options)
    draws, seconds = [], []
    for seed in range(effort.seeds):
        start = time.perf_counter()
        release = plan.release((table.X, table.y), generator=np.random.default_rng(seed))
        seconds.append(time.perf_counter() - start)
        draws.append(table.model.from_original(release.draws)[0])
    settings = {"sampler": plan.sampler, "stages": len(plan.stages), "mechanism": plan.mechanism}
    return np.array(draws), {"seconds": float(np.median(seconds)), **settings}


def corollary_8(table, epsilon, effort):
    if epsilon > 1:
        return None, {"refused": "Corollary 8 holds up to ε = 1 only (erratum E1)"}
    return ours(table, epsilon, effort, theorem="log-sobolev-simple", sampler="shell")


# -- opponents -------------------------------------------------------------------------------------------------------


def tuned(table, settings, run, effort):
    """Run every setting on a few seeds, keep the best by test log-loss, report it on fresh seeds."""
    tuning = range(1000, 1000 + effort.tuning)
    scored = []
    for setting in settings:
        found = run(setting, tuning)
        if found is not None:
            scored.append((float(np.mean(table.score(found)[0])), setting))
    best = min(scored, key=lambda pair: pair[0])[1]
    return run(best, range(effort.seeds)), {"chosen": best}


def output_rule(table, epsilon, effort):
    """The ridge at which the noise's length 2√d/(ridge·μ) is the default prior radius 3√d."""
    ridge = 2 / (3 * gaussian_mu(epsilon, DELTA))
    return output_perturbation(table.signed, epsilon, DELTA, ridge=ridge, seeds=range(effort.seeds)), {"ridge": ridge}


def output_tuned(table, epsilon, effort):
    fits = {}

    def run(ridge, seeds):
        if ridge not in fits:
            fits[ridge] = minimise(table.signed, ridge)
        return output_perturbation(table.signed, epsilon, DELTA, ridge=ridge, seeds=seeds, fit=fits[ridge])

    return tuned(table, (*RIDGES, 3000.0, 10000.0), run, effort)


def objective_rule(table, epsilon, effort):
    """A tenth of ε for the determinants, the rest for the noise."""
    ridge = 0.25 / math.expm1(epsilon / 10)
    return objective(table, epsilon, ridge, range(effort.seeds)), {"ridge": ridge}


def objective(table, epsilon, ridge, seeds):
    if objective_noise(epsilon, DELTA, ridge) is None:
        return None
    start = minimise(table.signed, ridge)
    return objective_perturbation(table.signed, epsilon, DELTA, ridge=ridge, seeds=seeds, start=start)


def objective_tuned(table, epsilon, effort):
    return tuned(table, RIDGES, lambda ridge, seeds: objective(table, epsilon, ridge, seeds), effort)


def descent_rule(table, epsilon, effort):
    steps = public_steps(table.n, gaussian_mu(epsilon, DELTA), effort.longest)
    found = gradient_descent(table.signed, epsilon, DELTA, steps=steps, rates=[PUBLIC_RATE], seeds=range(effort.seeds))
    return found[0], {"passes": steps, "rate": PUBLIC_RATE}


def descent_tuned(table, epsilon, effort):
    tuning, scored = range(1000, 1000 + effort.tuning), []
    for steps in (steps for steps in TUNED_STEPS if steps <= effort.longest):
        found = gradient_descent(table.signed, epsilon, DELTA, steps=steps, rates=TUNED_RATES, seeds=tuning)
        scored += [(float(np.mean(table.score(thetas)[0])), steps, rate) for rate, thetas in zip(TUNED_RATES, found, strict=True)]
    _, steps, rate = min(scored)
    found = gradient_descent(table.signed, epsilon, DELTA, steps=steps, rates=[rate], seeds=range(effort.seeds))
    return found[0], {"passes": steps, "rate": rate}


def diffprivlib_fits(table, fits, scale=1.0):
    """diffprivlib on rows times ``scale``, the intercept a constant column: its own intercept is not regularised but
    perturbed, so that its objective can have no minimum."""
    arrays = {"X": table.rows * scale, "y": table.y}
    found = peers.ask("logistic", arrays, fits=fits, data_norm=scale, fit_intercept=False)
    return found["theta"] * scale, float(np.median(found["seconds"]))


def diffprivlib_rule(table, epsilon, effort):
    """Its default C = 1, rows in the declared units."""
    fits = [(epsilon, 1.0, seed) for seed in range(effort.seeds)]
    thetas, seconds = diffprivlib_fits(table, fits, 1 / table.model.row_scale)
    return thetas, {"C": 1.0, "seconds": seconds}


def diffprivlib_tuned(table, epsilon, effort):
    """Rows scaled jointly with the intercept, as ours are; C = 1/ridge."""
    tuning = range(1000, 1000 + effort.tuning)
    ridges = RIDGES[1:] if table.n < 50_000 else RIDGES[1:6:2]
    thetas, _ = diffprivlib_fits(table, [(epsilon, 1 / ridge, seed) for ridge in ridges for seed in tuning])
    losses = table.score(thetas)[0].reshape(-1, effort.tuning).mean(axis=1)
    best = ridges[int(np.argmin(losses))]
    thetas, seconds = diffprivlib_fits(table, [(epsilon, 1 / best, seed) for seed in range(effort.seeds)])
    return thetas, {"chosen": best, "seconds": seconds}


def reference(table, epsilon, effort):
    return non_private(table.signed)[None], {}


METHODS = {
    "draw": ours,
    "estimate": lambda table, epsilon, effort: ours(table, epsilon, effort, purpose="estimate"),
    "estimate, all for the point": lambda table, epsilon, effort: ours(
        table, epsilon, effort, purpose="estimate", mechanism="noisy-scores", uncertainty=0
    ),
    "stages": lambda table, epsilon, effort: ours(table, epsilon, effort, purpose="estimate", mechanism="stages"),
    "corollary 8": corollary_8,
    "output perturbation": output_rule,
    "output perturbation, tuned": output_tuned,
    "objective perturbation": objective_rule,
    "objective perturbation, tuned": objective_tuned,
    "gradient descent": descent_rule,
    "gradient descent, tuned": descent_tuned,
    "diffprivlib": diffprivlib_rule,
    "diffprivlib, tuned": diffprivlib_tuned,
    "non-private": reference,
}


# -- cells -----------------------------------------------------------------------------------------------------------


def tables(quick, names=()):
    """Tables with their effort, the cheap ones first; all of them, or those named."""
    small, large, huge = Effort(), Effort(20, 2, 300), Effort(20, 2, 100)
    builders = {"breast cancer": (datasets.breast_cancer, small)}
    if quick:
        builders = {"breast cancer": (datasets.breast_cancer, Effort(3, 2, 100))}
        builders["iso 1e3 × 5"] = (lambda: datasets.isotropic(1000, 5), Effort(3, 2, 100))
    else:
        builders["digits"] = (datasets.digits, small)
        for power, effort in ((3, small), (4, small), (5, large)):
            for d in (5, 20, 50):
                builders[f"iso 1e{power} × {d}"] = (lambda n=10**power, d=d: datasets.isotropic(n, d), effort)
            if power == 4:
                builders["Adult"] = (datasets.adult_table, small)
        builders["affairs"] = (lambda: datasets.packaged("affairs"), small)
        builders["401(k)"] = (lambda: datasets.packaged("401(k)"), small)
        builders["flights"] = (lambda: datasets.packaged("flights"), huge)
        builders["iso 1e6 × 20"] = (lambda: datasets.isotropic(1_000_000, 20), huge)
    for name, (build, effort) in builders.items():
        table = build() if not names or name in names else None
        if table is not None:
            yield table, effort


def measure(table, epsilon, effort, method):
    """One method in one cell."""
    start = time.perf_counter()
    thetas, settings = METHODS[method](table, epsilon, effort)
    if thetas is None:
        return settings
    losses, accuracies = table.score(thetas)
    loss, loss_error = harness.mean_and_error(losses)
    accuracy, accuracy_error = harness.mean_and_error(accuracies)
    return {
        "log_loss": loss,
        "log_loss_error": loss_error,
        "accuracy": accuracy,
        "accuracy_error": accuracy_error,
        "seeds": len(losses),
        "all_seconds": time.perf_counter() - start,
        **settings,
    }


def cell_of(document, table, epsilon):
    """The cell's entry, made if it is new."""
    for cell in document["cells"]:
        if (cell["data"], cell["epsilon"]) == (table.name, epsilon):
            return cell
    signal = table.n * gaussian_mu(epsilon, DELTA) / table.d
    cell = {"data": table.name, "n": table.n, "d": table.d, "epsilon": epsilon, "signal": signal, "methods": {}}
    document["cells"].append(cell)
    return cell


def lengths(table):
    """How long the non-private fit is, and how long the default prior expects it to be, in scaled units."""
    return {"fit_norm": float(np.linalg.norm(non_private(table.signed))), "radius": 3 * math.sqrt(table.d)}


def run(name, quick, chosen, methods, *, epsilons=EPSILONS, missing=False):
    """Measure methods on tables and save after every cell."""
    document = {"cells": []} | harness.resume(name, quick, "scikit-learn") | {"delta": DELTA}
    document["versions"] |= peers.peer_versions()
    for table, effort in chosen:
        known = lengths(table)
        for epsilon in epsilons:
            cell = cell_of(document, table, epsilon)
            cell |= known
            for method in methods:
                if missing and method in cell["methods"]:
                    continue
                if method.startswith("diffprivlib") and not peers.available():
                    continue
                cell["methods"][method] = measure(table, epsilon, effort, method)
            shown = ", ".join(f"{m} {v.get('log_loss', math.nan):.4f}" for m, v in cell["methods"].items())
            harness.log(f"{table.name}, ε = {epsilon:g}: {shown}")
            harness.save(name, document)


def main():
    options = harness.arguments(__doc__)
    methods = [m for m in METHODS if not options.only or m in options.only]
    chosen = tables(options.quick, options.tables)
    if options.seeds:
        chosen = ((table, replace(effort, seeds=options.seeds)) for table, effort in chosen)
    name, epsilons = ("utility_quick", (1.0,)) if options.quick else ("utility", EPSILONS)
    run(name, options.quick, chosen, methods, epsilons=epsilons, missing=options.missing)


if __name__ == "__main__":
    main()
