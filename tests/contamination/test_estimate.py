"""Estimates over simulated data sets: quantiles, determinism, labels, refusals, tuning, and Table 1 of the paper."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import gibbsafe as gs
from gibbsafe.cli import app
from gibbsafe.contamination.epsilon.quantiles import coverage, interval_orders, percentile_order, upper_order
from gibbsafe.contamination.epsilon.repeats import Task, run
from gibbsafe.contamination.epsilon.tuning import fitted_exponent
from gibbsafe.reproduce.hu import PAPER, paper_model, table1

C = gs.contamination
MEAN = C.NormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)


def test_order_statistics_are_binomial():
    assert upper_order(1000, 0.99) == 996
    assert interval_orders(1000, 0.99) == (983, 997)
    assert percentile_order(1000, 0.99) == 990
    for k, q, order in ((1000, 0.99, 996), (300, 0.95, 290), (59, 0.95, 59)):
        assert coverage(k, q, order) == pytest.approx(stats.binom.cdf(order - 1, k, q), rel=1e-10)
        assert (coverage(k, q, order) >= 0.95) == (order >= upper_order(k, q))
    assert upper_order(299, 0.99) == 299
    with pytest.raises(gs.ParameterError, match="299"):
        upper_order(298, 0.99)
    draws = np.random.default_rng(0).random((4000, 100))
    share = np.mean(np.sort(draws, axis=1)[:, upper_order(100, 0.9) - 1] >= 0.9)
    assert share >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / 4000)


def test_an_estimate_says_what_it_is():
    made = C.estimate_epsilon(MEAN, 400, repeats=40, quantile=0.9, method="tight", truth=30.0, seed=5)
    assert made.repeats == 40
    assert made.seed == 5
    assert made.confidence >= 0.95
    assert made.interval is None or made.interval[0] <= made.epsilon
    assert "nothing for any particular data set" in made.promise
    assert "not a differential-privacy guarantee" in str(made)
    assert made.delta == pytest.approx(1 / 4000)
    assert json.loads(json.dumps(made.to_dict()))["method"] == "tight"
    with pytest.raises(gs.PremiseError):
        made.compose(2)


def test_the_numbers_do_not_depend_on_the_number_of_processes():
    task = Task(C.LogisticRegression(columns=2), 200, np.array([0.5, -0.5]), 1e-3, "gaussian", "replace-one")
    alone = run(task, 6, 3, workers=1, progress=False)
    assert np.array_equal(alone, run(task, 6, 3, workers=2, progress=False))
    assert len(set(alone)) == 6


def test_the_paper_method_is_labelled_with_its_particles():
    made = C.estimate_epsilon(MEAN, 1000, repeats=10, quantile=0.9, method="paper", truth=30.0)
    assert any("m·δ = 0.1: invalid below 10" in note for note in made.notes)
    assert any("E21" in note for note in made.notes)
    enough = C.estimate_epsilon(MEAN, 50, delta=0.02, repeats=5, quantile=0.9, method="paper", truth=30.0, particles=1000)
    assert not any("invalid" in note for note in enough.notes)


def test_a_curators_own_records_make_it_sensitive():
    data = 30 + 8 * np.random.default_rng(1).standard_normal(300)
    made = C.estimate_epsilon(MEAN, data=data, repeats=20, quantile=0.8, method="sound")
    assert made.sensitive
    assert "curator" in str(made)
    with pytest.raises(gs.PremiseError, match="curator"):
        made.to_dict()
    assert made.to_dict(curator=True)["epsilon"] == made.epsilon
    assert C.estimate_epsilon(MEAN, data=data, repeats=4, quantile=0.5, method="paper", confidence=0.5).epsilon > 0


def test_several_truths_report_the_worst():
    options = {"repeats": 20, "quantile": 0.8, "method": "gaussian", "delta": 1e-3}
    model = C.LogisticRegression(columns=1)
    alone = [C.estimate_epsilon(model, 300, truth=[t], **options).epsilon for t in (0.0, 1.5)]
    both = C.estimate_epsilon(model, 300, truth=[[0.0], [1.5]], **options)
    assert both.epsilon == max(alone)
    assert "worst of 2" in both.data_model


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: C.estimate_epsilon(MEAN, 1000, repeats=100, truth=30.0), "repeats = 100"),
        (lambda: C.estimate_epsilon(MEAN, 1000), "truth"),
        (lambda: C.estimate_epsilon(MEAN, 1000, truth=[1.0, 2.0]), "truth"),
        (lambda: C.estimate_epsilon(MEAN, 1, truth=30.0), "n = 1"),
        (lambda: C.estimate_epsilon(MEAN, 100, delta=0.0, truth=30.0), "delta"),
        (lambda: C.estimate_epsilon(MEAN, 100, quantile=1.0, truth=30.0), "quantile"),
        (lambda: C.estimate_epsilon(MEAN, 100, method="best", truth=30.0), "method"),
        (lambda: C.estimate_epsilon(MEAN, 100, adjacency="neighbours", truth=30.0), "adjacency"),
        (lambda: C.estimate_epsilon(MEAN, 1000, truth=30.0, method="paper", particles=100), "fewer than one particle"),
        (lambda: C.estimate_epsilon(MEAN, 1000, truth=30.0, particles=100), "particles"),
        (lambda: C.estimate_epsilon(C.LogisticRegression(columns=1), 100, truth=[0.0], method="exact"), "one parameter"),
        (lambda: C.estimate_epsilon(MEAN, data=np.zeros(9), truth=30.0), "truth"),
        (lambda: C.estimate_epsilon(MEAN, data=np.array([0.0, np.nan])), "finite"),
        (lambda: C.LinearRegression(columns=1).read((np.zeros(2), np.array([[0.5], [1.5]]))), r"\[−1, 1\]"),
        (lambda: C.LogisticRegression(columns=1).read((np.array([0.0, 2.0]), np.ones((2, 1)))), "labels"),
        (lambda: C.estimate_from_dict({"model": "NormalMeen"}), "NormalMean"),
        (lambda: C.estimate_from_dict({"model": "NormalMean", "scael": 1.0}), "scale"),
        (lambda: C.estimate_from_dict({"model": "NormalMean", "density": {"name": "Gauss"}}), "density.name"),
        (lambda: C.estimate_from_dict({"model": "NormalMean", "density": 3}), "density"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, words):
    with pytest.raises(gs.GibbsafeError, match=words) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_records_outside_the_space_are_refused():
    model = C.NormalMean(prior_mean=0.0, space=(-5.0, 5.0))
    with pytest.raises(gs.DomainError, match="space"):
        model.read(np.array([0.0, 6.0]))


def test_tuning_meets_its_target():
    options = {"repeats": 6, "quantile": 0.6, "method": "gaussian", "truth": 30.0, "delta": 1e-4}
    target = 1.1 * C.estimate_epsilon(MEAN, 1000, **options).epsilon
    rate, made = C.choose_rate(MEAN, 1000, target, steps=4, **options)
    assert 0 < rate < MEAN.p(1000)
    assert made.epsilon <= target
    with pytest.raises(gs.PremiseError, match="more records"):
        C.choose_rate(MEAN, 1000, 0.01, **options)
    weaker = C.NormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0, rate=rate / 2)
    assert C.estimate_epsilon(weaker, 1000, **options).epsilon > target
    n, made = C.choose_n(MEAN, 0.3, steps=4, **options)
    assert made.epsilon <= 0.3
    assert 500 < n < 5000
    with pytest.raises(gs.PremiseError, match="not reached"):
        C.choose_n(MEAN, 0.01, largest=200, **options)
    curve = C.epsilon_curve(MEAN, (400, 1600, 6400), **(options | {"delta": None}))
    assert -0.55 < curve.exponent < -0.35
    assert list(curve.epsilons) == sorted(curve.epsilons, reverse=True)
    assert fitted_exponent([1, 10], [5.0, 0.5]) == pytest.approx(-1)


def test_fisher_information_loses_at_least_the_contaminated_share():
    """Theorem 5: I_p ≤ (1−p)I, → I; and the scores' variance by simulation."""
    w = np.array([[1.0, 0.5], [1.0, -0.2], [1.0, 0.9]])
    cases = [
        (MEAN, 30.0, None),
        (C.LogisticRegression(columns=2), [0.5, -1.0], w),
        (C.LinearRegression(columns=2), [0.5, -1.0], w),
        (C.LinearRegression(columns=2, scale=None), [0.5, -1.0, 0.3], w),
        (C.CauchyRegression(columns=2), [0.5, -1.0], w),
        (C.QuantileRegression(columns=2, tau=0.3), [0.5, -1.0], w),
    ]
    for model, truth, rows in cases:
        clean = C.fisher_information(model, truth, 0, rows)
        for p in (0.1, 0.5):
            slack = (1 - p) * clean - C.fisher_information(model, truth, p, rows)
            assert np.linalg.eigvalsh(slack).min() > -1e-8
        assert C.fisher_information(model, truth, 1e-7, rows) == pytest.approx(clean, rel=1e-3, abs=1e-6)
        assert 0 < C.efficiency_loss(model, truth, 0.3, rows) < 1
    assert C.fisher_information(MEAN, 30.0, 0) == pytest.approx(1 / 64, rel=1e-8)
    cauchy = C.CauchyRegression(columns=1)
    assert C.fisher_information(cauchy, [0.0], 0) == pytest.approx(0.5, rel=1e-8)


