"""Linear regression on a ball: the difference constant against search, and the price against the exact law of the chain."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import kstwobign

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.models.linear.linear_regression import squared_loss_difference
from gibbsafe.theorems import get

from ..plans import draw, hockey_stick

LinearRegression = gs.models.LinearRegression
RELATION = gs.privacy.Adjacency


@pytest.mark.parametrize("parameters", [1, 2, 3])
@pytest.mark.parametrize(("radius", "largest"), [(1.0, 1.0), (5.0, 1.0), (0.3, 1.0), (1.0, 0.01), (0.2, 2.0)])
def test_the_difference_constant_is_attained_and_never_exceeded(parameters, radius, largest):
    """Local search from 25 random starts: rows in the unit ball, responses in ±Y, parameter in the ball."""
    rng, p = np.random.default_rng(3), parameters

    def into(v, r):
        return v * min(1.0, r / max(np.linalg.norm(v), 1e-300))

    def negative(flat):
        x, other, theta = into(flat[:p], 1), into(flat[p : 2 * p], 1), into(flat[2 * p : 3 * p], radius)
        y, y2 = np.clip(flat[3 * p :], -largest, largest)
        return -np.linalg.norm(x * (x @ theta - y) - other * (other @ theta - y2))

    found = 0.0
    for _ in range(25):
        start = rng.normal(size=3 * p + 2) * np.repeat([2, 2, 2 * radius, 2 * largest], [p, p, p, 2])
        found = max(found, -minimize(negative, start, method="Powell", options={"maxiter": 30}).fun)
    declared = squared_loss_difference(radius, largest, parameters)
    assert 0.97 * declared <= found <= declared * (1 + 1e-9)


def test_units_of_the_response():
    model = LinearRegression(dimension=1, response_bounds=(100.0, 120.0))
    targets = model.encode((np.zeros((4, 1)), [90.0, 110.0, 120.0, 1e300]), EncodingOptions()).targets
    np.testing.assert_array_equal(targets, [-10.0, 0.0, 10.0, 10.0])
    assert model.ball == pytest.approx(math.sqrt(2) * 10)
    bare = LinearRegression(dimension=1, response_bounds=(100.0, 120.0), intercept=False)
    assert bare.largest_response == 120.0


def test_chains_draw_from_a_ball():
    model = LinearRegression(dimension=2, response_bounds=(0.0, 1.0))
    for sampler in ("shell", "inverse-cdf", "closed-form"):
        with pytest.raises(gs.PremiseError, match="drawn by proximal or langevin"):
            gs.plan(model, gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one", sampler=sampler)
    with pytest.raises(gs.PremiseError, match="use replace-one"):
        gs.plan(model, gs.Budget(1.0, 1e-6), n=100, adjacency="add-remove")


def test_draws_stay_in_the_ball():
    rng = np.random.default_rng(1)
    model = LinearRegression(dimension=2, response_bounds=(-1.0, 1.0), parameter_radius=0.3)
    X = rng.uniform(-0.7, 0.7, (300, 2))
    for sampler in ("proximal", "langevin"):
        plan = gs.plan(model, gs.Budget(5.0, 1e-3), n=300, adjacency="replace-one", draws=50, sampler=sampler)
        made = plan.release((X, np.sign(X[:, 0])), generator=rng)
        assert np.linalg.norm(model.from_original(made.draws), axis=1).max() <= 0.3 + 2 * plan.grid


def chain_law(plan, data, cells):
    """Law of the last iterate of the plan's chain in one dimension, projected onto the ball, by density propagation."""
    (stage,) = plan.stages
    posterior = plan.model.posterior(plan.model.encode(data, EncodingOptions()), stage, np.array(stage.prior_centre))
    edges = np.linspace(-plan.model.ball, plan.model.ball, cells + 1)
    middles = 0.5 * (edges[1:] + edges[:-1])
    after = middles - stage.step * posterior.gradients(middles[:, None])[:, 0]
    inner = ndtr((edges[1:-1][None] - after[:, None]) / math.sqrt(2 * stage.step))
    kernel = np.diff(np.column_stack([np.zeros(cells), inner, np.ones(cells)]), axis=1)
    law = np.zeros(cells)
    law[cells // 2] = 1.0  # the start, the middle of the middle cell (an odd number of cells)
    for _ in range(stage.steps):
        law = law @ kernel
    return law


@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_draws_follow_the_law_of_the_chain(radius):
    """Kolmogorov–Smirnov with atoms at the boundary, where it is conservative; false-alarm rate 1e-4 and 0.005 for the cells."""
    model = LinearRegression(dimension=1, intercept=False, response_bounds=(-1.0, 1.0), parameter_radius=radius)
    plan = gs.plan(model, gs.Budget(20.0, 1e-2), n=30, adjacency="replace-one", draws=1, sampler="langevin")
    X = np.linspace(-1, 1, 30)[:, None]
    data = (X, 0.8 * X[:, 0])
    draws = np.sort(draw(plan, data, 5000, 5)[:, 0])
    edges = np.linspace(-radius, radius, 802)
    exact = np.interp(draws, edges[1:], np.cumsum(chain_law(plan, data, 801)))
    inside = (draws > edges[1]) & (draws < edges[-2])
    gaps = np.abs(exact - (np.arange(5000) + 0.5) / 5000)[inside]
    assert gaps.max() < kstwobign.isf(1e-4) / math.sqrt(5000) + 0.005
    assert np.abs(draws).max() <= radius * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (2.0, 1e-2), (2.0, 1e-4)])
