"""The whole audit of a plan: verdict, JSON, picture, command."""

import json
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import gibbsafe as gs
from gibbsafe.audit import report
from gibbsafe.cli import app
from gibbsafe.theorems import Constants


@pytest.fixture(scope="module")
def plan():
    model = gs.models.PseudoHuberRegression(dimension=1, intercept=False)
    return gs.plan(model, gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one")


@pytest.fixture
def path(plan, tmp_path):
    place = tmp_path / "plan.json"
    place.write_text(plan.to_json())
    return place


def test_a_sound_plan_is_not_refuted_and_its_claim_is_tight(plan):
    audit = gs.audit.audit_plan(plan, draws=500, effort=24, generator=np.random.default_rng(1))
    assert not audit.refuted
    assert audit.neighbours.curve.epsilon(1e-6) > 0.99
    assert "not refuted" in str(audit)


def test_the_command_prints_writes_and_exits_0(path, tmp_path):
    picture = tmp_path / "audit.png"
    result = CliRunner().invoke(app, ["audit", str(path), "--draws", "200", "--effort", "24", "--json", "--out", str(picture)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["verdict"] == "not refuted"
    assert found["claim"]["epsilon"] == pytest.approx(1.0)
    assert found["exact"]["epsilon"] == pytest.approx(1.0, abs=0.01)
    for epsilon, claimed, exact in found["exact"]["curve"]:
        assert exact <= claimed * (1 + 1e-9) + found["exact"]["error"], epsilon
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_command_exits_1_when_a_claim_is_refuted(path, monkeypatch):
    honest = gs.models.PseudoHuberRegression.constants

    def halved(self, prior_precision, **asked) -> Constants:
        right = honest(self, prior_precision, **asked)
        return replace(right, lipschitz=tuple(value / 2 for value in right.lipschitz))

    monkeypatch.setattr(gs.models.PseudoHuberRegression, "constants", halved)
    model = gs.models.PseudoHuberRegression(dimension=1, intercept=False)
    path.write_text(gs.plan(model, gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one").to_json())
    result = CliRunner().invoke(app, ["audit", str(path), "--draws", "200", "--effort", "24"])
    assert result.exit_code == 1
    assert "REFUTED" in result.stdout
    assert "exact curve" in result.stdout
    assert "difference_lipschitz" in result.stdout


def test_seconds_bound_the_whole_command(path):
    """Search, runs and checks: what was asked for would take hours. Processor time: others may have the machine."""
    started = time.process_time()
    asked = ["audit", str(path), "--draws", "10000000", "--effort", "1000000", "--seconds", "1", "--json"]
    result = CliRunner().invoke(app, asked)
    assert time.process_time() - started < 6
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["stopped"]
    assert 8 <= found["lower_bound"]["draws"] < 10_000_000


def test_a_picture_that_cannot_be_drawn_is_refused_before_any_work(path, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "worst_neighbours", None)  # nothing may be searched
    for name, missing, words in (("a.xyz", None, "name it .png"), ("a.png", "matplotlib", r"pip install 'gibbsafe[plots]'")):
        with monkeypatch.context() as patched:
            if missing:
                patched.setitem(sys.modules, missing, None)
            result = CliRunner().invoke(app, ["audit", str(path), "--out", str(tmp_path / name)])
        assert isinstance(result.exception, gs.GibbsafeError)
        assert words in str(result.exception)


def test_plans_beyond_quadrature_are_audited_by_runs():
    model = gs.models.LogisticRegression(dimension=3)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one")
    audit = report.audit_plan(plan, draws=100, effort=24, generator=np.random.default_rng(2))
    assert audit.neighbours.curve is None
    assert audit.to_dict()["exact"] is None
    assert "exact        none" in str(audit)
    assert not audit.refuted


def test_worst_neighbours_need_two_records(plan):
    with pytest.raises(gs.PremiseError, match="at least two"):
        gs.audit.worst_neighbours(plan, records=[(np.zeros((1, 1)), np.zeros(1))])


def test_a_person_with_several_rows_brings_them_all():
    """The claim is for four rows at once: neighbours with four far rows attain it, as one far row alone would not."""
    model = gs.models.PseudoHuberRegression(dimension=1, intercept=False)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one", rows_per_person=4)
    worst = gs.audit.worst_neighbours(plan, effort=24)
    assert (worst.data[0] != worst.neighbour[0]).any(axis=1).sum() + (worst.data[1] != worst.neighbour[1]).sum() >= 4
    assert worst.curve.epsilon(1e-6) == pytest.approx(1.0, abs=1e-3)
    assert not gs.audit.same_mechanism(plan).refuted


def test_the_search_finds_what_is_planted():
    """Of many harmless records and one pair of ends, the ends are the worst neighbours."""
    model = gs.models.GaussianMean(dimension=1, radius=1.0)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=4, adjacency="replace-one")
    harmless = [np.array([[x]]) for x in (0.0, 0.1, -0.1, 0.2)]
    worst = gs.audit.worst_neighbours(plan, records=[*harmless, np.array([[1.0]]), np.array([[-1.0]])])
    ends = {float(worst.data[0, 0]), float(worst.neighbour[0, 0])}
    assert ends == {1.0, -1.0}
    assert worst.curve.epsilon(1e-6) == pytest.approx(1.0, abs=1e-5)