def test_table_one():
    """Literal within 20 % of the printed values, exact below sound; K = 100 at three sizes."""
    rows = table1(repeats=100, bound_repeats=8, exact_sets=4, sizes=(1000, 5000, 10_000))
    gaps = [abs(row["literal"] / row["paper"] - 1) for row in rows]
    assert max(gaps) < 0.2
    assert np.median(gaps) < 0.1
    for row in rows:
        assert row["paper"] == PAPER[row["n"]]
        assert row["exact"] < row["tight"] <= row["sound"] * 1.001 < 1.5 * row["literal"]
        assert row["particles_times_delta"] < 10


def test_quick_speed_against_particles():
    """A data set's ε̂ takes far fewer passes over the records than ten thousand particles would."""
    rng = np.random.default_rng(2)
    model, truth = paper_model(), np.array([30.0])
    records = model.contaminate(model.simulate(50_000, truth, rng), rng, truth=truth)
    from gibbsafe.contamination.posterior import line as line_module

    evaluated = []
    original = line_module.likelihood_sum

    def counting(model, records, p, theta):
        evaluated.append(len(theta))
        return original(model, records, p, theta)

    line_module.likelihood_sum = counting
    try:
        C.epsilon_of(model, records, 2e-6, "sound", truth=truth)
    finally:
        line_module.likelihood_sum = original
    assert sum(evaluated) <= 100


def test_the_command_line(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        '[contamination]\nmodel = "NormalMean"\nscale = 8.0\nprior_mean = 40.0\nprior_scale = 40.0\nn = 300\ntruth = 30.0\n'
        'repeats = 20\nquantile = 0.8\nmethod = "tight"\n'
        '[contamination.density]\nname = "Cauchy"\nlocation = 40.0\nscale = 30.0\n'
    )
    result = CliRunner().invoke(app, ["estimate", str(study), "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["repeats"] == 20
    assert "Cauchy at 40" in document["data_model"]
    assert "promises nothing" in CliRunner().invoke(app, ["estimate", str(study)]).stdout
    study.write_text("[model]\nname = 3\n")
    refused = CliRunner().invoke(app, ["estimate", str(study)])
    assert refused.exit_code == 1
    assert "contamination" in str(refused.exception)
