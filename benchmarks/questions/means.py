"""Means and linear regression: squared error against diffprivlib, OpenDP where it has them, and AdaSSP; estimates of robust
regressions by default and in stages.

Bounds and scales are public and the same for everyone. diffprivlib guarantees pure ε (a stronger promise than (ε, δ), and
it pays for it); OpenDP, AdaSSP and ours (ε, δ); the Welsch location pure ε with no bound on records."""

from __future__ import annotations

import math

import numpy as np

import gibbsafe as gs
from benchmarks import harness
from benchmarks.peers import environment as peers
from benchmarks.peers.baselines import adassp
from gibbsafe.privacy.profiles import gaussian_mu

DELTA = 1e-6


def entry(errors):
    mean, error = harness.mean_and_error(errors)
    return {"mean": mean, "error": error, "seeds": len(errors)}


def draws(model, data, epsilon, seeds, n, **options):
    plan = gs.plan(model, gs.Budget(epsilon, options.pop("delta", DELTA)), n=n, adjacency="replace-one", **options)
    return np.array([plan.release(data, generator=np.random.default_rng(seed)).draws[0] for seed in range(seeds)])


# -- means -----------------------------------------------------------------------------------------------------------


def bounded_mean(n, d, epsilon, seeds):
    """Records in [−1, 1]^d; error is the squared distance to the records' own mean."""
    X = np.clip(np.random.default_rng(0).normal(0.2, 0.3, (n, d)), -1, 1)
    truth = X.mean(axis=0)
    methods = {}
    model = gs.models.GaussianMean(dimension=d, radius=math.sqrt(d))
    methods["GaussianMean"] = draws(model, X, epsilon, seeds, n)
    methods["GaussianMean, the paper's theorem"] = draws(model, X, epsilon, seeds, n, theorem="gaussian-mean-paper")
    scale = 2 * math.sqrt(d) / (n * gaussian_mu(epsilon, DELTA))
    noise = [scale * np.random.default_rng(seed).standard_normal(d) for seed in range(seeds)]
    methods["Gaussian mechanism"] = truth + np.array(noise)
    if peers.available():
        fits = [(epsilon, seed) for seed in range(seeds)]
        methods["diffprivlib"] = peers.ask("diffprivlib_mean", {"X": X}, fits=fits, bounds=[-1.0, 1.0])["mean"]
        found = peers.ask("opendp_mean", {"X": X}, fits=[(epsilon, seeds)], bounds=[-1.0, 1.0], delta=DELTA)
        methods["OpenDP"] = found["mean"][0]
    errors = {name: entry(np.square(found - truth).sum(axis=1)) for name, found in methods.items()}
    return {"task": "mean of bounded records", "n": n, "d": d, "epsilon": epsilon, "methods": errors}


def unbounded_mean(n, epsilon, seeds, reach=100.0):
    """Student t(2) records around 3, no bound on them; the location is known to lie within ±100. Error against the truth 3."""
    X = 3 + np.random.default_rng(1).standard_t(2, (n, 1))
    methods = {}
    if hasattr(gs.models, "WelschLocation"):
        model = gs.models.WelschLocation(dimension=1, scale=1.0, bounds=(-reach, reach))
        methods["WelschLocation"] = draws(model, X, epsilon, seeds, n, delta=0.0)
    clipped = np.clip(X, -reach, reach)
    methods["GaussianMean, clipped"] = draws(gs.models.GaussianMean(dimension=1, radius=reach), clipped, epsilon, seeds, n)
    if peers.available():
        fits = [(epsilon, seed) for seed in range(seeds)]
        methods["diffprivlib"] = peers.ask("diffprivlib_mean", {"X": clipped}, fits=fits, bounds=[-reach, reach])["mean"]
        found = peers.ask("opendp_mean", {"X": clipped}, fits=[(epsilon, seeds)], bounds=[-reach, reach], delta=DELTA)
        methods["OpenDP"] = found["mean"][0]
    methods["median, non-private"] = np.median(X, axis=0)[None]
    errors = {name: entry(np.square(found - 3).sum(axis=1)) for name, found in methods.items()}
    return {"task": "location of unbounded records", "n": n, "d": 1, "epsilon": epsilon, "methods": errors}


# -- regression ------------------------------------------------------------------------------------------------------


