"""The plan of the house: which room may import which, by what doors, and that every module can be imported first."""

import ast
import json
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import gibbsafe

SOURCE = Path(gibbsafe.__file__).parent
#: From the foundations up to how people reach it: a room imports from itself and from rooms before it, and from no other.
LAYERS = (
    "errors", "_types", "_version", "_text", "_numerics", "_validate", "_json", "_extras", "_files", "_plotting",
    "randomness", "progress",
    "privacy", "theorems", "domains", "losses", "data", "posteriors", "samplers", "models", "planning", "ledger", "release",
    "ranges",
    "bounds", "assumptions", "queries", "population",
    "contamination", "audit", "reproduce",
    "estimators", "study", "report", "service", "client", "cli",
    "__init__", "__main__",
)  # fmt: skip
#: The only doors to rooms further on: methods for convenience, and what they are annotated with.
DOORS = {
    ("planning.plans", "Plan.release"): "release",
    ("planning.estimated", "plan_estimated"): "contamination",
    ("contamination.release.plans", "EstimatedPlan.release"): "contamination",
    ("models.linear.predictor", "LinearModel.with_loss"): "models",
    ("models.own.custom", "Custom.rehearse"): "study",
    ("release.verification", "verify"): "contamination",
    ("study.declaration", "Study.from_dict"): "study",
    ("release.releases", "Release.answer"): "queries",
    ("release.releases", "Release.interval"): "population",
    ("release.releases", "Release.population"): "population",
    ("release.releases", "Release._population"): "population",
    ("release.releases", "Release.table"): "population",
    ("release.releases", "Release.simulate"): "queries",
}
#: Modules that need what takes long to import, and are therefore imported inside functions.
OPTIONAL = {"ledger.tables"}  # SQLAlchemy
#: Rooms that import inside functions so that they start quickly.
QUICK = {"cli"}


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {name_of(path): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def room_of(module):
    return module.split(".")[0]


def imported_by(node):
    """Yield the modules of ours that an import statement names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "gibbsafe":
                yield alias.name.removeprefix("gibbsafe").lstrip(".") or "__init__"
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        if node.module and node.module.split(".")[0] == "gibbsafe":
            base = node.module.removeprefix("gibbsafe").lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield inner if inner in MODULES else base or "__init__"


def imports(module):
    """Yield (where, imported module) of a module: where is "top", "types", or the function that imports."""

    def walk(node, where, owner):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                for found in imported_by(child):
                    yield where, found
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from walk(child, f"{owner}{child.name}" if where in ("top", "types") else where, owner)
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, where, f"{child.name}.")
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from walk(child, "types", owner)
            else:
                yield from walk(child, where, owner)

    yield from walk(MODULES[module], "top", "")


def test_every_room_has_its_layer():
    assert {room_of(module) for module in MODULES} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_room_imports_from_rooms_before_it(layer):
    for module in MODULES:
        if room_of(module) == layer:
            check_imports(module)


def check_imports(module):
    room, doors = room_of(module), {target for (owner, _), target in DOORS.items() if owner == module}
    for where, found in imports(module):
        target = room_of(found)
        through_a_door = target in doors and (where == "types" or DOORS.get((module, where)) == target)
        assert LAYERS.index(target) <= LAYERS.index(room) or through_a_door, f"{module} imports {found} ({where})"


def test_only_doors_and_optional_dependencies_are_imported_inside_functions():
    for module in MODULES:
        for where, found in imports(module):
            if where not in ("top", "types") and room_of(module) not in QUICK:
                assert (module, where) in DOORS or found in OPTIONAL, f"{module}.{where} imports {found}"


def test_every_door_is_used():
    used = {(module, where) for module in MODULES for where, _ in imports(module)}
    assert set(DOORS) <= used


def test_no_modules_import_each_other():
    graph = {module: {found for where, found in imports(module) if where == "top" and found != module} for module in MODULES}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a cycle: {' ← '.join(error.args[1])}")


def test_no_module_is_shadowed_by_something_of_its_name():
    """`import gibbsafe.x.y` gives the module y."""
    for module in MODULES:
        if "." in module:
            package, _, name = module.rpartition(".")
            loaded = __import__(f"gibbsafe.{package}", fromlist=["x"])
            assert not hasattr(loaded, name) or type(getattr(loaded, name)) is type(os), f"gibbsafe.{module}"
        elif module not in ("__init__", "__main__"):
            assert not hasattr(gibbsafe, module) or type(getattr(gibbsafe, module)) is type(os), f"gibbsafe.{module}"


FIRST = """
import contextlib, importlib, json, os, sys, types
for name in json.loads(sys.argv[3]):  # other people's packages, once for all: what takes the time
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
package = types.ModuleType("gibbsafe")
package.__path__ = [sys.argv[1]]
sys.modules["gibbsafe"] = package  # instead of what gibbsafe/__init__.py would import


def visit(name, modules):
    # first, in a process of its own; and from there those inside it that it has not imported itself
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            os._exit(0)
        for inner in modules:
            if inner.rpartition(".")[0] == name and (inner not in sys.modules or hasattr(sys.modules[inner], "__path__")):
                visit(inner, modules)
        os._exit(0)
    os.waitpid(child, 0)


for modules in json.loads(sys.argv[2]):
    for name in modules:
        if name in sys.modules:
            print(f"{name}: imported by a room before its own", flush=True)
        if name.count(".") == 1:
            visit(name, modules)
    for name in modules:
        importlib.import_module(name)
"""


OTHERS = (
    *("scipy.stats", "scipy.optimize", "scipy.integrate", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "sqlalchemy"),
    *("sklearn.base", "sklearn.utils.validation", "typer", "rich.console", "matplotlib.figure", "cryptography"),
)


def test_every_module_can_be_imported_first():
    """Each in a process that has imported nothing but rooms before its own, with an empty package instead of ours.

    A room before its own cannot import it, as is checked there: so what a module finds is what it would find in a fresh
    interpreter, and no order of imports holds a cycle together. Whoever imports a.b.c first imports a, then a.b, then a.b.c:
    a module that its package has imported by then is not imported once more.
    """
    rooms = [[f"gibbsafe.{module}" for module in MODULES if room_of(module) == layer] for layer in LAYERS[:-2]]
    command = [sys.executable, "-c", FIRST, str(SOURCE), json.dumps(rooms), json.dumps(OTHERS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not ran.stdout, ran.stdout
    assert ran.returncode == 0, ran.stderr
