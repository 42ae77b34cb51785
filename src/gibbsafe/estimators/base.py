"""What the private estimators share: public declarations → plan → release → coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gibbsafe._types import JSON, Floats, Values
from gibbsafe._validate import fail
from gibbsafe.data.census import array_rows
from gibbsafe.data.sparse import dense_pieces, is_sparse
from gibbsafe.errors import ParameterError
from gibbsafe.estimators.declared import declared_columns, named_columns
from gibbsafe.estimators.inputs import as_generator, check_input, open_ledger, pairs, refuse_more
from gibbsafe.losses.base import Loss
from gibbsafe.models.base import GibbsModel
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.planning import Plan, plan
from gibbsafe.population import Intervals, Population
from gibbsafe.privacy import Adjacency, Budget

__all__ = ["PrivateLinearEstimator"]

#: Numbers of sparse rows that are dense at once when they are predicted.
AT_ONCE = 2**20


class PrivateLinearEstimator(BaseEstimator):
    """A linear model whose `fit` is one private release: the constructor stores, `fit` validates, plans, draws.

    A subclass stores the parameters named below and its own, and says which model they declare (`_model`).
    """

    epsilon: float
    delta: float
    bounds: object
    row_norm: float | None
    radius: float | None
    columns: object
    groups: object
    fit_intercept: bool
    prior_radius: float | None
    purpose: str
    draws: int
    adjacency: str
    ledger: str | None
    random_state: object

    @abstractmethod
    def _model(self, features: JSON) -> LinearModel:
        """Return the model that the constructor's parameters declare, given what they say of the features."""

    def _features(self) -> JSON:
        """Return the public declaration of the features: columns of the input's form, everything else from the constructor."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            fail("fit_intercept", self.fit_intercept, "True or False")
        if self.columns is not None:
            listed = declared_columns(self.columns)
            given = {"bounds": self.bounds, "radius": self.radius}
            return {
                **given,
                "dimension": sum(column.width for column in listed),
                "columns": listed,
                "groups": self.groups,
                "row_norm": self.row_norm,
                "intercept": bool(self.fit_intercept),
            }
        if self.groups is not None:
            fail("groups", self.groups, "declared with columns, whose categories they name")
        if self.bounds is None and self.radius is None:
            raise ParameterError(
                "bounds = None: public bounds must be declared, one (low, high) pair per feature or one for all; "
                "or radius =, the norm that rows are clipped to; or columns =, bounds and levels by name"
            )
        names = getattr(self, "feature_names_in_", None)
        return {
            "dimension": self.n_features_in_,
            "radius": self.radius,
            "bounds": None if self.bounds is None else pairs(self.bounds, self.n_features_in_),
            "row_norm": self.row_norm,
            "intercept": bool(self.fit_intercept),
            "feature_names": None if names is None else tuple(str(name) for name in names),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_training(self, X: object, y: object, **options: object) -> tuple[Any, Values]:
        """Return checked X and y. No rows at all is a data set like any other where n is private."""
        if self.columns is not None:
            check_input(self, X, skip_check_array=True)
            return named_columns(X, declared_columns(self.columns)), np.asarray(y)
        least = 0 if self._relation() == Adjacency.ADD_REMOVE else 1
        features, response = check_input(self, X, y, ensure_min_samples=least, accept_sparse="csr", **options)
        return features, response

    def _coefficients(self) -> int:
        """Return how many there are besides the intercept: one per feature, or per number and level of declared columns."""
        model = self.plan_.model
        assert isinstance(model, LinearModel)
        return model.dimension

    def _relation(self) -> Adjacency:
        return Adjacency.of(self.adjacency)

    def _plan(self, n: int | None, prior_radius: float | None) -> Plan:
        """Plan from the declarations and the public number of rows."""
        return plan(
            self._model(self._features()),
            Budget(self.epsilon, self.delta),
            n=n,
            adjacency=self.adjacency,
            draws=self.draws,
            purpose=self.purpose,
            prior_radius=prior_radius,
            uncertainty=getattr(self, "uncertainty", "auto"),
        )

    @property
    def population_(self) -> Population:
        """The posterior of the true coefficients; worked out when it is first asked for, free."""
        return self.release_.population()

    @property
    def intervals_(self) -> Intervals:
        """90 % intervals of the true coefficients."""
        return self.release_.interval(0.9)

    def _release(self, X: Any, y: object) -> Floats:
        """Plan, release; return the mean of the draws in the user's units."""
        ledger, generator = open_ledger(self.ledger), as_generator(self.random_state)
        result = self._plan(array_rows((X, y)) if self._relation() == Adjacency.REPLACE_ONE else None, self.prior_radius)
        self.release_ = result.release((X, y), ledger=ledger, generator=generator, progress=False)
        self.plan_ = result
        return np.asarray(self.release_.draws.mean(axis=0))

    def _by_pieces(self, X: object, function: Callable[[Any], Floats]) -> Floats:
        """Return what a function says of new rows of the form of the training rows; sparse ones are made dense in pieces."""
        check_is_fitted(self)
        if self.columns is not None:
            check_input(self, X, reset=False, skip_check_array=True)
            return function(named_columns(X, declared_columns(self.columns)))
        rows = check_input(self, X, reset=False, accept_sparse="csr")
        if not is_sparse(rows):
            return function(rows)
        return np.concatenate([function(piece) for _, piece in dense_pieces(rows, AT_ONCE)])


