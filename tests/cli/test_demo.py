"""``gibbsafe demo`` from nothing to a verified release and a picture, on one screen."""

import json
import sys

import numpy as np
from typer.testing import CliRunner

import gibbsafe as gs
from gibbsafe.cli import app
from gibbsafe.cli.demonstration import ordinary_fit
from gibbsafe.cli.example import INTERCEPT, SLOPES, patients

run = CliRunner().invoke


def test_demo_writes_a_verified_release_and_a_picture(tmp_path):
    result = run(app, ["demo", "--folder", str(tmp_path), "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["claim"]["epsilon"] <= 1.0
    assert abs(document["accuracy"] - document["non_private_accuracy"]) < 0.02
    assert gs.verify(tmp_path / "release.json")["claim"] == document["claim"]
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_is_one_screen_and_the_rest_stands_behind_details(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    result = run(app, ["demo"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 130
    assert "pip install 'gibbsafe[plots]'" in result.stdout
    assert not (tmp_path / "demo.png").exists()
    more = run(app, ["demo", "--force", "--details"]).stdout
    for words in ("What the theorems allow", "times as cold", "The plan", "Certificate"):
        assert words in more
        assert words not in result.stdout


def test_the_ordinary_fit_is_the_one_of_greatest_likelihood():
    """The score is 0 there, and the truth lies within five standard errors (false-alarm rate 2e-6)."""
    features, outcomes = patients(5000)
    fit = ordinary_fit(features, outcomes)
    rows = np.column_stack([features, np.ones(5000)])
    np.testing.assert_allclose(rows.T @ (outcomes - 1 / (1 + np.exp(-rows @ fit.values))), 0, atol=1e-6)
    errors = (fit.upper - fit.values) / 1.6448536269514722
    assert (np.abs(fit.values - [*SLOPES.values(), INTERCEPT]) < 5 * errors).all()
