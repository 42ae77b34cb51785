"""Estimators are plan and release in scikit-learn's clothes: same draws, same refusals, nothing learned on the side."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gibbsafe as gs
from gibbsafe.estimators import (
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
    PublicScaler,
)

CLASSES = [PrivateLogisticRegression, PrivateHuberRegressor, PrivateQuantileRegressor, PrivateLinearRegression]


def make(cls, *args, **options):
    if cls is PrivateLinearRegression:
        options = {"response_bounds": (-5, 5)} | options
    if "bounds" not in options:
        options = {"radius": 1.0} | options
    return cls(*args, **options)


def records(cls, n=300, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, d))
    y = X @ np.arange(1.0, d + 1) + random.normal(size=n)
    return X, (y > 0).astype(int) if cls is PrivateLogisticRegression else y


# -- plan and release ------------------------------------------------------------------------------------------------


def test_fit_is_the_release_of_the_plan_it_shows():
    X, y = records(PrivateLogisticRegression)
    estimator = PrivateLogisticRegression(2.0, 1e-5, bounds=[(-1, 1), (-2, 2), (-1, 3)], row_norm=1.2, random_state=5).fit(X, y)
    model = gs.models.LogisticRegression(dimension=3, bounds=[(-1, 1), (-2, 2), (-1, 3)], row_norm=1.2, labels=(0, 1))
    plan = gs.plan(model, gs.Budget(2.0, 1e-5), n=300, adjacency="replace-one", purpose="estimate")
    assert estimator.plan_ == plan
    release = plan.release((X, y), generator=np.random.default_rng(5))
    np.testing.assert_array_equal(np.append(estimator.coef_[0], estimator.intercept_), release.draws[0])
    np.testing.assert_allclose(estimator.predict_proba(X), release.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("cls", CLASSES)
def test_the_release_verifies_and_says_how_it_was_made(cls, tmp_path):
    X, y = records(cls)
    estimator = make(cls, random_state=1).fit(X, y)
    estimator.release_.save(tmp_path / "r.json")
    certificate = gs.verify(tmp_path / "r.json")
    assert certificate["randomness"] == "seeded"
    assert certificate["purpose"] == "estimate"
    assert certificate["budget"] == {"epsilon": 1.0, "delta": 1e-6}
    assert make(cls).fit(X, y).release_.certificate["randomness"] == "secure"


@pytest.mark.parametrize("cls", CLASSES)
def test_secure_fits_differ_and_seeded_ones_do_not(cls):
    X, y = records(cls)
    fits = [make(cls, random_state=seed).fit(X, y).coef_ for seed in (None, None, 3, 3, np.random.default_rng(3))]
    assert not np.array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[2], fits[3])
    np.testing.assert_array_equal(fits[2], fits[4])
    assert make(cls, random_state=np.random.RandomState(0)).fit(X, y).release_.certificate["randomness"] == "seeded"


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_predictions_are_the_linear_predictor_of_clipped_rows(cls, fit_intercept):
    X, y = records(cls)
    estimator = make(cls, radius=0.5, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    clipped = X * np.minimum(1, 0.5 / np.linalg.norm(X, axis=1))[:, None]
    predictor = clipped @ np.ravel(estimator.coef_) + estimator.intercept_
    found = estimator.decision_function(X) if cls is PrivateLogisticRegression else estimator.predict(X)
    np.testing.assert_allclose(found, predictor, rtol=1e-5, atol=1e-5)
    assert fit_intercept or not np.any(estimator.intercept_)


def test_probabilities_are_averaged_over_draws():
    X, y = records(PrivateLogisticRegression)
    estimator = PrivateLogisticRegression(5.0, purpose="posterior", draws=40, bounds=(-1, 1), random_state=0).fit(X, y)
    draws = estimator.release_.draws
    positive = expit(X @ draws[:, :3].T + draws[:, 3]).mean(axis=1)
    np.testing.assert_allclose(estimator.predict_proba(X)[:, 1], positive, rtol=1e-5)
    np.testing.assert_allclose(estimator.coef_[0], draws[:, :3].mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(estimator.predict(X), (positive > 0.5).astype(int))
    np.testing.assert_allclose(np.exp(estimator.predict_log_proba(X)), estimator.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("cls", CLASSES[:3])
def test_intervals_come_when_asked_for(cls):
    X, y = records(cls, 2000)
    estimator = make(cls, bounds=(-1, 1), uncertainty=0.4, random_state=1)
    assert not hasattr(estimator, "intervals_")
    estimator.fit(X, y)
    assert sum((estimator.plan_.scores.moment, estimator.plan_.scores.facts, estimator.plan_.scores.point)) == pytest.approx(0.4)
    assert estimator.intervals_.names == estimator.population_.names == ("x0", "x1", "x2", "intercept")
    assert estimator.intervals_.covers(estimator.population_.mean).all()
    assert np.ravel(estimator.coef_) == pytest.approx(estimator.release_.draws[0, :3])
    assert make(cls, bounds=(-1, 1), uncertainty=0).fit(X, y).plan_.scores.point == 0


def test_number_of_rows_is_private_under_add_remove():
    X, y = records(PrivateLogisticRegression)
    estimator = PrivateLogisticRegression(radius=1.0, adjacency="add-remove", random_state=0)
    plans = [clone(estimator).fit(X[:n], y[:n]).plan_ for n in (300, 17, 0)]
    assert plans[0].n is None
    assert plans[0] == plans[1] == plans[2]
    with pytest.raises(gs.DomainError, match="0 sample"):
        PrivateLogisticRegression(radius=1.0).fit(X[:0], y[:0])


@pytest.mark.parametrize("cls", CLASSES)
def test_rows_without_declared_bounds_are_refused_not_clipped_unasked(cls):
    X, y = records(cls)
    with pytest.raises(gs.ParameterError, match="bounds = None: public bounds must be declared"):
        make(cls, radius=None).fit(X, y)


@pytest.mark.parametrize("cls", CLASSES)
def test_everything_inside_the_domain_is_released(cls):
    for X, y in [(np.zeros((5, 2)), np.zeros(5)), (np.full((5, 2), 1e300), np.ones(5)), (np.eye(2)[:1], np.ones(1))]:
        assert np.isfinite(make(cls).fit(X, y).coef_).all()
    if cls in (PrivateHuberRegressor, PrivateQuantileRegressor):
        assert np.isfinite(cls(radius=1.0).fit(np.eye(3), [1e300, -1e300, 1e6]).coef_).all()


# -- the conventions of scikit-learn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_clone_and_pickle(cls):
    X, y = records(cls)
    estimator = make(cls, 2.0, bounds=(-1, 1), random_state=0).fit(X, y)
    assert clone(estimator).get_params() == estimator.get_params()
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    with pytest.raises(gs.GibbsafeError, match="only in the process that sampled"):
        _ = again.release_.curator_diagnostics


def test_feature_names_reach_the_release():
    X, y = records(PrivateHuberRegressor, d=2)
    table = pd.DataFrame(X, columns=["age", "income"])
    estimator = PrivateHuberRegressor(radius=1.0, random_state=0).fit(table, y)
    assert estimator.release_.parameters == ("age", "income", "intercept")
    assert list(estimator.feature_names_in_) == ["age", "income"]
    with pytest.raises(gs.DomainError, match="feature names should match"):
        estimator.predict(table.rename(columns={"age": "years"}))


@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no"), np.array(["no", "yes"]), (False, True), (-1, 1), (0.5, 1.5)])
def test_declared_classes_come_back_sorted(classes):
    X, y = records(PrivateLogisticRegression)
    labels = np.sort(np.array(classes))
    estimator = PrivateLogisticRegression(50.0, classes=classes, bounds=(-1, 1), random_state=0).fit(X, labels[y])
    np.testing.assert_array_equal(estimator.classes_, labels)
    assert np.mean(estimator.predict(X) == labels[y]) > 0.8
    one = clone(estimator).fit(X, labels[np.zeros_like(y)])  # the other class need not occur
    np.testing.assert_array_equal(one.classes_, labels)


def test_pipeline_with_a_public_scaler_is_the_map_of_the_bounds():
    X, y = records(PrivateHuberRegressor)
    bounds = [(-1, 1), (-2, 2), (-1, 3)]
    piped = make_pipeline(PublicScaler(bounds), PrivateHuberRegressor(bounds=(-1, 1), random_state=0)).fit(X, y)
    direct = PrivateHuberRegressor(bounds=bounds, random_state=0).fit(X, y)
    np.testing.assert_allclose(piped.predict(X), direct.predict(X), rtol=1e-9)


def test_grid_search_runs_on_clones():
    X, y = records(PrivateLogisticRegression)
    estimator = PrivateLogisticRegression(10.0, radius=1.0, random_state=0)
    search = GridSearchCV(estimator, {"prior_radius": [2.0, 5.0]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["prior_radius"] in (2.0, 5.0)


def test_scikit_learn_is_imported_only_when_asked_for():
    probe = "import sys, gibbsafe as gs; assert 'sklearn' not in sys.modules; print(gs.estimators.PublicScaler((0, 1)))"
    assert "PublicScaler" in subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout


# -- PublicScaler ----------------------------------------------------------------------------------------------------


def test_public_scaler_maps_clips_and_returns():
    scaler = PublicScaler([(0, 10), (-1, 3)])
    X = np.array([[2.5, 1.0], [20.0, -9.0]])
    np.testing.assert_allclose(scaler.transform(X), [[-0.5, 0.0], [1.0, -1.0]])  # stateless: needs no fit
    np.testing.assert_allclose(scaler.inverse_transform(scaler.fit_transform(X)), [[2.5, 1.0], [10.0, -1.0]])
    assert list(scaler.fit(pd.DataFrame(X, columns=["a", "b"])).get_feature_names_out()) == ["a", "b"]
    assert set(vars(scaler)) == {"bounds", "n_features_in_", "feature_names_in_"}


# -- refusals --------------------------------------------------------------------------------------------------------

BAD_OPTIONS = [
    (PrivateLogisticRegression, {"uncertainty": 1.0}, "uncertainty = 1.0"),
    (PrivateHuberRegressor, {"uncertainty": "much"}, "uncertainty = 'much'"),
    (PrivateLogisticRegression, {"epsilon": 0.0}, "epsilon"),
    (PrivateLogisticRegression, {"delta": 1.0}, "delta"),
    (PrivateLogisticRegression, {"classes": (0, 1, 2)}, "classes"),
    (PrivateLogisticRegression, {"classes": (1, 1)}, "labels"),
    (PrivateLogisticRegression, {"classes": (0, "a")}, "one type"),
    (PrivateLogisticRegression, {"bounds": [(-1, 1)]}, "one pair per feature"),
    (PrivateLogisticRegression, {"bounds": (1, -1)}, "low < high"),
    (PrivateLogisticRegression, {"bounds": 3}, "pair"),
    (PrivateLogisticRegression, {"bounds": [(1, 2, 3)] * 3}, "pair"),
    (PrivateLogisticRegression, {"bounds": (-1, 1), "radius": 1.0}, "radius"),
    (PrivateLogisticRegression, {"row_norm": 1.0}, "row_norm"),
    (PrivateLogisticRegression, {"radius": 0.0}, "radius"),
    (PrivateLogisticRegression, {"fit_intercept": "yes"}, "fit_intercept"),
    (PrivateLogisticRegression, {"purpose": "guess"}, "purpose"),
    (PrivateLogisticRegression, {"draws": 0}, "draws"),
    (PrivateLogisticRegression, {"adjacency": "swap"}, "adjacency"),
    (PrivateLogisticRegression, {"prior_radius": -1.0}, "prior_radius"),
    (PrivateLogisticRegression, {"random_state": "seed"}, "random_state"),
    (PrivateLogisticRegression, {"ledger": object()}, "charge one account"),
    (PrivateLogisticRegression, {"ledger": "sqlite:///missing/budget.db#study"}, "does not exist"),
    (PrivateHuberRegressor, {"width": 0.0}, "width"),
    (PrivateQuantileRegressor, {"quantile": 1.0}, "quantile"),
    (PrivateQuantileRegressor, {"width": -1.0}, "width"),
    (PrivateQuantileRegressor, {"scale": 0.0}, "scale"),
    (PrivateLinearRegression, {"response_bounds": None}, "must be declared"),
    (PrivateLinearRegression, {"response_bounds": (1, 0)}, "low < high"),
    (PrivateLinearRegression, {"response_bounds": 7}, "pair"),
    (PrivateLinearRegression, {"parameter_radius": 0.0}, "parameter_radius"),
    (PrivateLinearRegression, {"adjacency": "add-remove"}, "public number of records"),
]


@pytest.mark.parametrize(("cls", "options", "message"), BAD_OPTIONS)
def test_bad_options_are_stored_and_refused_by_fit_in_one_line(cls, options, message):
    estimator = make(cls, **options)
    with pytest.raises(gs.GibbsafeError, match=message) as caught:
        estimator.fit(*records(cls))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError) or message == "does not exist"


BAD_DATA = [
    ([[np.nan, 1.0]], [0], "NaN"),
    ([[np.inf, 1.0]], [0], "infinity"),
    (np.array([[1j, 1.0]]), [0], "Complex"),
    ([[{}, 1.0]], [0], "number"),
    ([1.0, 2.0], [0, 1], "Expected 2D array.*Reshape"),
    (np.zeros((0, 2)), [], "0 sample"),
    (np.zeros((2, 0)), [0, 1], "0 feature"),
    (np.zeros((2, 2)), [0, 1, 1], "inconsistent numbers of samples"),
    (np.zeros((2, 2)), [0, np.nan], "NaN"),
    (np.zeros((2, 2)), None, "requires y"),
    (np.zeros((2, 2)), [[0, 1], [1, 0]], "1d array"),
]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(("X", "y", "message"), BAD_DATA)
def test_bad_data_are_refused_in_one_line(cls, X, y, message):
    with pytest.raises(gs.DomainError, match=message) as caught:
        make(cls).fit(X, y)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 2], "a record is not one of the declared classes 0, 1$"),
        (["a", "b"], "declared classes"),
        ([0, 1, 2], "multiclass"),
        ([0.0, 0.3], "continuous"),
    ],
)
def test_undeclared_labels_are_refused(y, message):
    with pytest.raises(gs.DomainError, match=message):
        PrivateLogisticRegression(radius=1.0).fit(np.zeros((len(y), 2)), y)


def test_prediction_needs_a_fit_and_rows_of_its_form():
    X, y = records(PrivateHuberRegressor)
    with pytest.raises(NotFittedError):
        PrivateHuberRegressor().predict(X)
    with pytest.raises(gs.DomainError, match="2 features, but PrivateHuberRegressor is expecting 3"):
        PrivateHuberRegressor(radius=1.0).fit(X, y).predict(X[:, :2])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [(None, "must be declared"), ((2, 1), "low < high"), ([(0, 1)], "one pair per feature"), ("ab", "pair")],
)
def test_public_scaler_refuses_bounds(bounds, message):
    with pytest.raises(gs.ParameterError, match=message):
        PublicScaler(bounds).fit(np.zeros((2, 3)))


@pytest.mark.parametrize("cls", CLASSES)
def test_weights_of_records_are_refused_by_name(cls):
    """Before anything else is looked at, so nothing is charged; other arguments are a mistake of the caller as everywhere."""
    with pytest.raises(gs.ParameterError, match="sample_weight: refused, since a weight multiplies") as refusal:
        cls(radius=1.0).fit(np.zeros((3, 1)), np.zeros(3), sample_weight=np.ones(3))
    assert "\n" not in str(refusal.value)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        cls(radius=1.0).fit(np.zeros((3, 1)), np.zeros(3), weights=np.ones(3))