@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_exact_neighbours_of_the_chain_never_exceed_the_budget(epsilon, delta, radius):
    model = LinearRegression(dimension=1, intercept=False, response_bounds=(-1.0, 1.0), parameter_radius=radius)
    for n in (1, 8):
        plan = gs.plan(model, gs.Budget(epsilon, delta), n=n, adjacency="replace-one", sampler="langevin")
        for rest in (0.0, 1.0):
            X, y = np.full((n, 1), rest), np.full(n, rest)
            records = []
            for x, response in ((1.0, 1.0), (1.0, -1.0), (min(1.0, 1 / (2 * radius)), -1.0), (0.0, 0.0)):
                changed = X.copy(), y.copy()
                changed[0][0], changed[1][0] = x, response
                records.append(chain_law(plan, changed, 801))
            for p in records:
                for q in records:
                    assert hockey_stick(p, q, epsilon) <= delta * (1 + 5e-3)


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_exact_posteriors_on_the_ball_keep_the_price_of_gaussian_dp(radius):
    model = LinearRegression(dimension=1, intercept=False, response_bounds=(-1.0, 1.0), parameter_radius=radius)
    constants = model.constants(np.ones(1), adjacency=RELATION.REPLACE_ONE, n=5, rows_per_person=1)
    budget = gs.Budget(1.0, 1e-2)
    beta = get("gaussian-dp").calibrate(constants, budget, adjacency="replace-one")
    theta = np.linspace(-radius, radius, 20_001)

    def law(x, y):
        density = np.exp(-beta * 0.5 * (y - x * theta) ** 2 - 0.5 * theta**2)
        return density / density.sum()

    worst = 0.0
    for x, y in ((1, 1), (1, -1), (0.25, -1), (0.5, 1)):
        for x2, y2 in ((1, 1), (1, -1), (0.25, 1), (0, 0)):
            worst = max(worst, hockey_stick(law(x, y), law(x2, y2), 1.0))
    assert worst <= 1e-2 * (1 + 1e-3)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parameter_radius": 0}, "parameter_radius"),
        ({"parameter_radius": -1.0}, "parameter_radius"),
        ({"response_bounds": (1.0, 0.0)}, "low"),
        ({"response_bounds": (1.0, 1.0)}, "low"),
        ({"response_bounds": (0.0, math.inf)}, "finite"),
        ({"response_bounds": 5}, "a \\(low, high\\) pair"),
        ({"response_bounds": None}, "a \\(low, high\\) pair"),
    ],
)
def test_bad_declarations(fields, words):
    with pytest.raises(gs.ParameterError, match=words):
        LinearRegression(**{"dimension": 2, "response_bounds": (0.0, 1.0)} | fields)


def test_a_far_offset_does_not_spoil_verification(tmp_path):
    """Responses near a million: the draws' own digits end above the grid, and the check of the grid allows for it."""
    model = gs.models.LinearRegression(dimension=2, response_bounds=(1e6, 1e6 + 10))
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 2))
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=50, adjacency="replace-one").release((X, 1e6 + 5 + X[:, 0]), generator=rng)
    made.save(tmp_path / "r.json")
    assert gs.verify(tmp_path / "r.json") == made.certificate
