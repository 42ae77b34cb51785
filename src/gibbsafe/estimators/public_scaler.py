"""A scaler for pipelines that learns nothing from data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array

from gibbsafe._types import Floats
from gibbsafe.domains.box import Box
from gibbsafe.estimators.base import declared
from gibbsafe.estimators.inputs import check_input, pairs, refused_in_one_line

__all__ = ["PublicScaler"]


class PublicScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map every column from its public bounds to [−1, 1], clipping what lies outside.

    A stateless stand-in for `StandardScaler` and `MinMaxScaler`, whose means, scales and extremes are functions of private rows:
    `fit` only counts the columns, so that the whole pipeline is as private as its last step.

    Parameters
    ----------
    bounds : pair or sequence of pairs
        Public (low, high) per column, or one pair for all.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` has them.

    Examples
    --------
    >>> from gibbsafe.estimators import PublicScaler
    >>> PublicScaler([(0, 100), (-1, 1)]).fit_transform([[25.0, 0.5], [150.0, -3.0]])
    array([[-0.5,  0.5],
           [ 1. , -1. ]])
    """

    def __init__(self, bounds: object = None) -> None:
        self.bounds = bounds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _box(self, columns: int) -> Box:
        why = "a (low, high) pair per column: bounds that are read from data are not public"
        return Box(pairs(declared(self.bounds, "bounds", why), columns))

    def fit(self, X: object, y: object = None) -> PublicScaler:
        """Count the columns; nothing else is read.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The scaler.
        """
        rows = check_input(self, X, ensure_min_samples=1)
        self._box(rows.shape[1])
        return self

    def transform(self, X: object) -> Floats:
        """Clip every column to its bounds and map it to [−1, 1].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
            Scaled rows.
        """
        rows = check_input(self, X, reset=False)
        return np.asarray(self._box(rows.shape[1]).encode(rows))

    def inverse_transform(self, X: object) -> Floats:
        """Map [−1, 1] back to the bounds; what was clipped stays at the bound.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled rows.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the user's units.
        """
        with refused_in_one_line():
            rows = check_array(X, dtype=np.float64, input_name="X")
        box = self._box(rows.shape[1])
        return np.asarray(rows / box.scale + box.offset)
