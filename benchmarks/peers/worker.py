"""Runs inside the peers' environment: reads request.json and in.npz of a folder, writes out.npz. Knows nothing of gibbsafe."""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def logistic(arrays, request):
    """diffprivlib's logistic regression for every (epsilon, C, seed): coefficients, intercept last if fitted."""
    from diffprivlib.models import LogisticRegression

    found, seconds = [], []
    for epsilon, c, seed in request["fits"]:
        start = time.perf_counter()
        model = LogisticRegression(
            epsilon=epsilon,
            data_norm=request["data_norm"],
            C=c,
            fit_intercept=request["fit_intercept"],
            max_iter=2000,
            tol=1e-6,
            random_state=seed,
        ).fit(arrays["X"], arrays["y"])
        seconds.append(time.perf_counter() - start)
        found.append(np.append(model.coef_[0], model.intercept_ if request["fit_intercept"] else []))
    return {"theta": np.array(found), "seconds": np.array(seconds)}


def linear(arrays, request):
    """diffprivlib's linear regression for every (epsilon, seed): coefficients, intercept last."""
    from diffprivlib.models import LinearRegression

    found = []
    for epsilon, seed in request["fits"]:
        model = LinearRegression(
            epsilon=epsilon,
            bounds_X=tuple(request["bounds_X"]),
            bounds_y=tuple(request["bounds_y"]),
            fit_intercept=True,
            random_state=seed,
        ).fit(arrays["X"], arrays["y"])
        found.append(np.append(model.coef_, model.intercept_))
    return {"theta": np.array(found)}


def diffprivlib_mean(arrays, request):
    """diffprivlib's mean of every coordinate, the budget split evenly among them (pure ε)."""
    from diffprivlib.tools import mean

    X = arrays["X"]
    low, high = request["bounds"]
    d = X.shape[1]
    return {
        "mean": np.array(
            [
                mean(X, axis=0, epsilon=epsilon, bounds=(np.full(d, low), np.full(d, high)), random_state=seed)
                for epsilon, seed in request["fits"]
            ]
        )
    }


def opendp_mean(arrays, request):
    """OpenDP: coordinates clamped, summed, Gaussian noise calibrated by OpenDP's own (ε, δ) map; replace-one, size public."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    X = arrays["X"]
    n, d = X.shape
    low, high = request["bounds"]
    found = []
    for epsilon, repeats in request["fits"]:
        space = dp.vector_domain(dp.atom_domain(bounds=(low, high), nan=False), size=n), dp.symmetric_distance()
        one = dp.t.make_mean(*space)

        def build(scale, one=one):
            noisy = one >> dp.m.then_gaussian(scale)
            return dp.c.make_zCDP_to_approxDP(dp.c.make_composition([noisy] * d))

        unit = (high - low) / n * d**0.5
        bounds = (0.3 * unit, 1000 * unit)  # smaller scales overflow inside OpenDP

        def affordable(scale, build=build, epsilon=epsilon):
            return build(scale).map(2).epsilon(request["delta"]) <= epsilon

        scale = dp.binary_search(affordable, bounds=bounds)
        release = one >> dp.m.then_gaussian(scale)
        found.append([[release(X[:, j].tolist()) for j in range(d)] for _ in range(repeats)])
    return {"mean": np.array(found)}


def opendp_histogram(arrays, request):
    """OpenDP: counts of known categories with its integer Laplace noise, the scale by OpenDP's own map; (releases, cells)."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counts = dp.t.make_count_by_categories(
        *space, categories=list(range(request["cells"])), null_category=False, MO=dp.L1Distance[int]
    )
    scale = dp.binary_search_param(
        lambda s: counts >> dp.m.then_laplace(s), d_in=request["neighbours"], d_out=request["epsilon"], T=float
    )
    release = counts >> dp.m.then_laplace(scale)
    codes = arrays["codes"].tolist()
    return {"counts": np.array([release(codes) for _ in range(request["releases"])])}


def diffprivlib_histogram(arrays, request):
    """diffprivlib's histogram of the codes, one bin each; its ε is for one record more or less."""
    from diffprivlib.tools import histogram

    cells, epsilon = request["cells"], request["epsilon"] / request["neighbours"]
    return {
        "counts": np.array(
            [
                histogram(arrays["codes"], epsilon=epsilon, bins=cells, range=(-0.5, cells - 0.5), random_state=seed)[0]
                for seed in range(request["releases"])
            ]
        )
    }


def main():
    folder = Path(sys.argv[1])
    request = json.loads((folder / "request.json").read_text())
    with np.load(folder / "in.npz") as found:
        arrays = dict(found)
    tasks = {
        task.__name__: task for task in (logistic, linear, diffprivlib_mean, opendp_mean, opendp_histogram, diffprivlib_histogram)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = tasks[request["task"]](arrays, request)
    np.savez(folder / "out.npz", **answer)


if __name__ == "__main__":
    main()
