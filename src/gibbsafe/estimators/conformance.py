"""Which of scikit-learn's own checks a private estimator cannot pass, and why."""

from __future__ import annotations

from sklearn.base import BaseEstimator, is_classifier, is_regressor

from gibbsafe.estimators.base import PrivateLinearEstimator
from gibbsafe.estimators.counts import PrivateCountRegressor
from gibbsafe.estimators.outcomes import PrivateOutcomeClassifier

__all__ = ["DECLARED_CLASSES", "DECLARED_OUTCOMES", "TOO_FEW_ROWS", "WHOLE_NUMBERS", "expected_failed_checks"]

_OTHER_LABELS = "trains on the labels 1 and 2, but which labels occur is private: classes are declared and not read from y"

#: Checks of classifiers that train on labels other than the declared 0 and 1.
DECLARED_CLASSES = {
    "check_estimators_dtypes": _OTHER_LABELS,
    "check_fit2d_1feature": _OTHER_LABELS,
    "check_classifier_data_not_an_array": _OTHER_LABELS,
    "check_classifiers_classes": "trains on 'one' and 'two' and then on -1 and 1, but classes are declared and not read from y",
}

_LABEL_3 = "trains on the label 3 as well, but classes are declared and not read from y"

#: Checks of classifiers of three declared classes or more, which are 0, 1 and 2 unless others are declared.
DECLARED_OUTCOMES = {
    "check_classifiers_classes": "trains on text labels, but classes are declared and not read from y",
    "check_dtype_object": _LABEL_3,
    "check_estimator_sparse_array": _LABEL_3,
    "check_estimator_sparse_matrix": _LABEL_3,
    "check_classifiers_train": "trains on two of the three declared classes and then asks for two columns of probabilities",
}

#: Checks that ask for accuracy on so few rows that the noise of a small ε may hide it: they pass at ε = 100.
TOO_FEW_ROWS = {
    "check_classifiers_one_label": "asks ten rows of one label to be predicted without error: at a small ε ten rows say little",
    "check_classifiers_train": "asks for an accuracy of 0.83 from 200 rows, which a small ε does not promise",
    "check_regressors_train": "asks for R² above 0.5 from 200 rows of ten features, which a small ε does not promise",
}

_FRACTIONS = "trains on fractional responses, which are no counts and are refused"

#: Checks of regressors of counts.
WHOLE_NUMBERS = dict.fromkeys(
    (
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_regressor_data_not_an_array",
        "check_regressors_no_decision_function",
        "check_regressors_train",
    ),
    _FRACTIONS,
)


def expected_failed_checks(estimator: BaseEstimator) -> dict[str, str]:
    """Return the checks that ``estimator`` may fail because it is private, each with its reason.

    For the argument of the same name of `sklearn.utils.estimator_checks.check_estimator`.

    >>> from gibbsafe.estimators import PrivateHuberRegressor, PublicScaler
    >>> list(expected_failed_checks(PrivateHuberRegressor(epsilon=1.0)))
    ['check_regressors_train']
    >>> expected_failed_checks(PrivateHuberRegressor(epsilon=100.0)), expected_failed_checks(PublicScaler((0, 1)))
    ({}, {})
    """
    if not isinstance(estimator, PrivateLinearEstimator):
        return {}
    expected = dict(DECLARED_CLASSES) if is_classifier(estimator) else {}
    expected |= WHOLE_NUMBERS if isinstance(estimator, PrivateCountRegressor) else {}
    if isinstance(estimator, PrivateOutcomeClassifier):
        expected = dict(DECLARED_OUTCOMES)
    if estimator.epsilon < 100:
        ours = "check_regressors" if is_regressor(estimator) else "check_classifiers"
        expected = {name: reason for name, reason in TOO_FEW_ROWS.items() if name.startswith(ours)} | expected
    return expected
