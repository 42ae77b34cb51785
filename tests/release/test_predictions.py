"""Predictions with intervals: between the ends, as the draws of the true parameter say, in pieces as at once."""

import numpy as np
import pytest
from scipy.special import expit

import gibbsafe as gs
from gibbsafe.release import predictions

M = gs.models
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2000, 2))
NEW = RNG.uniform(-1, 1, (7, 2))


def estimate(model, y):
    plan = gs.plan(model, gs.Budget(2.0, 1e-6), n=len(X), adjacency="replace-one", purpose="estimate")
    return plan.release((X, y), generator=np.random.default_rng(1), progress=False)


@pytest.fixture(scope="module")
def classifier():
    return estimate(M.LogisticRegression(dimension=2, bounds=((-1, 1),) * 2), (RNG.random(2000) < expit(2 * X[:, 0])).astype(int))


def test_probabilities_lie_between_their_ends(classifier):
    found = classifier.predict_proba(NEW, interval=0.9)
    assert found.level == 0.9
    assert found.probability.shape == found.lower.shape == found.upper.shape == (7, 2)
    assert ((found.lower <= found.probability) & (found.probability <= found.upper)).all()
    assert found.probability.sum(axis=1) == pytest.approx(1.0)
    truth = classifier.population().draws
    chances = expit(NEW @ truth[:, :2].T + truth[:, 2])
    assert found.probability[:, 1] == pytest.approx(chances.mean(axis=1), rel=1e-4)
    assert found.lower[:, 1] == pytest.approx(np.quantile(chances, 0.05, axis=1), rel=1e-3)


def test_the_points_own_prediction_stays(classifier):
    own = classifier.predict_proba(NEW)
    assert isinstance(own, np.ndarray)
    assert own[:, 1] == pytest.approx(expit(NEW @ classifier.draws[0, :2] + classifier.draws[0, 2]), rel=1e-4)
    wide, narrow = (classifier.predict_proba(NEW, interval=level) for level in (0.99, 0.5))
    assert (wide.upper - wide.lower >= narrow.upper - narrow.lower).all()


def test_rows_are_taken_in_pieces(classifier, monkeypatch):
    whole = classifier.predict_proba(NEW, interval=0.8)
    monkeypatch.setattr(predictions, "AT_ONCE", 2000)
    np.testing.assert_allclose(classifier.predict_proba(NEW, interval=0.8).lower, whole.lower, rtol=1e-12)


@pytest.mark.parametrize("kind", [M.PseudoHuberRegression, M.SoftQuantileRegression])
def test_regressions(kind):
    release = estimate(kind(dimension=2, bounds=((-1, 1),) * 2), X @ [1.0, -1.0] + RNG.standard_normal(2000))
    found = release.predict(NEW, interval=0.9)
    assert ((found.lower <= found.prediction) & (found.prediction <= found.upper)).all()
    assert found.prediction == pytest.approx(release.predict(NEW), abs=0.2)


def test_counts_are_means_not_logarithms():
    y = RNG.negative_binomial(2.0, 2 / (2 + np.exp(0.5 * X[:, 0]))).clip(0, 10)
    release = estimate(M.CountRegression(dimension=2, bounds=((-1, 1),) * 2, cap=10, dispersion=2.0), y)
    assert (release.predict(NEW, interval=0.9).lower >= 0).all()


def test_refusals_name_the_remedy(classifier):
    with pytest.raises(gs.ParameterError, match=r"interval = 1.5"):
        classifier.predict_proba(NEW, interval=1.5)
    with pytest.raises(gs.GibbsafeError, match="ask predict_proba"):
        classifier.predict(NEW, interval=0.9)
    hinge = estimate(M.SoftHinge(dimension=2, bounds=((-1, 1),) * 2), (X[:, 0] > 0).astype(int))
    with pytest.raises(gs.GibbsafeError, match="not defined for the model SoftHinge; ask without"):
        hinge.predict(NEW, interval=0.9)


def test_to_arviz_takes_either(classifier):
    arviz = pytest.importorskip("arviz")
    assert arviz is not None
    assert classifier.to_arviz().posterior["x0"].shape == (1, 1000)
    assert classifier.to_arviz(of="draws").posterior["x0"].shape == (1, 1)
