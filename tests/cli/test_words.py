"""Words and numbers that people use: accounts in ε, flags as flags, one draw, columns by their names."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.cli.ledger_view import _rounded_down
from gibbsafe.ledger.caps import Caps, affordable_epsilon

# -- accounts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("currency", "budget"), [("gaussian", gs.Budget(2.0, 1e-6)), ("zcdp", gs.Budget(2.0, 1e-6)), ("pure", gs.Budget(2.0))]
)
def test_a_release_planned_for_what_is_printed_fits_and_a_larger_one_does_not(currency, budget, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = gs.ledger.open_account("ledger.db", "clinic", budget, adjacency="replace-one", currency=currency)
    mean = gs.models.GaussianMean(dimension=1, radius=1.0)
    model = gs.models.FiniteFamily.bernoulli(0.1) if currency == "pure" else mean

    def planned(epsilon):
        return gs.plan(model, gs.Budget(epsilon, budget.delta), n=50, adjacency="replace-one")

    opened.charge(planned(0.5), key="first")
    out = run("ledger", "show", "ledger.db#clinic")[1]
    printed = float(re.search(r"planned for at most ε = ([\d.]+) at δ", out).group(1))
    told = opened.status()["one_more"]
    assert told["delta"] == budget.delta
    assert told["epsilon"] * 0.999 <= printed <= told["epsilon"]
    with pytest.raises(gs.BudgetError, match="plan a smaller release"):
        opened.charge(planned(1.001 * told["epsilon"]), key="too large")
    opened.charge(planned(told["epsilon"]), key="the rest")
    assert opened.status()["share"]["main"] == pytest.approx(1.0)
    assert "fits" in run("ledger", "show", "ledger.db#clinic")[1]


def test_an_account_shows_keys_mechanisms_and_amounts_and_no_spent_epsilon(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = gs.ledger.open_account("ledger.db", "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one")
    opened.spend(gs.privacy.GaussianDP(0.1, adjacency="replace-one"), key="histogram", mechanism="noisy counts", reason="weekly")
    opened.charge(gs.plan(gs.models.BernoulliLogit(), gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one"))
    code, out, _ = run("ledger", "show", "ledger.db#clinic")
    assert code == 0
    for words in ("histogram", "noisy counts", "μ 0.1", "BernoulliLogit, posterior", "weekly", "unreleased", "% of the budget"):
        assert words in out
    assert not re.search(r"spent.*ε", out)
    shares = [entry["share"] for entry in opened.charges()]
    assert sum(shares) == pytest.approx(opened.status()["share"]["main"])


def test_nothing_left_affords_nothing():
    assert affordable_epsilon(Caps(0, 0, 0), "gaussian", 1e-6) == 0.0
    assert _rounded_down(0.99999) == "0.9999"


# -- commands ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), ("release",), ("ledger", "open"), ("key", "new"), ("reproduce", "minami-figure1")])
def test_help_shows_flags_as_flags(command, run):
    out = run(*command, "--help")[1]
    assert "--help" in out
    assert not re.search(r"bool", out, re.IGNORECASE)


def test_one_draw_is_one_draw(run, desk):
    study = Path("study.toml").read_text().replace("draws = 2", "draws = 1")
    Path("study.toml").write_text(study)
    assert run("release", "study.toml", "--data", "table.csv", "-q")[0] == 0
    out = run("query", "release.json")[1]
    assert out.startswith("1 draw ")
    assert "1 draws" not in out


def test_a_missing_number_names_its_column_and_the_key_of_the_study(refused, desk):
    lines = Path("table.csv").read_text().splitlines()
    lines[3] = "," + lines[3].split(",", 1)[1]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    message = refused("release", "study.toml", "--data", "table.csv")
    assert "column 'age'" in message
    assert "missing =" in message
    assert gs.ledger.account("ledger.db#clinic").status()["charges"] == 0


def test_a_plan_lists_theorems_that_apply_and_one_line_for_the_others(run, desk):
    out = run("plan", "study.toml")[1]
    told = json.loads(run("plan", "study.toml", "--json")[1])["theorems"]
    table = out.split("Theorems that apply")[1].split("What the budget buys")[0]
    rows, others = table.split("do not apply")
    for row in told:
        assert row["name"] in (others if row["inverse_temperature"] is None else rows)


def test_a_study_to_fill_in_gives_its_advice_once(run, desk):
    assert run("init", "table.csv", "--target", "outcome", "--out", "blank.toml", "-q")[0] == 0
    text = Path("blank.toml").read_text()
    assert text.count("log1p") == 1
    assert text.count('[columns."') == 2


def test_synthetic_rows_of_a_network_keep_their_column_names(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    states = {"smoker": ("no", "yes"), "ill": ("no", "yes")}
    model = gs.models.BayesianNetwork(states=states, parents={"smoker": (), "ill": ("smoker",)}, smallest_probability=0.05)
    plan = gs.plan(model, gs.Budget(5.0), n=40, adjacency="replace-one")
    rows = np.array([["no", "no"], ["yes", "yes"]] * 20, dtype=object)
    plan.release(rows, progress=False).save("release.json")
    out = run("query", "release.json", "--simulate", 5)[1]
    assert next(csv.reader(io.StringIO(out))) == ["smoker", "ill"]
