"""Gaussian DP and the mean: pairs that attain the claim, and a wrong price that they violate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gibbsafe.theorems import Constants, get

from .cases import (
    REPLACE,
    Parameters,
    gdp,
    ratio_to,
    run,
)
from .table import BY_NAME


@run(40)
@given(
    beta=st.floats(0.01, 2.0),
    m=st.floats(0.1, 5.0),
    r=st.floats(0.2, 3.0),
    common=st.lists(st.floats(-1.0, 1.0), max_size=4),
    epsilon=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]),
    name=st.sampled_from(["gaussian-mean", "gaussian-dp"]),
)
def test_gaussian_mean_is_exact(beta: float, m: float, r: float, common: list[float], epsilon: float, name: str) -> None:
    """Replacing r by −r shifts the posterior by exactly μ standard deviations: the ratio of exact δ to claim is 1."""
    entry, c = BY_NAME["Gaussian mean"], {"beta": beta, "m": m, "r": r, "common": common, "x": 1.0, "other": -1.0}
    mu = 2 * r * beta / math.sqrt((len(common) + 1) * beta + m)
    claim = get(name).guarantee(Constants(**entry.constants(c)), inverse_temperature=beta, adjacency=REPLACE)
    exact = gdp(epsilon, mu)
    if exact > 1e-6:  # below that the closed form written here cancels; the quadrature does not
        assert exact / claim.delta(epsilon) == pytest.approx(1.0, abs=1e-9)
    if exact > 1e-100:
        assert ratio_to(name, entry, c, epsilon) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize(
    ("name", "c"),
    [
        ("absolute loss", {"x": 50.0, "other": -50.0}),
        ("Huber location", {"x": 50.0, "other": -50.0, "k": 0.8}),
        ("Huber regression", {"x": (2.0, 50.0), "other": (-2.0, 50.0), "k": 0.8}),
        ("pinball location", {"x": 50.0, "other": -50.0, "tau": 0.3}),
        ("pinball regression", {"x": (1.5, 50.0), "other": (-1.5, 50.0), "tau": 0.9}),
    ],
)
def test_far_records_attain_the_separation(name: str, c: Parameters, epsilon: float) -> None:
    """Losses that are linear over the whole mass shift a normal: μ = G/√m cannot be improved for any of these models."""
    c = {"beta": 0.7, "m": 1.7, "common": [], **c}
    assert ratio_to("gaussian-dp", BY_NAME[name], c, epsilon) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("tau", [0.6, 0.9])
def test_far_rows_attain_the_separation_with_an_intercept(tau: float) -> None:
    """Two dimensions: opposite features and one response far away, τ(z, 1) − τ(−z, 1) = 2τ(z, 0)."""
    c = {"beta": 0.7, "m": 1.2, "m_intercept": 1.2, "common": [], "x": (1.5, 50.0), "other": (-1.5, 50.0), "tau": tau}
    for epsilon in (0.0, 0.5, 2.0):
        ratio = ratio_to("gaussian-dp", BY_NAME["pinball regression with intercept"], c, epsilon)
        assert 2 * tau * 1.5 >= math.hypot(1.5, 1.0) or ratio < 1
        assert ratio == pytest.approx(1.0, abs=1e-7) if 2 * tau * 1.5 >= math.hypot(1.5, 1.0) else ratio <= 1


def test_pinball_priced_by_its_response_alone_is_violated() -> None:
    """τ = 0.9, z = +1 against −1, y = 50, β = m = 1, ε = 1: exact δ 0.437; a response change alone would price 0.127."""
    whole = Constants(convex=True, lipschitz=0.9, prior_precision=1.0, n=1)  # rows change: 2 max(τ, 1−τ) r = 1.8
    response = Constants(convex=True, lipschitz=0.9, difference_lipschitz=1.0, prior_precision=1.0, n=1)  # wrong: β only
    entry = BY_NAME["pinball regression"]
    c = {"beta": 1.0, "m": 1.0, "tau": 0.9, "common": [], "x": (1.0, 50.0), "other": (-1.0, 50.0)}
    exact = entry.pair(c, REPLACE).delta(1.0)
    assert exact == pytest.approx(0.437, abs=5e-4)
    right, wrong = (
        get("gaussian-dp").guarantee(k, inverse_temperature=1.0, adjacency=REPLACE).delta(1.0) for k in (whole, response)
    )
    assert wrong < 0.13 < exact
    assert right == pytest.approx(exact, rel=1e-8)
