"""Estimates from transcripts: the truth at large budgets for every law, and a finite point whatever was answered."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.samplers import transcript_fit
from gibbsafe.samplers.transcript_fit import fitted, rows_behind

from . import wild

M = gs.models
N = 8000


def regression(rng, X):
    return X @ [1.0, -2.0] + 0.3 + rng.standard_t(4, N)


def labels(rng, X):
    return (rng.random(N) < expit(X @ [1.0, -2.0] + 0.3)).astype(int)


def counts(rng, X):
    return rng.negative_binomial(2.0, 2 / (2 + np.exp(X @ [0.5, -0.5] + 0.3))).clip(0, 20)


MODELS = {
    "logistic": (M.LogisticRegression, {}, labels),
    "soft hinge": (M.SoftHinge, {}, labels),
    "pseudo-Huber": (M.PseudoHuberRegression, {}, regression),
    "soft quantile": (M.SoftQuantileRegression, {"quantile": 0.7}, regression),
    "quantile": (M.QuantileRegression, {"quantile": 0.3}, regression),
    "counts": (M.CountRegression, {"cap": 20, "dispersion": 2.0}, counts),
}


def minimiser(model, data):
    """The non-private fit, by a general optimiser."""
    blocks = model.encode(data, EncodingOptions())
    rows, targets = blocks.rows, blocks.targets

    def loss(theta):
        return float(np.sum(model.loss.value(rows @ theta, targets))) / N

    start = minimize(
        loss, np.zeros(model.parameters), method="Nelder-Mead", options={"maxiter": 1500, "fatol": 1e-9, "xatol": 1e-5}
    )
    return model.to_original(start.x)[0]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_large_budgets_find_the_fit(name, adjacency):
    kind, options, response = MODELS[name]
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (N, 2))
    data = X, response(rng, X)
    model = kind(dimension=2, bounds=((-1, 1),) * 2, **options)
    size = None if adjacency == "add-remove" else N
    plan = gs.plan(model, gs.Budget(100.0, 1e-6), n=size, adjacency=adjacency, purpose="estimate")
    point = plan.release(data, generator=np.random.default_rng(1), progress=False).draws[0]
    np.testing.assert_allclose(point, minimiser(model, data), atol=0.12)


def test_no_transcript_makes_a_fit_fail(monkeypatch):
    """Forty transcripts of random plans of every model: each gives finite numbers of the right shape, without a warning."""
    monkeypatch.setattr(transcript_fit, "ROWS", 32)
    rng, pool = np.random.default_rng(11), list(wild.models())
    for turn in range(40):
        plan = wild.plan_of(pool[turn % len(pool)], rng)
        answers, path = wild.transcript(plan, wild.KINDS[turn % len(wild.KINDS)], rng)
        point = fitted(plan.public_of_scores(), answers, path)
        assert point.shape == (plan.model.parameters,)
        assert np.isfinite(point).all(), plan


def test_private_numbers_of_rows_are_read_from_the_constant_column():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (N, 2))
    model = M.LogisticRegression(dimension=2, bounds=((-1, 1),) * 2)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=None, adjacency="add-remove", purpose="estimate")
    release = plan.release((X, labels(rng, X)), generator=rng, progress=False)
    assert rows_behind(plan.public_of_scores(), release.answers) == pytest.approx(N, rel=0.05)


def test_the_estimate_is_the_same_every_time_a_file_is_read(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (N, 2))
    model = M.LogisticRegression(dimension=2, bounds=((-1, 1),) * 2)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=N, adjacency="replace-one", purpose="estimate")
    plan.release((X, labels(rng, X)), generator=rng, progress=False).save(tmp_path / "r.json")
    again = gs.Release.load(tmp_path / "r.json")
    from gibbsafe.release.transcripts import path_of

    point = fitted(plan.public_of_scores(), again.answers, path_of(again.plan, again.answers))
    np.testing.assert_allclose(again.plan.model.to_original(point)[0], again.draws[0], atol=1e-6)
