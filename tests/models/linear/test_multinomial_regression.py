"""Multinomial regression: declared classes, units, both adjacencies, intervals that cover, real tables.

Coverage: six parameters of a release count as about four independent ones; of 16 such at a true coverage of 0.9, fewer than 0.6
are covered with probability 5e-4.
"""

import json
import math
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

import gibbsafe as gs
from gibbsafe.audit.transcripts import concentrated
from gibbsafe.data.options import EncodingOptions
from gibbsafe.domains.column import Column
from gibbsafe.samplers.noisy_scores import Records
from gibbsafe.study.declaration import Study

from ...audit.broken_transcripts import attack

DATA = Path(os.environ.get("GIBBSAFE_DATA", Path(__file__).parents[3] / "benchmarks" / "data"))
CLASSES = ("bus", "car", "train")
MODEL = gs.models.MultinomialRegression(
    dimension=2, bounds=((-1, 1),) * 2, classes=CLASSES, feature_names=("a", "b"), target="by"
)
TRUTH = np.array([1.5, -1.0, 0.5, -0.5, 1.0, 0.0])
N = 3000


def records(seed, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    scores = np.column_stack([np.zeros(n), np.column_stack([X, np.ones(n)]) @ TRUTH.reshape(2, 3).T])
    return X, np.array(CLASSES)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]


def estimate(seed=0, epsilon=2.0, adjacency="replace-one", **options):
    plan = gs.plan(MODEL, gs.Budget(epsilon, 1e-6), n=N, adjacency=adjacency, purpose="estimate", **options)
    return plan.release(records(seed), generator=np.random.default_rng(seed), progress=False)


@pytest.fixture(scope="module")
def one():
    return estimate()


def test_parameters_are_log_odds_against_the_first_class():
    X = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    by_hand = softmax(np.column_stack([np.zeros(20), np.column_stack([X, np.ones(20)]) @ TRUTH.reshape(2, 3).T]), axis=1)
    np.testing.assert_allclose(MODEL.predict_proba(X, TRUTH[None]), by_hand, atol=1e-12)
    assert (MODEL.predict(X, TRUTH[None]) == np.array(CLASSES)[by_hand.argmax(axis=1)]).all()
    np.testing.assert_allclose(MODEL.to_original(MODEL.from_original(TRUTH[None]))[0], TRUTH, atol=1e-12)
    assert MODEL.parameter_names == ("car: a", "car: b", "car: intercept", "train: a", "train: b", "train: intercept")


def test_offsets_of_bounds_belong_to_the_intercepts():
    moved = gs.models.MultinomialRegression(dimension=1, bounds=((10.0, 30.0),), classes=3)
    draws = np.array([[0.1, -1.0, -0.2, 3.0]])
    scores = np.array([[0.0, 0.1 * 25 - 1.0, -0.2 * 25 + 3.0]])
    np.testing.assert_allclose(moved.predict_proba([[25.0]], draws), softmax(scores, axis=1), atol=1e-12)
    np.testing.assert_allclose(moved.to_original(moved.from_original(draws)), draws)
    assert (moved.units.reach(draws) >= np.abs(moved.from_original(draws)) - 1e-12).all()


def test_no_class_is_preferred():
    """Scaled parameters of the same model with other classes first are as long: a prior and noise see no difference."""
    lengths = []
    for order in ((0, 1, 2), (2, 0, 1)):
        scores = np.vstack([np.zeros(3), TRUTH.reshape(2, 3)])[list(order)]
        draws = np.ravel(scores[1:] - scores[0])[None]
        lengths.append(float(np.linalg.norm(MODEL.from_original(draws))))
    assert lengths[0] == pytest.approx(lengths[1])


def test_intervals_cover():
    held = [estimate(seed, 1.0).population(192).interval(0.9).covers(TRUTH) for seed in range(4)]
    assert np.mean(held) >= 0.6


