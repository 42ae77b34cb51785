"""Private regression of counts for scikit-learn."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from gibbsafe._types import JSON
from gibbsafe.estimators.base import PrivateLinearRegressor, declared
from gibbsafe.models import CountRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateCountRegressor"]


class PrivateCountRegressor(RegressorMixin, PrivateLinearRegressor):
    """Negative binomial regression of counts whose `fit` satisfies (ε, δ)-differential privacy; predictions are mean counts.

    Counts above the declared cap are clipped; what is no count, negative or fractional, is refused. For counts over exposures
    use `gibbsafe.models.CountRegression` itself, or a study.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    cap : int, default=None
        The largest count that matters, public. It must be declared: every unit of it costs privacy.
    dispersion : float, default=1.0
        Public size r of the negative binomial: a count of mean μ has variance μ + μ²/r.
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
    >>> from gibbsafe.estimators import PrivateCountRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (5000, 2))
    >>> y = random.negative_binomial(2, 2 / (2 + np.exp(X @ [0.8, -0.4])))
    >>> model = PrivateCountRegressor(epsilon=3.0, cap=8, dispersion=2.0, bounds=(-1, 1), random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(model.coef_ - [0.8, -0.4]) < 0.3)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        cap: int | None = None,
        dispersion: float = 1.0,
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
        self.cap = cap
        self.dispersion = dispersion
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
        cap = declared(self.cap, "cap", "the largest count that matters")
        return CountRegression(**features, cap=cap, dispersion=self.dispersion)
