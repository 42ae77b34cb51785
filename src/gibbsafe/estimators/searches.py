"""What a cross-validation or a search over parameters costs, before it starts: every fit is a release of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.pipeline import Pipeline

from gibbsafe._text import counted
from gibbsafe._types import JSON
from gibbsafe._validate import count, fail
from gibbsafe.errors import ParameterError
from gibbsafe.estimators.base import PrivateLinearEstimator
from gibbsafe.ledger import account
from gibbsafe.privacy import Adjacency, Guarantee
from gibbsafe.privacy.composition import compose

__all__ = ["SearchPrice", "price_search"]

#: Parameters that change what a fit costs.
PRICED = {"epsilon", "delta", "draws", "purpose", "adjacency", "ledger"}


@dataclass(frozen=True)
class SearchPrice:
    """What all fits of a search claim together.

    Attributes:
        fits: how many releases it makes, the last one on all rows included.
        guarantee: what they claim together; ask it ``.epsilon(delta)``.
        delta: δ of one fit, at which the price is printed.
        affordable: whether the account of the estimator has room for all of them; None without an account.
    """

    fits: int
    guarantee: Guarantee
    delta: float
    affordable: bool | None

    def __str__(self) -> str:
        told = {None: "", True: "; the account has room for it", False: "; the account has no room for it"}[self.affordable]
        priced = f"ε = {self.guarantee.epsilon(self.delta):.4g} at δ = {self.delta:g}"
        return f"{counted(self.fits, 'fit')}, together {priced}{told}"


def price_search(search: Any, *, rows: int, features: int) -> SearchPrice:
    """Return what fitting a search costs, without data: nothing is fitted and nothing is charged.

    Each record takes part in nearly every fit, so the fits compose: candidates times folds, and one more if the search refits
    its best. Scores and ``best_params_``, computed from private rows, are not covered at all: see docs/estimators.md.

    Args:
        search: `GridSearchCV`, `RandomizedSearchCV` or another search with ``cv``, around a private estimator or a pipeline
            that ends in one. A random search must not vary what a fit costs (ε, δ, draws, purpose).
        rows: the number of rows that it will be given.
        features: the number of columns that the private estimator will see, after a pipeline's other steps.

    >>> from sklearn.model_selection import GridSearchCV
    >>> from gibbsafe.estimators import PrivateLogisticRegression
    >>> search = GridSearchCV(PrivateLogisticRegression(epsilon=0.5, radius=1.0), {"prior_radius": [2, 5, 9, 20]}, cv=5)
    >>> print(price_search(search, rows=10_000, features=3))
    21 fits, together ε = 2.59... at δ = 1e-06
    """
    total, width = count("rows", rows), count("features", features)
    folds = check_cv(search.cv).get_n_splits(np.zeros((total, 1)), np.zeros(total))
    candidates, repeats = _candidates(search)
    in_fold = total - -(-total // folds)
    fits = [(_guarantee(search.estimator, each, in_fold, width), folds * repeats) for each in candidates]
    own = _private(search.estimator)
    if search.refit:  # of the best candidate, whichever that will be
        whole = [_guarantee(search.estimator, each, total, width) for each in candidates]
        fits.append((max(whole, key=lambda guarantee: guarantee.epsilon(own.delta)), 1))
    together = compose([guarantee.compose(times) for guarantee, times in fits])
    room = None if own.ledger is None else account(own.ledger).affords(together)
    return SearchPrice(sum(times for _, times in fits), together, own.delta, room)


def _candidates(search: Any) -> tuple[list[JSON], int]:
    """Return candidates that cost different things, and how many of each there are."""
    if hasattr(search, "param_grid"):
        return list(ParameterGrid(search.param_grid)), 1
    if not hasattr(search, "param_distributions"):
        fail("search", search, "a search of scikit-learn with param_grid or param_distributions")
    listed = search.param_distributions
    names = {name for each in (listed if isinstance(listed, list) else [listed]) for name in each}
    varied = sorted(name for name in names if name.rpartition("__")[2] in PRICED)
    if varied:
        raise ParameterError(f"{varied[0]}: varied at random, so the price is not known; search it by GridSearchCV")
    return [{}], count("n_iter", search.n_iter)


def _private(estimator: Any) -> PrivateLinearEstimator:
    """Return the private estimator, by itself or at the end of a pipeline."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, PrivateLinearEstimator):
        fail("search", type(last).__name__, "around an estimator of gibbsafe, or a pipeline that ends in one")
    return last


def _guarantee(estimator: Any, parameters: JSON, rows: int, features: int) -> Guarantee:
    """Return what one fit with these parameters claims."""
    chosen = _private(clone(estimator).set_params(**parameters))
    chosen.n_features_in_ = features
    known = Adjacency.of(chosen.adjacency) == Adjacency.REPLACE_ONE
    return chosen._plan(rows if known else None, chosen.prior_radius).guarantee
