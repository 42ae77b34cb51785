"""scikit-learn estimators over plan and release: a budget in the constructor, a certificate after `fit`.

Needs scikit-learn 1.6 or newer (``gibbsafe[sklearn]``), which the rest of the package never imports.
"""
# ruff: noqa: E402 - one line of refusal comes before what scikit-learn would say

from gibbsafe._extras import require_extra

require_extra("sklearn", "gibbsafe.estimators")

from gibbsafe.estimators.conformance import expected_failed_checks
from gibbsafe.estimators.counts import PrivateCountRegressor
from gibbsafe.estimators.huber import PrivateHuberRegressor
from gibbsafe.estimators.linear_regression import PrivateLinearRegression
from gibbsafe.estimators.logistic_regression import PrivateLogisticRegression
from gibbsafe.estimators.multinomial import PrivateMultinomialClassifier
from gibbsafe.estimators.ordinal import PrivateOrdinalClassifier
from gibbsafe.estimators.public_scaler import PublicScaler
from gibbsafe.estimators.quantile import PrivateQuantileRegressor
from gibbsafe.estimators.searches import SearchPrice, price_search
from gibbsafe.estimators.survival import PrivateSurvivalRegressor

__all__ = [
    "PrivateCountRegressor",
    "PrivateHuberRegressor",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateMultinomialClassifier",
    "PrivateOrdinalClassifier",
    "PrivateQuantileRegressor",
    "PrivateSurvivalRegressor",
    "PublicScaler",
    "SearchPrice",
    "expected_failed_checks",
    "price_search",
]
