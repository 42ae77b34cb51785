"""Declared columns and sparse rows: the estimators' own ways in, beside the model's."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import gibbsafe as gs
from gibbsafe.data.census import Unit
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.stream import encode_records
from gibbsafe.estimators import PrivateHuberRegressor, PrivateLogisticRegression, PrivateSurvivalRegressor

COLUMNS = {"age": (0, 100), "ward": ["a", "b", "c"]}


def patients(n=3000, seed=0):
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"age": random.uniform(0, 100, n), "ward": random.choice(["a", "b", "c"], n)})
    score = 0.03 * (table["age"] - 50) + table["ward"].map({"a": 0.0, "b": 1.0, "c": -1.0})
    return table, (random.random(n) < 1 / (1 + np.exp(-score))).astype(int).to_numpy()


def test_tables_with_categories_are_fitted_as_the_model_declares_them():
    table, y = patients()
    fitted = PrivateLogisticRegression(3.0, columns=COLUMNS, random_state=0).fit(table, y)
    assert fitted.n_features_in_ == 2
    assert fitted.coef_.shape == (1, 4)
    assert fitted.plan_.model.parameter_names == ("age", "ward=a", "ward=b", "ward=c", "intercept")
    assert fitted.score(table, y) > 0.65
    model = gs.models.LogisticRegression(
        dimension=4,
        columns=(gs.domains.Column("age", bounds=(0, 100)), gs.domains.Column("ward", kind="category", levels=("a", "b", "c"))),
    )
    plan = gs.plan(model, gs.Budget(3.0, 1e-6), n=3000, adjacency="replace-one", purpose="estimate")
    by_hand = plan.release((table, y), generator=np.random.default_rng(0), progress=False)
    np.testing.assert_array_equal(fitted.release_.draws, by_hand.draws)
    by_place = PrivateLogisticRegression(3.0, columns=COLUMNS, random_state=0).fit(table.to_numpy(dtype=object), y)
    np.testing.assert_array_equal(by_place.coef_, fitted.coef_)
    np.testing.assert_array_equal(by_place.predict_proba(table.to_numpy(dtype=object)), fitted.predict_proba(table))


def test_a_study_and_declared_columns_declare_the_same():
    table, y = patients(400)
    listed = (gs.domains.Column("age", bounds=(0, 100)), gs.domains.Column("ward", kind="category", levels=("a", "b", "c")))
    study = gs.Study.from_dict(
        {
            "model": {"name": "LogisticRegression"},
            "columns": {"age": {"bounds": [0, 100]}, "ward": {"levels": ["a", "b", "c"]}},
            "target": {"name": "ill", "labels": [0, 1]},
            "budget": {"epsilon": 1.0, "delta": 1e-6},
            "n": 400,
            "adjacency": "replace-one",
        }
    )
    forms = (COLUMNS, listed, study, {"age": {"bounds": (0, 100)}, "ward": {"levels": ("a", "b", "c")}})
    draws = [PrivateLogisticRegression(columns=form, random_state=0).fit(table, y).release_.draws for form in forms]
    for each in draws[1:]:
        np.testing.assert_array_equal(each, draws[0])


def test_groups_are_handed_on_and_clones_keep_them():
    table, y = patients(400)
    pooled = clone(PrivateLogisticRegression(columns=COLUMNS, groups={"ward": 16}, random_state=0)).fit(table, y)
    assert pooled.plan_.model.groups == (("ward", 16.0),)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": 3}, "columns = 3"),
        ({"columns": {"age": 7, "ward": ["a"]}}, "columns, age = 7"),
        ({"columns": COLUMNS, "bounds": (0, 1)}, "left out when columns are declared"),
        ({"columns": COLUMNS, "radius": 1.0}, "left out when bounds or columns are declared"),
        ({"columns": COLUMNS, "groups": {"street": 1}}, "groups = 'street'"),
        ({"bounds": (0, 1), "groups": {"ward": 1}}, "groups"),
        ({"columns": {"age": (0, 100), "street": ["x"]}}, "'street'"),
        ({"columns": {"age": (0, 100), "ward": ["a", "b"]}}, "ward"),
    ],
    ids=str,
)
def test_bad_declarations_are_refused_in_one_line(options, words):
    table, y = patients(50)
    rows = table if "columns" in options else np.zeros((50, 2))
    with pytest.raises(gs.GibbsafeError) as refusal:
        PrivateLogisticRegression(**options).fit(rows, y)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_array_of_another_width_is_refused():
    with pytest.raises(gs.GibbsafeError, match="declared columns"):
        PrivateLogisticRegression(columns=COLUMNS).fit(np.zeros((5, 3)), np.zeros(5))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_rows_are_fitted_and_predicted_as_dense_ones(form):
    random = np.random.default_rng(1)
    X = random.uniform(-1, 1, (500, 6)) * (random.random((500, 6)) < 0.3)
    y = X[:, 0] - X[:, 1] + 0.1 * random.standard_normal(500)
    dense, sparse = (PrivateHuberRegressor(5.0, bounds=(-1, 1), random_state=0).fit(rows, y) for rows in (X, form(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
    np.testing.assert_allclose(sparse.predict(form(X)), dense.predict(X), atol=1e-9)


def test_sparse_rows_are_dense_in_pieces_only(monkeypatch):
    """100,000 × 50 numbers are 40 MB; no piece has more than the share of the memory limit that it may take."""
    model = gs.models.LogisticRegression(dimension=50)
    X, y = sp.random_array((100_000, 50), density=0.01, format="csr", rng=np.random.default_rng(0)), np.zeros(100_000)
    y[::2] = 1
    seen, encode = [], type(model).encode
    monkeypatch.setattr(
        type(model), "encode", lambda self, data, options: seen.append(data[0].shape) or encode(self, data, options)
    )
    blocks = encode_records(model, (X, y), EncodingOptions(), unit=Unit(n=100_000), memory=16 * 2**20)
    assert blocks.n_rows == 100_000
    assert max(rows for rows, _ in seen) * 50 * 8 <= 16 * 2**20 / 128
    with pytest.raises(gs.DomainError, match="not of the same number of rows"):
        encode_records(model, (X, y[:-1]), EncodingOptions(), unit=Unit(n=100_000))


def test_persons_are_counted_over_sparse_pieces():
    model = gs.models.LogisticRegression(dimension=2)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=20, adjacency="replace-one", purpose="estimate", rows_per_person=2)
    X, y = np.linspace(-1, 1, 80).reshape(40, 2) / 2, np.arange(40) % 2
    persons = np.repeat(np.arange(20), 2)
    made = [
        plan.release((rows, y), persons=persons, generator=np.random.default_rng(0), progress=False).draws
        for rows in (X, sp.csr_array(X))
    ]
    np.testing.assert_allclose(made[0], made[1], atol=1e-9)


def times(n=1500, seed=3):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, 2))
    t, ends = np.exp(X @ [0.8, -0.5] + 0.5 * random.logistic(size=n)), random.uniform(0.5, 6, n)
    return X, np.minimum(t, ends), t <= ends


def test_times_are_read_in_two_columns_or_two_fields():
    X, time, event = times()
    fields = np.zeros(len(time), dtype=[("event", bool), ("time", float)])
    fields["event"], fields["time"] = event, time
    forms = np.column_stack([time, event]), fields, pd.DataFrame({"time": time, "event": event.astype(float)})
    fits = [PrivateSurvivalRegressor(3.0, scale=0.5, bounds=(-1, 1), random_state=0).fit(X, y) for y in forms]
    for fitted in fits[1:]:
        np.testing.assert_array_equal(fitted.coef_, fits[0].coef_)
    assert fits[0].score(X, forms[0]) == fits[0].score(X, fields) > 0.6
    curves = fits[0].predict_survival(X[:3], [0.5, 1.0, 2.0])
    assert curves.shape == (3, 3)
    assert (np.diff(curves, axis=1) < 0).all()


def test_concordance_is_counted_over_known_pairs():
    """By hand: of (1, event), (2, censored), (3, event) the first is known to be before both, and no other pair is known."""
    X, time, event = times(400)
    fitted = PrivateSurvivalRegressor(3.0, scale=0.5, bounds=(-1, 1), random_state=0).fit(X, np.column_stack([time, event]))
    order = np.argsort(fitted.predict(X))[[10, 100, 300]]
    y = np.array([[1.0, 1], [2.0, 0], [3.0, 1]])
    assert fitted.score(X[order], y) == 1.0
    assert fitted.score(X[order[::-1]], y) == 0.0
    assert fitted.score(X[order[[1, 0, 2]]], y) == 0.5


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros((10, 3)), "two columns"),
        (np.zeros(10), "not above 0"),
        (np.column_stack([np.ones(10), np.full(10, 2.0)]), "label"),
        (np.zeros(10, dtype=[("a", float), ("b", float)]), "truth values"),
    ],
)
def test_bad_times_and_events_are_refused_in_one_line(y, words):
    with pytest.raises(gs.DomainError, match=words) as refusal:
        PrivateSurvivalRegressor(bounds=(-1, 1)).fit(np.zeros((10, 1)), y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["PrivateMultinomialClassifier", "PrivateOrdinalClassifier"])
def test_classifiers_of_several_outcomes_take_declared_columns_and_sparse_rows(name):
    rng, classifier = np.random.default_rng(0), getattr(gs.estimators, name)
    table = pd.DataFrame({"age": rng.uniform(0, 100, 300), "ward": rng.choice(["a", "b", "c"], 300)})
    y = rng.integers(0, 3, 300)
    fitted = classifier(3.0, columns=COLUMNS, groups={"ward": 16}, random_state=0).fit(table, y)
    assert fitted.coef_.shape[-1] == 4
    assert fitted.predict_proba(table[:5]).shape == (5, 3)
    rows = rng.uniform(-1, 1, (300, 3)) * (rng.random((300, 3)) < 0.3)
    dense = classifier(3.0, bounds=(-1, 1), random_state=0).fit(rows, y)
    sparse = classifier(3.0, bounds=(-1, 1), random_state=0).fit(sp.csr_array(rows), y)
    np.testing.assert_array_equal(sparse.release_.draws, dense.release_.draws)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(rows)), dense.predict_proba(rows))