class PrivateLinearRegressor(PrivateLinearEstimator):
    """The regressors among them: one coefficient per feature, predictions averaged over the draws."""

    #: By how much all rows, spread evenly over the parameters, should outweigh the first prior of an estimate in stages.
    _outweigh: ClassVar[float | None] = None

    def _plan(self, n: int | None, prior_radius: float | None) -> Plan:
        """Plan with the default prior radius of the house, or a smaller one where that many rows make it needlessly wide.

        A draw's variance is proportional to the prior radius, and later stages undo the pull of the first prior as long as the
        rows outweigh it. The weight of n rows of norm 1 with curvature c is nc/d per parameter, c guessed as the smaller of the
        loss's smoothness and its typical slope over the scale of the response. The first prior weighs Λ ∝ 1/radius beside it,
        per unit of inverse temperature. All of these are public numbers.
        """
        result = super()._plan(n, prior_radius)
        if prior_radius is not None or n is None or self._outweigh is None or len(result.stages) == 1:
            return result
        model, first = result.model, result.stages[0]
        assert isinstance(model, GibbsModel)
        assert result.prior_radius is not None
        loss = model.loss
        rows = n * min(loss.smoothness, self._typical_slope(loss) / model.parameter_scale) / model.parameters
        prior = max(first.prior_precision) / first.inverse_temperature
        share = prior * self._outweigh / rows
        return result if share >= 1 else super()._plan(n, share * result.prior_radius)

    def _typical_slope(self, loss: Loss) -> float:
        return loss.lipschitz

    def fit(self, X: object, y: object, **refused: object) -> Any:
        """Spend the budget on one private release of the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows, clipped to the declared domain.
        y : array-like of shape (n_samples,)
            The private responses.
        **refused : object
            None: `sample_weight` is refused by name.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        refuse_more(self, refused)
        features, response = self._check_training(X, y, y_numeric=True)
        estimate = self._release(features, response)
        self.coef_ = estimate[: self._coefficients()]
        self.intercept_ = float(estimate[-1]) if self.fit_intercept else 0.0
        return self

    def predict(self, X: object) -> Floats:
        """Predict responses of new rows, which are clipped as training rows are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted responses.
        """
        return self._by_pieces(X, lambda rows: np.asarray(self.release_.predict(rows)))


def declared(value: object, name: str, why: str) -> Any:
    """Return a value that must be declared, or say why it is needed."""
    if value is None:
        raise ParameterError(f"{name} = None: must be declared, {why}")
    return value