def regression(n, d, epsilon, seeds, heavy):
    """y = xᵀb + noise, x in [−1, 1]^d, |y| clipped to 4; error is the mean squared distance of predictions on 2,000 fresh
    rows.

    With ``heavy`` the noise is Student t(2) and the pseudo-Huber loss needs no bound on it; the others clip at ±4 all the
    same."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (n + 2000, d))
    b = np.linspace(1, -1, d) if d > 1 else np.array([1.0])
    signal = X @ b + 0.5
    y = signal + (rng.standard_t(2, n + 2000) if heavy else 0.3 * rng.standard_normal(n + 2000))
    X, X_new, y, wanted = X[:n], X[n:], y[:n], signal[n:]
    clipped = np.clip(y, -4, 4)
    bounds = [(-1, 1)] * d
    methods = {}
    robust = {
        "PseudoHuberRegression": gs.models.PseudoHuberRegression(dimension=d, bounds=bounds),
        "SoftQuantileRegression": gs.models.SoftQuantileRegression(dimension=d, bounds=bounds),
    }
    for name, model in robust.items():
        methods[name] = draws(model, (X, y), epsilon, seeds, n, purpose="estimate")
        methods[f"{name}, stages"] = draws(model, (X, y), epsilon, seeds, n, purpose="estimate", mechanism="stages")
    squared = gs.models.LinearRegression(dimension=d, bounds=bounds, response_bounds=(-4, 4))
    methods["LinearRegression"] = draws(squared, (X, clipped), epsilon, seeds, n, purpose="estimate")
    rows = np.column_stack([X, np.ones(n)])
    settings = {"feature_norm": math.sqrt(d + 1), "response_bound": 4.0}
    methods["AdaSSP"] = np.array(
        [adassp(rows, clipped, epsilon, DELTA, generator=np.random.default_rng(s), **settings) for s in range(seeds)]
    )
    if peers.available():
        fits = [(epsilon, seed) for seed in range(seeds)]
        found = peers.ask("linear", {"X": X, "y": clipped}, fits=fits, bounds_X=[-1.0, 1.0], bounds_y=[-4.0, 4.0])
        methods["diffprivlib"] = found["theta"]
    methods["least squares, non-private"] = np.linalg.lstsq(rows, clipped, rcond=None)[0][None]
    new = np.column_stack([X_new, np.ones(len(X_new))])
    errors = {name: entry(np.square(found @ new.T - wanted).mean(axis=1)) for name, found in methods.items()}
    task = "regression, heavy-tailed noise" if heavy else "regression, normal noise"
    return {"task": task, "n": n, "d": d, "epsilon": epsilon, "methods": errors}


def kept(found, before):
    """The cell with what an earlier run measured of methods that this one could not: peers that are not installed here."""
    same = ("task", "n", "d", "epsilon")
    old = next((cell for cell in before if all(cell[key] == found[key] for key in same)), {"methods": {}})
    return found | {"methods": old["methods"] | found["methods"]}


def main():
    options = harness.arguments(__doc__)
    quick = options.quick
    seeds = 3 if quick else 20
    sizes = (1000,) if quick else (1000, 10_000, 100_000)
    epsilons = (1.0,) if quick else (0.1, 1.0)
    name = "means_quick" if quick else "means"
    before = (harness.load(name) or {}).get("cells", [])
    document = harness.resume(name, quick) | {"delta": DELTA, "cells": []}
    document["versions"] |= peers.peer_versions()
    works = []
    for n in sizes:
        for epsilon in epsilons:
            if not options.only or "regression" in options.only:
                works += [lambda n=n, e=epsilon, h=h: regression(n, 5, e, seeds, h) for h in (False, True)]
            if options.only and "means" not in options.only:
                continue
            works += [lambda n=n, e=epsilon, d=d: bounded_mean(n, d, e, seeds) for d in ((5,) if quick else (1, 20))]
            works.append(lambda n=n, e=epsilon: unbounded_mean(n, e, seeds))
    cells = {(cell["task"], cell["n"], cell["d"], cell["epsilon"]): cell for cell in before}
    for work in works:
        found = kept(work(), before)
        harness.log(str(found))
        cells[found["task"], found["n"], found["d"], found["epsilon"]] = found
        harness.save(name, document | {"cells": list(cells.values())})


if __name__ == "__main__":
    main()
