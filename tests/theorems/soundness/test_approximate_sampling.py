"""Approximate sampling: the worst sampler within a total variation attains the claim."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants, get

from ..quadrature import Array, Pair
from .cases import (
    ADD,
    PRECISION,
    REPLACE,
    assert_within,
    gdp,
    run,
)
from .table import BY_NAME


@run(25)
@given(
    beta=st.floats(0.05, 1.5),
    m=PRECISION,
    gamma=st.floats(-6.0, -2.0).map(lambda power: 10.0**power),
    epsilon=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
    adjacency=st.sampled_from([REPLACE, ADD]),
)
def test_approximate_sampling_covers_the_worst_sampler(
    beta: float, m: float, gamma: float, epsilon: float, adjacency: Adjacency
) -> None:
    """A sampler within TV γ, as bad as can be: on the set S that tells p from q best, γ more for D and γ less for D′.

    Its δ is δ + (1 + e^ε)γ exactly, and the target (a far |θ − x|) attains the claim, so the ratio is 1.
    """
    entry, c = BY_NAME["absolute loss"], {"beta": beta, "m": m, "common": [], "x": 50.0, "other": -50.0}
    separation = (2 if adjacency is REPLACE else 1) * beta / math.sqrt(m)
    # p = N(β/m, 1/m) and q its mirror image (or the prior): S = [cut, ∞)
    mean_p, mean_q = beta / m, (-beta / m if adjacency is REPLACE else 0.0)
    cut = (mean_p + mean_q) / 2 + epsilon / (m * (mean_p - mean_q))
    inside = {name: float(ndtr(math.sqrt(m) * (mean - cut))) for name, mean in (("p", mean_p), ("q", mean_q))}
    if inside["q"] < 2 * gamma or 1 - inside["p"] < 2 * gamma:
        return  # not enough mass to move
    exact_pair = entry.pair(c, adjacency)
    norm = exact_pair._grid()["norm"]

    def moved(density: Callable[[Array], Array], log_norm: float, mass: float, shift: float) -> Callable[[Array], Array]:
        up, down = math.log1p(shift / mass), math.log1p(-shift / (1 - mass))
        return lambda t: density(t) - log_norm + np.where(t >= cut, up, down)

    edges = np.unique(np.append(exact_pair.edges, cut))
    bad = Pair(
        moved(exact_pair.log_p, norm[0], inside["p"], gamma),
        moved(exact_pair.log_q, norm[1], inside["q"], -gamma),
        edges,
        normalised=True,
    )
    constants = Constants(convex=True, lipschitz=1.0, prior_precision=m, slack=gamma, n=1)
    claim = get("approximate-sampling").guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    exact = bad.delta(epsilon)
    assert_within(exact, claim.delta(epsilon), 1e-8, "approximate-sampling")
    assert exact == pytest.approx(gdp(epsilon, separation) + (1 + math.exp(epsilon)) * gamma, rel=1e-7)
    assert exact / claim.delta(epsilon) == pytest.approx(1.0, abs=1e-7)
