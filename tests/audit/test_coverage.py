"""The audit of coverage: its cells are varied, its truths true, its oracle right, and its report names what misses."""

import math

import numpy as np
import pytest
from scipy.special import logit

from gibbsafe.privacy.profiles import gaussian_mu

from .loading import AUDITS, load


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.syspath_prepend(str(AUDITS))
    return load("coverage_cells")


@pytest.fixture
def coverage(cells, monkeypatch):
    monkeypatch.setattr("sys.argv", ["coverage.py"])
    return load("coverage")


def made(cells, **changes):
    settings = {"model": "logistic", "n": 1000, "d": 3, "epsilon": 1.0, "place": "D/3", "draws": 0, "design": "isotropic"}
    return cells.Cell(**({"law": "the model's"} | settings | changes))


def test_the_committed_cells_have_every_level_of_every_factor(cells, coverage):
    drawn = cells.cells(coverage.SEED, 110)
    assert len(set(drawn)) == 110
    for name, levels in cells.FACTORS.items():
        seen = {getattr(cell, name) for cell in drawn}
        assert name == "law" or set(levels) <= seen
    assert {"the model's", "flips", "other link", "heteroscedastic"} == {cell.law for cell in drawn}
    assert all(cell.draws == 0 or (cell.n <= 10_000 and cell.d <= 10) for cell in drawn)


@pytest.mark.parametrize(
    "changes",
    [
        {"law": "flips", "place": "D"},
        {"law": "other link", "design": "ill-conditioned"},
        {"model": "soft hinge"},
        {"model": "soft hinge", "law": "flips", "design": "one-hot"},
        {"model": "Huber", "law": "heteroscedastic", "place": "3D"},
        {"model": "quantile", "law": "heteroscedastic", "place": "intercept"},
        {"model": "Bernoulli logit", "d": 1, "design": "none"},
    ],
)
def test_scores_have_mean_nothing_at_the_truth_and_the_stated_covariance(cells, monkeypatch, changes):
    """From 200,000 records: within five standard errors, covariances within 3 %."""
    monkeypatch.setattr(cells, "POOL", 2000)
    population, n = cells.population_of(made(cells, **changes), 1), 200_000
    model, data = population.model, population.sample(200_000, np.random.default_rng(0))
    features, response = data if isinstance(data, tuple) else (None, data)
    rows = np.ones((n, 1)) if features is None else model.encode_features(features)
    sign = np.where(response == 1, 1.0, -1.0) if model.loss.margin else np.ones(n)
    target = None if model.loss.margin else response
    scores = (sign * model.loss.slope(sign * (rows @ population.truth), target))[:, None] * rows
    assert np.all(np.abs(scores.mean(axis=0)) < 5 * np.sqrt(np.diag(population.scores) / n))
    assert np.linalg.norm(scores.T @ scores / n - population.scores) < 0.03 * np.linalg.norm(population.scores)


def test_the_model_s_own_law_has_its_parameter_where_it_was_placed(cells, monkeypatch):
    monkeypatch.setattr(cells, "POOL", 2000)
    for model in ("logistic", "soft hinge", "Huber"):
        assert cells.population_of(made(cells, model=model, place="D"), 1).distance == pytest.approx(1.0, rel=1e-6)


def test_the_oracle_is_the_spread_of_a_perturbed_objective(cells):
    """A proportion: the minimiser of loss + bθ is the logit of a shifted share. Six standard errors of 20,000 runs."""
    cell = made(cells, model="Bernoulli logit", n=10_000, d=1, epsilon=0.3)
    population, rng, runs = cells.population_of(cell, 1), np.random.default_rng(1), 20_000
    chance = population.law.chance[0]
    noise = rng.standard_normal(runs) / gaussian_mu(0.3, cells.DELTA)
    found = logit((rng.binomial(cell.n, chance, runs) - noise) / cell.n)
    oracle, plain = population.deviations(cell.n, cell.epsilon)
    assert found.std() == pytest.approx(oracle[0], rel=6 / math.sqrt(2 * runs))
    assert oracle[0] > plain[0]


def test_a_cell_is_measured_and_reported(cells, coverage, monkeypatch):
    monkeypatch.setattr(cells, "POOL", 500)
    cell = made(cells, epsilon=10.0)
    population = cells.population_of(cell, 1)
    outcome = coverage.measured(coverage.plan_of(cell, population), cell, population, 3, [0])
    assert outcome.covered.shape == outcome.widths.shape == (4,)
    assert set(outcome.others) == {"textbook", "bootstrap"}
    report = load("coverage_report")
    chosen = type("Chosen", (), {"command": "audits/coverage.py"})
    written = report.markdown([(0, cell, outcome), (1, cell, "skipped: data absent")], chosen, {"abc": 1})
    assert "Cells by commit: abc (1)" in written
    assert "0: logistic, 1,000 × 3" in written
    assert "skipped: data absent" in written


def test_an_outcome_is_kept_until_its_first_release_has_other_intervals(coverage, tmp_path):
    store = load("coverage_store").Store(tmp_path / "kept.json", "seed 1", coverage.Outcome)
    three = {name: np.full(3, 0.9) for name in ("covered", "widths", "called", "covered_if_called")}
    numbers = {"signal": 1.0, "distance": 0.3, "releases": 2, "holds_mean": True, "seconds": 1.0, "asking": 0.5}
    first = np.array([[-1.0, 0.0, 1.0], [1.0, 2.0, 3.0]])
    assert store.found("a cell", first) is None
    store.keep("a cell", first, coverage.Outcome(**numbers, **three, others={"textbook": (0.5, 1.0)}))
    found = store.found("a cell", first + 1e-6)
    np.testing.assert_array_equal(found.covered, three["covered"])
    assert (found.releases, found.others["textbook"]) == (2, [0.5, 1.0])
    assert store.found("a cell", first + 0.01) is None
    assert store.found("a cell", first[:, :2]) is None
    assert store.found("another", first) is None
    assert sum(store.commits().values()) == 1


def test_targets_are_those_of_the_cell(cells, coverage):
    report = load("coverage_report")
    good = {"signal": 50.0, "distance": 0.3, "releases": 200, "holds_mean": True, "others": {}, "seconds": 1.0, "asking": 0.5}
    four = {name: np.full(4, value) for name, value in (("covered", 0.9), ("widths", 1.2), ("called", 1.0))}
    outcome = coverage.Outcome(**good, **four, covered_if_called=np.full(4, 0.9))
    near, far = made(cells), made(cells, design="ill-conditioned")
    assert report.missed(near, outcome) == report.missed(far, outcome) == []
    low = np.array([0.95, 0.95, 0.95, 0.6])
    worse = coverage.Outcome(**good, **(four | {"covered": low, "widths": np.full(4, 2.0)}), covered_if_called=low)
    assert len(report.missed(near, worse)) == 2
    assert len(report.missed(far, worse)) == 1
    undecided = coverage.Outcome(**good, **(four | {"covered": low, "called": np.array([1, 1, 1, 0.0])}), covered_if_called=low)
    assert report.missed(far, undecided) == []
    assert report.reasons(near, worse) == "**open**"
