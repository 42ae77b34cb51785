"""Every audit is called in the same way, and its report says what ran."""

import runpy
import sys

import pytest

from .loading import AUDITS, load

SIZES = {"cases": (1000, 10), "server-kills": (300, 20)}
#: Every script that is a command.
COMMANDS = sorted(path.name for path in AUDITS.glob("*.py") if '__name__ == "__main__"' in path.read_text())


@pytest.fixture
def module():
    return load("arguments")


@pytest.mark.parametrize("script", COMMANDS)
def test_every_audit_takes_the_same_arguments(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    monkeypatch.syspath_prepend(str(AUDITS))
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(AUDITS / script), run_name="__main__")
    assert not stop.value.code
    shown = capsys.readouterr().out
    for option in ("--share", "--quick", "--seed", "--minutes", "--report"):
        assert option in shown


def test_every_audit_is_a_part_of_make():
    makefile = (AUDITS.parent / "Makefile").read_text()
    assert [script for script in COMMANDS if f"audits/{script} $(HOW) --report docs/" not in makefile] == []


@pytest.mark.parametrize(
    ("given", "cases", "kills", "share"),
    [
        ([], 1000, 300, 1.0),
        (["--quick"], 10, 20, 0.05),
        (["--share", "0.1"], 100, 30, 0.1),
        (["--share", "0.0001"], 1, 1, 0.0001),
        (["--quick", "--cases", "7"], 7, 20, 0.05),
    ],
)
def test_sizes_follow_the_share_unless_they_are_named(module, given, cases, kills, share):
    chosen = module.arguments("What it does.", SIZES, given=given)
    assert (chosen.cases, chosen.server_kills, chosen.share) == (cases, kills, share)
    assert chosen.command.endswith(f"--cases {cases} --server-kills {kills} --seed 0")


@pytest.mark.parametrize("given", [["--quick", "--share", "0.5"], ["--share", "0"], ["--share", "2"]])
def test_what_fits_nothing_is_refused(module, given):
    with pytest.raises(SystemExit):
        module.arguments("What it does.", SIZES, given=given)


def test_a_report_says_what_was_left(module, tmp_path, capsys):
    chosen = module.arguments("What it does.", given=["--report", str(tmp_path / "new" / "r.md"), "--minutes", "3"])
    module.finish(chosen, "# Report\n", [1, None, 2])
    assert "1 of 3 units were left after 3 minutes" in (tmp_path / "new" / "r.md").read_text()
    module.finish(chosen, "# Report\n", [1, 2])
    assert (tmp_path / "new" / "r.md").read_text() == "# Report\n"
    assert "# Report" in capsys.readouterr().out
