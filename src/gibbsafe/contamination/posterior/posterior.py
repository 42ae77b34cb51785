"""Posteriors of several parameters: mode, Hessian, and the log density around the mode, directly or by its Taylor expansion.

The expansion to fourth order costs one pass over the records, whatever the number of points at which it is wanted later. Its
error is measured by direct evaluation at points on the boundary of the set that matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from gibbsafe._types import Floats
from gibbsafe.contamination.model.likelihoods import mixture_derivatives
from gibbsafe.contamination.model.models import ContaminatedModel, Records
from gibbsafe.contamination.model.own import OwnModel
from gibbsafe.errors import GibbsafeError

__all__ = ["Laplace", "laplace", "log_posterior"]

#: Rows per block, and the largest number of records for which particles are evaluated directly.
ROWS, DIRECT = 4096, 2000
#: Rows times points of one block of direct evaluation: half a megabyte, which a cache holds.
CELLS = 65_536
#: Rows whose mixtures are multiplied before a logarithm is taken, and the log odds beyond which nothing is exponentiated.
TOGETHER, LARGEST = 5, 300.0


def log_posterior(model: ContaminatedModel, records: Records, p: float, thetas: Floats) -> Floats:
    """Return the log posterior (up to a constant) at many parameter vectors, by direct evaluation.

    Blocks of rows stay in the cache; log k_p − log(p g) is log(1 + f (1−p)/(p g)), and one logarithm serves several rows.
    """
    total = model.log_prior(thetas)
    log_odds = np.log1p(-p) - np.log(p) - records.log_g if p else np.zeros(len(records))
    size = max(TOGETHER, min(ROWS, CELLS // max(1, len(thetas))))
    for start in range(0, len(records), size):
        block = slice(start, start + size)
        rows_of, odds = (records.x[block], records.w[block], thetas), log_odds[block, None]
        if p == 0 or odds.max() > LARGEST:
            log_f = model.log_f_at(*rows_of)
            total = total + (log_f if p == 0 else np.logaddexp(0, log_f + odds)).sum(axis=0)
        else:
            total = total + _log_products(model.f_at(*rows_of), np.exp(odds))
    return np.asarray(total + (len(records) * np.log(p) + records.log_g.sum() if p else 0.0))


def _log_products(f: Floats, odds: Floats) -> Floats:
    """Return Σ log(1 + odds·f) over rows, by the logarithm of products of a few: each factor is below 1e60."""
    f *= odds
    f += 1.0
    if f.max() > 1e60:
        return np.asarray(np.log(f).sum(axis=0))
    whole = len(f) - len(f) % TOGETHER
    products = f[:whole].reshape(whole // TOGETHER, TOGETHER, f.shape[1]).prod(axis=1)
    return np.asarray(np.log(products).sum(axis=0) + np.log(f[whole:]).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Laplace:
    """Mode c, Hessian of −log π there, and log π(θ)/π(c) for rows θ."""

    mode: Floats
    hessian: Floats
    log_ratio: Callable[[Floats], Floats]
    direct: Callable[[Floats], Floats]
    surrogate: bool

    @property
    def covariance(self) -> Floats:
        """The inverse Hessian."""
        return np.asarray(linalg.inv(self.hessian))

    def correction(self, thetas: Floats) -> Floats:
        """Return log π(θ)/π(c) + ½hᵀHh: the log importance weight against the normal approximation."""
        h = thetas - self.mode
        return np.asarray(self.log_ratio(thetas) + 0.5 * ((h @ self.hessian) * h).sum(axis=1))

    def error_at(self, thetas: Floats) -> float:
        """Return the largest error of the surrogate at these points (0 without one)."""
        return float(np.abs(self.log_ratio(thetas) - self.direct(thetas)).max()) if self.surrogate else 0.0


def _derivatives(
    model: ContaminatedModel, x: Floats, u: Floats, log_g: Floats, p: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return four derivatives of log k_p in u."""
    ratios = model.likelihood.ratios(x, u, model.noise)
    if p == 0:
        return mixture_derivatives(np.ones(len(x)), ratios)
    log_f = model.log_f(x, u)
    return mixture_derivatives(1 / (1 + np.exp(np.clip(log_g - log_f + np.log(p / (1 - p)), -700, 700))), ratios)


