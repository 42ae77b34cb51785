"""Exact draws from trimmed gamma and beta distributions, and from the posteriors that are one of them."""

from __future__ import annotations

import numpy as np

from gibbsafe._types import Floats, Indices
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.posteriors.gamma import GammaPosterior
from gibbsafe.posteriors.trimmed import TrimmedBeta, TrimmedGamma
from gibbsafe.samplers.closed_form import draw_exactly
from gibbsafe.samplers.trimmed.log_concave import draw

__all__ = ["draw_beta", "draw_values"]


def draw_values(law: TrimmedGamma | TrimmedBeta, index: Indices, generator: np.random.Generator) -> Floats:
    """Return one exact draw of θ from each of the distributions ``index``.

    >>> never = TrimmedGamma(0.5, 1e6, 1e-3, 1.0)  # e⁻¹⁰⁰⁰ of the untrimmed mass
    >>> draw_values(never, np.zeros(2, int), np.random.default_rng(0)).round(6)
    array([0.001001, 0.001...])
    """
    return law.theta(draw(law, index, generator), index)


def draw_beta(  # noqa: PLR0917 - a distribution and its trim, as in `log_beta_mass`
    a: float, b: float, low: float, high: float, count: int, generator: np.random.Generator
) -> Floats:
    """Return ``count`` exact draws from Beta(a, b) trimmed to [low, high]."""
    return draw_values(TrimmedBeta(a, b, low, high), np.zeros(count, dtype=np.intp), generator)


@draw_exactly.register
def _(posterior: BetaPosterior, count: int, generator: np.random.Generator) -> Floats:
    if posterior.low <= 0 and posterior.high >= 1:
        return generator.beta(posterior.a, posterior.b, (count, 1))
    return np.asarray(draw_beta(posterior.a, posterior.b, posterior.low, posterior.high, count, generator))[:, None]


@draw_exactly.register
def _(posterior: GammaPosterior, count: int, generator: np.random.Generator) -> Floats:
    gamma = TrimmedGamma(posterior.shape, posterior.rate, posterior.low, posterior.high)
    return draw_values(gamma, np.zeros(count, dtype=np.intp), generator)[:, None]