def test_both_adjacencies_and_rows_per_person(one, tmp_path):
    added = estimate(adjacency="add-remove")
    for name, made in (("one", one), ("added", added)):
        assert np.abs(made.draws[0] - TRUTH).max() < 0.6
        made.save(tmp_path / name)
        gs.verify(tmp_path / name)
        np.testing.assert_array_equal(gs.Release.load(tmp_path / name).draws, made.draws)
    plan = gs.plan(MODEL, gs.Budget(2.0, 1e-6), n=1000, adjacency="replace-one", purpose="estimate", rows_per_person=3)
    made = plan.release(records(2), persons=np.arange(N) // 3, generator=np.random.default_rng(3), progress=False)
    assert np.isfinite(made.draws).all()
    assert plan.inverse_temperature < one.plan.inverse_temperature / 8  # k² = 9, and rounding


def test_probabilities_have_intervals_and_simulation_follows_them(one):
    found = one.predict_proba([[0.5, -0.5], [-0.5, 0.5]], interval=0.9)
    assert found.probability.shape == (2, 3)
    assert ((found.lower <= found.probability) & (found.probability <= found.upper)).all()
    np.testing.assert_allclose(found.probability.sum(axis=1), 1)
    with pytest.raises(gs.GibbsafeError, match="ask predict_proba"):
        one.predict([[0.0, 0.0]], interval=0.9)
    drawn = one.simulate(2000, features=np.zeros((2000, 2)), generator=np.random.default_rng(0))
    shares = [np.mean(np.asarray(drawn.rows) == each) for each in CLASSES]
    np.testing.assert_allclose(shares, one.predict_proba([[0.0, 0.0]])[0], atol=0.06)


def test_draws_are_langevin_and_their_population_covers():
    plan = gs.plan(MODEL, gs.Budget(5.0, 1e-6), n=N, adjacency="replace-one", draws=12)
    assert (plan.sampler, plan.theorem.name) == ("langevin", "langevin-last-iterate")
    made = plan.release(records(4), generator=np.random.default_rng(4), progress=False)
    assert made.population(200).interval(0.99).covers(TRUTH).mean() >= 0.8


def test_what_is_not_there_is_refused_by_name():
    budget = gs.Budget(1.0, 1e-6)
    with pytest.raises(gs.PremiseError, match="use replace-one"):
        gs.plan(MODEL, budget, n=N, adjacency="add-remove")
    for sampler in ("shell", "proximal"):
        with pytest.raises(gs.PremiseError, match=f"sampler = '{sampler}'.*drawn by langevin"):
            gs.plan(MODEL, budget, n=N, adjacency="replace-one", sampler=sampler)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (("a", "b"), "at least three; use LogisticRegression"),
        (("a", "b", "b"), "different states"),
        ("abc", "a number of states, or a list"),
    ],
)
def test_bad_classes_are_refused_in_one_line(classes, words):
    with pytest.raises(gs.ParameterError, match=words) as refusal:
        gs.models.MultinomialRegression(dimension=1, classes=classes)
    assert "\n" not in str(refusal.value)


def test_an_undeclared_class_is_refused_before_any_charge():
    class Account:
        def charge(self, plan):
            raise AssertionError("charged")

    X, y = records(5)
    y[7] = "bike"
    plan = gs.plan(MODEL, gs.Budget(1.0, 1e-6), n=N, adjacency="replace-one", purpose="estimate")
    with pytest.raises(gs.DomainError, match="by: a record is not a declared class") as refusal:
        plan.release((X, y), ledger=Account())
    assert "bike" not in str(refusal.value)
    assert MODEL._encode_response(y, "replace")[7] == 0


def test_a_study_declares_it():
    study = {
        "n": N,
        "adjacency": "replace-one",
        "purpose": "estimate",
        "model": {"name": "MultinomialRegression"},
        "columns": {"a": {"bounds": [-1, 1]}, "b": {"bounds": [-1, 1]}},
        "target": {"name": "by", "levels": list(CLASSES)},
        "budget": {"epsilon": 1.0, "delta": 1e-6},
    }
    model = Study.from_dict(study).model()
    assert model.classes == CLASSES
    assert gs.models.model_from_dict(json.loads(json.dumps(model.to_dict()))) == model
    with pytest.raises(gs.ParameterError, match="at least three"):
        Study.from_dict(study | {"target": {"name": "by", "levels": ["bus", "car"]}}).model()


@pytest.mark.parametrize(("far", "least"), [(0.0, 0.57), (60.0, 0.99)])
def test_neighbours_reach_what_is_claimed_of_a_score(far, least):
    """At 0, where the first score is asked, a turned row moves it by 2√(1 − 1/3) of 2√2; where p is sure and wrong by all."""
    model = gs.models.MultinomialRegression(dimension=2, intercept=False, classes=3)
    plan = gs.plan(model, gs.Budget(8.0, 1e-6), n=2, adjacency="replace-one", purpose="estimate", uncertainty=0)
    point = model.from_original(np.array([[0.0, far, 0.0, 0.0]]))[0]
    scores = []
    for sign in (1.0, -1.0):
        blocks = model.encode((np.array([[sign, 0.1], [0.0, 1.0]]) / [[math.hypot(1, 0.1)], [1]], [0, 0]), EncodingOptions())
        scores.append(Records(blocks, model.loss, plan.scores).score(point))
    reached = float(np.linalg.norm(scores[0] - scores[1])) * math.sqrt(plan.inverse_temperature)
    assert least * plan.guarantee.mu <= reached <= plan.guarantee.mu


