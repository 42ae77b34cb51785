"""Attack 6, continued: tables that are small on disk and large in memory."""

import gzip
import json
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest

import gibbsafe as gs
from gibbsafe.data.blocks import Blocks
from gibbsafe.data.files import FileTable
from gibbsafe.data.spool import DEFAULT_MEMORY, SpilledBlocks, Spool

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

#: Imports the libraries once; each command then runs in a process of its own, which may take 300 MB more than they do. Every bomb
#: holds more than that. Reads folder and command, prints the exit code.
LIMITED = """
import json, os, resource, sys
import numpy, pyarrow, pyarrow.csv, gibbsafe.study
from gibbsafe.cli import main
for line in sys.stdin:
    folder, *command = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open("stdout", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 1)
        os.dup2(os.open("stderr", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
        room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 300 * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        sys.argv = ["gibbsafe", *command]
        main()
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def limited():
    """Return a function of folder and command that runs it within the limit."""
    with subprocess.Popen([sys.executable, "-c", LIMITED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def run(folder, *command):
            server.stdin.write(json.dumps([str(folder), *command]) + "\n")
            server.stdin.flush()
            code = int(server.stdout.readline())
            return subprocess.CompletedProcess(command, code, stderr=(folder / "stderr").read_text())

        yield run


@pytest.fixture
def released(limited):
    """Return a function of folder, table and options that releases within the limit."""
    return lambda folder, table, *options: limited(
        folder, "release", "study.toml", "--data", table, "--no-ledger", "-q", *options
    )


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def endless_header(folder):
    with gzip.open(folder / "t.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(500):
            file.write(b"a" * 1_000_000)
    return "t.csv.gz"


def many_names(folder):
    with gzip.open(folder / "t.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(350):
            file.write(b"a," * 500_000)
    return "t.csv.gz"


def endless_rows(folder):
    with gzip.open(folder / "t.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a\n")
        for _ in range(350):
            file.write(b"0.5\n" * 250_000)
    return "t.csv.gz"


def archive(folder, name="t.npz"):
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made, made.open("a.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (50_000_000,)})
        for _ in range(400):
            file.write(bytes(1_000_000))
    return name


def archive_of_another_name(folder):
    return archive(folder, "t.npy")


BOMBS = [endless_header, many_names, endless_rows, archive, archive_of_another_name]


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_in_one_line(desk, released, bomb):
    table = bomb(desk)
    assert (desk / table).stat().st_size < 10_000_000
    for options in ((), ("--memory", "50MB")):
        result = released(desk, table, *options)
        assert result.returncode == 1, result.stderr[-2000:]
        assert result.stderr.count("\n") == 1
        assert not (desk / "release.json").exists()


def test_a_record_without_end_is_one_that_cannot_be_read(desk, limited):
    """For an untrusted study records are counted and read one by one: a quote that is never closed must not fill the memory."""
    with gzip.open(desk / "t.csv.gz", "wb", compresslevel=1) as file:
        file.write(b'a\n0.5\n"')
        for _ in range(400):
            file.write(b"x" * 1_000_000)
    (desk / "study.toml").write_text(STUDY.replace("n = 10", "n = 2"))
    gs.ledger.open_account(str(desk / "ledger.db"), "c", gs.Budget(8.0, 1e-3), adjacency="replace-one")
    result = limited(desk, "release", "study.toml", "--data", "t.csv.gz", "--ledger", "ledger.db#c", "--untrusted-study", "-q")
    assert result.returncode == 0, result.stderr[-2000:]
    assert (desk / "release.json").exists()


def test_the_names_of_an_archive_take_no_memory(desk, limited):
    result = limited(desk, "init", archive(desk), "--out", "new.toml", "-q")
    assert result.returncode == 0, result.stderr[-2000:]
    assert '[columns."a"]' in (desk / "new.toml").read_text()


def test_rows_beyond_the_default_limit_wait_on_disk(monkeypatch):
    monkeypatch.setattr("gibbsafe.data.spool.DEFAULT_MEMORY", 2**20)
    spool = Spool()
    for _ in range(3):
        spool.add(Blocks(np.zeros((20_000, 1))))
    assert isinstance(spool.finish(), SpilledBlocks)
    assert 2**20 < DEFAULT_MEMORY < 2**33


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"'descr': '<f8'", b"'descr': '|O8'"),
        lambda content: content.replace(b"'shape': (10,)", b"'shape': (-9,)"),
        lambda content: content.replace(b"'shape': (10,)", b"'shape': (99,)"),
        lambda content: content.replace(b"NUMPY\x01", b"NUMPY\x03"),
        lambda content: b"PK\x03\x04" + content[:9],
    ],
)
def test_broken_archives_are_refused_in_one_line(desk, run, monkeypatch, spoil):
    monkeypatch.chdir(desk)
    np.savez(desk / "t.npz", a=np.full(10, 0.5))
    (desk / "t.npz").write_bytes(spoil((desk / "t.npz").read_bytes()))
    for command in (("release", "study.toml", "--data", "t.npz", "--no-ledger", "-q"), ("init", "t.npz", "--out", "new.toml")):
        code, _, err = run(*command)
        assert (code, err.count("\n")) == (1, 1) or (command[0] == "init" and code == 0), err
    assert not (desk / "release.json").exists()


def test_archives_in_pieces_are_the_arrays(tmp_path):
    rows = np.random.default_rng(0).normal(size=40_000)
    words = np.array(["u", "vv"])[np.arange(40_000) % 2]
    np.savez_compressed(tmp_path / "t.npz", a=rows, b=words, c=np.zeros((3, 3)))
    table = pa.Table.from_batches(FileTable(tmp_path / "t.npz", {"b": "text", "a": "number"}).batches())
    assert table.column_names == ["b", "a"]
    np.testing.assert_array_equal(table["a"].to_numpy(), rows)
    assert table["b"].to_pylist() == words.tolist()
    np.savez(tmp_path / "none.npz", a=np.empty(0))
    assert FileTable(tmp_path / "none.npz", {"a": "number"}).count_rows() == 0
    assert sum(batch.num_rows for batch in FileTable(tmp_path / "none.npz", {"a": "number"}).batches()) == 0


def test_honest_archives_are_read(desk, released):
    np.savez_compressed(desk / "t.npz", a=np.full(10, 0.5))
    result = released(desk, "t.npz")
    assert result.returncode == 0, result.stderr
    assert json.loads((desk / "release.json").read_text())["parameters"]
