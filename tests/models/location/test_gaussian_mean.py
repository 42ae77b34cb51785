"""Gaussian mean: closed forms, the exact price, and the rules that keep it exact."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.models import GaussianPrior
from gibbsafe.privacy.profiles import gaussian_delta, gaussian_mu

from ..plans import posterior_of

GaussianMean = gs.models.GaussianMean


def planned(model, n=100, budget=None, **options):
    return gs.plan(model, budget or gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **options)


@pytest.mark.parametrize("radius", [0.1, 1.0, 30.0])
def test_temperature_is_the_closed_form_in_original_units(radius):
    """β = [μ²n + √(μ⁴n² + 16r²μ²λ)]/(8r²), theory §2, with the default λ = 1/r² and with a given one."""
    mu, n = gaussian_mu(1.0, 1e-6), 100
    for prior, precision in ((None, 1 / radius**2), (0.7, 0.7)):
        plan = planned(GaussianMean(dimension=2, radius=radius), n, prior=prior)
        beta = (mu**2 * n + math.sqrt(mu**4 * n**2 + 16 * radius**2 * mu**2 * precision)) / (8 * radius**2)
        assert plan.inverse_temperature == pytest.approx(beta, rel=1e-9)
        assert plan.prior_precision == pytest.approx(precision, rel=1e-12)
        assert plan.theorem.name == "gaussian-mean"
        assert plan.sampler == "closed-form"
    assert (
        planned(GaussianMean(dimension=2), theorem="gaussian-mean-paper").inverse_temperature
        < planned(GaussianMean(dimension=2)).inverse_temperature
    )


def test_the_posterior_is_the_conjugate_one():
    rng = np.random.default_rng(1)
    X, n = rng.uniform(-1, 1, (40, 3)), 40
    plan = planned(GaussianMean(dimension=3, radius=5.0), n, prior=GaussianPrior(0.3, centre=2.0))
    posterior = posterior_of(plan, X)
    beta = plan.inverse_temperature
    np.testing.assert_allclose(posterior.mean * 5, (beta * X.sum(axis=0) + 0.3 * 2.0) / (n * beta + 0.3), rtol=1e-9)
    np.testing.assert_allclose(posterior.precision / 25, n * beta + 0.3, rtol=1e-12)


def test_the_price_is_attained():
    """Opposite records at the radius: the distance of the posteriors is μ exactly (up to clipping a little inside)."""
    plan = planned(GaussianMean(dimension=2, radius=2.0), 30)
    X = np.zeros((30, 2))
    first, second = X.copy(), X.copy()
    first[0], second[0] = [2.0, 0.0], [-2.0, 0.0]
    one, two = posterior_of(plan, first), posterior_of(plan, second)
    distance = np.linalg.norm((one.mean - two.mean) * np.sqrt(one.precision))
    assert distance == pytest.approx(plan.guarantee.mu, rel=2e-6)
    assert distance <= plan.guarantee.mu
    assert gaussian_delta(1.0, plan.guarantee.mu) == pytest.approx(1e-6, rel=1e-6)


def test_rows_are_clipped_to_the_ball_and_tables_are_read_by_name():
    model = GaussianMean(dimension=2, radius=2.0, feature_names=("a", "b"))
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 2))
    X[0] = [3e300, 4e300]
    plan = planned(model, 50)
    draws = [plan.release(data, generator=np.random.default_rng(3)).draws for data in (X, (X,), X.tolist())]
    pa = pytest.importorskip("pyarrow")
    draws.append(plan.release(pa.table({"b": X[:, 1], "a": X[:, 0]}), generator=np.random.default_rng(3)).draws)
    for other in draws[1:]:
        np.testing.assert_array_equal(other, draws[0])
    X[0] = [1.2, 1.6]
    np.testing.assert_allclose(plan.release(X, generator=np.random.default_rng(3)).draws, draws[0], atol=1e-4)
    with pytest.raises(gs.DomainError, match="column 'a': found 0 times"):
        plan.release(pa.table({"b": X[:, 1]}))


def test_refusals():
    model = GaussianMean(dimension=2)
    with pytest.raises(gs.PremiseError, match="use replace-one"):
        gs.plan(model, gs.Budget(1.0, 1e-6), n=100, adjacency="add-remove")
    with pytest.raises(gs.PremiseError, match="rows_per_person = 2"):
        planned(model, rows_per_person=2)
    with pytest.raises(gs.PremiseError, match="draw GaussianMean as a posterior"):
        planned(model, purpose="estimate")
    with pytest.raises(gs.PremiseError, match="drawn by closed-form"):
        planned(model, sampler="langevin")
    with pytest.raises(gs.PremiseError, match="isotropic prior"):
        planned(model, prior=GaussianPrior((1.0, 2.0)), theorem="gaussian-mean")
    for fields in ({"dimension": 0}, {"radius": 0.0}, {"radius": math.nan}, {"feature_names": ("a", "a")}):
        with pytest.raises(gs.ParameterError):
            GaussianMean(**{"dimension": 2} | fields)


def test_a_loose_budget_recovers_the_mean():
    rng = np.random.default_rng(4)
    X = rng.normal([1.0, -0.5], 0.3, (2000, 2))
    made = planned(GaussianMean(dimension=2, radius=3.0), 2000).release(X, generator=rng)
    np.testing.assert_allclose(made.draws[0], X.mean(axis=0), atol=0.05)


def test_the_stated_curvature_of_a_record_is_the_second_difference_of_its_loss():
    """Half the squared distance, in the user's units: neither more nor less than 1 in every direction."""
    model = GaussianMean(dimension=2, radius=3.0)
    constants = model.constants(np.ones(2), adjacency=gs.Adjacency.REPLACE_ONE, n=10, rows_per_person=1)
    record, step = np.array([1.0, -2.0]), 0.5
    for axis in np.eye(2) * step:
        second = (
            sum(sign * 0.5 * np.sum((record - move) ** 2) for sign, move in ((1, axis), (-2, 0 * axis), (1, -axis))) / step**2
        )
        assert constants.smoothness == constants.loss_strong_convexity == pytest.approx(second, rel=1e-12)
