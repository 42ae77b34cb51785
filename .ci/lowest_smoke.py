"""What must work with the lowest declared version of every dependency: a table's way from CSV to a report, and refusals."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

PLACE = Path(sys.argv[1])
ROOT = Path(__file__).parent.parent
STUDY = """n = 40
adjacency = "replace-one"
draws = 3
formula = "outcome ~ age*ward + spline(age, knots=[40, 60])"
[budget]
epsilon = 1.0
delta = 1e-6
[model]
name = "LogisticRegression"
[columns.age]
bounds = [0, 100]
[columns.ward]
levels = ["a", "b"]
[target]
name = "outcome"
labels = ["no", "yes"]
"""


def check_versions() -> None:
    """Every dependency is at its declared lower bound, or as near as there is a wheel: within the same minor version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    installed = re.search(r"\[(.*)\]", extras["all"][0]).group(1).split(",")
    declared = [*project["dependencies"], *(line for name in installed for line in extras[name])]
    for line in declared:
        name, lower = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line).groups()
        wanted, found = lower.split("."), version(name).split(".")
        assert found[:2] == [*wanted, "0"][:2], f"{name}: {version(name)} is installed, declared is {lower}"


def gibbsafe(*arguments: str, status: int = 0) -> str:
    """Run a command, which must end as stated; return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "gibbsafe", *arguments], cwd=PLACE, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == status, f"gibbsafe {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def check_desk() -> None:
    """A table's way from CSV by plan, ledger and release to a report; a tampered release is refused with status 1."""
    (PLACE / "study.toml").write_text(STUDY)
    rows = "".join(f"{20 + k},{'ab'[k % 2]},{'yes' if k % 3 else 'no'}\n" for k in range(40))
    (PLACE / "table.csv").write_text("age,ward,outcome\n" + rows)
    assert "gaussian-dp" in gibbsafe("plan", "study.toml")
    gibbsafe("ledger", "open", "ledger.db#clinic", "--epsilon", "3", "--delta", "1e-5", "--adjacency", "replace-one")
    gibbsafe("release", "study.toml", "--data", "table.csv", "--ledger", "ledger.db#clinic", "--out", "release.json")
    gibbsafe("verify", "release.json")
    gibbsafe("query", "release.json", "--level", "0.9")
    gibbsafe("report", "release.json", "--out", "report.html")
    assert "<html" in (PLACE / "report.html").read_text()
    gibbsafe("ledger", "check", "ledger.db#clinic")
    content = json.loads((PLACE / "release.json").read_text())
    content["draws"][0][0] += 1.0
    (PLACE / "tampered.json").write_text(json.dumps(content))
    assert "sha256" in gibbsafe("verify", "tampered.json", status=1)
    gibbsafe("verify", status=2)
    assert "Usage" in gibbsafe("verify", "--help")


def check_library() -> None:
    """The same from Python, with the compiled kernels and every extra that the commands do not use."""
    import numpy as np

    import gibbsafe as gs
    from gibbsafe.estimators import PrivateLogisticRegression
    from gibbsafe.losses.kernels import is_compiled

    assert is_compiled(), "gibbsafe.losses._kernels was not built"
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 2)), rng.integers(0, 2, 60)
    model = gs.models.LogisticRegression(dimension=2, radius=1.0)
    made = gs.plan(model, gs.Budget(1.0, 1e-6), n=60, adjacency="replace-one", draws=20).release((X, y), progress=False)
    gs.verify(made)
    made.to_arviz()
    PrivateLogisticRegression(epsilon=1.0, radius=1.0, random_state=0).fit(X, y).predict(X)
    family = gs.models.FiniteFamily.bernoulli(0.1)
    gs.plan(family, gs.Budget(1.0), n=60, adjacency="replace-one").release(y, progress=False)


if __name__ == "__main__":
    check_versions()
    check_desk()
    check_library()
    print("the lowest declared versions do")
