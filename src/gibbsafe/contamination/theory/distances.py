"""Distances between contaminated densities: Hellinger (Definition 3), ρ_{p,α} (Definition 6), Kullback–Leibler (Appendix D).

All are for one record (x, w), averaged over the covariates w (rows): for a single fixed w the distance of two parameters may
vanish (E31). The true parameter comes first; a density that follows the truth follows that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

from gibbsafe._types import Floats
from gibbsafe._validate import fail, open_probability
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.errors import ParameterError

__all__ = ["design", "hellinger", "kullback_leibler", "parameter", "record_rule", "rho", "scale_of"]

#: Where integrals are cut around every location, in scales: dense near it, and out to where no density has mass left.
CUTS = np.concatenate([np.linspace(0, 12, 49), np.geomspace(13, 1e9, 40)])
NODES = 12


def design(model: ContaminatedModel, w: Floats | None) -> Floats:
    """Return the covariates to average over, as rows: the constant 1 alone for a mean."""
    rows = np.ones((1, 1)) if w is None and model.dimension == 1 else np.atleast_2d(np.asarray(w, dtype=np.float64))
    if rows.shape[1:] != (model.dimension,) or not (np.abs(rows) <= 1).all():
        raise ParameterError(f"w: expected rows of {model.dimension} covariates in [−1, 1]")
    return rows


def parameter(model: ContaminatedModel, value: object, rate: float) -> tuple[Floats, float]:
    """Return a parameter vector and the rate, checked; a model without contamination has rate 0."""
    p = 0.0 if rate == 0 else open_probability("rate", rate)
    if p > 0 and model.contamination is None:
        fail("rate", rate, "0: the model has no contaminating density")
    return model.truth(value), p


def scale_of(model: ContaminatedModel, theta: Floats) -> float:
    """Return the scale at a parameter."""
    return math.exp(theta[-1]) if model.unknown_scale else model.noise


def record_rule(model: ContaminatedModel, locations: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for integrals over records: panels between cuts around every location, which may be kinks."""
    if model.likelihood.labels:
        return np.array([0.0, 1.0]), np.ones(2)
    away = scale * CUTS
    edges = np.unique(np.concatenate([center + sign * away for center in np.unique(locations) for sign in (-1, 1)]))
    if model.truncation is not None:
        low, high = model.truncation
        edges = np.unique(np.concatenate([[low], edges[(edges > low) & (edges < high)], [high]]))
    x, weight = legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * x).ravel(), (half * weight).ravel()


def _average(
    model: ContaminatedModel,
    pair: tuple[object, object],
    integrand: Callable[[Floats, Floats], Floats],
    rate: float,
    w: Floats | None,
) -> float:
    """Return the integral of a function of log k_p at the truth and at θ, averaged over covariates."""
    (true, p), (other, _) = (parameter(model, value, rate) for value in pair)
    scales = scale_of(model, true), scale_of(model, other)
    total = []
    for row in design(model, w):
        u, v = (float(row @ vector[: model.dimension]) for vector in (true, other))
        x, weight = record_rule(model, np.array([u, v]), min(scales))
        log_g = np.zeros(len(x)) if model.contamination is None else model.contamination.log_density(x, u)
        logs = [model.log_k(x, np.full(len(x), at), log_g, p, s) for at, s in ((u, scales[0]), (v, scales[1]))]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            values = integrand(*logs)
        total.append(float(weight @ np.where(np.isnan(values), 0.0, values)))
    return math.fsum(total) / len(total)


def hellinger(model: ContaminatedModel, truth: object, theta: object, *, rate: float = 0.0, w: Floats | None = None) -> float:
    """Return h(θ, θ*) with h² = ½∫(√k_p(·; θ) − √k_p(·; θ*))², averaged over covariates (Definition 3).

    >>> from gibbsafe.contamination import ContaminatedNormalMean
    >>> round(hellinger(ContaminatedNormalMean(), 0.0, 1.0) ** 2, 12), round(1 - math.exp(-1 / 8), 12)
    (0.117503097415, 0.117503097415)
    """

    def integrand(a: Floats, b: Floats) -> Floats:
        return np.asarray(0.5 * (np.exp(a / 2) - np.exp(b / 2)) ** 2)

    return math.sqrt(_average(model, (truth, theta), integrand, rate, w))


def rho(
    model: ContaminatedModel, truth: object, theta: object, alpha: float = 1.0, *, rate: float = 0.0, w: Floats | None = None
) -> float:
    """Return ρ_{p,α}(θ*, θ) = (1/α)∫[(k_p(·; θ*)/k_p(·; θ))^α − 1]k_p(·; θ*) (Definition 6; E28: against k_p at θ*).

    It falls with p (Lemma 11), tends to the Kullback–Leibler divergence as α → 0, and is at least that.

    >>> from gibbsafe.contamination import ContaminatedNormalMean
    >>> round(rho(ContaminatedNormalMean(), 0.0, 0.5, 1.0), 10), round(math.exp(0.25) - 1, 10)
    (0.2840254167, 0.2840254167)
    """
    power = _power(alpha)

    def integrand(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.exp(a) * np.expm1(power * (a - b)) / power)

    return _average(model, (truth, theta), integrand, rate, w)


def kullback_leibler(
    model: ContaminatedModel, truth: object, theta: object, *, rate: float = 0.0, w: Floats | None = None
) -> float:
    """Return KL(k_p(·; θ*) ‖ k_p(·; θ)), of whose balls Appendix D asks prior mass."""

    def integrand(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.exp(a) * (a - b))

    return _average(model, (truth, theta), integrand, rate, w)


def _power(alpha: float) -> float:
    if not 0 < alpha <= 1:
        fail("alpha", alpha, "above 0 and at most 1")
    return float(alpha)
