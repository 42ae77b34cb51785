"""Commands run in-process as the shell would: arguments in, exit code, stdout and stderr out."""

import shutil

import pytest

import gibbsafe as gs


@pytest.fixture
def refused(run):
    """Run a command that must be refused: exit code 1 and one line on stderr, which is returned."""

    def call(*arguments):
        code, out, err = run(*arguments)
        assert code == 1, (code, out, err)
        assert err.startswith("gibbsafe: ")
        assert err.count("\n") == 1
        assert not out
        return err

    return call


STUDY = """
n = 40
adjacency = "replace-one"
draws = 2
[budget]
epsilon = 0.5
delta = 1e-6
[model]
name = "LogisticRegression"
[columns.age]
bounds = [0, 100]
[columns.ward]
levels = ["a", "b", "?"]
other = "?"
missing = "?"
[target]
name = "outcome"
labels = ["no", "yes"]
[ledger]
account = "clinic"
"""


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A folder with a study, a table and an open account."""
    folder = tmp_path_factory.mktemp("desk")
    lines = [f"{20 + k},{'abz'[k % 3]},{'no' if k % 2 else 'yes'}" for k in range(40)]
    (folder / "table.csv").write_text("\n".join(["age,ward,outcome", *lines]) + "\n")
    (folder / "study.toml").write_text(STUDY)
    gs.ledger.open_account(f"sqlite:///{folder / 'ledger.db'}", "clinic", gs.Budget(2.0, 1e-6), adjacency="replace-one")
    return folder


@pytest.fixture
def desk(template, tmp_path, monkeypatch):
    """A copy of the template; every test works inside its own."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
