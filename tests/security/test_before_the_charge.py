"""Attack 8: be charged for nothing, or for the wrong thing: what can be found out before the charge is."""

import builtins
import sys

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
