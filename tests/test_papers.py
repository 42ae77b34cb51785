"""docs/papers.md: every numbered statement of the three papers has its row, and what a row names exists and runs."""

import importlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gibbsafe.cli import app

ROOT = Path(__file__).parents[1]
STATUS = {"works", "corrected", "sharper", "asymptotic", "proof", "words"}


def numbered(kind, *numbers):
    return {f"{kind} {number}" for number in numbers}


#: The papers' own numbering, read from the papers.
ITEMS = {
    "Minami": numbered("Theorem", 3, 4, 5, 7, 10, 15, 16, 18, 21) | numbered("Corollary", 8, 11) | numbered("Lemma", 14, 20)
    | numbered("Proposition", 12, 13) | numbered("Assumption", 6, 9) | numbered("Example", 17, 19)
    | {"Claim 1", "Definition 2", "Figure 1", "Table 1"},
    "Dimitrakakis": numbered("Theorem", 4, 6, 7, 8, 13, 17, 25) | numbered("Corollary", 9, 10, 16) | numbered("Claim", 1, 2, 3, 4)
    | numbered("Lemma", 5, 11, 12, 14, 15, *range(18, 25)) | numbered("Assumption", 1, 2) | numbered("Definition", 1, 2)
    | numbered("Example", 1, 2) | numbered("Algorithm", 1, 2) | {"Remark 3", "Figure 1"},
    "Hu": numbered("Definition", *range(1, 15)) | numbered("Assumption", *range(1, 8)) | numbered("Proposition", 1, 3, 31, 32)
    | numbered("Lemma", 2, *range(6, 15), 16, *range(18, 29)) | numbered("Theorem", 4, 5, 15, 29) | numbered("Corollary", 17, 30)
    | numbered("Remark", *range(1, 22)) | numbered("Figure", 1, 2, 3) | {"Algorithm 1", "Table 1"},
}  # fmt: skip


def rows():
    """Return (paper, item, where, found, status) of every row of the page."""
    made, paper = [], None
    for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line.removeprefix("## ").split(",")[0]
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] not in ("item", "---"):
            made.append((paper, cells[0], cells[2], cells[3], cells[4]))
    return made


ROWS = rows()
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", f"{row[2]} {row[3]}")})
COMMANDS = sorted({name for name in NAMED if name.startswith("gibbsafe ")})
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", ITEMS)
def test_every_numbered_statement_has_one_row(paper):
    items = [item for owner, item, *_ in ROWS if owner == paper]
    assert len(items) == len(set(items))
    assert set(items) == ITEMS[paper]


def test_rows_are_whole():
    for paper, item, where, found, status in ROWS:
        assert status in STATUS, f"{paper}, {item}"
        assert re.search(r"`(gibbsafe|tests/)[^`]*`", where), f"{paper}, {item}: says nowhere where it is"
        assert found, f"{paper}, {item}"


def test_errata_that_rows_name_exist():
    known = set(re.findall(r"^\| (E\d+) ", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"\b(E\d+)\b", PAGE)) <= known


def found(name):
    """Return what a dotted name leads to: the longest module, then attributes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            thing = getattr(thing, attribute)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(gibbsafe\.[\w.]+)`", PAGE))))
def test_every_function_exists(name):
    assert found(name) is not None


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[^`]+)`", PAGE))))
def test_every_test_exists(name):
    path, _, function = name.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


#: How each command is run here: whole where it is quick, on the least that it takes otherwise.
SMALL = {
    "gibbsafe compare": ["--n", "1000", "--epsilon", "9", "--sets", "2", "--draws", "1", "--repeats", "7", "--failure", "0.4"],
    "gibbsafe reproduce hu-table1": ["--quick", "--sizes", "5000", "--repeats", "2"],
    "gibbsafe reproduce hu-figure1": ["--sizes", "100", "--sets", "2", "--draws", "1"],
    "gibbsafe reproduce hu-figure2": ["--sizes", "5000", "--repeats", "1"],
    "gibbsafe reproduce hu-figure3": ["--sizes", "5000", "--repeats", "1"],
    "gibbsafe reproduce hu-factor": ["--sizes", "5000", "--repeats", "1"],
}


@pytest.mark.parametrize("command", sorted({*COMMANDS, *re.findall(r"`(gibbsafe reproduce [\w-]+)`", PAGE)}))
def test_every_command_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = [*command.split()[1:], *SMALL.get(command, [])]
    if command == "gibbsafe estimate":
        table = 'model = "NormalMean"\nn = 50\ntruth = 0.0\nrepeats = 7\nquantile = 0.6\nmethod = "gaussian"\n'
        Path("study.toml").write_text(f"[contamination]\n{table}")
        options.append("study.toml")
    result = CliRunner().invoke(app, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert result.stdout
    if "figure" in command:
        assert next(tmp_path.glob("*.png")).read_bytes().startswith(b"\x89PNG")
