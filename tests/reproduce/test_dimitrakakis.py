"""Lemmas 19 to 24 and Figure 1 of Dimitrakakis et al. (2017), as commands."""

import json
import math

import pytest
from typer.testing import CliRunner

from gibbsafe.cli import app
from gibbsafe.reproduce.dimitrakakis import finite_bernoulli

run = CliRunner().invoke


@pytest.fixture(scope="module")
def rows():
    result = run(app, ["reproduce", "dimitrakakis-table", "--json"])
    assert result.exit_code == 0
    return {row["lemma"]: row for row in json.loads(result.stdout)}


def test_every_lemma_has_its_three_guarantees(rows):
    assert sorted(rows) == [19, 20, 21, 22, 23, 24]
    for row in rows.values():
        assert all(math.isfinite(row[name]) and row[name] > 0 for name in ("paper", "corrected", "range"))
        assert row["range"] <= row["corrected"]


def test_values_by_hand(rows):
    C = 0.2 / (0.1 * math.exp(-0.1))
    assert rows[19]["paper"] == pytest.approx(math.sqrt(C / 2 * 1.25))
    assert rows[19]["corrected"] == pytest.approx(math.sqrt(C * 0.15))
    assert rows[19]["range"] == pytest.approx(math.tanh(0.1 / 4))
    assert rows[20]["corrected"] == pytest.approx(math.sqrt(0.9 / (0.5 * math.exp(-0.15)) * 0.55 * 0.6))  # E15
    assert rows[21]["corrected"] == pytest.approx(math.sqrt(39 / 1.09375))  # C = 39, c = 1.09375
    assert rows[22]["range"] == pytest.approx(math.tanh(0.2 / 4))
    assert rows[23]["paper"] == pytest.approx(6 * math.sqrt(2))
    assert rows[23]["corrected"] == pytest.approx(4.0)  # mean 0: the metric's first term alone, √2 on the unit disc
    assert rows[24]["range"] == pytest.approx(23.122974063169318)
    assert rows[24]["paper"] < rows[24]["range"]  # E19: the printed claim is too small for whole rows


def test_the_table_prints():
    result = run(app, ["reproduce", "dimitrakakis-table"])
    assert result.exit_code == 0
    assert "Bayesian" in result.stdout


def test_figure_1_laws():
    """Uniform: mass 1/19 at ℓ = 0 for Δ = 0.05; L = ln 4 and ln 19; e^{−ℓ} raises both lower bounds' rates."""
    coarse, fine = (finite_bernoulli(spacing, shun_sensitive=False) for spacing in (0.2, 0.05))
    assert coarse.largest == pytest.approx(math.log(4))
    assert fine.largest == pytest.approx(math.log(19))
    assert fine.mass_below(1e-9) == pytest.approx(1 / 19)
    assert coarse.mass_below(1.0) == pytest.approx(0.5)
    for spacing, law in ((0.2, coarse), (0.05, fine)):
        shy = finite_bernoulli(spacing, shun_sensitive=True)
        assert shy.steepest().rate > law.steepest().rate
        assert shy.largest == law.largest


def test_figure_1_is_a_picture(tmp_path):
    out = tmp_path / "figure.png"
    result = run(app, ["reproduce", "dimitrakakis-figure1", "--out", str(out), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"figure": str(out)}
    assert out.read_bytes().startswith(b"\x89PNG")
