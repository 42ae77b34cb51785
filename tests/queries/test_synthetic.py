"""Synthetic rows follow the model at the draws, evenly, and say what they are not."""

import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest

import gibbsafe as gs

from ..examples import FAMILIES, records

BUDGET = gs.Budget(4.0, 1e-6)


def made(model, data, draws=4, budget=BUDGET):
    n = len(data[0] if isinstance(data, tuple) else data)
    plan = gs.plan(model, budget, n=n, adjacency="replace-one", draws=draws)
    return plan.release(data, generator=np.random.default_rng(7), progress=False)


def test_gaussian_rows_are_normal_around_the_draws():
    """Kolmogorov–Smirnov of the mixture over draws, false alarm 1e-4."""
    rng = np.random.default_rng(1)
    release = made(gs.models.GaussianMean(dimension=1, radius=5.0), rng.normal(1, 1, (300, 1)))
    rows = release.simulate(8000, generator=np.random.default_rng(2))
    assert rows.rows.shape == (8000, 1)

    def mixture(x):
        from scipy.stats import norm

        return np.mean([norm.cdf(x, centre) for centre in release.draws[:, 0]], axis=0)

    assert kstest(rows.rows[:, 0], mixture).pvalue > 1e-4


def test_logistic_labels_follow_the_given_features():
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.6, 0.6, (500, 2))
    release = made(gs.models.LogisticRegression(dimension=2, radius=1.0, labels=("no", "yes")), (X, ["yes", "no"] * 250))
    point = np.tile([[0.5, -0.2]], (20_000, 1))
    labels = np.asarray(release.simulate(20_000, features=point, generator=np.random.default_rng(4)))
    expected = expit(point[:1] @ release.draws[:, :2].T + release.draws[:, 2]).mean()
    assert set(labels) == {"no", "yes"}
    assert (labels == "yes").mean() == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(20_000))


def test_rows_keep_their_features():
    """A feature that decides the label must come back in its own row, whichever draw made it."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (400, 1))
    release = made(
        gs.models.LogisticRegression(dimension=1, radius=1.0, intercept=False),
        (X, (X[:, 0] > 0).astype(int)),
        draws=3,
        budget=gs.Budget(5000.0, 1e-3),
    )
    features = np.array([[-1.0], [1.0]] * 50)
    labels = np.asarray(release.simulate(100, features=features, generator=np.random.default_rng(6)))
    assert (labels == (features[:, 0] > 0)).mean() > 0.9


def test_linear_responses_stay_in_bounds():
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (300, 1))
    y = np.clip(5 + 2 * X[:, 0] + rng.normal(0, 1, 300), 0, 10)
    model = gs.models.LinearRegression(dimension=1, response_bounds=(0, 10))
    release = made(model, (X, y), draws=2, budget=gs.Budget(20.0, 1e-5))
    rows = np.asarray(release.simulate(2000, features=np.zeros((2000, 1)), generator=np.random.default_rng(9)))
    assert rows.min() >= 0
    assert rows.max() <= 10
    assert 0.5 < rows.std() < 6


def test_every_draw_makes_the_same_number_of_rows():
    release = made(gs.models.GaussianMean(dimension=1, radius=1e6), np.zeros((10, 1)), draws=5, budget=gs.Budget(0.1, 1e-6))
    rows = release.simulate(10, generator=np.random.default_rng(0)).rows[:, 0]
    nearest = np.abs(rows[:, None] - release.draws[:, 0]).argmin(axis=1)  # the draws are far apart beside unit variance
    assert np.bincount(nearest, minlength=5).tolist() == [2] * 5
    assert nearest.tolist() != sorted(nearest)


def test_rows_carry_a_plain_note_and_cost_nothing():
    release = made(gs.models.BernoulliLogit(), [0, 1] * 50)
    rows = release.simulate(20, generator=np.random.default_rng(0))
    assert len(rows) == 20
    assert set(np.asarray(rows)) <= {0, 1}
    assert "never compute standard errors" in str(rows)
    assert "free" in str(rows)
    assert json.loads(json.dumps(rows.to_dict()))["draws"] == 4


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (gs.models.BetaBernoulli(trim=(0.2, 0.8), labels=("no", "yes")), ["no", "yes"] * 50),
        (gs.models.BetaBernoulli(trim=(0.2, 0.8), trials=5), [0, 5, 2, 3] * 25),
        *((model, records(model, 100)) for model in FAMILIES.values()),
    ],
)
def test_families_read_their_own_synthetic_rows(model, data):
    release = made(model, data, budget=gs.Budget(3.0))
    rows = release.simulate(21, generator=np.random.default_rng(1)).rows
    assert len(rows) == 21
    again = gs.plan(model, gs.Budget(3.0), n=21, adjacency="replace-one", draws=4)
    assert again.release(rows, generator=np.random.default_rng(2), progress=False).draws.shape == release.draws.shape


def test_refusals():
    X = np.zeros((40, 2))
    logistic = made(gs.models.LogisticRegression(dimension=2, radius=1.0), (X, [0, 1] * 20))
    with pytest.raises(gs.ParameterError, match="does not describe features"):
        logistic.simulate(5)
    with pytest.raises(gs.ParameterError, match="as many as rows"):
        logistic.simulate(5, features=X)
    with pytest.raises(gs.ParameterError, match="rows = 0"):
        logistic.simulate(0, features=X)
    gaussian = made(gs.models.GaussianMean(dimension=2, radius=1.0), X)
    with pytest.raises(gs.ParameterError, match="left out: GaussianMean has none"):
        gaussian.simulate(5, features=X)
    hinge = made(gs.models.SoftHinge(dimension=2, radius=1.0), (X, [0, 1] * 20))
    with pytest.raises(gs.GibbsafeError, match="not a distribution of records"):
        hinge.simulate(40, features=X)
