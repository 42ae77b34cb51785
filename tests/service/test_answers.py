"""Answers of a release: those of the library's own functions, under the names that people read."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.service.answers import predicted, summarised, synthesised

N = 400


def release_of(model, target, columns, table, purpose="estimate"):
    study = {"n": N, "adjacency": "replace-one", "purpose": purpose, "budget": {"epsilon": 2.0, "delta": 1e-6}}
    study |= {"model": {"name": model}, "columns": columns} | ({} if target is None else {"target": target})
    return gs.Study.from_dict(study).release(table, generator=np.random.default_rng(3))


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(7)
    age, ward = random.uniform(0, 100, N), random.choice(["a", "b", "c"], N)
    return {"age": age, "ward": ward, "ill": np.where(age + random.normal(0, 9, N) > 50, "yes", "no"), "cost": 3 * age}


AGE, WARD = {"age": {"bounds": [0, 100]}}, {"ward": {"levels": ["a", "b", "c"]}}
ILL = {"name": "ill", "labels": ["no", "yes"]}


def test_the_true_parameter_is_summed_up(table):
    release = release_of("LogisticRegression", ILL, AGE | WARD, table)
    found = summarised(release, 0.8)
    known = release.population()
    assert [row["parameter"] for row in found.rows] == list(release.parameters)
    np.testing.assert_allclose([row["mean"] for row in found.rows], known.mean)
    np.testing.assert_allclose([row["low"] for row in found.rows], known.interval(0.8).lower)
    np.testing.assert_allclose([row["decided_by_data"] for row in found.rows], known.decided_by_data)
    said = found.note.split("; ")
    assert len(said) == len(set(said))  # nothing is told twice
    np.testing.assert_allclose([row["positive"] for row in found.rows], (known.draws > 0).mean(axis=0))


def test_one_draw_says_what_it_cannot_say():
    random = np.random.default_rng(1)
    table = {"age": random.uniform(0, 100, N), "size": random.uniform(0, 9, N)}
    found = summarised(release_of("GaussianMean", None, AGE | {"size": {"bounds": [0, 9]}}, table, "posterior"), 0.9)
    assert all(row["positive"] is None and row["decided_by_data"] is None for row in found.rows)


def test_predictions_carry_their_intervals(table):
    new = {"age": [10.0, 90.0], "ward": ["a", "c"]}
    release = release_of("LogisticRegression", ILL, AGE | WARD, table)
    found = predicted(release, new, 0.8)
    assert found.names == ("prediction", "chance of yes", "80% from", "to")
    for row, chance in zip(found.rows, release.predict_proba(new)[:, 1], strict=True):
        assert row[0] == ("yes" if chance > 0.5 else "no")
        assert row[1] == chance
        assert 0 <= row[2] <= row[3] <= 1
    number = predicted(release_of("PseudoHuberRegression", {"name": "cost", "bounds": [0, 300]}, AGE, table), {"age": [10.0]})
    assert number.names == ("prediction", "90% from", "to")
    several = predicted(
        release_of("MultinomialRegression", {"name": "ward", "levels": ["a", "b", "c"]}, AGE, table), {"age": [1.0]}
    )
    assert {"chance of a", "chance of b", "chance of c"} <= set(several.names)


def test_synthetic_rows_stay_within_what_is_declared(table):
    release = release_of("LogisticRegression", ILL, AGE | WARD, table)
    found = synthesised(release, 50)
    assert found.names == ("age", "ward", "ill")
    assert len(found.rows) == 50
    assert all(0 <= age <= 100 and ward in ("a", "b", "c") and ill in ("no", "yes") for age, ward, ill in found.rows)
    assert found.note.startswith("features are made up evenly")
    brought = synthesised(release, 2, {"age": [5.0, 6.0], "ward": ["a", "b"]})
    assert [row[:2] for row in brought.rows] == [(5.0, "a"), (6.0, "b")]
