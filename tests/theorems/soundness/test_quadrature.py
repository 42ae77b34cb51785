"""The quadrature itself, beside closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betainc

from gibbsafe.privacy import GaussianDP

from ..quadrature import Pair, panels


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("order", ["forward", "backward"])
def test_quadrature_agrees_with_the_incomplete_beta_function(epsilon: float, order: str) -> None:
    """Beta(α+1, β) against Beta(α, β+1): the ratio is monotone in θ, so δ is a difference of two incomplete betas."""
    alpha, beta = 3.5, 2.25
    first, second = (
        (lambda t: alpha * np.log(t) + (beta - 1) * np.log1p(-t)),
        (lambda t: (alpha - 1) * np.log(t) + beta * np.log1p(-t)),
    )
    tiny = 1e-9  # the densities vanish at the ends at least like t^1.25
    edges = np.concatenate([np.geomspace(tiny, 0.02, 60), np.linspace(0.02, 0.98, 80)[1:], 1 - np.geomspace(0.02, tiny, 60)[1:]])
    pair = Pair(first, second, edges)
    odds = math.exp(epsilon) * alpha / beta
    t = odds / (1 + odds)
    closed = (1 - betainc(alpha + 1, beta, t)) - math.exp(epsilon) * (1 - betainc(alpha, beta + 1, t))
    if order == "backward":
        odds = math.exp(-epsilon) * alpha / beta
        t = odds / (1 + odds)
        closed = betainc(alpha, beta + 1, t) - math.exp(epsilon) * betainc(alpha + 1, beta, t)
        pair = pair.reversed()
    assert pair.delta(epsilon) == pytest.approx(closed, rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 6.0])
def test_quadrature_agrees_with_the_gaussian_profile(epsilon: float) -> None:
    """Equal normals shifted by μ, in one dimension and obliquely in two."""
    mu = 1.3
    line = Pair(lambda t: -(t**2) / 2, lambda t: -((t - mu) ** 2) / 2, panels(-12, 14, 0.5))
    a, b = mu * math.cos(0.6), mu * math.sin(0.6)
    square = Pair(
        lambda t, s: -(t**2 + s**2) / 2, lambda t, s: -((t - a) ** 2 + (s - b) ** 2) / 2, panels(-9, 10, 0.8), panels(-9, 10, 0.8)
    )
    claim = GaussianDP(mu).delta(epsilon)
    assert line.delta(epsilon) == pytest.approx(claim, rel=1e-11)
    assert line.reversed().delta(epsilon) == pytest.approx(claim, rel=1e-11)
    assert square.delta(epsilon) == pytest.approx(claim, rel=1e-8)
    assert square.reversed().delta(epsilon) == pytest.approx(claim, rel=1e-8)
