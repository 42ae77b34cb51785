"""Robust regressions on heavy tails without a bound on the response: distance of the coefficients to the truth, with and without
privacy, over independent data sets with one release each at ε = 1, δ = 1e-6."""

import numpy as np
from scipy.optimize import minimize

from benchmarks import harness
from gibbsafe.estimators import PrivateHuberRegressor, PrivateQuantileRegressor

EPSILON, DELTA = 1.0, 1e-6
OUTLIERS = 50
TRUTH = np.array([1.0, -2.0, 0.5, 0.0, 1.5])
FEATURES = {
    "uniform on [−1, 1]⁵": (lambda random, n: random.uniform(-1, 1, (n, 5)), (-1, 1)),
    "normal clipped at ±3": (lambda random, n: np.clip(random.normal(size=(n, 5)), -3, 3), (-3, 3)),
}
ESTIMATORS = {
    "PrivateHuberRegressor()": (PrivateHuberRegressor, {}),
    "PrivateQuantileRegressor()": (PrivateQuantileRegressor, {}),
    "PrivateQuantileRegressor(quantile=0.9)": (PrivateQuantileRegressor, {"quantile": 0.9}),
}


def records(kind, seed, n):
    """Student noise with two degrees of freedom, and some responses between 1e3 and 1e6 in size."""
    random = np.random.default_rng(seed)
    X = FEATURES[kind][0](random, n)
    y = X @ TRUTH + 0.7 + random.standard_t(2, n)
    far = random.integers(n, size=OUTLIERS)
    y[far] = random.choice([-1.0, 1.0], OUTLIERS) * 10 ** random.uniform(3, 6, OUTLIERS)
    return X, y


def without_privacy(model, X, y):
    """Coefficients that minimise the same loss without prior and noise."""
    rows = model.encode_features(X)

    def objective(theta):
        return float(model.loss.total(rows @ theta, y)), rows.T @ model.loss.slope(rows @ theta, y)

    found = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-6 * len(y)})
    return model.to_original(found.x)[0, :5]


def measure(kind, name, n, sets):
    """Mean distances of one estimator on features of one kind, over independent data sets."""
    cls, settings = ESTIMATORS[name]
    private, plain = [], []
    for seed in range(sets):
        X, y = records(kind, seed, n)
        made = cls(epsilon=EPSILON, delta=DELTA, bounds=FEATURES[kind][1], random_state=seed, **settings).fit(X, y)
        private.append(float(np.linalg.norm(made.coef_ - TRUTH)))
        plain.append(float(np.linalg.norm(without_privacy(made.plan_.model, X, y) - TRUTH)))
    row = {"features": kind, "estimator": name}
    for label, values in (("private", private), ("plain", plain)):
        row[label], row[f"{label}_standard_error"] = harness.mean_and_error(values)
    row |= {"ratio": row["private"] / row["plain"], "largest": max(private)}
    harness.log(f"{kind}, {name}: {row['private']:.4f} / {row['plain']:.4f} = {row['ratio']:.2f}")
    return row


def run(n, sets):
    """Every estimator on features of every kind, and what was asked of them."""
    return {
        "n": n,
        "d": len(TRUTH),
        "data_sets": sets,
        "outliers": OUTLIERS,
        "epsilon": EPSILON,
        "delta": DELTA,
        "rows": [measure(kind, name, n, sets) for kind in FEATURES for name in ESTIMATORS],
    }


def main():
    options = harness.arguments(__doc__)
    document = harness.head(options.quick, "scikit-learn") | run(*((5000, 2) if options.quick else (100_000, 20)))
    harness.save("heavy_tails_quick" if options.quick else "heavy_tails", document)


if __name__ == "__main__":
    main()
