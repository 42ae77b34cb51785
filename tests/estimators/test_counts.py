"""Counts in scikit-learn's interface."""

import numpy as np
import pytest
from sklearn.base import clone

import gibbsafe as gs
from gibbsafe.estimators import PrivateCountRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (3000, 2))
Y = RNG.negative_binomial(2, 2 / (2 + np.exp(X @ [0.8, -0.4])))


def test_mean_counts_are_predicted_and_certified():
    made = PrivateCountRegressor(3.0, cap=8, dispersion=2.0, bounds=(-1, 1), random_state=0, uncertainty=0).fit(X, Y)
    np.testing.assert_allclose(made.predict(X[:5]), np.exp(X[:5] @ made.coef_ + made.intercept_))
    assert np.linalg.norm(made.coef_ - [0.8, -0.4]) < 0.5
    assert gs.verify(made.release_) == made.release_.certificate
    again = clone(made).fit(X, Y)
    np.testing.assert_array_equal(again.coef_, made.coef_)


@pytest.mark.parametrize(
    ("options", "y", "error", "words"),
    [
        ({}, Y, gs.ParameterError, "cap = None: must be declared, the largest count that matters"),
        ({"cap": 8}, Y - 0.5, gs.DomainError, "y: a count is not a whole number from 0 on"),
        ({"cap": 8}, Y - 1, gs.DomainError, "y: a count is not a whole number from 0 on"),
        ({"cap": 8, "dispersion": 0.0}, Y, gs.ParameterError, "dispersion"),
    ],
    ids=["no cap", "fractions", "negative", "dispersion"],
)
def test_refusals(options, y, error, words):
    with pytest.raises(error, match=words) as refusal:
        PrivateCountRegressor(bounds=(-1, 1), **options).fit(X, y)
    assert "\n" not in str(refusal.value)
