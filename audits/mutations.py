"""Planted bugs: does any test notice?

    python audits/mutations.py --report docs/audit-mutations.md

Every number, comparison, minimum, sign, tail, adjacency and check of what prices a claim (privacy/, theorems/, the constants of
models/ and posteriors/, the row path of data/) is a place where a declared operator can plant a bug. A sample is drawn by a
committed seed, place by place, so that new code does not exchange it. Each bug is planted alone in a copy of the sources, and the
tests of its room run until one fails; what survives, and is not known to be harmless, is shown to more tests, and to oracles of
many more cases. Survivors are listed with the reason why they are harmless (audits/mutations_harmless.json), or are for a test
to catch.
"""

from __future__ import annotations

import argparse
import ast
import copy
import datetime
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from arguments import arguments, finish
from mutation_operators import variants
from parts import Part

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gibbsafe"
HARMLESS = Path(__file__).with_name("mutations_harmless.json")
#: Processor seconds after which a mutant counts as noticed: it hangs. (Waiting for a busy machine is no hanging.)
PATIENCE = 240

#: Where claims are priced. Of models only the functions that state constants; of data the path that rows take.
FOLDERS = ("privacy", "theorems")
TABLES = "posteriors/tables.py"  # the widths that the constants of families are made of
CONSTANTS = {
    "constants", "_difference_blocks", "squared_loss_difference", "ranges", "single_range", "statistic_bounds", "diameter",
    "lipschitz_factor", "block_ranges", "block_widths", "log_odds_width", "_stochastic", "_range_per_width",
    "radius", "row_scale", "width",
}  # fmt: skip
ROWS = ("data/blocks.py", "data/census.py", "data/clipping.py", "data/compression.py", "data/sources.py", "data/stream.py")
#: Tests that run for a room, in order: the quickest to notice first. A file's own tests come second.
TESTS = {
    "privacy": ("tests/oracles", "tests/privacy", "tests/theorems/test_theorems.py", "tests/ledger/test_caps.py"),
    "theorems": ("tests/oracles", "tests/theorems/test_theorems.py", "tests/theorems/test_errata.py", "tests/test_golden.py"),
    "models": ("tests/oracles", "tests/models/families/test_narrow_ranges.py", "tests/models/test_conformance.py"),
    "posteriors": ("tests/oracles", "tests/models/families/test_narrow_ranges.py", "tests/models/families/test_families.py"),
    "data": ("tests/data", "tests/release/test_releases.py", "tests/models/families/test_family_inputs.py"),
}
#: What survives these is shown to whole rooms, and to oracles of many more cases.
PRICED = ("tests/privacy", "tests/planning/test_budget_claims.py", "tests/theorems")
MORE = {
    "privacy": (*PRICED, "tests/ledger/test_whole_budget.py"),
    "theorems": PRICED,
    "models": ("tests/models", "tests/planning/test_budget_claims.py"),
    "posteriors": ("tests/models", "tests/posteriors"),
    "data": ("tests/models", "tests/release", "tests/security/test_bombs.py"),
}
ORACLE_CASES = 60


@dataclass(frozen=True)
class Mutation:
    """One planted bug: where, by which operator, the how-manieth of its kind in its function."""

    file: str
    function: str
    operator: str
    number: int

    def __str__(self) -> str:
        room, name = self.file.split("/", 1)[0], Path(self.file).name  # the same wherever in its room a file lives
        return f"{room}/{name}::{self.function}::{self.operator}::{self.number}"


