"""Private multinomial logistic regression for scikit-learn."""

from __future__ import annotations

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import fail
from gibbsafe.estimators.outcomes import PrivateOutcomeClassifier, as_listed
from gibbsafe.models import MultinomialRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateMultinomialClassifier"]


class PrivateMultinomialClassifier(PrivateOutcomeClassifier):
    """Multinomial logistic regression of three or more declared classes whose `fit` satisfies (ε, δ)-differential privacy.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    classes : sequence, default=(0, 1, 2)
        The labels, three or more, declared and not read from ``y``; other labels are refused. As everywhere in scikit-learn
        ``classes_`` is sorted. For two use `PrivateLogisticRegression`.
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
        Spend the budget on a good point estimate, or on draws of one posterior (under replace-one).
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
    coef_ : ndarray of shape (n_classes, n_features)
        Coefficients of the classes' scores in the user's units, averaged over the draws; they sum to 0 over classes.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
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
    >>> from sklearn.datasets import load_iris
    >>> from gibbsafe.estimators import PrivateMultinomialClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PrivateMultinomialClassifier(epsilon=20.0, bounds=[(4, 8), (2, 5), (1, 7), (0, 3)], random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.7), model.predict_proba(X).shape
    (True, (150, 3))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        classes: object = (0, 1, 2),
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

    def _model(self, features: JSON) -> LinearModel:
        return MultinomialRegression(**features, classes=self._outcomes())

    def _outcomes(self) -> tuple[object, ...]:
        listed = as_listed("classes", self.classes)
        try:
            return tuple(sorted(listed))  # type: ignore[type-var]
        except TypeError:
            fail("classes", self.classes, "labels of one type")

    def _keep(self, estimate: Floats) -> None:
        table = estimate.reshape(len(self.classes_) - 1, -1)
        scores = np.vstack([np.zeros(table.shape[1]), table])
        scores -= scores.mean(axis=0)
        self.coef_ = scores[:, : self._coefficients()]
        self.intercept_ = scores[:, -1] if self.fit_intercept else np.zeros(len(scores))
