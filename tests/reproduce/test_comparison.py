"""Private means on one's own problem: equal claims, kinds of guarantee, and refusals in one line."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import gibbsafe as gs
from gibbsafe.cli import app
from gibbsafe.reproduce import comparison
from gibbsafe.reproduce.comparison import DataModel, compare_means

QUICK = {"sets": 30, "draws": 6, "failure": 0.4, "repeats": 7}


@pytest.fixture(scope="module")
def found():
    return compare_means(n=2000, epsilon=1.0, data_model=DataModel("normal", 30.0, 8.0), prior=(40.0, 40.0), **QUICK)


def errors(found):
    return {row.method: row.mse for row in found.rows}


def test_errors_are_those_of_formulas(found):
    """The mean's, Laplace's and Gaussian's squared errors are known; 30 data sets are within 60 % (5 standard errors)."""
    n, width, mse = 2000, 600.0, errors(found)
    assert mse["mean"] == pytest.approx(64 / n, rel=0.9)
    assert mse["Laplace noise"] == pytest.approx(64 / n + 2 * (width / n) ** 2, rel=0.6)
    mu = gs.privacy.profiles.gaussian_mu(1.0, found.delta)
    assert mse["Gaussian noise"] == pytest.approx(64 / n + (width / n / mu) ** 2, rel=0.6)
    assert mse["Welsch draw"] == pytest.approx((8 / math.sqrt(27) + 4 * math.sqrt(2)) * 64 / n, rel=0.6)
    assert mse["CoinPress, 3 steps"] < mse["Gaussian noise"] / 10


def test_claims_are_equal_and_kinds_are_not(found):
    kinds = {row.method: row.kind for row in found.rows}
    assert kinds.pop("mean") == "none"
    assert kinds.pop("contaminated posterior") == "estimated, not proved"
    assert set(kinds.values()) == {"proved for every data set"}
    rho = float(next(row for row in found.rows if row.method == "CoinPress, 3 steps").guarantee.split()[2])
    assert gs.privacy.ConcentratedDP(rho).epsilon(found.delta) == pytest.approx(1.0, rel=1e-3)
    note = next(row.note for row in found.rows if row.method == "contaminated posterior")
    assert float(note.split("ε̂ = ")[1].split()[0]) <= 1.0
    assert json.loads(json.dumps(found.to_dict()))["rows"][1]["kind"] == "estimated, not proved"
    assert "estimated, not proved" in str(found)


def test_what_no_contamination_reaches_is_said(monkeypatch):
    def never(*arguments, **options):
        raise gs.PremiseError("not reached")

    monkeypatch.setattr(comparison, "choose_rate", never)
    found = compare_means(n=100, epsilon=0.1, sets=2, draws=1)
    row = next(row for row in found.rows if row.method == "contaminated posterior")
    assert row.mse is None
    assert "needs more records" in row.note


def test_laws_have_their_mean_and_the_estimate_says_when_it_is_not_theirs(monkeypatch):
    rng = np.random.default_rng(0)
    for kind in comparison.KINDS:
        law = DataModel(kind, 3.0, 2.0)
        assert law.sample(200_000, rng).mean() == pytest.approx(3.0, abs=0.1)
    estimate = gs.privacy.EstimatedPrivacy(0.9, 1e-3, 0.1, 0.95, "simulated")
    monkeypatch.setattr(comparison, "choose_rate", lambda *arguments, **options: (0.3, estimate))
    found = compare_means(n=200, epsilon=1.0, data_model="laplace", sets=2, draws=1)
    assert "which yours are not" in next(row.note for row in found.rows if row.method == "contaminated posterior")


def test_command_draws_and_prints(tmp_path, monkeypatch):
    estimate = gs.privacy.EstimatedPrivacy(0.9, 1e-3, 0.1, 0.95, "simulated")
    monkeypatch.setattr(comparison, "choose_rate", lambda *arguments, **options: (0.3, estimate))
    out = tmp_path / "means.png"
    options = ["compare", "--n", "100", "--epsilon", "1", "--mean", "30", "--scale", "8", "--sets", "3", "--draws", "1"]
    run = CliRunner().invoke(app, [*options, "--out", str(out), "--json"])
    assert run.exit_code == 0, run.output
    assert len(json.loads(run.stdout)["rows"]) == 8
    assert out.read_bytes().startswith(b"\x89PNG")
    assert "Equal claims are not equal guarantees" in CliRunner().invoke(app, options).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 5}, "n = 5"),
        ({"epsilon": 0.0}, "epsilon = 0"),
        ({"bounds": (40.0, 50.0)}, r"bounds = .* around the data model's mean 0"),
        ({"data_model": "norml"}, "kind = 'norml'.*did you mean normal"),
        ({"repeats": 5}, "repeats = 5"),
        ({"delta": 1.0}, "delta = 1"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(gs.GibbsafeError, match=message):
        compare_means(**({"n": 100, "epsilon": 1.0, "sets": 2, "draws": 1} | options))