def _functions(tree: ast.Module, file: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the outermost functions whose insides are mutated, by name."""
    for node in tree.body:
        members = [(node.name, each) for each in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        for owner, each in members:
            if not isinstance(each, ast.FunctionDef):
                continue
            if file.startswith(("models/", "posteriors/")) and each.name not in CONSTANTS:
                continue
            if each.name not in ("__repr__", "__str__", "to_dict"):
                yield f"{owner}.{each.name}" if owner else each.name, each


def files() -> list[str]:
    """Return the files in which bugs are planted."""
    listed = [
        str(path.relative_to(PACKAGE)) for folder in (*FOLDERS, "models") for path in sorted((PACKAGE / folder).rglob("*.py"))
    ]
    return [file for file in (*listed, TABLES, *ROWS) if not file.endswith("__init__.py") and (PACKAGE / file).exists()]


def mutations() -> list[Mutation]:
    """Return every place and operator."""
    found = []
    for file in files():
        tree = ast.parse((PACKAGE / file).read_text())
        for name, function in _functions(tree, file):
            seen: Counter[str] = Counter()
            for _, operator, _ in variants(function):
                found.append(Mutation(file, name, operator, seen[operator]))
                seen[operator] += 1
    return found


def mutated(mutation: Mutation) -> tuple[str, str, int]:
    """Return the file's source with the bug planted, the statement before, and its line."""
    tree = ast.parse((PACKAGE / mutation.file).read_text())
    planted = copy.deepcopy(tree)
    function = dict(_functions(planted, mutation.file))[mutation.function]
    seen = 0
    for node, operator, plant in variants(function):
        if operator != mutation.operator:
            continue
        if seen == mutation.number:
            line = getattr(node, "lineno", 0)
            before = (PACKAGE / mutation.file).read_text().splitlines()[line - 1].strip()
            plant()
            return ast.unparse(ast.fix_missing_locations(planted)), before, line
        seen += 1
    raise LookupError(str(mutation))


def tests_for(file: str, more: bool) -> list[str]:
    """Return the tests to run: its room's first one, the file's own, then the room's others; or what is shown to survivors."""
    folder, place = file.split("/", 1)[0], Path(file)
    own = [f"tests/{place.parent}/test_{place.stem}.py", f"tests/{place.parent}/test_{place.stem}s.py"]
    listed = (*MORE[folder], "tests/oracles") if more else (TESTS[folder][0], *own, *TESTS[folder])
    return list(dict.fromkeys(test for test in listed if (ROOT / test).exists()))


def judge(mutation: Mutation, more: bool = False) -> tuple[str, str]:
    """Plant one bug in a copy of the sources; return "noticed", "hangs" or "survives", and the test that noticed.

    Without an operator nothing is planted: what then fails would notice every bug.
    """
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(PACKAGE, Path(place) / "gibbsafe")
        if mutation.operator:
            (Path(place) / "gibbsafe" / mutation.file).write_text(mutated(mutation)[0])
        environment = os.environ | {"PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment |= {"GIBBSAFE_ORACLE_CASES": str(ORACLE_CASES)} if more else {}
        options = ["-p", "no:xdist", "-p", "no:cacheprovider", "-x", "-q", "--no-header", "--tb=no"]
        strict = ["--override-ini", "addopts=--import-mode=importlib"]
        command = [sys.executable, "-m", "pytest", *options, *strict, *tests_for(mutation.file, more)]
        limited = ["prlimit", f"--cpu={PATIENCE}", *command] if shutil.which("prlimit") else command
        ran = subprocess.run(limited, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode < 0:
        return "hangs", ""
    if ran.returncode == 0:
        return "survives", ""
    named = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "noticed", named[0].split(" - ")[0] if named else "at import"


def reasons() -> dict[str, str]:
    """Return why bugs are harmless, by bug."""
    found: dict[str, str] = json.loads(HARMLESS.read_text())
    return found


def markdown(outcomes: dict[Mutation, tuple[str, str]], places: int, options: argparse.Namespace, seconds: float) -> str:
    """The report that is kept."""
    verdicts = Counter(verdict for verdict, _ in outcomes.values())
    known, lines, open_ones = reasons(), [], 0
    for mutation, (verdict, _) in sorted(outcomes.items(), key=lambda item: str(item[0])):
        if verdict == "survives":
            _, before, line = mutated(mutation)
            reason = known.get(str(mutation), "**not explained**")
            open_ones += str(mutation) not in known
            lines.append(f"| `{mutation}` | {line}: `{before.replace('|', '∣')}` | {reason} |")
    by_folder = Counter((mutation.file.split("/")[0], verdict) for mutation, (verdict, _) in outcomes.items())
    table = [
        f"| {folder}/ | {by_folder[folder, 'noticed'] + by_folder[folder, 'hangs']} | {by_folder[folder, 'survives']} |"
        for folder in TESTS
    ]
    operators = Counter((mutation.operator.split(":")[0], verdict) for mutation, (verdict, _) in outcomes.items())
    kinds = [
        f"| {kind} | {operators[kind, 'noticed'] + operators[kind, 'hangs']} | {operators[kind, 'survives']} |"
        for kind in sorted({kind for kind, _ in operators})
    ]
    return f"""# Audit: planted bugs

Written by `{options.command}` on {datetime.date.today().isoformat()}
(Python {platform.python_version()}, {seconds:.0f} s of processor time).

{places:,} places in privacy/, theorems/, the constants of models/ and posteriors/ and the row path of data/ can carry a bug by
one of the operators below; {options.sample} were drawn. {len(outcomes)} were planted so far, one at a time, and shown to the
tests of their room.
{verdicts["noticed"]} were noticed, {verdicts["hangs"]} made the tests hang, {verdicts["survives"]} survived,
{open_ones} of them unexplained.

| room | noticed | survived |
|---|---|---|
{chr(10).join(table)}

| operator | noticed | survived |
|---|---|---|
{chr(10).join(kinds)}

## Survivors

| bug | line | why it is harmless |
|---|---|---|
{chr(10).join(lines) or "| none | | |"}
"""


def main() -> None:
    """Command line."""
    options = arguments(__doc__, {"sample": (100, 8)}, seed=16, minutes=55.0)
    every = mutations()
    drawn = sorted(every, key=lambda each: hashlib.sha256(f"{options.seed} {each}".encode()).digest())[: options.sample]
    part = Part("mutations", options.seed)  # a larger sample of a seed keeps what was done
    sound = [Mutation(f"{room}/", "", "", 0) for room in TESTS]
    found, seconds = part.run([*sound, *drawn], judge, minutes=options.minutes)
    for room, outcome in zip(TESTS, found, strict=False):
        if outcome is not None and outcome[0] != "survives":
            sys.exit(f"{room}/ without any bug: {outcome[0]} {outcome[1]}; repair that first (its state: {part.path})")
    found = found[len(sound) :]
    judged = {mutation: outcome for mutation, outcome in zip(drawn, found, strict=True) if outcome is not None}
    unclear = [each for each, (verdict, _) in judged.items() if verdict == "survives" and str(each) not in reasons()]
    again, spent = Part("mutations-more", options.seed).run(unclear, partial(judge, more=True), minutes=options.minutes)
    judged |= {mutation: outcome for mutation, outcome in zip(unclear, again, strict=True) if outcome is not None}
    text = markdown(judged, len(every), options, seconds + spent)
    finish(options, text, [judged.get(each) for each in drawn])
    if "**not explained**" in text:
        sys.exit(1)


if __name__ == "__main__":
    main()
