"""What is distributed agrees with itself: versions, dependencies, extras, and the time that the command line takes to answer."""

import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import gibbsafe as gs
from gibbsafe._extras import EXTRAS, MissingExtraError, has_extra, require_extra

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_one():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M).group(1) == gs.__version__
    assert f'set version = "{gs.__version__}"' in (ROOT / "packaging" / "meta.yaml").read_text()
    assert re.search(r"^## (\S+)", changelog, re.M).group(1).rstrip(":") == gs.__version__


def test_the_conda_recipe_needs_what_the_wheel_needs():
    run = (ROOT / "packaging" / "meta.yaml").read_text().split("  run:\n")[1].split("\ntest:")[0]
    listed = {line.strip("- ").replace(" ", "") for line in run.strip().splitlines()} - {"python>=3.11"}
    assert listed == set(PROJECT["dependencies"])


def test_constraints_hold_every_dependency_at_a_version_that_is_admitted():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = [Requirement(line) for line in lines]
    extras = (line for name, lines in PROJECT["optional-dependencies"].items() if name != "all" for line in lines)
    for wanted in map(Requirement, [*PROJECT["dependencies"], *extras]):
        found = [each for each in pinned if each.name == wanted.name]
        assert found, wanted.name
        for each in found:
            assert wanted.specifier.contains(str(each.specifier).removeprefix("==")), each


def test_extras_are_those_of_the_distribution_and_of_the_readme():
    declared = set(PROJECT["optional-dependencies"])
    assert set(EXTRAS) == declared - {"all"}
    assert set(re.findall(r"^\| `gibbsafe\[(\w+)\]`", (ROOT / "README.md").read_text(), re.M)) == declared
    for name, extra in EXTRAS.items():
        named = {Requirement(line).name for line in PROJECT["optional-dependencies"][name]}
        assert extra.package.lower() in named
        assert len(named) == 1 or name == "service"  # which needs several


@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_extra_is_one_line_with_its_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, EXTRAS[name].modules[0], None)
    assert not has_extra(name)
    with pytest.raises(MissingExtraError, match=rf"^this: .*; run: pip install 'gibbsafe\[{name}\]'$"):
        require_extra(name, "this")
    assert issubclass(MissingExtraError, gs.GibbsafeError)
    assert issubclass(MissingExtraError, ImportError)


def processor_time(*arguments):
    """The least of four: what others do on the machine only adds to it."""
    times = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(times)


def test_help_answers_at_once():
    """In under 0.4 s of processor time; on a crowded machine in 2.5 times what its two libraries take alone."""
    probe = "import sys, gibbsafe.cli; print(sorted({'numpy', 'scipy', 'pyarrow', 'sqlalchemy', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout == "[]\n"
    allowed = max(0.4, 2.5 * processor_time("-c", "import typer.rich_utils"))
    assert processor_time("-m", "gibbsafe", "--help") < allowed
