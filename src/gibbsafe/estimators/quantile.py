"""Private quantile regression for scikit-learn."""

from __future__ import annotations

import math

from sklearn.base import RegressorMixin

from gibbsafe._types import JSON
from gibbsafe.estimators.base import PrivateLinearRegressor
from gibbsafe.losses.base import Loss
from gibbsafe.models import SoftQuantileRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateQuantileRegressor"]


class PrivateQuantileRegressor(RegressorMixin, PrivateLinearRegressor):
    """Linear regression of a conditional quantile whose `fit` satisfies (ε, δ)-differential privacy.

    The pinball loss of the τ-quantile is smoothed over a public width. Its slope is at most max(τ, 1 − τ) whatever the response
    is, so responses need no bound.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    quantile : float, default=0.5
        The quantile τ to predict, between 0 and 1; 0.5 is the median.
    width : float, default=None
        Public smoothing width in units of the response: small against a typical residual (a quarter of `scale`).
    scale : float, default=1.0
        Public guess of the spread of the response, the unit of the default prior radius, chosen without looking at the data.
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
        that of `gibbsafe.plan`, less where the number of rows is large enough to find parameters of any size in stages.
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
        Coefficients in the user's units, averaged over the draws.
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
    >>> from gibbsafe.estimators import PrivateQuantileRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (20_000, 2))
    >>> y = X @ [1.0, -2.0] + random.standard_t(2, 20_000)
    >>> model = PrivateQuantileRegressor(epsilon=1.0, quantile=0.9, bounds=(-1, 1), random_state=0).fit(X, y)
    >>> bool(abs(np.mean(y <= model.predict(X)) - 0.9) < 0.02)
    True
    """

    _outweigh = 200.0

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        quantile: float = 0.5,
        width: float | None = None,
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
        self.quantile = quantile
        self.width = width
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

    def _model(self, features: JSON) -> LinearModel:
        return SoftQuantileRegression(**features, quantile=self.quantile, width=self.width, scale=self.scale)

    def _typical_slope(self, loss: Loss) -> float:
        """Return the standard deviation √(τ(1 − τ)) of the slope at the quantile: far quantiles have little curvature."""
        return math.sqrt(self.quantile * (1 - self.quantile))
