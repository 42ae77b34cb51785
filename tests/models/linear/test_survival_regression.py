"""Times and censoring: constants without a bound on times, refusals, curves and medians with intervals."""

import math

import mpmath as mp
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kstest

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.losses.log_logistic import LogLogisticLoss, packed_times

MODEL = gs.models.SurvivalRegression(dimension=2, bounds=((-1, 1),) * 2, scale=0.5, feature_names=("a", "b"), target="months")
TRUTH = np.array([0.8, -0.5, 0.3])


def patients(n, seed):
    """Log-logistic times around e^{xᵀθ}, about three in ten censored."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    times = np.exp(X @ TRUTH[:2] + TRUTH[2] + 0.5 * rng.logistic(size=n))
    ends = np.exp(rng.normal(1.0, 0.7, n))
    return X, np.column_stack([np.minimum(times, ends), times <= ends])


@pytest.fixture(scope="module")
def estimate():
    plan = gs.plan(MODEL, gs.Budget(3.0, 1e-6), n=4000, adjacency="replace-one", purpose="estimate")
    return plan.release(patients(4000, 1), generator=np.random.default_rng(2), progress=False)


@pytest.mark.parametrize("censored", [False, True])
def test_the_loss_is_the_likelihood(censored):
    """−log density of an event and −log survival of a censored time, against mpmath, up to a constant of the time."""
    loss, s = LogLogisticLoss(0.7), mp.mpf(0.7)

    def written(u, t):
        x = (mp.mpf(t) / mp.exp(u)) ** (1 / s)
        return mp.log1p(x) if censored else -mp.log(x / (s * mp.mpf(t) * (1 + x) ** 2))

    for t in (1e-300, 0.2, 3.0, 1e300):
        y = packed_times(np.array([t]), np.array([0.0 if censored else 1.0]))
        for u in (-3.0, 0.4, 5.0):
            exact = written(mp.mpf(u), t) - written(mp.mpf(0), t)
            assert loss.value(np.array([u]), y)[0] == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


def test_slopes_stay_within_their_bound_for_times_of_any_size():
    loss, u = LogLogisticLoss(0.3), np.linspace(-900, 900, 2001)
    for t in (5e-324, 1e-9, 1.0, 1e300):
        for event in (0.0, 1.0):
            y = np.repeat(packed_times(np.array([t]), np.array([event])), len(u))
            assert np.abs(loss.slope(u, y)).max() <= 1 / 0.3 * (1 + 1e-12)
            assert loss.slope(u, y).max() <= event / 0.3 * (1 + 1e-12) + 1e-300
            assert (loss.curvature(u, y) <= loss.smoothness * (1 + 1e-12)).all()


def test_estimates_come_with_medians_and_curves(estimate):
    np.testing.assert_allclose(estimate.draws[0], TRUTH, atol=0.2)
    new = [[0.5, 0.0], [-0.5, 0.5]]
    medians = estimate.predict(new, interval=0.9)
    assert ((medians.lower <= medians.prediction) & (medians.prediction <= medians.upper)).all()
    np.testing.assert_allclose(medians.prediction, np.exp(np.array(new) @ TRUTH[:2] + TRUTH[2]), rtol=0.2)
    times = [0.0, 0.5, 1.0, 2.0, 4.0]
    curves = estimate.predict_survival(new, times, interval=0.9)
    assert curves.prediction.shape == (2, 5)
    assert (np.diff(curves.prediction, axis=1) < 0).all()
    assert (curves.prediction[:, 0] == 1).all()
    exact = 1 / (1 + (np.array(times)[None] / np.exp(np.array(new) @ TRUTH[:2] + TRUTH[2])[:, None]) ** 2)
    assert np.abs(curves.prediction - exact).max() < 0.06
    assert ((curves.lower <= curves.prediction) & (curves.prediction <= curves.upper)).all()
    np.testing.assert_allclose(estimate.predict_survival(new, times), curves.prediction, atol=0.03)
    assert MODEL.predict_quantile(new, estimate.draws, 0.5) == pytest.approx(estimate.predict(new))
    with pytest.raises(gs.ParameterError, match="0 or above"):
        estimate.predict_survival(new, [-1.0])


def test_curves_are_only_of_models_that_have_them():
    made = gs.plan(gs.models.LogisticRegression(dimension=1), gs.Budget(1.0, 1e-6), n=2, adjacency="replace-one").release(
        (np.zeros((2, 1)), np.array([0, 1]))
    )
    with pytest.raises(gs.GibbsafeError, match="predict_survival: not defined"):
        made.predict_survival([[0.0]], [1.0])


@pytest.mark.parametrize(
    ("column", "bad", "words"),
    [(0, 0.0, "months: a time is not above 0"), (0, -1.0, "months: a time is not above 0"), (0, np.nan, "y"), (1, 2.0, "label")],
    ids=str,
)
def test_bad_times_and_flags_are_refused_in_one_line(column, bad, words):
    X, y = patients(50, 3)
    y[7, column] = bad
    plan = gs.plan(MODEL, gs.Budget(1.0, 1e-6), n=50, adjacency="replace-one")
    with pytest.raises(gs.DomainError, match=words) as refusal:
        plan.release((X, y))
    assert "\n" not in str(refusal.value)
    assert np.isfinite(plan.release((X, y), on_invalid="replace", generator=np.random.default_rng(1)).draws).all()


def test_declarations_that_cannot_be_are_refused():
    for options, words in (
        ({"event": "y"}, "neither a feature nor the target"),
        ({"event_labels": (1, 1)}, "label"),
        ({"scale": 0.0}, "above 0"),
    ):
        with pytest.raises(gs.ParameterError, match=words):
            gs.models.SurvivalRegression(dimension=1, **options)


def test_tables_with_texts_for_flags_give_the_same_blocks_as_arrays():
    X, y = patients(60, 4)
    named = gs.models.model_from_dict(MODEL.to_dict() | {"event": "state", "event_labels": ["alive", "dead"]})
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "state": np.where(y[:, 1] > 0, "dead", "alive"), "months": y[:, 0]})
    by_array, by_table = MODEL.encode((X, y), EncodingOptions()), named.encode(table, EncodingOptions())
    np.testing.assert_array_equal(by_array.targets, by_table.targets)
    rows = named.simulate(TRUTH, 60, np.random.default_rng(5), X)
    assert named.encode((X, rows), EncodingOptions()).n_rows == 60


def test_synthetic_times_follow_the_law():
    """Kolmogorov–Smirnov of 4,000 times at one point, false alarm 1e-4."""
    X = np.tile([[0.5, 0.0]], (4000, 1))
    times = MODEL.simulate(TRUTH, 4000, np.random.default_rng(6), X)[:, 0]
    median = math.exp(0.5 * TRUTH[0] + TRUTH[2])
    assert kstest(times, lambda t: 1 / (1 + (t / median) ** -2)).pvalue > 1e-4


def test_intervals_cover_the_truth_though_times_are_censored():
    """8 releases × 3 parameters at 90 %: an honest interval covers fewer than 17 of 24 once in 300 runs; seeds are fixed."""
    plan = gs.plan(MODEL, gs.Budget(2.0, 1e-6), n=1500, adjacency="replace-one", purpose="estimate")
    covered = 0
    for seed in range(8):
        release = plan.release(patients(1500, 50 + seed), generator=np.random.default_rng(seed), progress=False)
        covered += int(release.interval(0.9).covers(TRUTH).sum())
    assert covered >= 17
