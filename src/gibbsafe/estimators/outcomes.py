"""What private classifiers of several declared outcomes share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from gibbsafe._types import Floats, Values
from gibbsafe._validate import fail
from gibbsafe.estimators.base import PrivateLinearEstimator
from gibbsafe.estimators.inputs import refuse_more
from gibbsafe.models.families.states import encode_states

__all__ = ["PrivateOutcomeClassifier"]


class PrivateOutcomeClassifier(ClassifierMixin, PrivateLinearEstimator):
    """A classifier of three or more declared outcomes; subclasses say which, and what coefficients are."""

    @abstractmethod
    def _outcomes(self) -> tuple[object, ...]:
        """Return the declared outcomes, in the order of the columns of `predict_proba`."""

    @abstractmethod
    def _keep(self, estimate: Floats) -> None:
        """Store coefficients."""

    def fit(self, X: object, y: object, **refused: object) -> Any:
        """Spend the budget on one private release of the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows, clipped to the declared domain.
        y : array-like of shape (n_samples,)
            The private outcomes, each one of those declared.
        **refused : object
            None: `sample_weight` is refused by name.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        refuse_more(self, refused)
        outcomes = self._outcomes()
        features, response = self._check_training(X, y)
        check_classification_targets(response)
        encode_states(response, outcomes, "error", "y", what="class")
        estimate = self._release(features, response)
        self.classes_ = np.array(outcomes)
        self._keep(estimate)
        return self

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of ``classes_`` for new rows, averaged over the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class.
        """
        return self._by_pieces(X, lambda rows: np.asarray(self.release_.predict_proba(rows)))

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column per class; −inf where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: object) -> Values:
        """Most probable class of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Declared classes.
        """
        chances = self.predict_proba(X)  # first: refuses an estimator that was not fitted
        return np.asarray(self.classes_[chances.argmax(axis=1)])


def as_listed(name: str, values: object) -> list[object]:
    """Return declared outcomes as plain Python values."""
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(plain, tuple | list):
        fail(name, values, "a list of labels, declared and not read from y")
    return [each.item() if isinstance(each, np.generic) else each for each in plain]
