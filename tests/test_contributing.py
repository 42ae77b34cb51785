"""CONTRIBUTING.md is literally true: the files that it names are there, and its doors are the registries'."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
#: What looks like a path: anything in backticks with a slash or a file's ending, and no spaces or brackets.
PATHS = sorted({found for found in re.findall(r"`([^`\s()]+)`", TEXT) if "/" in found or found.endswith((".py", ".md", ".c"))})
DOORS = dict(re.findall(r"^### Add a (\w+).*copy `(docs/skeletons/\w+\.py)`$", TEXT, re.MULTILINE))


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_is_named_is_there(path):
    """NAME stands for a file that is made: its folder is there, and has others of its kind."""
    if "NAME" in path:
        assert list((ROOT / path).parent.glob("*.py")), path
    else:
        assert (ROOT / path).exists(), path


def test_every_door_has_its_skeleton_and_a_table():
    assert set(DOORS) == {"theorem", "model", "family", "sampler"}
    assert set(DOORS.values()) == {f"docs/skeletons/{path.name}" for path in (ROOT / "docs" / "skeletons").glob("*.py")}
    for part in TEXT.split("\n### ")[1:]:
        rows = re.findall(r"^\| (`.*?) \| (.+) \|$", part, re.MULTILINE)
        assert len(rows) >= 4
        assert rows[0][0].startswith("`src/gibbsafe/")


def test_it_is_one_page():
    assert len(TEXT.splitlines()) <= 110
