"""Classifiers of several declared outcomes: coefficients, probabilities and refusals."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.estimators import PrivateMultinomialClassifier, PrivateOrdinalClassifier

X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
LATENT = X @ [2.0, -1.0] + np.random.default_rng(1).logistic(size=2000)
GRADES = np.array(["low", "mid", "top"])[np.digitize(LATENT, [-1.0, 1.0])]


def test_coefficients_of_classes_sum_to_0_and_give_the_probabilities():
    classes = ("top", "low", "mid")
    model = PrivateMultinomialClassifier(10.0, classes=classes, bounds=(-1, 1), uncertainty=0, random_state=0).fit(X, GRADES)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)
    scores = X @ model.coef_.T + model.intercept_
    by_hand = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), by_hand, atol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(by_hand), atol=1e-6)


def test_levels_keep_their_order():
    levels = ("top", "mid", "low")
    model = PrivateOrdinalClassifier(10.0, levels=levels, bounds=(-1, 1), uncertainty=0, random_state=0).fit(X, GRADES)
    assert model.classes_.tolist() == list(levels)
    assert model.coef_[0] < 0 < model.coef_[1]
    assert len(model.thresholds_) == 2
    assert set(model.predict(X)) <= set(levels)


@pytest.mark.parametrize("kind", [PrivateMultinomialClassifier, PrivateOrdinalClassifier])
def test_refusals_in_one_line(kind):
    with pytest.raises(gs.DomainError, match="not a declared class"):
        kind(bounds=(-1, 1)).fit(X, GRADES)
    with pytest.raises(gs.GibbsafeError, match="sample_weight"):
        kind(bounds=(-1, 1)).fit(X, np.zeros(2000, dtype=int), sample_weight=np.ones(2000))
    name = "classes" if kind is PrivateMultinomialClassifier else "levels"
    with pytest.raises(gs.ParameterError, match="at least three"):
        kind(bounds=(-1, 1), **{name: (0, 1)}).fit(X, np.zeros(2000, dtype=int))


def test_classes_of_several_types_and_thresholds_out_of_order():
    with pytest.raises(gs.ParameterError, match="labels of one type"):
        PrivateMultinomialClassifier(classes=(0, "a", "b"), bounds=(-1, 1)).fit(X, GRADES)
    with pytest.raises(gs.ParameterError, match="increasing order"):
        PrivateOrdinalClassifier(levels=("low", "mid", "top"), thresholds=(1.0, -1.0), bounds=(-1, 1)).fit(X, GRADES)
