"""Attack 6, continued: tables that are small on disk and large in memory."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

STUDY = """
n = 10
adjacency = "replace-one"
[budget]
epsilon = 1.0
delta = 1e-6
[model]
name = "GaussianMean"
[columns.a]
bounds = [0, 1]
"""

#: Runs a command that may take 400 MB more than the libraries do; prints its exit code.
LIMITED = """
import resource, sys
import numpy, pyarrow, pyarrow.csv, gibbsafe.study
from gibbsafe.cli import main
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 400 * 10**6
resource.setrlimit(resource.RLIMIT_AS, (room, room))
sys.argv = ["gibbsafe", *sys.argv[1:]]
main()
"""


def released(folder, table):
    command = ["release", "study.toml", "--data", table, "--memory", "50MB", "--no-ledger", "-q"]
    return subprocess.run([sys.executable, "-c", LIMITED, *command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def endless_header(folder):
    with gzip.open(folder / "t.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(1000):
            file.write(b"a" * 1_000_000)
    return "t.csv.gz"


def many_names(folder):
    with gzip.open(folder / "t.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(600):
            file.write(b"a," * 500_000)
    return "t.csv.gz"


def archive(folder):
    np.savez_compressed(folder / "t.npz", a=np.zeros(100_000_000))
    return "t.npz"


@pytest.mark.parametrize("bomb", [endless_header, many_names, archive])
def test_bombs_are_refused_in_one_line(desk, bomb):
    table = bomb(desk)
    assert (desk / table).stat().st_size < 10_000_000
    result = released(desk, table)
    assert result.returncode == 1, result.stderr[-2000:]
    assert result.stderr.count("\n") == 1
    assert not (desk / "release.json").exists()


def test_honest_archives_are_read(desk):
    np.savez_compressed(desk / "t.npz", a=np.full(10, 0.5))
    result = released(desk, "t.npz")
    assert result.returncode == 0, result.stderr
    assert json.loads((desk / "release.json").read_text())["parameters"]