def _gradient_hessian(model: ContaminatedModel, records: Records, p: float, theta: Floats) -> tuple[Floats, Floats]:
    gradient = -(theta - model.prior_mean) / model.prior_scale**2
    hessian = np.eye(model.dimension) / model.prior_scale**2
    for start in range(0, len(records), ROWS):
        w = records.w[start : start + ROWS]
        l1, l2, _, _ = _derivatives(model, records.x[start : start + ROWS], w @ theta, records.log_g[start : start + ROWS], p)
        gradient = gradient + w.T @ l1
        hessian = hessian - (w * l2[:, None]).T @ w
    return gradient, hessian


def _newton(model: ContaminatedModel, records: Records, p: float, start: Floats) -> tuple[Floats, Floats]:
    """Return mode and Hessian by damped Newton steps; where the curvature is not positive, its negative part is left out."""
    theta = start
    value = float(log_posterior(model, records, p, theta[None])[0])
    for _ in range(60):
        gradient, hessian = _gradient_hessian(model, records, p, theta)
        eigenvalues, vectors = np.linalg.eigh(hessian)
        step = vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(eigenvalues), 1e-3 * np.abs(eigenvalues).max()))
        if np.sqrt(np.abs(step @ hessian @ step)) < 1e-5:
            return theta + step, hessian
        factor = 1.0
        while True:
            candidate = theta + factor * step
            new = float(log_posterior(model, records, p, candidate[None])[0])
            if new >= value - 1e-9 * abs(value) or factor < 1e-6:
                break
            factor /= 2
        theta, value = candidate, new
    raise GibbsafeError("the mode of the contaminated posterior was not found; start nearer to it")


def _numerical(model: ContaminatedModel, records: Records, p: float, start: Floats) -> tuple[Floats, Floats]:
    """Return mode and Hessian of a posterior with a kink or an unknown scale: simplex search, then a fitted quadratic."""

    def negative(theta: Floats) -> float:
        return -float(log_posterior(model, records, p, theta[None])[0])

    theta = start
    for _ in range(4):
        found = optimize.minimize(negative, theta, method="Powell", options={"xtol": 1e-6, "ftol": 1e-12})
        if np.abs(found.x - theta).max() < 1e-6:
            break
        theta = np.atleast_1d(found.x)
    d = len(theta)
    # A kink hides the curvature below the scale 1/√n: differences are taken over about one posterior standard deviation.
    step = np.full(d, 1.5 / np.sqrt(max(len(records), 4)))
    for _ in range(3):
        hessian = _differences(model, records, p, theta, step)
        eigenvalues, vectors = np.linalg.eigh(hessian)
        hessian = (vectors * np.maximum(eigenvalues, 1e-3 * np.abs(eigenvalues).max())) @ vectors.T
        step = np.sqrt(np.diag(np.linalg.inv(hessian)))
    return theta, hessian


def _differences(model: ContaminatedModel, records: Records, p: float, theta: Floats, step: Floats) -> Floats:
    d = len(theta)
    shifts = np.eye(d) * step
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    points = [theta + s * shifts[i] + t * shifts[j] for i, j in pairs for s in (-1, 1) for t in (-1, 1)]
    values = log_posterior(model, records, p, np.array(points)).reshape(len(pairs), 4)
    hessian = np.zeros((d, d))
    for (i, j), (mm, mp, pm, pp) in zip(pairs, values, strict=True):
        hessian[i, j] = hessian[j, i] = -(mm - mp - pm + pp) / (4 * step[i] * step[j])
    return hessian


