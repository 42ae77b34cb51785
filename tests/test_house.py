"""The measures of the house: files one can read, functions one can see, names that are documented, and the way of a record."""

import ast
import statistics
import sys
from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions
from gibbsafe.release.draw import _Reading

SOURCE = Path(gs.__file__).parent
FILES = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
FIXTURES = Path(__file__).parent / "fixtures"


def test_files_are_short():
    sizes = {path: len(text.splitlines()) for path, text in FILES.items()}
    assert statistics.median(sizes.values()) <= 150
    assert max(sizes.values()) <= 400, max(sizes, key=sizes.get)


def test_functions_are_short():
    for path, text in FILES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, FUNCTIONS):
                assert node.end_lineno - node.lineno + 1 <= 60, f"{path.relative_to(SOURCE)}: {node.name}"


def public(node):
    """Yield a module, and the classes, functions and methods whose names do not begin with an underscore."""
    yield node
    for child in node.body:
        if isinstance(child, FUNCTIONS | ast.ClassDef) and not child.name.startswith("_"):
            yield from public(child) if isinstance(child, ast.ClassDef) else [child]


def test_public_names_are_documented():
    documented = [bool(ast.get_docstring(node)) for text in FILES.values() for node in public(ast.parse(text))]
    assert np.mean(documented) >= 0.95


def rooms_of_a_record(study, table):
    """Return the rooms in which functions run while a file becomes row blocks, in the order of their first call.

    Modules that lie in no room are the foundations, and count as one.
    """
    declared, seen = gs.Study.load(study), {}
    plan, options = declared.plan(), EncodingOptions()
    reading = _Reading(plan, declared.read(table), options, None, None)

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and SOURCE in path.parents:
            first = path.relative_to(SOURCE).parts[0]
            seen.setdefault("foundations" if first.endswith(".py") else first, frame.f_code.co_name)

    sys.setprofile(note)
    try:
        blocks, _ = reading.before_charging(None)
    finally:
        sys.setprofile(None)
    assert blocks.n_rows == plan.n
    return list(seen)


@pytest.mark.parametrize("columns", ["features of a linear model", "columns of a mean"])
def test_a_record_crosses_at_most_six_rooms_from_file_to_block(columns, tmp_path):
    pytest.importorskip("pyarrow")
    study = (FIXTURES / "study.toml").read_text()
    if columns == "columns of a mean":
        study = study.replace("LogisticRegression", "GaussianMean").replace('[target]\nname = "benign"\nlabels = [0, 1]', "#")
    (tmp_path / "study.toml").write_text(study)
    crossed = rooms_of_a_record(tmp_path / "study.toml", FIXTURES / "patients.csv")
    assert len(crossed) <= 6, crossed
    assert {"data", "models", "domains"} <= set(crossed)


def climbs(tree):
    """Yield (line, how many folders up) of every `.parents[k]` and of chains of `.parent`; a name stands for a file's folder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and isinstance(node.slice, ast.Constant):
            if node.value.attr == "parents" and isinstance(node.slice.value, int):
                yield node.lineno, node.slice.value + 1
        elif isinstance(node, ast.Attribute) and node.attr == "parent":
            base, steps = node, 0
            while isinstance(base, ast.Attribute) and base.attr == "parent":
                base, steps = base.value, steps + 1
            yield node.lineno, steps + isinstance(base, ast.Name)


def test_nothing_looks_outside_the_clone_by_default():
    """No default path climbs above the root of the repository."""
    assert next(climbs(ast.parse('HERE.parent.parent / "shared"'))) == (1, 3)
    root = Path(__file__).parents[1]
    for path in [*root.glob("benchmarks/**/*.py"), *root.glob("audits/*.py"), *root.glob("tests/**/*.py")]:
        depth = len(path.relative_to(root).parts)
        for line, steps in climbs(ast.parse(path.read_text())):
            assert steps <= depth, f"{path.relative_to(root)}:{line}"
