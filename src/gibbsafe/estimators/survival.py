"""Private regression of censored times for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from gibbsafe._types import JSON, Floats, Values
from gibbsafe.errors import DomainError
from gibbsafe.estimators.base import PrivateLinearEstimator, PrivateLinearRegressor
from gibbsafe.models import SurvivalRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateSurvivalRegressor"]

#: Rows that are compared with all others at once.
AT_ONCE = 1024


class PrivateSurvivalRegressor(RegressorMixin, PrivateLinearRegressor):
    """Log-logistic regression of times until an event whose `fit` satisfies (ε, δ)-differential privacy; it predicts medians.

    Times may be right-censored and need no bound; `gibbsafe.models.SurvivalRegression` has the model. ``y`` has two columns, the
    time and whether it ended in the event (1) or was cut short (0); or two fields, one of truth values and one of times, as in
    scikit-survival; or one column, and every time is that of an event.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    scale : float, default=1.0
        Public: the size of a typical residual of log times. 0.5 means that half of the times are within a factor √3 of their
        median.
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
        Public guess of the norm of the parameters in scaled units (rows, intercept included, of norm at most 1). The default is
        that of `gibbsafe.plan`.
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
    coef_ : ndarray of shape (n_features,)
        Coefficients of the log mean in the user's units, averaged over the draws.
    intercept_ : float
        Intercept.
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
    >>> import numpy as np
    >>> from gibbsafe.estimators import PrivateSurvivalRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (5000, 2))
    >>> times, ends = np.exp(X @ [0.8, -0.5] + 0.5 * random.logistic(size=5000)), random.uniform(0.5, 6, 5000)
    >>> y = np.column_stack([np.minimum(times, ends), times <= ends])
    >>> model = PrivateSurvivalRegressor(epsilon=3.0, scale=0.5, bounds=(-1, 1), random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(model.coef_ - [0.8, -0.5]) < 0.2), bool(model.score(X, y) > 0.6)
    (True, True)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        scale: float = 1.0,
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
        self.scale = scale
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
        tags.target_tags.positive_only = True
        return tags

    def _model(self, features: JSON) -> LinearModel:
        return SurvivalRegression(**features, scale=self.scale)

    def _check_training(self, X: object, y: object, **options: object) -> tuple[Any, Values]:
        """Return checked X, and y as times and events."""
        if y is None:
            return PrivateLinearEstimator._check_training(self, X, y, **options)
        response = _times_and_events(y)
        features, times = super()._check_training(X, response[:, 0], **options)
        return features, np.column_stack([times, response[: len(times), 1]])

    def predict_survival(self, X: object, times: object) -> Floats:
        """Chance of lasting longer than each of some times; ``release_.predict_survival`` has intervals too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.
        times : array-like of shape (n_times,)
            Times, 0 or above.

        Returns
        -------
        chances : ndarray of shape (n_samples, n_times)
            One column per time.
        """
        return self._by_pieces(X, lambda rows: np.asarray(self.release_.predict_survival(rows, times)))

    def score(self, X: object, y: object) -> float:
        """Concordance: of the pairs of rows whose order is known, the share predicted in that order (ties count half).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. This is not private: score on public rows, or keep the number.
        y : array-like of shape (n_samples, 2)
            Times and events.

        Returns
        -------
        concordance : float
            0.5 is chance, 1 every pair.
        """
        return _concordance(_times_and_events(y), self.predict(X))


def _times_and_events(y: Any) -> Values:
    """Return y in two columns."""
    array = np.asarray(y)
    if array.dtype.names is not None and len(array.dtype.names) == 2:
        fields = [array[name] for name in array.dtype.names]
        flags = [place for place, field in enumerate(fields) if field.dtype == bool]
        if len(flags) != 1:
            raise DomainError("y: of two fields one must be truth values, the events, and the other times")
        return np.column_stack([fields[1 - flags[0]], fields[flags[0]]])
    if array.ndim == 2 and array.shape[1] == 2:
        return array
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise DomainError("y: must be times and events in two columns, or times alone")
    column = column_or_1d(array, warn=True)
    return np.column_stack([column, np.ones(len(column))])


def _concordance(y: Values, predicted: Floats) -> float:
    times, events = y[:, 0].astype(np.float64), y[:, 1].astype(np.float64) > 0
    known = right = 0.0
    for first in range(0, len(times), AT_ONCE):
        own = slice(first, first + AT_ONCE)
        later = (times[own, None] < times[None]) & events[own, None]
        apart = np.sign(predicted[None] - predicted[own, None])
        known += later.sum()
        right += (later * (1 + apart) / 2).sum()
    return float(right / known) if known else 0.5
