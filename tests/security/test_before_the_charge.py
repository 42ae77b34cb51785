"""Attack 8: be charged for nothing, or for the wrong thing: what can be found out before the charge is."""

import builtins
import sys
from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs

RELEASE = ("release", "study.toml", "--data", "patients.csv", "--ledger", "ledger.db#clinic")


@pytest.fixture
def desk(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert run("init", "--example")[0] == 0
    return gs.ledger.open_account("ledger.db", "clinic", gs.Budget(8.0, 1e-3), adjacency="replace-one")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--purpose", "estimate"), 2),
        (("--resaon", "typo"), 2),
        (("--out", "nowhere/r.json"), 1),
        (("--out", "patients.csv", "--force"), 1),
        (("--out", "ledger.db", "--force"), 1),
        (("--storage", "float16"), 1),
        (("--memory", "lots"), 1),
        (("--sign", "absent.key"), 1),
        (("--anchor", "absent/marks"), 1),
        (("--dataset", "another"), 1),
        (("--anchor", "-", "--json"), 2),
    ],
)
def test_nothing_is_charged_for_a_mistake(desk, run, arguments, code):
    assert run(*RELEASE, *arguments)[0] == code
    assert desk.status()["charges"] == 0


@pytest.mark.parametrize("missing", ["pyarrow", "cryptography"])
def test_a_missing_package_is_found_before_the_charge(desk, run, monkeypatch, missing):
    for name in [each for each in sys.modules if each.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    ordinary = builtins.__import__

    def absent(name, *arguments, **options):
        if name.split(".")[0] == missing:
            raise ImportError(f"No module named {missing!r}")
        return ordinary(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    code, _, err = run(*RELEASE, *(("--sign", "study.toml") if missing == "cryptography" else ()))
    assert code == 1
    assert err.count("\n") == 1
    monkeypatch.setattr(builtins, "__import__", ordinary)
    assert desk.status()["charges"] == 0


@pytest.mark.parametrize(
    "command",
    [
        (*RELEASE, "--reason", "a\udcff"),
        (*RELEASE, "--key", "a\udcff"),
        (*RELEASE, "--dataset", "a\udcff"),
        ("ledger", "spend", "ledger.db#clinic", "--key", "k", "--mu", "0.1", "--adjacency", "replace-one", "--who", "\udcff"),
        ("ledger", "open", "ledger.db#\udcff", "--epsilon", "1", "--delta", "1e-6", "--adjacency", "replace-one"),
        ("ledger", "open", "ledger.db#d", "--epsilon", "1", "--delta", "0", "--adjacency", "replace-one", "--dataset", "\udcff"),
        ("ledger", "show", "ledger.db#\udcff"),
    ],
)
def test_bytes_that_are_no_text_are_refused_in_one_line(desk, run, command):
    code, _, err = run(*command)
    assert (code, err.count("\n")) == (1, 1), err
    assert desk.status()["charges"] == 0


class Counted:
    """A ledger that counts charges."""

    charges = 0

    def charge(self, plan):
        self.charges += 1


class Frame:
    """A table in somebody's memory, which can tell its length without PyArrow."""

    shape = (20, 1)

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("read")


@pytest.mark.parametrize("untrusted", [False, True])
def test_the_library_finds_a_missing_package_before_the_charge(monkeypatch, untrusted):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    plan, ledger = gs.plan(gs.models.BernoulliLogit(), gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one"), Counted()
    with pytest.raises(gs.DomainError, match="pip install pyarrow"):
        plan.release(Frame(), ledger=ledger, untrusted=untrusted)
    assert ledger.charges == 0


@pytest.mark.parametrize(
    "options", [{"memory": "lots"}, {"memory": 0}, {"storage": "float16"}, {"generator": 3}, {"persons": None}]
)
def test_the_library_finds_wrong_options_before_the_charge(options):
    model, ledger = gs.models.BernoulliLogit(), Counted()
    plan = gs.plan(model, gs.Budget(0.3, 1e-6), n=20, adjacency="replace-one", rows_per_person=2 if "persons" in options else 1)
    with pytest.raises(gs.GibbsafeError):
        plan.release(np.arange(20) % 2, ledger=ledger, untrusted=True, **options)
    assert ledger.charges == 0


@pytest.mark.parametrize(
    "command",
    [
        ("ledger", "open", "ledger.db#other", "--epsilon", "1", "--delta", "1e-6", "--adjacency", "replace-one"),
        ("ledger", "spend", "ledger.db#clinic", "--key", "k", "--mu", "0.1", "--adjacency", "replace-one"),
        RELEASE,
    ],
)
def test_the_old_flag_is_refused_with_the_new_one(desk, run, command):
    code, out, err = run(*command, "--purpose", "estimate")
    assert code == 2
    assert "--reason" in out + err
    assert desk.status()["charges"] == 0
    assert run(*command, "--reason", "a test", "-q")[0] == 0


UNTRUSTED = ("release", "theirs.toml", "--data", "patients.csv", "--untrusted-study", "--ledger", "ledger.db#bound", "-q")


@pytest.fixture
def bound(desk):
    """An account bound to a data set, with an anchor, and a study whose author would choose both."""
    theirs = '[ledger]\ndataset = "ward"\nanchor = "theirs.jsonl"\n'
    Path("theirs.toml").write_text(Path("study.toml").read_text().replace("[ledger]", theirs))
    budget = gs.Budget(8.0, 1e-3)
    return gs.ledger.open_account("ledger.db", "bound", budget, adjacency="replace-one", dataset="ward", anchor="marks.jsonl")


def test_an_untrusted_study_does_not_name_the_data(bound, run):
    code, _, err = run(*UNTRUSTED)
    assert code == 1
    assert "--dataset" in err
    assert bound.status()["charges"] == 0
    assert run(*UNTRUSTED, "--dataset", "another")[0] == 1
    assert bound.status()["charges"] == 0
    assert run(*UNTRUSTED, "--dataset", "ward")[0] == 0
    assert bound.status()["charges"] == 1


def test_an_untrusted_study_does_not_choose_where_marks_are_left(bound, run):
    """An anchor of its own would admit a ledger that was put back."""
    before = {path.name: path.read_bytes() for path in Path().glob("ledger.db*")}
    assert run(*UNTRUSTED, "--dataset", "ward")[0] == 0
    assert not Path("theirs.jsonl").exists()
    for path in Path().glob("ledger.db*"):
        path.unlink()
    for name, content in before.items():
        Path(name).write_bytes(content)
    code, _, err = run(*UNTRUSTED, "--dataset", "ward", "--out", "second.json")
    assert code == 1
    assert "anchor" in err
