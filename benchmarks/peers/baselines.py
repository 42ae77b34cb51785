"""Private opponents that no library offers, written down with their accounting.

All work on *signed rows* z = y·x of norm at most 1, intercept included, with loss log(1 + exp(−zᵀθ)): 1-Lipschitz and
1/4-smooth. Neighbours replace one record. μ is the Gaussian-DP parameter of the budget, `gaussian_mu(ε, δ)`. Each function
returns one parameter vector per seed, (seeds, d). What may be tuned on the test set is an argument here and is said by the
caller."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from gibbsafe.privacy.profiles import gaussian_mu

#: Smoothness of the logistic loss on rows of norm at most 1.
SMOOTHNESS = 0.25
BLOCK = 8192


def _sums(rows, theta):
    """Gradient and Hessian of the sum of losses."""
    d = rows.shape[1]
    gradient, hessian = np.zeros(d), np.zeros((d, d))
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        p = expit(-(block @ theta))
        gradient -= p @ block
        half = block * np.sqrt(p * (1 - p))[:, None]
        hessian += half.T @ half
    return gradient, hessian


def minimise(rows, ridge, linear=None, start=None, tolerance=1e-9):
    """The minimiser of Σ loss + ridge/2 |θ|² + linearᵀθ by Newton steps, halved until they descend."""
    d = rows.shape[1]
    theta = np.zeros(d) if start is None else start.copy()
    linear = np.zeros(d) if linear is None else linear

    def value(point):
        return float(np.logaddexp(0, -(rows @ point)).sum()) + 0.5 * ridge * point @ point + linear @ point

    now = value(theta)
    for _ in range(100):
        gradient, hessian = _sums(rows, theta)
        gradient = gradient + ridge * theta + linear
        hessian[np.diag_indices(d)] += ridge
        step = cho_solve(cho_factor(hessian), gradient)
        decrement = float(gradient @ step)
        if decrement < tolerance:
            return theta - step
        while (new := value(theta - step)) > now - 1e-4 * decrement and decrement > 1e-3 * tolerance:
            step, decrement = 0.5 * step, 0.5 * decrement
        theta, now = theta - step, new
    raise RuntimeError(f"no minimum after 100 steps (value {now})")


def non_private(rows, ridge=1e-2):
    """The maximum-likelihood fit, with a ridge that only keeps separable data finite. No privacy."""
    return minimise(rows, ridge)


def output_perturbation(rows, epsilon, delta, *, ridge, seeds, fit=None):
    """θ̂ + N(0, σ²I), θ̂ the ridge fit.

    Accounting: replacing a record moves the minimiser of a ridge-strongly convex sum by at most 2/ridge, so the Gaussian
    mechanism with σ = 2/(ridge·μ) is μ-GDP, which meets (ε, δ) exactly."""
    fit = minimise(rows, ridge) if fit is None else fit
    scale = 2 / (ridge * gaussian_mu(epsilon, delta))
    return np.array([fit + scale * np.random.default_rng(seed).standard_normal(len(fit)) for seed in seeds])


def objective_noise(epsilon, delta, ridge):
    """The least σ with which Gaussian objective perturbation at this ridge is (ε, δ)-DP, or None if the ridge is too small.

    Accounting, in the manner of Kifer, Smith, Thakurta 2012 and Redberg, Koskela, Wang 2023, for replace-one: the output
    determines the noise vector b, so the density ratio of neighbours is a ratio of Gaussian densities times a ratio of
    Hessian determinants. The Hessians differ by one rank-one term each, so the second is at most 1 + 1/(4·ridge). The
    gradients differ by −s z + s' z' with slopes s, s' in [0, 1], so the first is at most the largest over the corners of
    that square; the worst rows are opposite (tests integrate other angles), and there it is a Gaussian shift by 2. So δ =
    δ_Gauss(ε − log(1 + 1/(4·ridge)); 2/σ). No analysis can allow less noise than σ = 2/μ(ε, δ): losses that are linear
    where the draws lie attain it. This is the opponent's best case."""
    rest = epsilon - math.log1p(SMOOTHNESS / ridge)
    return 2 / gaussian_mu(rest, delta) if rest > 0 else None


