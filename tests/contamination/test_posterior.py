"""The log posterior by blocks and products is the plain sum, and the radius of a set is the least that keeps its mass."""

import math

import numpy as np
import pytest
from scipy import stats

import gibbsafe as gs
from gibbsafe.contamination.epsilon.radius import normal_radius, solve_radius
from gibbsafe.contamination.model.likelihoods import log_mixture
from gibbsafe.contamination.posterior.posterior import log_posterior

C = gs.contamination
MODELS = {
    "linear": C.ContaminatedLinearRegression(columns=2),
    "scale": C.ContaminatedLinearRegression(columns=2, scale=None),
    "cauchy": C.ContaminatedCauchyRegression(columns=2, scale=None),
    "clean": C.ContaminatedCauchyRegression(columns=2, contamination=None),
    "quantile": C.ContaminatedQuantileRegression(columns=2, tau=0.3),
    "logistic": C.ContaminatedLogisticRegression(columns=2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [0, 1, 4, 5, 777])
@pytest.mark.parametrize("points", [1, 301])
def test_blocks_and_products_give_the_plain_sum(name, n, points):
    model, rng = MODELS[name], np.random.default_rng(n)
    truth = np.zeros(model.parameters)
    x, w = model.simulate(n, truth, rng)
    if n > 3 and not model.labels:
        x[:3] = [1e12, -1e40, 1e58]  # log odds beyond what is exponentiated
    p = 0.0 if model.contamination is None else 0.3
    records = model.records(x, w)
    thetas = truth + 0.5 * rng.standard_normal((points, model.parameters))
    coefficients, scales = model.split(thetas)
    log_f = model.log_f(x[:, None], w @ coefficients.T, scales)
    plain = model.log_prior(thetas) + log_mixture(log_f, records.log_g[:, None], p).sum(axis=0)
    assert log_posterior(model, records, p, thetas) == pytest.approx(plain, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 40.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-2, 0.4])
@pytest.mark.parametrize("off", [0.05, 0.7, 1.0, 3.0])
def test_the_radius_is_the_least_one_to_a_ten_thousandth(deviation, delta, off):
    def mass(radius):
        return 2 * float(stats.norm.sf(radius / deviation))

    guess = off * normal_radius(deviation, 2, delta)
    found = solve_radius(mass, delta, guess, deviation)
    exact = deviation * float(stats.norm.isf(delta / 2))
    assert mass(found) <= delta
    assert exact <= found <= exact + 1e-3 * max(guess, exact)
    assert math.isfinite(found)
