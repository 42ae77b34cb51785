"""What the bare wheel must do in an empty folder: README's walks of five commands, its first Python block, a line per extra."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(sys.argv[1])
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: For each extra something that needs it: a command, or a Python program.
NEEDS = {
    "plots": ["gibbsafe audit study.toml --out audit.png", "gibbsafe reproduce hu-figure2"],
    "sklearn": [
        "import gibbsafe.estimators",
        "import gibbsafe as gs; gs.audit.estimate_lower_bound(lambda data: data, 0.0, 1.0, draws=100)",
        "gibbsafe audit study.toml --workers 2",
    ],
    "postgres": ["gibbsafe ledger open postgresql://nobody@localhost/db#a --epsilon 1 --adjacency replace-one"],
    "arviz": ["import gibbsafe as gs; gs.Release.load('release.json').to_arviz()"],
    "formula": [
        "import gibbsafe as gs; gs.Study.from_dict({'n': 9, 'adjacency': 'replace-one', 'formula': 'y ~ x', "
        "'budget': {'epsilon': 1.0}, 'model': {'name': 'LogisticRegression'}, 'columns': {'x': {'bounds': [0, 1]}}, "
        "'target': {'name': 'y', 'labels': [0, 1]}})"
    ],
    "dask": ["gibbsafe release study.toml --data patients.csv --no-ledger --out new.json --cluster tcp://127.0.0.1:1"],
    "jax": [
        "import gibbsafe as gs; gs.models.Custom(log_likelihood=lambda theta, record: 0.0, parameters={'a': 1}, prior=1.0, "
        "columns={'x': (0, 1)})"
    ],
    "numpyro": ["import gibbsafe as gs; gs.models.from_numpyro(lambda x: None, columns={'x': (0, 1)})"],
    "service": ["gibbsafe serve --demo", "gibbsafe ui", "gibbsafe desk migrate"],
    "accounting": ["import gibbsafe as gs; gs.privacy.to_dp_event(gs.privacy.GaussianDP(1.0))"],
}
#: Seconds of processor time within which a missing extra is told: nothing long was begun.
AT_ONCE = 10.0


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of gibbsafe or a Python program."""
    line = command.split() if command.startswith("gibbsafe ") else [sys.executable, "-c", command]
    return subprocess.run(line, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)


def blocks(language: str) -> list[str]:
    """Return the README's blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def check_bare() -> None:
    """No extra is there, or nothing would be shown."""
    from gibbsafe._extras import EXTRAS, has_extra

    assert set(EXTRAS) == set(NEEDS) == set(PROJECT["optional-dependencies"]) - {"all"}
    assert not [name for name in EXTRAS if has_extra(name)], "this environment has extras"


def check_readme() -> None:
    """Both walks of five commands and the first Python block run as printed, and a question is answered."""
    walks = [block.strip().splitlines() for block in blocks("console") if block.startswith("gibbsafe init")]
    assert [len(lines) for lines in walks] == [5, 5]
    for number, lines in reversed(list(enumerate(walks))):  # the first walk's files stay, for what follows
        for line in [
            *lines,
            "gibbsafe query release.json",
            "gibbsafe plan study.toml",
            f"gibbsafe ledger show {lines[1].split()[3]}",
        ]:
            done = run(line)
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
            assert done.stdout, line
        assert "<html" in Path("report.html").read_text(encoding="utf-8")
        for made in ("study.toml", "report.html", "release.json") if number else ():
            Path(made).unlink()
    Path("release.json").rename("first.json")
    done = run(blocks("python")[0])
    assert done.returncode == 0, done.stderr
    assert "Certificate" in done.stdout


def check_extras() -> None:
    """Each absent extra is one line with its command, at once; a command is refused with status 1."""
    for extra, commands in NEEDS.items():
        for command in commands:
            started = os.times()
            done = run(command)
            ended = os.times()  # on Windows the time of children is not known, and counts as 0
            took = ended.children_user + ended.children_system - started.children_user - started.children_system
            last = done.stderr.strip().splitlines()[-1]
            assert done.returncode == 1, f"{command}: {done.returncode} {done.stdout}{done.stderr}"
            assert f"pip install 'gibbsafe[{extra}]'" in last, f"{command}: {last}"
            assert took < AT_ONCE, f"{command}: {took:.0f} s"
            if command.startswith("gibbsafe "):
                assert done.stderr.count("\n") == 1, done.stderr


if __name__ == "__main__":
    from gibbsafe.losses.kernels import is_compiled

    check_bare()
    check_readme()
    check_extras()
    print(f"the bare wheel does, on Python {sys.version.split()[0]}, {'with' if is_compiled() else 'without'} compiled kernels")
