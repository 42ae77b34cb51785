"""From a CSV to a released contaminated posterior by commands, and what they refuse."""

import json

import pytest
from typer.testing import CliRunner

from gibbsafe.cli import app
from gibbsafe.contamination.epsilon import tuning

QUICK = (
    ("truth = 30.0 ", "truth = 30.0\nrepeats = 12 #"),
    ("failure = 0.1", "failure = 0.3"),
    ("confidence = 0.9", "confidence = 0.6"),
    ("# rate = 0.3", "rate = 0.3"),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Instead of the desk's study: the contaminated example, with fewer repeats and a declared rate."""
    folder = tmp_path_factory.mktemp("contaminated")
    made = CliRunner().invoke(app, ["init", "--example", "--contaminated", "--out", str(folder / "study.toml")])
    assert made.exit_code == 0, made.output
    text = (folder / "study.toml").read_text()
    for old, new in QUICK:
        assert old in text
        text = text.replace(old, new)
    (folder / "study.toml").write_text(text)
    return folder


def test_five_commands_lead_to_a_release_that_every_command_understands(desk, run):
    assert run("ledger", "open", "ledger.db#estimates", "--journal", "--adjacency", "replace-one")[0] == 0
    code, out, err = run("release", "study.toml", "--data", "waiting.csv", "--out", "release.json", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["kind"] == "estimated random DP, not proved"
    assert "claim" not in document
    assert document["charge"]["entry"] == 1
    code, out, _ = run("verify", "release.json")
    assert code == 0
    assert "nothing is proved" in out
    assert run("report", "release.json", "--out", "report.html")[0] == 0
    page = (desk / "report.html").read_text()
    assert "Estimated random dp, not proved" in page
    assert "Accounts of proved claims do not cover this release" in page
    code, out, _ = run("query", "release.json", "--json")
    assert json.loads(out)["kind"] == "estimated random DP, not proved"
    code, out, _ = run("ledger", "show", "ledger.db#estimates")
    assert "no total" in " ".join(out.split())
    assert json.loads(run("ledger", "check", "ledger.db#estimates", "--json")[1])["status"] == "consistent"
    code, out, _ = run("plan", "study.toml", "--out", "plan.json", "--json")
    assert json.loads(out)["plan"]["estimate"]["epsilon"] <= 1.5
    assert "Random DP, not proved" in run("plan", "plan.json")[1]


def test_a_proved_account_says_that_estimates_are_not_covered(desk, run):
    run("ledger", "open", "proved.db#clinic", "--epsilon", "1", "--delta", "1e-6", "--adjacency", "replace-one")
    out = " ".join(run("ledger", "show", "proved.db#clinic")[1].split())
    assert "not covered" in out
    assert "estimated (random-DP) releases" in out


def test_estimates_of_the_table_itself_are_marked_for_the_curator(desk, run):
    code, out, err = run("estimate", "study.toml", "--data", "waiting.csv", "--curator", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["sensitive"] is True
    assert document["curator_only"].startswith("for the curator only")
    assert run("estimate", "study.toml", "--data", "waiting.csv")[0] == 2
    assert run("estimate", "study.toml", "--curator")[0] == 2
    assert run("estimate", "study.toml", "--data", "waiting.csv", "--curator", "--choose", "p")[0] == 2


@pytest.mark.parametrize("what", ["p", "n"])
def test_the_rate_or_the_number_of_records_is_chosen(desk, run, monkeypatch, what):
    monkeypatch.setattr(tuning, "QUICK", {"repeats": 3, "quantile": 0.5, "confidence": 0.6})
    (desk / "study.toml").write_text((desk / "study.toml").read_text().replace("n = 400 ", "n = 150 "))
    code, out, err = run("estimate", "study.toml", "--choose", what, "--epsilon", "3", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["epsilon"] <= 3
    assert set(document["chosen"]) == {what}


BAD_STUDIES = [
    ("[target]", "[targets]", "targets"),
    ('name = "days"', 'name = "hours"', "hours"),
    ("epsilon = 1.5", "epsilon = 0", "epsilon"),
    ("epsilon = 1.5", "epsilon = 0.01", "contaminate more"),
    ("n = 400", "n = 401", "n = 401"),
    ('model = "NormalMean"', 'model = "GaussianMean"', "contamination.model"),
    ("scale = 8.0 ", "scale = -8.0 ", "scale"),
    ("truth = 30.0\n", "truth = [1.0, 2.0]\n", "truth"),
    ("truth = 30.0\n", "truth = 30.0\ndelta = 0.1\n", "says it"),
    ("truth = 30.0\n", "truth = 30.0\nparticles = 9\n", "particles"),
    ("degrees = 5.0", "degrees = 'many'", "degrees"),
    ("confidence = 0.6", "confidence = 2", "confidence"),
    ("repeats = 12 #", "repeats = 1 #", "repeats"),
    ("[budget] ", "[model]\nname = 'LogisticRegression'\n[budget] ", "model"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_STUDIES, ids=[new.strip()[:30] for _, new, _ in BAD_STUDIES])
def test_a_bad_study_is_refused_in_one_line_and_nothing_is_written(desk, refused, old, new, message):
    text = (desk / "study.toml").read_text()
    assert old in text
    (desk / "study.toml").write_text(text.replace(old, new, 1))
    assert message in refused("release", "study.toml", "--data", "waiting.csv", "--no-ledger")
    assert not (desk / "release.json").exists()


def test_misuse(desk, run, refused):
    assert run("ledger", "open", "l.db#j", "--journal", "--epsilon", "1", "--adjacency", "replace-one")[0] == 2
    assert run("ledger", "open", "l.db#j", "--adjacency", "replace-one")[0] == 2
    assert run("init", "--contaminated", "waiting.csv")[0] == 2
    assert run("estimate", "study.toml", "--choose", "q")[0] == 2
    assert run("estimate", "study.toml", "--epsilon", "1")[0] == 2
    run("plan", "study.toml", "--out", "plan.json", "-q")
    assert "nothing is proved" in refused("audit", "plan.json")
