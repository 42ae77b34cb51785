"""Every example in README and docs runs as printed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gibbsafe.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    for page in PAGES:
        for number, body in enumerate(re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)):
            yield pytest.param(body, id=f"{page.name}-{number}")


@pytest.mark.parametrize("body", list(blocks("python")))
def test_python_example_runs(body, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(body, "example", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("body", list(blocks("console")))
def test_console_example_runs(body, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in body.strip().splitlines():
        words = shlex.split(line)
        if words[0] == "make":
            assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text()
        else:
            assert words[0] == "gibbsafe"
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, result.output


def test_the_first_example_is_about_ten_lines():
    body = next(blocks("python")).values[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 13


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
