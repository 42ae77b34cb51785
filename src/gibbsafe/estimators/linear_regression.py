"""Private least squares for scikit-learn."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from gibbsafe._types import JSON
from gibbsafe.estimators.base import PrivateLinearRegressor, declared
from gibbsafe.estimators.inputs import pair
from gibbsafe.models import LinearRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateLinearRegression"]


class PrivateLinearRegression(RegressorMixin, PrivateLinearRegressor):
    """Least squares on a parameter ball whose `fit` satisfies (ε, δ)-differential privacy.

    The squared loss is Lipschitz only where both the response and the parameters are bounded, so both bounds are declared. Where
    no bound on the response is at hand, or where it is loose, use `PrivateHuberRegressor`.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    response_bounds : pair
        Public (low, high) of the response; responses are clipped to it. Required.
    parameter_radius : float, default=None
        Public bound on the norm of the parameters in scaled units (rows, intercept included, of norm at most 1, response
        measured from the middle of its bounds). Default: √d times half the width of `response_bounds`, d the number of
        parameters, with which rows that spread evenly can predict every response within the bounds.
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
    draws : int, default=1
        Number of draws that share the budget.
    adjacency : {"replace-one", "add-remove"}, default="replace-one"
        What a neighbouring data set is. Under replace-one the number of rows is public; add-remove is refused, since the steps
        of the sampler depend on the number of rows.
    ledger : str, default=None
        Account to charge, like ``ledger.db#clinic``, the same for every clone. Every fit is a charge of its own.
    random_state : int, numpy Generator or RandomState, default=None
        None is secure randomness. A seed is for tests: who knows it can undo the noise, and the certificate says so.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients in the user's units, averaged over the draws.
    intercept_ : float
        Intercept.
    plan_ : gibbsafe.Plan
        Everything that was fixed before the data were read.
    release_ : gibbsafe.Release
        Draws and certificate; save it, verify it, ask it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``X`` has them.

    Examples
    --------
    >>> import numpy as np
    >>> from gibbsafe.estimators import PrivateLinearRegression
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (20_000, 2))
    >>> y = X @ [1.0, -2.0] + random.normal(size=20_000)
    >>> model = PrivateLinearRegression(epsilon=1.0, response_bounds=(-5, 5), bounds=(-1, 1), random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(model.coef_ - [1.0, -2.0]) < 0.5)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        response_bounds: object = None,
        parameter_radius: float | None = None,
        bounds: object = None,
        row_norm: float | None = None,
        radius: float | None = None,
        columns: object = None,
        groups: object = None,
        fit_intercept: bool = True,
        prior_radius: float | None = None,
        purpose: str = "estimate",
        draws: int = 1,
        adjacency: str = "replace-one",
        ledger: str | None = None,
        random_state: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.response_bounds = response_bounds
        self.parameter_radius = parameter_radius
        self.bounds = bounds
        self.row_norm = row_norm
        self.radius = radius
        self.columns = columns
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.prior_radius = prior_radius
        self.purpose = purpose
        self.draws = draws
        self.adjacency = adjacency
        self.ledger = ledger
        self.random_state = random_state

    def _model(self, features: JSON) -> LinearModel:
        why = "a public (low, high) pair: the squared loss of an unbounded response has no finite slope"
        low, high = pair("response_bounds", declared(self.response_bounds, "response_bounds", why))
        return LinearRegression(**features, response_bounds=(low, high), parameter_radius=self.parameter_radius)