class _Taylor:
    """Third and fourth order of the log likelihood around the mode: h₂ᵀM₃h/6 + h₂ᵀM₄h₂/24, h₂ the products of h."""

    def __init__(self, model: ContaminatedModel, records: Records, p: float, mode: Floats) -> None:
        d = model.dimension
        self.rows, self.columns = np.triu_indices(d)
        self.counts = np.where(self.rows == self.columns, 1.0, 2.0)
        self.mode, pairs = mode, len(self.rows)
        self.gradient = -(mode - model.prior_mean) / model.prior_scale**2
        self.second = -np.eye(d) / model.prior_scale**2
        self.third, self.fourth = np.zeros((pairs, d)), np.zeros((pairs, pairs))
        for start in range(0, len(records), ROWS):
            w = records.w[start : start + ROWS]
            l1, l2, l3, l4 = _derivatives(
                model, records.x[start : start + ROWS], w @ mode, records.log_g[start : start + ROWS], p
            )
            products = w[:, self.rows] * w[:, self.columns]
            self.gradient = self.gradient + l1 @ w
            self.second = self.second + (w * l2[:, None]).T @ w
            self.third += products.T @ (w * l3[:, None])
            self.fourth += products.T @ (products * l4[:, None])

    def __call__(self, thetas: Floats) -> Floats:
        h = thetas - self.mode
        h2 = h[:, self.rows] * h[:, self.columns] * self.counts
        value: Floats = (
            h @ self.gradient
            + ((h @ self.second) * h).sum(axis=1) / 2
            + ((h2 @ self.third) * h).sum(axis=1) / 6
            + ((h2 @ self.fourth) * h2).sum(axis=1) / 24
        )
        return value


def _start(model: ContaminatedModel, records: Records, p: float) -> Floats:
    """Return where to search for the mode: of a model of one's own the best of a public sample around the prior's centre."""
    if not isinstance(model, OwnModel):
        return _robust_start(model, records)
    rng = np.random.default_rng(0)  # the same points for every data set
    centre = np.full(model.count, model.prior_mean)
    spread = model.prior_scale * rng.standard_normal((400, model.count)) * np.geomspace(0.05, 1.5, 400)[:, None]
    points = np.concatenate([centre[None], centre + spread])
    values = log_posterior(model, records, p, points)
    return np.asarray(points[int(np.nanargmax(values))])


def _robust_start(model: ContaminatedModel, records: Records) -> Floats:
    """Return where to search for the mode: least absolute deviations, which bear nearly half of the records replaced.

    k_p is not log-concave: from a bad start a search may end at what the contamination pretends.
    """
    begin = np.zeros(model.parameters)
    if model.likelihood.labels or not len(records):
        return begin
    x, w = records.x[:20_000], records.w[:20_000]
    weight = np.ones(len(x))
    for _ in range(50):
        rows = w * weight[:, None]
        theta = np.linalg.lstsq(rows.T @ w + 1e-9 * np.eye(model.dimension), rows.T @ x, rcond=None)[0]
        distance = np.abs(x - w @ theta)
        weight = 1 / np.maximum(distance, 1e-3 * model.noise)
    begin[: model.dimension] = theta
    if model.unknown_scale:
        begin[-1] = np.log(1.5 * np.median(distance) + 1e-9)
    return begin


def laplace(model: ContaminatedModel, records: Records, p: float, start: Floats | None = None) -> Laplace:
    """Return the posterior around its mode: by Taylor expansion for many records of a smooth model, else directly."""
    if model.truncation is not None:
        raise GibbsafeError("a truncated mean is handled on the line")
    smooth = model.likelihood.smooth and not model.unknown_scale and not isinstance(model, OwnModel)
    begin = _start(model, records, p) if start is None else np.array(start, dtype=np.float64)
    mode, hessian = (_newton if smooth else _numerical)(model, records, p, begin)
    base = log_posterior(model, records, p, mode[None])[0]

    def direct(thetas: Floats) -> Floats:
        return np.asarray(log_posterior(model, records, p, thetas) - base)

    if not smooth or len(records) <= DIRECT:
        return Laplace(mode, hessian, direct, direct, surrogate=False)
    taylor = _Taylor(model, records, p, mode)
    return Laplace(mode, -taylor.second, taylor, direct, surrogate=True)
