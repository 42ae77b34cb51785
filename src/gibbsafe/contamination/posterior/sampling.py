"""Draws from a contaminated posterior, each with a plain statement of what is and what is not proved about them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import choice, count
from gibbsafe.contamination.model.models import ContaminatedModel, ContaminatedNormalMean, Records
from gibbsafe.contamination.posterior.line import Line, line_posterior
from gibbsafe.contamination.posterior.posterior import Laplace, laplace
from gibbsafe.randomness import use

__all__ = ["PosteriorDraws", "sample_posterior"]

_UNPROVED = "no differential-privacy guarantee follows from these draws; their ε is estimated by estimate_epsilon"


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Draws (rows) and what is known about them. ``diagnostics`` depend on the records: for the curator only."""

    draws: Floats
    certificate: JSON
    diagnostics: dict[str, float] = field(default_factory=dict, repr=False)


def sample_posterior(
    model: ContaminatedModel,
    records: Records,
    draws: int = 1,
    *,
    method: str = "auto",
    generator: np.random.Generator | None = None,
    start: Floats | None = None,
    steps: int = 2000,
) -> PosteriorDraws:
    """Draw from the posterior of contaminated records (`ContaminatedModel.contaminate`).

    ``"inverse-cdf"`` (one parameter): the distribution function of an interpolant whose error was measured. ``"importance"``:
    the normal approximation, corrected by resampling. ``"metropolis"``: a random walk of ``steps`` steps per draw.

    >>> model = ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)
    >>> rng = np.random.default_rng(1)
    >>> records = model.contaminate(30 + 8 * rng.standard_normal(1000), rng)
    >>> made = sample_posterior(model, records, 4, generator=rng)
    >>> made.draws.shape, made.certificate["status"]
    ((4, 1), 'heuristic')
    """
    rng, randomness = use(generator)
    wanted = count("draws", draws)
    name = choice("method", method, ("auto", *(("inverse-cdf",) if model.on_a_line else ()), "importance", "metropolis"))
    p = model.p(max(len(records), 2))
    if isinstance(model, ContaminatedNormalMean):
        line = line_posterior(model, records, p)
        if name in {"auto", "inverse-cdf"}:
            return _inverse(line, wanted, rng, randomness)
        posterior = _as_laplace(line)
    else:
        posterior = laplace(model, records, p, start)
    if name == "metropolis":
        return _metropolis(posterior, wanted, count("steps", steps), rng, randomness)
    return _importance(posterior, wanted, rng, randomness)


def _certificate(sampler: str, proved: str, unproved: str, randomness: str) -> JSON:
    return {
        "status": "heuristic",
        "sampler": sampler,
        "proved": proved,
        "not proved": [unproved, _UNPROVED],
        "randomness": randomness,
    }


def _inverse(line: Line, draws: int, rng: np.random.Generator, randomness: str) -> PosteriorDraws:
    """Invert the distribution function on a fine grid, on which the log density is smooth."""
    reach = min(line.high, line.mode + 12 * line.deviation) if line.nodes else line.high
    theta = np.linspace(max(line.low, line.mode - 12 * line.deviation) if line.nodes else line.low, reach, 40001)
    log_density = line.log_density(theta)
    density = np.exp(log_density - log_density.max())
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    values = np.interp(rng.random(draws), cumulative / cumulative[-1], theta)
    certificate = _certificate(
        "inverse-cdf",
        "independent draws by inversion of a distribution function",
        "that the interpolant's error between the checked points is as small as at them",
        randomness,
    )
    return PosteriorDraws(values[:, None], certificate, {"interpolation_error": line.error, "nodes": float(line.nodes)})


def _as_laplace(line: Line) -> Laplace:
    top = float(line.log_density(np.array([line.mode]))[0])

    def log_ratio(thetas: Floats) -> Floats:
        inside = (thetas[:, 0] >= line.low) & (thetas[:, 0] <= line.high)
        return np.where(inside, line.log_density(np.clip(thetas[:, 0], line.low, line.high)) - top, -np.inf)

    return Laplace(np.array([line.mode]), np.array([[line.deviation**-2]]), log_ratio, log_ratio, surrogate=False)


def _importance(posterior: Laplace, draws: int, rng: np.random.Generator, randomness: str) -> PosteriorDraws:
    """Resample draws of a multivariate t around the mode by their weights: fresh proposals for every call."""
    d, size, freedom = len(posterior.mode), max(4000, 50 * draws), 8.0
    root = np.linalg.cholesky(posterior.covariance)
    stretch = np.sqrt(freedom / rng.chisquare(freedom, size))
    z = rng.standard_normal((size, d)) * stretch[:, None]
    cloud = posterior.mode + z @ root.T
    log_proposal = -(freedom + d) / 2 * np.log1p((z**2).sum(axis=1) / freedom)
    log_weight = posterior.log_ratio(cloud) - log_proposal
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    chosen = cloud[rng.choice(size, draws, p=weight)]
    certificate = _certificate(
        "importance",
        "draws tend in law to the posterior as the number of proposals grows",
        "how far the law of a resampled draw is from the posterior",
        randomness,
    )
    return PosteriorDraws(chosen, certificate, {"effective_sample_size": 1 / float((weight**2).sum())})


def _metropolis(posterior: Laplace, draws: int, steps: int, rng: np.random.Generator, randomness: str) -> PosteriorDraws:
    """Run one chain per draw, all at once, with steps of size 2.38/√d posterior deviations."""
    d = len(posterior.mode)
    root = np.linalg.cholesky(posterior.covariance)
    state = posterior.mode + rng.standard_normal((draws, d)) @ root.T
    value = posterior.log_ratio(state)
    accepted = 0
    for _ in range(steps):
        proposal = state + 2.38 / np.sqrt(d) * rng.standard_normal((draws, d)) @ root.T
        new = posterior.log_ratio(proposal)
        keep = -rng.standard_exponential(draws) <= new - value
        state, value = np.where(keep[:, None], proposal, state), np.where(keep, new, value)
        accepted += int(keep.sum())
    certificate = _certificate(
        "metropolis", "the posterior is the chain's stationary law", "that the chain has converged after these steps", randomness
    )
    return PosteriorDraws(state, certificate, {"acceptance": accepted / (steps * draws)})
