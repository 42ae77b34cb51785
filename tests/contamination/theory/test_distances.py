"""Distances of contaminated densities beside closed forms and the paper's inequalities."""

import math

import numpy as np
import pytest
from scipy import integrate

import gibbsafe as gs
from gibbsafe.contamination import (
    Cauchy,
    ContaminatedCauchyRegression,
    ContaminatedLinearRegression,
    ContaminatedLogisticRegression,
    ContaminatedNormalMean,
    ContaminatedQuantileRegression,
    StudentT,
)
from gibbsafe.contamination.theory import hellinger, kullback_leibler, rho

DESIGN = np.column_stack([np.ones(12), np.random.default_rng(0).uniform(-1, 1, (12, 2))])


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.3), (8.0, 20.0), (0.1, 1.0)])
def test_normal_closed_forms(scale, shift):
    model, delta = ContaminatedNormalMean(scale=scale), shift / scale
    assert hellinger(model, 1.0, 1.0 + shift) ** 2 == pytest.approx(-math.expm1(-(delta**2) / 8), rel=1e-9)
    assert kullback_leibler(model, 1.0, 1.0 + shift) == pytest.approx(delta**2 / 2, rel=1e-9)
    for alpha in (0.25, 1.0) if delta < 5 else ():
        exact = math.expm1(alpha * (1 + alpha) * delta**2 / 2) / alpha
        assert rho(model, 1.0, 1.0 + shift, alpha) == pytest.approx(exact, rel=1e-9)


def test_other_likelihoods():
    cauchy = ContaminatedCauchyRegression(columns=1)
    assert kullback_leibler(cauchy, [0.0], [3.0]) == pytest.approx(math.log1p(9 / 4), rel=1e-7)
    logistic = ContaminatedLogisticRegression(columns=1)
    a, b = 1 / (1 + math.exp(-0.4)), 1 / (1 + math.exp(1.1))
    wanted = 1 - math.sqrt(a * b) - math.sqrt((1 - a) * (1 - b))
    assert hellinger(logistic, [0.4], [-1.1]) ** 2 == pytest.approx(wanted, rel=1e-12)
    laplace = ContaminatedQuantileRegression(columns=1)  # density ¼e^{−|x−u|/2}: affinity e^{−c/4}(1 + c/4)
    wanted = 1 - math.exp(-0.25) * 1.25
    assert hellinger(laplace, [0.0], [1.0]) ** 2 == pytest.approx(wanted, rel=1e-9)


def test_contaminated_against_adaptive_quadrature():
    model, p = ContaminatedNormalMean(contamination=Cauchy(0.5, 2.0)), 0.3

    def k(x, u):
        g = 1 / (2 * math.pi * (1 + ((x - 0.5) / 2) ** 2))
        return (1 - p) * math.exp(-((x - u) ** 2) / 2) / math.sqrt(2 * math.pi) + p * g

    def half_square(x):
        return 0.5 * (math.sqrt(k(x, 0.0)) - math.sqrt(k(x, 1.5))) ** 2

    exact = integrate.quad(half_square, -40, 40, limit=400, points=[0, 1.5])[0]
    assert hellinger(model, 0.0, 1.5, rate=p) ** 2 == pytest.approx(exact, rel=1e-7)


def test_lemma_11_contamination_brings_densities_closer():
    """ρ_{p,α} ≤ (1 − p)ρ_{0,α} and h_p² ≤ (1 − p)h₀², by joint convexity."""
    rng = np.random.default_rng(1)
    models = (
        ContaminatedNormalMean(contamination=StudentT(5.0, 1.0, 2.0)),
        ContaminatedLinearRegression(columns=3),
        ContaminatedLogisticRegression(columns=3),
        ContaminatedCauchyRegression(columns=3),
        ContaminatedQuantileRegression(columns=3, tau=0.3),
    )
    for model in models:
        w = None if model.dimension == 1 else DESIGN
        for p in (0.1, 0.6):
            truth, other = rng.normal(size=(2, model.parameters))
            for alpha in (0.3, 1.0):
                assert rho(model, truth, other, alpha, rate=p, w=w) <= (1 - p) * rho(model, truth, other, alpha, w=w) + 1e-12
            assert hellinger(model, truth, other, rate=p, w=w) ** 2 <= (1 - p) * hellinger(model, truth, other, w=w) ** 2 + 1e-12
            assert rho(model, truth, other, 0.3, rate=p, w=w) >= kullback_leibler(model, truth, other, rate=p, w=w) - 1e-12


def test_one_covariate_row_does_not_identify_two_parameters():
    """E31: w = (1, 1) and θ − θ* ∝ (1, −1) have Hellinger distance 0; several rows tell them apart."""
    model = ContaminatedLinearRegression(columns=2)
    assert hellinger(model, [0.0, 0.0], [1.0, -1.0], w=np.array([[1.0, 1.0]])) == 0
    assert hellinger(model, [0.0, 0.0], [1.0, -1.0], w=np.array([[1.0, 1.0], [1.0, -1.0]])) > 0.3


def test_bad_input():
    with pytest.raises(gs.ParameterError, match=r"w: expected rows of 2 covariates"):
        hellinger(ContaminatedLinearRegression(columns=2), [0, 0], [1, 1])
    with pytest.raises(gs.ParameterError, match=r"alpha = 2"):
        rho(ContaminatedNormalMean(), 0.0, 1.0, 2)
    with pytest.raises(gs.ParameterError, match=r"rate = 0.2: must be 0"):
        hellinger(ContaminatedNormalMean(contamination=None), 0.0, 1.0, rate=0.2)