def test_runs_of_a_transcript_do_not_refute_its_claim():
    """False alarm 1 %, with a fixed seed."""
    model = gs.models.MultinomialRegression(dimension=2, intercept=False, classes=3)
    rest = np.tile([0.0, 1.0], (15, 1)), np.zeros(15, dtype=int)
    pair = [(np.vstack([[sign, 0.0], rest[0]]), np.append(0, rest[1])) for sign in (1.0, -1.0)]
    plan = gs.plan(model, gs.Budget(20.0, 1e-6), n=16, adjacency="replace-one", purpose="estimate")
    assert 0.25 * plan.guarantee.mu <= attack(concentrated(plan, "path"), pair, runs=200) <= plan.guarantee.mu


def gain_kept(made, table, y, classes, fitted, base):
    """The share of a fit's gain in log loss over the intercept alone that a release keeps."""
    places = np.array([classes.index(each) for each in y])
    loss = lambda p: float(-np.log(np.maximum(p[np.arange(len(y)), places], 1e-300)).mean())  # noqa: E731
    alone = loss(np.tile(base, (len(y), 1)))
    return (alone - loss(made.predict_proba(table))) / (alone - loss(fitted))


@pytest.mark.skipif(not (DATA / "adult_train.csv").exists(), reason="no Adult table (GIBBSAFE_DATA)")
def test_marital_status_of_adult_keeps_two_thirds_of_the_gain():
    """Seven classes, 258 parameters, nμ/d = 82 at ε = 3; all for the point."""
    pandas, linear = pytest.importorskip("pandas"), pytest.importorskip("sklearn.linear_model")
    declared = tomllib.loads((DATA / "adult.toml").read_text())
    columns = [Column(c["name"], bounds=tuple(c["bounds"]), transform=c.get("transform")) for c in declared["numeric"]]
    columns += [Column(c["name"], kind="category", levels=tuple(c["levels"])) for c in declared["categorical"]]
    (status,) = (c for c in columns if c.name == "marital-status")
    kept = tuple(c for c in columns if c is not status)
    train, test = (pandas.read_csv(DATA / f"adult_{part}.csv") for part in ("train", "test"))
    model = gs.models.MultinomialRegression(
        dimension=sum(c.width for c in kept), columns=kept, classes=status.levels, target=status.name, row_norm=math.sqrt(6.5)
    )
    plan = gs.plan(model, gs.Budget(3.0, 1e-6), n=len(train), adjacency="replace-one", purpose="estimate", uncertainty=0)
    assert len(train) * plan.guarantee.mu / model.parameters >= 32
    made = plan.release(train, generator=np.random.default_rng(1), progress=False)
    some = train.sample(6000, random_state=0)
    fit = linear.LogisticRegression(C=1e2, max_iter=60, tol=1e-2, fit_intercept=False)
    fit.fit(model.encode_features(some), some[status.name])
    order = [list(fit.classes_).index(each) for each in status.levels if each in fit.classes_]
    fitted = np.full((len(test), len(status.levels)), 1e-6)
    fitted[:, [status.levels.index(each) for each in fit.classes_[order]]] = fit.predict_proba(model.encode_features(test))[
        :, order
    ]
    base = [float(np.mean(train[status.name] == each)) for each in status.levels]
    assert gain_kept(made, test, test[status.name].tolist(), list(status.levels), fitted, base) >= 2 / 3


def test_digits_are_read_at_epsilon_30():
    """Ten classes, pixels summed in fours: 153 parameters, nμ/d = 41."""
    datasets, linear = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.linear_model")
    images, y = datasets.load_digits(return_X_y=True)
    X = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(len(y), -1)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1437], order[1437:]
    model = gs.models.MultinomialRegression(dimension=16, bounds=((0, 16),) * 16, classes=10)
    plan = gs.plan(model, gs.Budget(30.0, 1e-6), n=len(train), adjacency="replace-one", purpose="estimate", uncertainty=0)
    assert len(train) * plan.guarantee.mu / model.parameters >= 32
    made = plan.release((X[train], y[train]), generator=np.random.default_rng(1), progress=False)
    fit = linear.LogisticRegression(C=10.0, max_iter=200, tol=1e-3).fit(X[train] / 16, y[train])
    base = np.bincount(y[train]) / len(train)
    kept = gain_kept(made, X[test], y[test].tolist(), list(range(10)), fit.predict_proba(X[test] / 16), base)
    assert kept >= 2 / 3