def objective_perturbation(rows, epsilon, delta, *, ridge, seeds, start=None):
    """The minimiser of Σ loss + ridge/2 |θ|² + bᵀθ, b ~ N(0, σ²I), solved to machine precision; σ by `objective_noise`."""
    scale = objective_noise(epsilon, delta, ridge)
    if scale is None:
        return None
    d = rows.shape[1]
    return np.array(
        [minimise(rows, ridge, scale * np.random.default_rng(seed).standard_normal(d), start, 1e-6) for seed in seeds]
    )


def gradient_descent(rows, epsilon, delta, *, steps, rates, seeds):
    """Noisy full gradients, mean of the second half of the iterates, for every rate: (rates, seeds, d).

    Accounting: T gradients of sensitivity 2 with noise N(0, 4T/μ²) compose to μ-GDP; the average is post-processing.
    ``rates`` are in units of 1/n; 8 is the largest that smoothness n/4 allows without looking at data. Rows are read in
    single precision, which is far below the noise."""
    single = rows.astype(np.float32)
    n, d = single.shape
    noise = 2 * math.sqrt(steps) / gaussian_mu(epsilon, delta)
    generators = [np.random.default_rng(seed) for seed in seeds]
    theta = np.zeros((len(rates), len(seeds), d))
    total = np.zeros_like(theta)
    eta = np.asarray(rates, dtype=float)[:, None, None] / n
    for t in range(steps):
        columns = np.ascontiguousarray(theta.reshape(-1, d).T, dtype=np.float32)
        gradient = np.zeros((columns.shape[1], d))
        for start in range(0, n, 2048):
            block = single[start : start + 2048]
            u = block @ columns
            with np.errstate(over="ignore"):  # 1/(1 + ∞) = 0 is right
                np.exp(u, out=u)
            u += 1
            np.reciprocal(u, out=u)
            gradient -= u.T @ block
        shocks = np.array([generator.standard_normal(d) for generator in generators])
        theta = theta - eta * (gradient.reshape(theta.shape) + noise * shocks)
        if t >= steps // 2:
            total += theta
    return total / (steps - steps // 2)


def public_steps(n, mu, longest):
    """T = ⌈nμ/4⌉ passes: where the step 4/n has travelled as far as the default prior radius, capped at ``longest``."""
    return max(10, min(longest, math.ceil(n * mu / 4)))


def adassp(X, y, epsilon, delta, *, feature_norm, response_bound, generator, failure=0.05):
    """AdaSSP (Wang 2018): ridge regression from noisy sufficient statistics, its ridge chosen by a noisy least eigenvalue.

    Accounting here: the three statistics λ_min(XᵀX), XᵀX and Xᵀy get a third of μ² each; sensitivities under replace-one
    are R², √2 R² (Frobenius) and 2RB, so their Gaussian mechanisms compose to μ-GDP. The original splits (ε/3, δ/3) by
    simple composition: this is tighter, in the opponent's favour."""
    d = X.shape[1]
    share = gaussian_mu(epsilon, delta) / math.sqrt(3)
    gram, cross = X.T @ X, X.T @ y
    least = max(0.0, float(np.linalg.eigvalsh(gram)[0]))
    spread = feature_norm**2 / share
    least = max(0.0, least + spread * generator.standard_normal() - spread * math.sqrt(2 * math.log(6 / failure)))
    scale = math.sqrt(2) * feature_norm**2 / share
    ridge = max(0.0, math.sqrt(d * math.log(2 * d**2 / failure)) * scale - least)
    noise = np.triu(generator.standard_normal((d, d)))
    noise = scale * (noise + np.triu(noise, 1).T)
    noisy_cross = cross + 2 * feature_norm * response_bound / share * generator.standard_normal(d)
    return np.linalg.lstsq(gram + noise + ridge * np.eye(d), noisy_cross, rcond=None)[0]
