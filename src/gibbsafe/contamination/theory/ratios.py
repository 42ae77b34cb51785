"""How much one record can say near the truth: T_n and η_n (Lemma 14), ψ_n (Proposition 3), and ρ's slope (Lemma 6).

Suprema are searched on dense grids and sharpened, not bounded.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from gibbsafe._types import Floats
from gibbsafe._validate import non_negative, open_probability, positive
from gibbsafe.contamination.epsilon.assumptions import fisher_information
from gibbsafe.contamination.model.densities import Density
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.theory.distances import design, hellinger, parameter, record_rule
from gibbsafe.contamination.theory.entropy import require_declared_location
from gibbsafe.errors import PremiseError

__all__ = ["gradient_ratio", "identifiable_radius", "log_ratio_bound", "rho_slope"]

#: Residuals at which ratios are tried, in scales: dense in the middle, far out for heavy tails.
RESIDUALS = np.concatenate([np.linspace(0, 12, 1201)[1:], np.geomspace(12.1, 1e8, 400)])
LOCATIONS = 41


def gradient_ratio(model: ContaminatedModel, truth: object, radius: float, *, w: Floats | None = None) -> float:
    """Return T = sup |∇_θ f(x; θ)|₂/g(x) over records, covariates and |θ − θ*|₂ ≤ radius (Lemma 14, Assumption 4).

    Without ``w`` it is over all covariates in [−1, 1]^d: |w|₂ ≤ √d times the supremum over locations within √d·radius of those
    that θ* gives, which is an upper bound for d > 1 and exact for a mean.

    >>> from gibbsafe.contamination import ContaminatedNormalMean, StudentT
    >>> model = ContaminatedNormalMean(contamination=StudentT(5.0))
    >>> round(gradient_ratio(model, 0.0, 0.0), 4)  # sup |x|φ(x)/t₅(x), at x² = 1 + √6
    1.6788
    """
    g = model.contamination
    if g is None:
        raise PremiseError("contamination: without a density g there is no ratio to it")
    require_declared_location(model)
    theta, _ = parameter(model, truth, 0.0)
    reach = non_negative("radius", radius)
    if w is None and model.dimension > 1:
        size = float(np.abs(theta).sum())
        centres, norms = np.linspace(-size, size, LOCATIONS), np.full(LOCATIONS, math.sqrt(model.dimension))
    else:
        rows = design(model, w)
        centres, norms = rows @ theta, np.linalg.norm(rows, axis=1)
    places = zip(centres, norms, strict=True)
    return max(float(norm) * _steepest(model, g, float(centre), reach * float(norm)) for centre, norm in places)


def _steepest(model: ContaminatedModel, g: Density, centre: float, reach: float) -> float:
    """Return sup |∂f/∂u|/g over records and locations within reach of a centre."""
    scale = model.noise

    def log_ratio(residual: Floats, shift: Floats) -> Floats:
        u = centre + shift
        x = u + scale * residual
        slope = np.abs(model.likelihood.ratios(x, u, scale)[0])
        with np.errstate(divide="ignore"):
            steep = np.log(slope)
        return np.asarray(steep + model.likelihood.log_f(x, u, scale) - g.log_density(x, centre))

    shifts = np.linspace(-reach, reach, LOCATIONS) if reach > 0 else np.zeros(1)
    if model.likelihood.labels:
        u = centre + shifts[:, None]
        x = np.array([[0.0, 1.0]])
        slope = np.abs(model.likelihood.ratios(x, u)[0]) * np.exp(model.likelihood.log_f(x, u))
        return float((slope / np.exp(g.log_density(x))).max())
    residuals = np.concatenate([-RESIDUALS[::-1], RESIDUALS])
    values = log_ratio(residuals[None, :], shifts[:, None])
    line, column = (int(index) for index in np.unravel_index(int(np.argmax(values)), values.shape))
    best = float(values[line, column])
    near = residuals[max(column - 1, 0)], residuals[min(column + 1, len(residuals) - 1)]
    at = np.array(shifts[line])
    found = optimize.minimize_scalar(lambda r: -float(log_ratio(np.array(r), at)), bounds=near, method="bounded")
    return math.exp(max(best, -float(found.fun)))


def log_ratio_bound(*, rate: float, gradient_ratio: float, radius: float) -> float:
    """Return (1−p)/p·T·ψ ≥ sup |log d(x; θ)| over records and |θ − θ*|₂ ≤ ψ (Lemma 14); log η_n is twice that.

    >>> log_ratio_bound(rate=0.5, gradient_ratio=2.0, radius=0.1)
    0.2
    """
    p = open_probability("rate", rate)
    return (1 - p) / p * positive("gradient_ratio", gradient_ratio) * non_negative("radius", radius)


def identifiable_radius(
    model: ContaminatedModel, truth: object, phi: float, *, rate: float = 0.0, w: Floats | None = None, largest: float = 1e6
) -> float:
    """Return ψ = sup {|θ − θ*|₂ : h(θ, θ*) ≤ φ} (Proposition 3), infinite where h ≤ φ even at ``largest`` (in scales).

    Along directions: both for a mean, the eigenvectors of the Fisher information and 8 more for several parameters.
    """
    require_declared_location(model)
    theta, p = parameter(model, truth, rate)
    size = positive("phi", phi)
    rows = design(model, w)
    if model.dimension == 1:
        directions = np.array([[1.0], [-1.0]])
    else:
        axes = np.linalg.eigh(fisher_information(model, theta, p, rows))[1].T
        extra = np.random.default_rng(0).standard_normal((8, model.dimension))
        extra /= np.linalg.norm(extra, axis=1, keepdims=True)
        directions = np.concatenate([axes, -axes, extra])

    def within(direction: Floats) -> float:
        """Return the largest distance in one direction at which h ≤ φ."""

        def gap(distance: float) -> float:
            return hellinger(model, theta, theta + distance * direction, rate=p, w=rows) - size

        grid = [float(point) for point in largest * model.noise * np.geomspace(1e-12, 1, 37)]
        last = next((k for k in reversed(range(len(grid))) if gap(grid[k]) <= 0), None)
        if last is None:
            return 0.0
        if last == len(grid) - 1:
            return math.inf
        return float(optimize.brentq(gap, grid[last], grid[last + 1], rtol=1e-9))

    return max(map(within, directions))


def rho_slope(model: ContaminatedModel, truth: object, reach: float, alpha: float = 1.0, *, w: Floats | None = None) -> float:
    """Return M of Lemma 6: ρ_{0,α}(θ*, θ) ≤ M·|θ − θ*|₂ for |θ − θ*|₂ ≤ reach, so that a ball of radius t/M lies in S_{0,α}(t).

    M = max over two parameters of ∫(f*/f_θ)^{1+α}|∇f_θ̃|; averaged over covariates it is an upper bound.
    """
    require_declared_location(model)
    theta, _ = parameter(model, truth, 0.0)
    away = positive("reach", reach)
    return float(
        np.mean([_slope_at(model, float(row @ theta), float(np.linalg.norm(row)), away, alpha) for row in design(model, w)])
    )


def _slope_at(model: ContaminatedModel, u: float, norm: float, reach: float, alpha: float) -> float:
    scale, shifts = model.noise, norm * np.linspace(-reach, reach, 9)
    x, weight = record_rule(model, u + shifts, scale)
    here = model.likelihood.log_f(x, np.full(len(x), u), scale)
    logs = [model.likelihood.log_f(x, np.full(len(x), u + shift), scale) for shift in shifts]
    slopes = [np.abs(model.likelihood.ratios(x, np.full(len(x), u + shift), scale)[0]) for shift in shifts]
    with np.errstate(under="ignore", over="ignore"):
        ratios = np.stack([(1 + alpha) * (here - log) for log in logs])
        steep = np.stack([np.log(np.maximum(slope, 1e-300)) + log for slope, log in zip(slopes, logs, strict=True)])
        found = [float(weight @ np.exp(ratio + slope)) for ratio in ratios for slope in steep]
    return norm * max(found)
