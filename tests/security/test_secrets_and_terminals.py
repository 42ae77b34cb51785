"""Attack 6: read passwords off messages, drive a terminal or a spreadsheet by what a file says."""

import re

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe._text import cell, printable

URLS = [
    "postgresql://ana:s3cret@127.0.0.1:1/db",
    "postgresql://ana:s3c:r@e/t@127.0.0.1:1/db",
    "postgresql+psycopg://ana:s3cret@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=ana&password=s3cret",
    "postgresql://127.0.0.1:1/db?sslpassword=s3cret",
    "mysql://ana:s3cret@127.0.0.1/db",
    "mssql+pyodbc://ana:s3cret@127.0.0.1/db?password=s3cret",
    "postgresql://ana:s3cret@127.0.0.1:port/db",
    "s3cret://ana:s3cret@h",
]


@pytest.mark.parametrize("url", URLS)
def test_no_message_shows_a_password(url, monkeypatch, run, tmp_path):
    monkeypatch.setenv("LEDGER_URL", url)
    (tmp_path / "url").write_text(f"{url}\n")
    seen = []
    for reference in ("env:LEDGER_URL#clinic", f"file:{tmp_path / 'url'}#clinic", f"{url}#clinic"):
        code, out, err = run("ledger", "show", reference)
        assert code in (1, 2)
        seen.append(out + err)
    for attempt in (lambda: gs.ledger.account(f"{url}#clinic"), lambda: gs.ledger.account(url)):
        with pytest.raises(gs.GibbsafeError) as refusal:
            attempt()
        seen += [str(refusal.value), repr(refusal.value)]
    if not url.startswith("s3cret"):
        for text in seen:
            assert not re.search(r"s3cret|s3c:r|e/t@|r@e", text), text


def test_a_password_on_the_command_line_is_refused(run):
    for arguments in (
        ("ledger", "show", f"{URLS[0]}#clinic"),
        ("ledger", "spend", "x.db#c", "--key", "k", "--mu", "1", "--adjacency", "replace-one", "--anchor", URLS[0]),
        ("ledger", "grants", URLS[0], "--apply"),
        ("release", "s.toml", "--data", "t.csv", "--ledger", f"{URLS[0]}#c"),
        ("ledger", "show", "x.db#c", f"{URLS[0]}#clinic"),
        ("ledger", URLS[0]),
        (URLS[0],),
        ("ledger", "backup", URLS[0], "--out", "copy.db"),
        ("plan", "s.toml", f"--ledgre={URLS[0]}"),
    ):
        code, out, err = run(*arguments)
        assert code == 2
        assert "env:NAME" in " ".join((out + err).replace("│", " ").split())
        assert "s3cret" not in out + err


@pytest.mark.parametrize("wrong", ["", "account = 3", 'acount = "clinic"', 'account = ""'])
def test_a_study_with_a_password_and_a_mistake(tmp_path, run, wrong):
    study = (
        f'adjacency = "add-remove"\nbudget = {{epsilon = 1}}\nmodel = {{name = "BernoulliLogit"}}\n[ledger]\nurl = "{URLS[0]}"\n'
    )
    (tmp_path / "study.toml").write_text(study + wrong + "\n")
    code, out, err = run("plan", tmp_path / "study.toml")
    assert code == 1
    assert "ledger" in err
    assert "s3cret" not in out + err


def test_objects_do_not_show_it_either():
    account = gs.ledger.Account(gs.ledger.Database(URLS[0]), "clinic")
    assert "s3cret" not in repr(account) + str(account)


def test_a_url_from_the_environment_or_a_file_works(tmp_path, monkeypatch, guarantee):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    gs.ledger.open_account(url, "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")
    monkeypatch.setenv("LEDGER_URL", url)
    (tmp_path / "url").write_text(f"{url}\n")
    for k, place in enumerate(("env:LEDGER_URL", f"file:{tmp_path / 'url'}")):
        gs.ledger.account(f"{place}#clinic").spend(guarantee, key=str(k))
    for place in ("env:NOTHING_SUCH", f"file:{tmp_path / 'absent'}"):
        with pytest.raises(gs.GibbsafeError, match=r"NOTHING_SUCH|absent"):
            gs.ledger.account(f"{place}#clinic")


#: Clears the screen, sets the title, turns writing around, rings, goes back.
HOSTILE = "a\x1b[2J\x1b]0;owned\x07\u202eb\x9b31m\rc\u2028d\x00"


def controls(text):
    return [character for character in text if printable(character) != character]


def test_control_characters_of_files_are_spelled_out(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    names = (HOSTILE, "x")
    model = gs.models.LogisticRegression(dimension=2, bounds=((0, 1), (0, 1)), feature_names=names)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=40, adjacency="replace-one", draws=3)
    plan.release((np.full((40, 2), 0.5), np.arange(40) % 2)).save("r.json")
    (tmp_path / "plan.json").write_text(plan.to_json())
    gs.ledger.open_account("l.db", "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one", reason=HOSTILE, who=HOSTILE)
    (tmp_path / "bad.toml").write_text("n = 1\n[model]\nname = " + repr("x") + "\n['a\x1b']\n")
    (tmp_path / "worse.toml").write_text('"a\\u001b[2J\\u202e" = 1\n')
    shown = 0
    for arguments in (
        ("verify", "r.json"),
        ("verify", "r.json", "--json"),
        ("query", "r.json"),
        ("query", "r.json", "--json"),
        ("plan", "plan.json"),
        ("plan", "plan.json", "--json"),
        ("ledger", "show", "l.db#clinic"),
        ("ledger", "export", "l.db#clinic"),
        ("plan", "bad.toml"),
        ("plan", "worse.toml"),
    ):
        _, out, err = run(*arguments)
        assert not controls(out + err), (arguments, controls(out + err))
        shown += "u001b" in out + err
    assert shown >= 5


def test_formulas_in_csv_out(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    label = "=HYPERLINK(1)"
    model = gs.models.LogisticRegression(dimension=1, bounds=((0, 1),), feature_names=("x",), labels=("@no", label))
    plan = gs.plan(model, gs.Budget(5.0, 1e-6), n=40, adjacency="replace-one")
    plan.release((np.full((40, 1), 0.5), np.array(["@no", label] * 20))).save("r.json")
    (tmp_path / "new.csv").write_text("x\n0.1\n0.9\n")
    assert run("query", "r.json", "--predict", "new.csv", "--out", "out.csv", "-q")[0] == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert all(line.startswith(("'=", "'@")) for line in lines)
    assert [cell(text) for text in ("=1", "+1", "-x", "@a", "\tx", " =1", "plain")] == [
        "'=1", "'+1", "'-x", "'@a", "'\tx", "' =1", "plain",
    ]  # fmt: skip


def test_the_report_forbids_scripts_and_loading(tmp_path):
    plan = gs.plan(gs.models.BernoulliLogit(), gs.Budget(1.0, 1e-6), n=40, adjacency="replace-one")
    from gibbsafe.report import render

    page = render(plan.release(np.arange(40) % 2), name="<script>alert(1)</script>")
    assert "default-src 'none'" in page.split("</head>")[0]
    assert "<script" not in page
