"""Private ordinal regression for scikit-learn."""

from __future__ import annotations

from gibbsafe._types import JSON, Floats
from gibbsafe.estimators.outcomes import PrivateOutcomeClassifier, as_listed
from gibbsafe.models import OrdinalRegression
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PrivateOrdinalClassifier"]


class PrivateOrdinalClassifier(PrivateOutcomeClassifier):
    """Cumulative logit regression of three or more declared, ordered levels whose `fit` satisfies (ε, δ)-differential privacy.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        The budget of one `fit`.
    levels : sequence, default=(0, 1, 2)
        The labels, three or more, in their order, declared and not read from ``y``; other labels are refused. ``classes_`` and
        the columns of `predict_proba` keep this order.
    thresholds : sequence of float, default=None
        Public guess of where the thresholds lie for a row in the middle of its bounds, increasing.
    gap : float, default=None
        The least distance of two thresholds; see `gibbsafe.models.OrdinalRegression`.
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
    coef_ : ndarray of shape (n_features,)
        Coefficients in the user's units, averaged over the draws: positive ones mean higher levels.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds.
    classes_ : ndarray of shape (n_classes,)
        The declared levels, from the lowest up.
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
    >>> from gibbsafe.estimators import PrivateOrdinalClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (5000, 2))
    >>> y = np.digitize(X @ [2.0, -1.0] + random.logistic(size=5000), [-1.0, 1.0])
    >>> model = PrivateOrdinalClassifier(epsilon=3.0, bounds=(-1, 1), random_state=0).fit(X, y)
    >>> bool(np.linalg.norm(model.coef_ - [2.0, -1.0]) < 0.3), model.classes_.tolist()
    (True, [0, 1, 2])
    """

    fit_intercept = True  # thresholds stand in its place

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        levels: object = (0, 1, 2),
        thresholds: object = None,
        gap: float | None = None,
        bounds: object = None,
        row_norm: float | None = None,
        radius: float | None = None,
        columns: object = None,
        groups: object = None,
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
        self.levels = levels
        self.thresholds = thresholds
        self.gap = gap
        self.bounds = bounds
        self.row_norm = row_norm
        self.radius = radius
        self.columns = columns
        self.groups = groups
        self.prior_radius = prior_radius
        self.purpose = purpose
        self.uncertainty = uncertainty
        self.draws = draws
        self.adjacency = adjacency
        self.ledger = ledger
        self.random_state = random_state

    def _model(self, features: JSON) -> LinearModel:
        guess = None if self.thresholds is None else tuple(as_listed("thresholds", self.thresholds))
        return OrdinalRegression(**features, levels=self._outcomes(), thresholds=guess, gap=self.gap)  # type: ignore[arg-type]

    def _outcomes(self) -> tuple[object, ...]:
        return tuple(as_listed("levels", self.levels))

    def _keep(self, estimate: Floats) -> None:
        self.coef_ = estimate[: self._coefficients()]
        self.thresholds_ = estimate[self._coefficients() :]
