"""``gibbsafe bounds`` and ``gibbsafe rehearse`` at the desk, and the whole way with a formula and private bounds."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs

STUDY = """\
# what is public
n = 2000
adjacency = "replace-one"
purpose = "estimate"
{head}
[budget]
epsilon = 0.5
delta = 1e-6
[model]
name = "LogisticRegression"
[columns.age]
bounds = [0, 100]
[columns.ward]
levels = ["a", "b"]
other = "b"
[columns.income]  # to be released
# bounds = [low, high]
transform = "signed-log"
[target]
name = "died"
labels = ["no", "yes"]
[ledger]
account = "clinic"
"""


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    rows = zip(
        random.integers(20, 90, 2000), random.choice(["a", "b"], 2000), random.lognormal(10, 1, 2000).round(2),
        random.choice(["no", "yes"], 2000), strict=True,
    )  # fmt: skip
    Path("table.csv").write_text("age,ward,income,died\n" + "".join(f"{a},{w},{i},{d}\n" for a, w, i, d in rows))
    Path("study.toml").write_text(STUDY.format(head='interactions = ["age:ward"]'))
    gs.ledger.open_account("sqlite:///ledger.db", "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one")
    return tmp_path


ASK = ("bounds", "table.csv", "--column", "income", "--range", "-1e9:1e9", "--epsilon", "0.4")


def test_bounds_go_into_the_study_and_the_certificate(office, run):
    code, out, err = run(*ASK, "--study", "study.toml", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    declared = tomllib.loads(Path("study.toml").read_text())["columns"]["income"]
    assert declared == {"bounds": found["bounds"], "charge": found["charge"], "transform": "signed-log"}
    assert "# what is public" in Path("study.toml").read_text()
    assert run("plan", "study.toml")[0] == 0
    code, out, _ = run("release", "study.toml", "--data", "table.csv")
    assert code == 0
    assert "(released under charge 1)" in out
    assert run("verify", "release.json")[0] == 0
    assert run("ledger", "check", "ledger.db#clinic")[0] == 0
    again = run(*ASK, "--study", "study.toml")
    assert again[0] == 1
    assert "has bounds already" in again[2]


def test_the_whole_way_with_a_formula(office, run):
    pytest.importorskip("formulaic")
    formula = 'formula = "died ~ age*ward + spline(age, knots=[40,60]) + income"'
    Path("study.toml").write_text(STUDY.format(head=formula))
    assert run(*ASK, "--study", "study.toml", "-q")[0] == 0
    assert run("plan", "study.toml", "-q")[0] == 0
    assert run("release", "study.toml", "--data", "table.csv", "-q")[0] == 0
    code, out, _ = run("query", "release.json", "--predict", "table.csv", "--json")
    assert code == 0, out
    code, out, err = run("report", "release.json", "--out", "report.html")
    assert code == 0, err
    assert "released under charge 1" in Path("report.html").read_text()


def test_levels_are_released(office, run):
    asked = ("bounds", "table.csv", "--column", "ward", "--levels", "--epsilon", "1", "--delta", "1e-7", "--no-ledger", "--json")
    found = json.loads(run(*asked)[1])
    assert found["levels"] == ["a", "b"]
    assert found["charge"] == "none"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--range": "1e9:-1e9"}, "low < high"),
        ({"--range": "0:inf"}, "finite"),
        ({"--range": "0"}, "LOW:HIGH"),
        ({"--range": "a:b"}, "numbers with ':'"),
        ({"--quantiles": "0,0.5"}, "in (0, 1)"),
        ({"--quantiles": "x"}, "numbers with ','"),
        ({"--column": "ward"}, "column 'ward': an entry cannot be read as what is declared"),
        ({"--column": "nothing"}, "'nothing' is there 0 times"),
        ({"--epsilon": "50"}, "is left; plan a smaller release"),
        ({"--epsilon": "-1"}, "epsilon = -1.0"),
        ({"--per-decade": "3"}, "per_decade = 3"),
        ({"--study": "nowhere.toml"}, "cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_charges_nothing(office, refused, changed, message):
    options = {"--column": "income", "--range": "-1e9:1e9", "--epsilon": "0.2", "--ledger": "ledger.db#clinic"} | changed
    line = refused("bounds", "table.csv", *(part for pair in options.items() for part in pair))
    assert message in line
    assert len(gs.ledger.account("ledger.db#clinic").entries()) == 1


def test_misuse_and_a_missing_account(office, run):
    assert run("bounds", "table.csv", "--column", "income", "--epsilon", "1", "--no-ledger")[0] == 2
    assert run(*ASK, "--levels", "--no-ledger")[0] == 2
    assert run(*ASK, "--ledger", "ledger.db#clinic", "--no-ledger")[0] == 2
    assert "no account is named" in run(*ASK)[2]


def test_the_target_has_no_released_bounds(office, refused):
    line = refused("bounds", "table.csv", "--column", "died", "--range", "0:1", "--epsilon", "0.1", "--study", "study.toml")
    assert "is the target" in line


def test_a_rehearsal_at_the_desk(office, run):
    Path("study.toml").write_text(STUDY.format(head="").replace('transform = "signed-log"', "bounds = [0, 1e6]"))
    code, out, err = run("rehearse", "study.toml", "--epsilon", "1,2", "--repeats", "2", "--rows", "500")
    assert code == 0, err
    assert "Nothing was read, charged or released." in out
    told = json.loads(run("rehearse", "study.toml", "--epsilon", "1", "--repeats", "2", "--rows", "300", "--json")[1])
    assert told["releases"][0]["epsilon"] == 1.0
    assert "epsilon = -1.0" in run("rehearse", "study.toml", "--epsilon", "-1")[2]


def test_a_plan_gives_advice(office, run):
    Path("study.toml").write_text(STUDY.format(head="").replace('transform = "signed-log"', "bounds = [0, 1e6]"))
    assert "Noise by n and ε" in run("plan", "study.toml")[1]
    assert "Advice" not in run("plan", "study.toml", "--no-advice")[1]
    assert json.loads(run("plan", "study.toml", "--json")[1])["advice"]["trade"]


PERSONS = STUDY.format(head="").replace("n = 2000", "n = 1000").replace(
    'name = "LogisticRegression"', 'name = "PseudoHuberRegression"\n[persons]\ncolumn = "who"\nrows_per_person = 2'
).replace('name = "died"\nlabels = ["no", "yes"]', 'name = "cost"')  # fmt: skip


def test_persons_and_the_target(office, run):
    """A study that counts persons: bounds are charged by person, those of the target too, and the certificate names both."""
    rows = Path("table.csv").read_text().splitlines()
    Path("persons.csv").write_text(
        "\n".join(f"{row},{'who,cost' if not k else f'p{k // 2},{k % 97}'}" for k, row in enumerate(rows))
    )
    Path("study.toml").write_text(PERSONS)
    gs.ledger.open_account("sqlite:///ledger.db", "people", gs.Budget(2.0, 1e-6), adjacency="replace-one", unit="person")
    study = ("--study", "study.toml", "--ledger", "ledger.db#people", "-q")
    for column in ("income", "cost"):
        assert run("bounds", "persons.csv", "--column", column, "--range", "-1e6:1e6", "--epsilon", "0.4", *study) == (0, "", "")
    declared = tomllib.loads(Path("study.toml").read_text())
    assert declared["target"]["charge"].startswith("2 of account people")
    code, out, err = run("release", "study.toml", "--data", "persons.csv", "--ledger", "ledger.db#people")
    assert code == 1, out  # 1,001 persons: the first has one row
    Path("study.toml").write_text(Path("study.toml").read_text().replace("n = 1000", "n = 1001"))
    code, out, err = run("release", "study.toml", "--data", "persons.csv", "--ledger", "ledger.db#people")
    assert (code, err) == (0, "")
    assert "(released under charge 1)" in out
    assert "bounds of cost: charge 2" in out
    assert run("verify", "release.json")[0] == 0
    tampered = json.loads(Path("release.json").read_text())
    tampered["plan"]["model"]["target_charge"] = tampered["plan"]["model"]["target_charge"].replace("2 of", "1 of")
    Path("tampered.json").write_text(json.dumps(tampered))
    assert run("verify", "tampered.json")[0] == 1
    forged = Path("study.toml").read_text().replace('charge = "2 of', 'charge = "1 of')
    Path("forged.toml").write_text(forged)
    code, _, err = run("release", "forged.toml", "--data", "persons.csv", "--ledger", "ledger.db#people", "--out", "f.json")
    assert code == 1
    assert "paid for no bounds of cost" in err


def test_what_cannot_be_written_is_refused_before_it_costs(office, refused):
    for text, message in (
        ("columns = {income = {}}\n", "cannot be changed safely"),
        ('[columns.a]\ncolumn = "income"\n[columns.b]\ncolumn = "income"\n', "columns a, b: all read 'income'"),
        ('[columns.income]\ncolumn = "age"\n', "reads 'age' of the table"),
    ):
        Path("odd.toml").write_text(text)
        line = refused(*ASK, "--study", "odd.toml", "--ledger", "ledger.db#clinic")
        assert message in line
    assert len(gs.ledger.account("ledger.db#clinic").entries()) == 1


def test_the_study_may_name_the_column_otherwise(office, run):
    Path("odd.toml").write_text('title = "ü"\r\n[columns.pay]  # what they earn\r\ncolumn = "income"\r\n')
    assert run(*ASK, "--study", "odd.toml", "--no-ledger", "-q")[0] == 0
    assert set(tomllib.loads(Path("odd.toml").read_text())["columns"]["pay"]) == {"column", "bounds", "charge"}


def test_whoever_is_not_trusted_is_charged_first(office, run):
    asked = ("bounds", "table.csv", "--column", "ward", "--range", "0:1", "--epsilon", "0.1", "--untrusted")
    assert run(*asked)[0] == 2
    code, _, err = run(*asked, "--ledger", "ledger.db#clinic")
    assert (code, err) == (0, "")  # every entry was replaced, and nothing was told of them
    assert len(gs.ledger.account("ledger.db#clinic").entries()) == 2
