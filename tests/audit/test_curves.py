"""Exact curves against closed forms, mpmath-checked profiles, an independent quadrature, and the laws of privacy curves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import gibbsafe as gs
from gibbsafe.audit.curves import PrivacyCurve
from gibbsafe.audit.langevin import langevin_curve
from gibbsafe.audit.plans import posteriors_of
from gibbsafe.audit.quadrature import Quadrature
from gibbsafe.audit.repeated_records import RepeatedRecords, count_repeats
from gibbsafe.data import Blocks
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.privacy.profiles import gaussian_delta

from ..theorems.quadrature import Pair, panels

EPSILONS = (0.0, 0.3, 1.0, 2.5)


def normals(dimension, shift, precision=4.0):
    mean = np.full(dimension, 3.0)
    return NormalPosterior(mean, np.full(dimension, precision)), NormalPosterior(mean + shift, np.full(dimension, precision))


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("shift", [0.02, 0.2, 1.5])
def test_quadrature_of_gaussian_shifts_is_the_gaussian_profile_within_its_error_bound(dimension, shift):
    first, second = normals(dimension, shift)
    curve = PrivacyCurve.by_quadrature(first, second)
    mu = shift * math.sqrt(4 * dimension)
    for epsilon in EPSILONS:
        exact = gaussian_delta(epsilon, mu)
        delta, error = curve.bound(epsilon)
        assert abs(delta - exact) <= error + 4e-12 * exact
        assert error < 1e-7
    assert curve.mu == pytest.approx(mu, rel=1e-3)
    assert curve.mu <= mu * (1 + 1e-9)


def test_normals_of_different_precision():
    """N(0, 1) against N(0, 4): the ratio is quadratic, so the set is an interval and δ is known."""
    wide, narrow = NormalPosterior(np.zeros(1), np.array([0.25])), NormalPosterior(np.zeros(1), np.array([1.0]))
    curve = PrivacyCurve.by_quadrature(narrow, wide)
    epsilon = 0.4
    edge = math.sqrt(2 * (math.log(2) - epsilon) / 0.75)
    exact = (2 * ndtr(edge) - 1) - math.exp(epsilon) * (2 * ndtr(edge / 2) - 1)
    assert curve.forward(epsilon)[0] == pytest.approx(exact, abs=1e-12)


@given(st.floats(0.3, 30), st.floats(0.3, 30), st.floats(0.05, 1.0), st.floats(0, 3))
@settings(max_examples=25)
def test_quadrature_agrees_with_the_closed_form_of_beta_posteriors(a, b, step, epsilon):
    first, second = BetaPosterior(a + step, b), BetaPosterior(a, b + step)
    curve = PrivacyCurve.by_quadrature(first, second)
    delta, error = curve.forward(epsilon)
    assert abs(delta - first.hockey_stick(second, epsilon)) <= error + 1e-9


@pytest.mark.parametrize("model", [gs.models.Hinge(dimension=1, intercept=False), gs.models.LogisticRegression(dimension=1)])
def test_an_independent_quadrature_agrees(model):
    plan = gs.plan(model, gs.Budget(2.0, 1e-6), n=6, adjacency="replace-one")
    rng = np.random.default_rng(5)
    features, labels = rng.uniform(-1, 1, (6, 1)), rng.integers(0, 2, 6)
    other = features.copy()
    other[0] = -1.0
    first, second = posteriors_of(plan, (features, labels), (other, labels))
    reach = 9 / math.sqrt(plan.stages[0].prior_precision[0])
    edges = panels(-reach, reach, reach / 40)
    logs = [
        lambda t, s=None, each=each: (
            -each.values(
                np.stack(np.broadcast_arrays(t, *([] if s is None else [s])), axis=-1).reshape(-1, model.parameters)
            ).reshape(np.broadcast_shapes(t.shape, () if s is None else s.shape))
        )
        for each in (first, second)
    ]
    oracle = Pair(*logs, edges, outer=None if model.parameters == 1 else panels(-reach, reach, reach / 12))
    curve = PrivacyCurve.by_quadrature(first, second)
    for epsilon in (0.0, 0.2, 0.7):
        assert curve.forward(epsilon)[0] == pytest.approx(oracle.delta(epsilon), rel=1e-3 if model.parameters == 1 else 1e-6)
        assert curve.backward(epsilon)[0] == pytest.approx(oracle.reversed().delta(epsilon), rel=1e-3)


# -- several draws -----------------------------------------------------------------------------------------------------


def test_several_draws_of_a_gaussian_by_convolution_are_a_gaussian_again():
    first, second = normals(1, 0.05)
    one = PrivacyCurve.by_quadrature(first, second)
    many = one.compose(9)
    for epsilon in (0.0, 0.5, 1.0):
        delta, error = many.bound(epsilon)
        assert abs(delta - gaussian_delta(epsilon, 0.3)) <= error
        assert error < 1e-5
    assert PrivacyCurve.gaussian(0.1).compose(9).mu == pytest.approx(0.3)


def test_two_draws_of_a_coin_by_enumeration():
    """Two-point laws: the product has three losses, and the convolution must find them."""

    class Coin:
        def __init__(self, p):
            self.p = p

        def hockey_stick(self, other, epsilon):
            return max(self.p - math.exp(epsilon) * other.p, 0) + max(1 - self.p - math.exp(epsilon) * (1 - other.p), 0)

    p, q = 0.6, 0.45
    curve = PrivacyCurve.closed_form(Coin(p), Coin(q)).compose(2)
    outcomes = [(p * p, q * q), (2 * p * (1 - p), 2 * q * (1 - q)), ((1 - p) ** 2, (1 - q) ** 2)]
    for epsilon in (0.0, 0.1, 0.4):
        exact = sum(max(a - math.exp(epsilon) * b, 0) for a, b in outcomes)
        delta, error = curve.forward(epsilon)
        assert delta == pytest.approx(exact, abs=max(error, 1e-5))


# -- laws --------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_a_curve_decreases_is_convex_and_inverts(seed):
    rng = np.random.default_rng(seed)
    model = gs.models.PseudoHuberRegression(dimension=1, intercept=False)
    plan = gs.plan(model, gs.Budget(3.0, 1e-5), n=5, adjacency="replace-one")
    data = rng.uniform(-1, 1, (5, 1)), 10 * rng.standard_normal(5)
    other = np.vstack([-data[0][:1], data[0][1:]]), np.append(-data[1][:1] * 3, data[1][1:])
    curve = gs.audit.exact_curve(plan, data, other)
    grid = np.linspace(0, 2, 9)
    deltas = np.array([curve.forward(float(epsilon))[0] for epsilon in grid])
    assert (np.diff(deltas) <= 1e-12).all()
    slopes = np.diff(deltas) / np.diff(np.exp(grid))
    assert (np.diff(slopes) >= -1e-9).all()
    if curve.delta(0.0) > 1e-3:
        epsilon = curve.epsilon(1e-4)
        assert curve.delta(epsilon) <= 1e-4 <= curve.delta(max(0.0, epsilon * (1 - 1e-6))) + 1e-9
    assert curve.violation(plan.guarantee) is None


def test_the_plan_is_attained_by_far_responses():
    model = gs.models.PseudoHuberRegression(dimension=1, intercept=False)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=3, adjacency="replace-one")
    rest = np.ones((2, 1)), np.full(2, 1e6)
    pair = [(np.vstack([[[x]], rest[0]]), np.append(1e6, rest[1])) for x in (1.0, -1.0)]
    curve = gs.audit.exact_curve(plan, *pair)
    assert curve.epsilon(1e-6) == pytest.approx(1.0, abs=1e-4)
    assert curve.violation(plan.guarantee) is None
    assert curve.violation(gs.privacy.GaussianDP(0.99 * plan.guarantee.mu)) is not None


# -- Langevin ----------------------------------------------------------------------------------------------------------


def quadratic(x, precision, ball=None):
    """½(θ − x)² with a normal prior: steps are linear, the last iterate is normal."""
    return GibbsPosterior(
        Blocks(np.ones((1, 1)), np.array([x])), SquaredLoss(10.0), 1.0, np.array([precision]), np.zeros(1), ball
    )


def test_langevin_on_quadratics_is_a_gaussian_shift():
    step, steps, precision = 0.3, 7, 1.5
    keep = 1 - step * (1 + precision)
    mean = step * 2.0 * sum(keep**k for k in range(steps))
    variance = 2 * step * sum(keep ** (2 * k) for k in range(steps))
    curve = langevin_curve((quadratic(1.0, precision), quadratic(-1.0, precision)), step, steps)
    for epsilon in EPSILONS:
        assert curve.delta(epsilon) == pytest.approx(gaussian_delta(epsilon, mean / math.sqrt(variance)), rel=1e-7)


def test_one_projected_langevin_step_has_atoms_at_the_ends():
    step, ball = 0.5, 0.8
    curve = langevin_curve((quadratic(1.0, 1.0, ball), quadratic(-1.0, 1.0, ball)), step, 1)
    mu = 2 * step / math.sqrt(2 * step)
    # The set where the ratio exceeds e^ε is a half-line; if it starts inside the ball, projection hides nothing of it.
    assert curve.delta(0.2) == pytest.approx(gaussian_delta(0.2, mu), rel=1e-9)
    assert curve.delta(1.9) < gaussian_delta(1.9, mu) * (1 - 1e-3)


def test_projected_langevin_agrees_with_simulation():
    """A histogram test of false-alarm rate below 1e-5: frequencies at the upper end within five standard errors."""
    model = gs.models.LinearRegression(dimension=1, intercept=False, response_bounds=(-1.0, 1.0), parameter_radius=0.3)
    plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=20, adjacency="replace-one", sampler="langevin")
    data = np.ones((20, 1)), np.ones(20)
    from gibbsafe.audit.langevin import last_iterates

    (posterior,), stage = posteriors_of(plan, data), plan.stages[0]
    law, _ = last_iterates((posterior, posterior), stage.step, stage.steps)
    runs = gs.audit.mechanism_of(plan, np.random.default_rng(1))(data, 40_000)[:, 0]
    at_end, expected = float((runs > 0.3 - 1e-6).mean()), float(law.atoms()[1])
    assert abs(at_end - expected) < 5 * math.sqrt(expected * (1 - expected) / len(runs))


# -- refusals and counting ---------------------------------------------------------------------------------------------


def test_what_is_not_covered_is_refused():
    model = gs.models.LogisticRegression(dimension=3)
    data = np.ones((6, 3)), np.array([0, 1, 0, 1, 0, 1])
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=6, adjacency="replace-one")
    with pytest.raises(gs.PremiseError, match="quadrature covers one or two; use estimate_lower_bound"):
        gs.audit.exact_curve(plan, data, data)
    staged = gs.plan(model, gs.Budget(1.0, 1e-6), n=6, adjacency="replace-one", purpose="estimate", mechanism="stages")
    with pytest.raises(gs.PremiseError, match="stages"):
        gs.audit.exact_curve(staged, data, data)
    chain = gs.plan(model, gs.Budget(1.0, 1e-6), n=6, adjacency="replace-one", sampler="langevin")
    with pytest.raises(gs.PremiseError, match="its law is known for one"):
        gs.audit.exact_curve(chain, data, data)
    with pytest.raises(gs.ParameterError, match="below what the curve resolves"):
        PrivacyCurve.by_quadrature(*normals(1, 0.2)).epsilon(0.0)


def test_different_supports_are_refused():
    with pytest.raises(gs.PremiseError, match="supports differ"):
        Quadrature.of(BetaPosterior(1, 1, 0.1, 0.9), BetaPosterior(1, 1, 0.2, 0.9))


def test_counted_records_give_the_same_potential():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((3, 2)), (5, 9, 2), axis=0)
    counted = count_repeats(Blocks(rows))
    assert isinstance(counted, RepeatedRecords)
    assert counted.n_rows == 16
    from gibbsafe.losses.logistic import LogisticLoss

    thetas = rng.standard_normal((7, 2))
    first, second = (GibbsPosterior(data, LogisticLoss(), 0.7, 1.0, 0.0) for data in (Blocks(rows), counted))
    np.testing.assert_allclose(first.values(thetas), second.values(thetas), rtol=1e-12)
    np.testing.assert_allclose(first.gradients(thetas), second.gradients(thetas), rtol=1e-12)


def test_records_that_are_kept_rather_than_summed_are_kept_as_often_as_they_occur():
    model = gs.models.WelschLocation(bounds=(-2.0, 2.0))
    plan = gs.plan(model, gs.Budget(1.0), n=10, adjacency="replace-one")
    plain = Blocks(np.repeat([[0.5], [-1.0]], [9, 1], axis=0))
    posteriors = [model.posterior(each, plan.stages[0], np.zeros(1)) for each in (plain, count_repeats(plain))]
    points = np.linspace(-2, 2, 9)[:, None]
    np.testing.assert_allclose(*(each.values(points) for each in posteriors), rtol=1e-12)
