"""Private logistic regression for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target

from gibbsafe._types import JSON, Floats, Values
from gibbsafe._validate import fail
from gibbsafe.domains.labels import Labels
from gibbsafe.errors import DomainError
from gibbsafe.estimators.base import PrivateLinearEstimator
from gibbsafe.estimators.inputs import refuse_more
from gibbsafe.models import LogisticRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateLogisticRegression"]


class PrivateLogisticRegression(ClassifierMixin, PrivateLinearEstimator):
    """Binary logistic regression whose `fit` satisfies (ε, δ)-differential privacy.

    Each `fit` is one release that spends (ε, δ), with the certificate in ``release_.certificate``. Nothing but the coefficients
    is learned from the data: bounds, classes and prior are declared.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    classes : pair, default=(0, 1)
        The two labels, declared and not read from ``y``; other labels are refused. As everywhere in scikit-learn ``classes_`` is
        sorted and its second entry is the positive class.
    bounds : pair or sequence of pairs, default=None
        Public (low, high) per feature, or one pair for all. Features are clipped to them and mapped to [−1, 1]. Either
        `bounds` or `radius` must be declared: nothing is read from the rows, and none are clipped unasked.
    row_norm : float, default=None
        With `bounds`: rows in [−1, 1] units are clipped to this norm (√n_features, which clips nothing). One-hot columns, with
        bounds (−1, 1), have rows far shorter than that: declare the root of the number of columns before one-hot.
    radius : float, default=None
        Instead of `bounds`: rows are used as they are and clipped to this norm.
    columns : mapping, sequence of `gibbsafe.domains.Column` or study, default=None
        Instead of `bounds`: the columns of a table by name, ``{"age": (0, 100), "ward": ["a", "b"]}``, numbers by their bounds,
        categories by their levels, which become one coefficient each.
    groups : mapping, default=None
        With `columns`: categories whose effects have a normal prior of their own, and its precision, ``{"ward": 16}``.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    prior_radius : float, default=None
        Public guess of the norm of the parameters in scaled units (rows, intercept included, of norm at most 1); see
        `gibbsafe.plan`.
    purpose : {"estimate", "posterior"}, default="estimate"
        Spend the budget on a good point estimate, or on draws of one posterior.
    uncertainty : float or "auto", default="auto"
        Share of an estimate's budget kept for saying how far off it is; 0 puts everything into the point.
    draws : int, default=1
        Number of draws that share the budget.
    adjacency : {"replace-one", "add-remove"}, default="replace-one"
        What a neighbouring data set is. Under replace-one the number of rows is public.
    ledger : str, default=None
        Account to charge, like ``ledger.db#clinic``, the same for every clone. Every fit is a charge of its own.
    random_state : int, numpy Generator or RandomState, default=None
        None is secure randomness. A seed is for tests: who knows it can undo the noise, and the certificate says so.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients in the user's units, averaged over the draws.
    intercept_ : ndarray of shape (1,)
        Intercept.
    classes_ : ndarray of shape (2,)
        The declared classes, sorted.
    plan_ : gibbsafe.Plan
        Everything that was fixed before the data were read.
    release_ : gibbsafe.Release
        Draws and certificate; save it, verify it, ask it.
    population_ : gibbsafe.population.Population
        Draws of the true coefficients given the release, with their means, standard deviations and who decided what.
    intervals_ : gibbsafe.population.Intervals
        90 % intervals of the true coefficients; ``release_.interval(level)`` has others.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``X`` has them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from gibbsafe.estimators import PrivateLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PrivateLogisticRegression(epsilon=2.0, bounds=[(5, 30), (5, 40)], random_state=0).fit(X[:, :2], y)
    >>> bool(model.score(X[:, :2], y) > 0.8), model.release_.certificate["randomness"]
    (True, 'seeded')
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        classes: object = (0, 1),
        bounds: object = None,
        row_norm: float | None = None,
        radius: float | None = None,
        columns: object = None,
        groups: object = None,
        fit_intercept: bool = True,
        prior_radius: float | None = None,
        purpose: str = "estimate",
        uncertainty: float | str = "auto",
        draws: int = 1,
        adjacency: str = "replace-one",
        ledger: str | None = None,
        random_state: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.bounds = bounds
        self.row_norm = row_norm
        self.radius = radius
        self.columns = columns
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.prior_radius = prior_radius
        self.purpose = purpose
        self.uncertainty = uncertainty
        self.draws = draws
        self.adjacency = adjacency
        self.ledger = ledger
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _model(self, features: JSON) -> LinearModel:
        return LogisticRegression(**features, labels=self._labels())

    def _labels(self) -> tuple[object, object]:
        """Return the declared classes in the order of scikit-learn, as plain Python values."""
        plain = self.classes.tolist() if isinstance(self.classes, np.ndarray) else self.classes
        if not isinstance(plain, tuple | list) or len(plain) != 2:
            fail("classes", self.classes, "two labels, declared and not read from y")
        listed = [label.item() if isinstance(label, np.generic) else label for label in plain]
        Labels(*listed)
        try:
            first, second = sorted(listed)
        except TypeError:
            fail("classes", self.classes, "two labels of one type")
        return first, second

    def fit(self, X: object, y: object, **refused: object) -> PrivateLogisticRegression:
        """Spend the budget on one private release of the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows, clipped to the declared domain.
        y : array-like of shape (n_samples,)
            The private labels, each one of the declared classes.
        **refused : object
            None: `sample_weight` is refused by name.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        refuse_more(self, refused)
        labels = self._labels()
        features, response = self._check_training(X, y)
        _require_declared(response, labels)
        estimate = self._release(features, response)
        self.classes_ = np.array(labels)
        self.coef_ = estimate[None, : self._coefficients()]
        self.intercept_ = estimate[-1:] if self.fit_intercept else np.zeros(1)
        return self

    def decision_function(self, X: object) -> Floats:
        """Log odds of the second class for new rows, which are clipped as training rows are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        log_odds : ndarray of shape (n_samples,)
            ``log(p / (1 - p))``, p the probability averaged over the draws; with one draw, the linear predictor.
        """
        return self._by_pieces(X, self._log_odds)

    def _log_odds(self, rows: Any) -> Floats:
        model = self._model(self._features())
        predictors = model.encode_features(rows) @ model.from_original(self.release_.draws).T
        if predictors.shape[1] == 1:
            return np.asarray(predictors[:, 0])
        return np.asarray(logsumexp(log_expit(predictors), axis=1) - logsumexp(log_expit(-predictors), axis=1))

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of ``classes_`` for new rows, averaged over the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column per class.
        """
        log_odds = self.decision_function(X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of `predict_proba`, without underflow.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, 2)
            One column per class.
        """
        log_odds = self.decision_function(X)
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])

    def predict(self, X: object) -> Values:
        """More probable class of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Declared classes.
        """
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])


def _require_declared(response: Values, labels: tuple[object, object]) -> None:
    """Refuse labels that were not declared, and say what the response looks like if not like two classes."""
    try:
        Labels(*labels).encode(response)
    except DomainError as error:
        kind = type_of_target(response)
        hint = "" if kind == "binary" else f"; Only binary classification is supported. The type of the target is {kind}."
        raise DomainError(str(error).replace("labels", "classes") + hint) from None
