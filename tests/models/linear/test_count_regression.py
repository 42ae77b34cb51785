"""Counts and exposures: what is refused, what an exposure does, and that records come the same from arrays and tables."""

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.losses.exposed import packed
from gibbsafe.study import Study

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 2))
PLAIN = gs.models.CountRegression(dimension=2, bounds=((-1, 1),) * 2, cap=20, dispersion=2.0, feature_names=("a", "b"))
EXPOSED = gs.models.CountRegression(
    dimension=2, bounds=((-1, 1),) * 2, cap=20, dispersion=2.0, feature_names=("a", "b"), exposure="days"
)


def loss_of(model, data, theta):
    blocks = model.encode(data, EncodingOptions())
    return model.loss.value(blocks.rows @ theta, blocks.targets)


def test_an_exposure_shifts_the_predictor():
    """Twice the exposure is an intercept larger by log 2; an exposure of 1 is none."""
    counts = RNG.poisson(2.0, 300).astype(float)
    theta = np.array([0.4, -0.3, 0.2])
    ones, twos = (np.column_stack([counts, np.full(300, e)]) for e in (1.0, 2.0))
    np.testing.assert_allclose(loss_of(EXPOSED, (X, ones), theta), loss_of(PLAIN, (X, counts), theta), rtol=1e-9)
    moved = theta + np.array([0, 0, np.log(2) / PLAIN.row_scale])
    np.testing.assert_allclose(loss_of(EXPOSED, (X, twos), theta), loss_of(PLAIN, (X, counts), moved), rtol=1e-9)


def test_exposures_of_any_size_are_read_back():
    exposures = np.array([1e-300, 1e-12, 0.3, 7.0, 1e12, 1e300])
    shifted, counts = EXPOSED.loss.apart(np.zeros(6), packed(np.array([0.0, 1, 20, 7, 3, 20]), exposures))
    assert counts.tolist() == [0, 1, 20, 7, 3, 20]
    np.testing.assert_allclose(shifted, np.clip(np.log(exposures), -28, 28), atol=1e-9)


def test_tables_give_the_same_blocks_as_arrays():
    counts, days = RNG.poisson(2.0, 300), RNG.uniform(0.5, 5, 300)
    table = pa.table({"days": days, "b": X[:, 1], "y": counts, "a": X[:, 0]})
    by_array = EXPOSED.encode((X, np.column_stack([counts, days])), EncodingOptions())
    by_table = EXPOSED.encode(table, EncodingOptions())
    np.testing.assert_array_equal(by_array.rows, by_table.rows)
    np.testing.assert_array_equal(by_array.targets, by_table.targets)


@pytest.mark.parametrize(
    ("model", "column", "bad", "words"),
    [
        (PLAIN, 0, -1.0, "y: a count is not a whole number"),
        (PLAIN, 0, 1.5, "y: a count is not a whole number"),
        (EXPOSED, 0, -3.0, "y: a count is not a whole number"),
        (EXPOSED, 1, 0.0, "days: an exposure is not above 0"),
        (EXPOSED, 1, -2.0, "days: an exposure is not above 0"),
        (EXPOSED, 1, np.nan, "y: "),
    ],
    ids=str,
)
def test_bad_counts_and_exposures_are_refused_in_one_line(model, column, bad, words):
    response = np.column_stack([RNG.poisson(2.0, 300).astype(float), RNG.uniform(0.5, 5, 300)])
    response[7, column] = bad
    data = (X, response if model.exposure else response[:, 0])
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=300, adjacency="replace-one")
    with pytest.raises(gs.DomainError, match=words) as refusal:
        plan.release(data)
    assert "\n" not in str(refusal.value)
    assert "7" not in str(refusal.value)
    assert np.isfinite(plan.release(data, on_invalid="replace", generator=np.random.default_rng(1)).draws).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"exposure": "a"}, "neither a feature nor the target"), ({"exposure": "y"}, "neither"), ({"exposure": ""}, "neither")],
)
def test_an_exposure_is_a_column_of_its_own(options, words):
    with pytest.raises(gs.ParameterError, match=words):
        gs.models.CountRegression(dimension=1, cap=3, feature_names=("a",), **options)
    with pytest.raises(gs.ParameterError, match="at most 1,048,576 with an exposure"):
        gs.models.CountRegression(dimension=1, cap=2**21, exposure="days")
    with pytest.raises(gs.DomainError, match="y: must have 2 columns, y and days"):
        EXPOSED.encode((X, np.ones(300)), EncodingOptions())


def test_synthetic_counts_come_beside_a_unit_of_exposure():
    rows = EXPOSED.simulate(np.array([0.1, 0.2, 0.5]), 300, np.random.default_rng(2), X)
    assert EXPOSED.encode((X, rows), EncodingOptions()).n_rows == 300
    assert (rows[:, 1] == 1).all()


def test_a_study_names_the_exposure():
    study = {
        "n": 300, "adjacency": "replace-one", "budget": {"epsilon": 2.0, "delta": 1e-6},
        "model": {"name": "CountRegression", "exposure": "days"},
        "columns": {"a": {"bounds": [-1, 1]}, "b": {"bounds": [-1, 1]}}, "target": {"name": "y", "bounds": [0, 20]},
    }  # fmt: skip
    table = pa.table({"days": RNG.uniform(0.5, 5, 300), "b": X[:, 1], "y": RNG.poisson(2.0, 300), "a": X[:, 0]})
    made = Study.from_dict(study).release(table, generator=np.random.default_rng(3), progress=False)
    assert gs.verify(made) == made.certificate


def test_a_loose_budget_recovers_rates_over_exposures():
    """ε = 500 on 4,000 rows: within 0.15 of the truth in the user's units."""
    rng = np.random.default_rng(4)
    features, days = rng.uniform(-1, 1, (4000, 2)), rng.uniform(0.2, 4.0, 4000)
    counts = np.minimum(rng.negative_binomial(2, 2 / (2 + days * np.exp(features @ [0.5, -0.5] + 0.3))), 20)
    plan = gs.plan(EXPOSED, gs.Budget(500.0, 1e-3), n=4000, adjacency="replace-one")
    made = plan.release((features, np.column_stack([counts, days])), generator=rng, progress=False)
    np.testing.assert_allclose(made.draws[0], [0.5, -0.5, 0.3], atol=0.15)


def test_intervals_of_estimates_over_exposures_cover():
    """Twelve releases of three parameters at 90 %: 24 of 36 or fewer would be seen once in 40,000 runs."""
    truth, hits = np.array([0.6, -0.4, 0.3]), 0
    plan = gs.plan(EXPOSED, gs.Budget(3.0, 1e-6), n=3000, adjacency="replace-one", purpose="estimate")
    for seed in range(12):
        rng = np.random.default_rng([seed, 4])
        X, days = rng.uniform(-1, 1, (3000, 2)), rng.lognormal(0.0, 0.5, 3000)
        means = days * np.exp(X @ truth[:2] + truth[2])
        counts = np.minimum(rng.negative_binomial(2.0, 2 / (2 + means)), 20)
        release = plan.release((X, np.column_stack([counts, days])), generator=rng, progress=False)
        hits += int(release.population(200).interval(0.9).covers(truth).sum())
    assert hits > 24
