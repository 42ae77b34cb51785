"""Robust regressions on heavy tails without a bound on the response: distance of the coefficients to the truth, with and without
privacy, over independent data sets with one release each at ε = 1, δ = 1e-6."""

import harness
import numpy as np
from scipy.optimize import minimize

from gibbsafe.estimators import PrivateHuberRegressor, PrivateQuantileRegressor

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
    """Student noise with two degrees of freedom, and 50 responses between 1e3 and 1e6 in size."""
    random = np.random.default_rng(seed)
    X = FEATURES[kind][0](random, n)
    y = X @ TRUTH + 0.7 + random.standard_t(2, n)
    far = random.integers(n, size=50)
    y[far] = random.choice([-1.0, 1.0], 50) * 10 ** random.uniform(3, 6, 50)
    return X, y


def without_privacy(model, X, y):
    """Coefficients that minimise the same loss without prior and noise."""
    rows = model.encode_features(X)

    def objective(theta):
        return float(model.loss.total(rows @ theta, y)), rows.T @ model.loss.slope(rows @ theta, y)

    found = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-6 * len(y)})
    return model.to_original(found.x)[0, :5]


def main():
    options = harness.arguments(__doc__)
    n, sets = (5000, 2) if options.quick else (100_000, 20)
    rows = []
    for kind, (_, bounds) in FEATURES.items():
        for name, (cls, settings) in ESTIMATORS.items():
            private, plain = [], []
            for seed in range(sets):
                X, y = records(kind, seed, n)
                made = cls(epsilon=1.0, delta=1e-6, bounds=bounds, random_state=seed, **settings).fit(X, y)
                private.append(float(np.linalg.norm(made.coef_ - TRUTH)))
                plain.append(float(np.linalg.norm(without_privacy(made.plan_.model, X, y) - TRUTH)))
            row = {"features": kind, "estimator": name, "private": np.mean(private), "plain": np.mean(plain)}
            rows.append(row | {"ratio": row["private"] / row["plain"], "largest": max(private)})
            harness.log(f"{kind}, {name}: {row['private']:.4f} / {row['plain']:.4f} = {rows[-1]['ratio']:.2f}")
    document = harness.head(options.quick, "scikit-learn") | {"n": n, "data_sets": sets, "rows": rows}
    harness.save("heavy_tails_quick" if options.quick else "heavy_tails", document)


if __name__ == "__main__":
    main()
