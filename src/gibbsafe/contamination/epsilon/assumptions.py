"""What the paper's theory needs, as numbers: prior mass around the truth (Lemma 7) and Fisher information (Theorem 5)."""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import legendre
from scipy import special

from gibbsafe._types import Floats
from gibbsafe._validate import count, non_negative, open_probability, positive
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.errors import ParameterError

__all__ = ["efficiency_loss", "fisher_information", "prior_mass_far", "prior_mass_near"]


def prior_mass_near(dimension: int, radius: float, truth_norm: float) -> float:
    """Return Lemma 7's lower bound e^(−|θ*|²/2) γ(d/2, r²/2)/Γ(d/2) on P(|θ − θ*| ≤ r), for a standard normal prior.

    It holds for every r (standardise other normal priors first). Assumption 2 asks for such mass near the truth.

    >>> round(prior_mass_near(3, 0.8, 1.0), 12)
    0.068406176604
    """
    d, r, t = count("dimension", dimension), non_negative("radius", radius), non_negative("truth_norm", truth_norm)
    return math.exp(-t * t / 2) * float(special.gammainc(d / 2, r * r / 2))


def prior_mass_far(dimension: int, radius: float, truth_norm: float) -> float:
    """Return Lemma 7's second lower bound γ(d/2, (r − |θ*|)²/2)/Γ(d/2) on P(|θ − θ*| ≤ r), for r > |θ*|.

    Assumption 3 asks that what is left outside decays exponentially.
    """
    d, r, t = count("dimension", dimension), positive("radius", radius), non_negative("truth_norm", truth_norm)
    if r <= t:
        raise ParameterError(f"radius = {r}: must be above truth_norm = {t}; use prior_mass_near")
    return float(special.gammainc(d / 2, (r - t) ** 2 / 2))


def _line_rule() -> tuple[Floats, Floats]:
    """Nodes and weights for integrals over the line around 0, dense near it and reaching 1e9 on both sides."""
    x, w = legendre.leggauss(60)
    edges = np.linspace(0, math.asinh(1e9), 13)
    half = np.diff(edges) / 2
    t = ((edges[:-1] + half)[:, None] + half[:, None] * x).ravel()
    weight = (half[:, None] * w).ravel() * np.cosh(t)
    return np.concatenate([-np.sinh(t), np.sinh(t)]), np.concatenate([weight, weight])


def _scores(model: ContaminatedModel, x: Floats, u: float, scale: float) -> list[Floats]:
    """Return ∂ log f/∂u, and ∂ log f/∂ log s where the scale is a parameter."""
    location = np.full(len(x), u)
    scores = [model.likelihood.ratios(x, location, scale)[0]]
    if model.truncation is not None:
        step = 1e-5 * model.noise
        ends = model.log_mass(np.array([u - step, u + step]))
        scores[0] = scores[0] - (ends[1] - ends[0]) / (2 * step)
    if model.unknown_scale:
        scores.append(model.likelihood.scale_score(x, location, scale))
    return scores


def _information_at(model: ContaminatedModel, p: float, u: float, scale: float, centre: float) -> Floats:
    """Return (1−p)²∫∇f∇fᵀ/k_p over records with location u, in the parameters (u[, log s])."""
    if model.likelihood.labels:
        x, weight = np.array([0.0, 1.0]), np.ones(2)
    else:
        x, weight = _line_rule()
        x, weight = u + scale * x, scale * weight
        if model.truncation is not None:
            inside = (x > model.truncation[0]) & (x < model.truncation[1])
            x, weight = x[inside], weight[inside]
    log_f = model.log_f(x, np.full(len(x), u), scale)
    log_g = model.contamination.log_density(x, centre) if model.contamination is not None else np.full(len(x), -np.inf)
    log_k = model.log_k(x, np.full(len(x), u), log_g, p, scale)
    with np.errstate(under="ignore"):
        mass = weight * np.exp(2 * log_f - log_k)
    scores = np.stack(_scores(model, x, u, scale))
    scores = np.where(mass > 0, scores, 0.0)
    return np.asarray((1 - p) ** 2 * (scores * mass) @ scores.T)


def fisher_information(
    model: ContaminatedModel, truth: Floats | float, rate: float | None = None, w: Floats | None = None
) -> Floats:
    """Return the Fisher information of one contaminated record, I_p = (1−p)²∫∇f∇fᵀ/k_p, averaged over covariates w (rows).

    Theorem 5: I_p ≤ (1−p)I, and I_p → I as p → 0. ``rate=None`` is the model's own declared rate (0 without contamination).

    >>> from gibbsafe.contamination import ContaminatedNormalMean, StudentT
    >>> model = ContaminatedNormalMean(prior_mean=0.0, contamination=StudentT(5.0))
    >>> round(float(fisher_information(model, 0.0, 0.25)[0, 0]), 9)
    0.535934131
    """
    theta = model.truth(truth)
    p = _rate(model, rate)
    rows = np.ones((1, 1)) if w is None and model.dimension == 1 else np.atleast_2d(np.asarray(w, dtype=np.float64))
    if rows.shape[1] != model.dimension:
        raise ParameterError(f"w: expected rows of {model.dimension} covariates")
    scale = math.exp(theta[-1]) if model.unknown_scale else model.noise
    total = np.zeros((model.parameters, model.parameters))
    for row in rows:
        u = float(row @ theta[: model.dimension])
        jacobian = np.zeros((1 + model.unknown_scale, model.parameters))
        jacobian[0, : model.dimension] = row
        if model.unknown_scale:
            jacobian[1, -1] = 1.0
        total += jacobian.T @ _information_at(model, p, u, scale, u) @ jacobian
    return total / len(rows)


def _rate(model: ContaminatedModel, rate: float | None) -> float:
    if rate is not None:
        return open_probability("rate", rate) if rate != 0 else 0.0
    if model.contamination is None:
        return 0.0
    if model.rate is None:
        raise ParameterError("rate: the model's rate depends on n; pass rate=model.p(n)")
    return model.rate


def efficiency_loss(model: ContaminatedModel, truth: Floats | float, rate: float | None = None, w: Floats | None = None) -> float:
    """Return the largest relative loss of information in any direction: 1 − the least eigenvalue of I^(−1/2) I_p I^(−1/2).

    >>> from gibbsafe.contamination import ContaminatedNormalMean, StudentT
    >>> model = ContaminatedNormalMean(prior_mean=0.0, contamination=StudentT(5.0))
    >>> round(efficiency_loss(model, 0.0, 0.25), 4)
    0.4641
    """
    contaminated = fisher_information(model, truth, rate, w)
    clean = fisher_information(model, truth, 0, w)
    root = np.linalg.inv(np.linalg.cholesky(clean))
    return 1 - float(np.linalg.eigvalsh(root @ contaminated @ root.T).min())
