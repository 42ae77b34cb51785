"""Attack 5: make commands overwrite inputs, ledgers, other releases; kill them while they write."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gibbsafe as gs
from gibbsafe._files import alone_in, require_free, write_whole


@pytest.fixture
def desk(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert run("init", "--example")[0] == 0
    assert run("release", "study.toml", "--data", "patients.csv", "--no-ledger", "--out", "r.json")[0] == 0
    return gs.ledger.open_account("ledger.db", "clinic", gs.Budget(8.0, 1e-3), adjacency="replace-one")


#: Every command that writes, aimed at a file that exists.
WRITING = [
    ("plan", "study.toml", "--out"),
    ("release", "study.toml", "--data", "patients.csv", "--no-ledger", "--out"),
    ("query", "r.json", "--predict", "patients.csv", "--out"),
    ("report", "r.json", "--out"),
    ("ledger", "export", "ledger.db#clinic", "--out"),
    ("ledger", "backup", "ledger.db", "--out"),
    ("init", "patients.csv", "--out"),
    ("audit", "study.toml", "--draws", "2", "--effort", "1", "--out"),
    ("reproduce", "minami-figure1", "--out"),
    ("key", "new"),
]


def contents():
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.mark.parametrize("command", WRITING, ids=lambda command: " ".join(command[:2]))
def test_no_command_overwrites_what_exists(desk, run, command):
    before = contents()
    for victim in ("study.toml", "patients.csv", "r.json", "ledger.db"):
        code, out, err = run(*command, victim)
        assert code == 1, (out, err)
        assert "exists already" in err or "is an input" in err
    assert contents() == before


@pytest.mark.parametrize("command", WRITING[:6], ids=lambda command: " ".join(command[:2]))
def test_force_overwrites_neither_inputs_nor_ledgers(desk, run, command):
    before = contents()
    inputs = [each for each in command if each in before] + ["ledger.db", "ledger.db-wal"]
    for victim in inputs:
        code, out, err = run(*command, victim, "--force")
        assert code == 1, (victim, out, err)
    assert contents() == before


def test_two_writers_to_one_path_lose_nothing(tmp_path):
    """64 threads write different contents to one new path: one succeeds, the others are refused."""
    target, done, refused = tmp_path / "release.json", [], []
    start = threading.Barrier(16)

    def write(number):
        start.wait()
        for k in range(4):
            try:
                write_whole(target, f"{number}.{k}".encode())
                done.append(f"{number}.{k}")
            except gs.GibbsafeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(done)) == 1
    assert target.read_text() == done[0]
    assert all("exists already" in message for message in refused)
    assert [path.name for path in tmp_path.iterdir()] == ["release.json"]


#: Writes a file and stops for ever just before it gets its name.
STUCK = """
import sys, time
from gibbsafe import _files
def stop(*_, **__):
    print("ready", flush=True)
    time.sleep(100)
_files._publish = stop
_files.write_whole(sys.argv[1], b"a private draw" * 1000)
"""


def test_a_killed_writer_leaves_nothing_behind(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", STUCK, str(tmp_path / "release.json")], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert not list(tmp_path.iterdir())


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    def touched(*_):
        raise AssertionError("umask")

    old = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", touched)
        write_whole(tmp_path / "shared", b"x")
        write_whole(tmp_path / "secret", b"x", private=True)
    finally:
        monkeypatch.undo()
        os.umask(old)
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_system_that_opens_no_folders_writes_files_all_the_same(tmp_path, monkeypatch):
    """As Windows does: folders cannot be opened, so they are neither locked nor flushed."""
    opened = os.open
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    monkeypatch.setattr("gibbsafe._files.FOLDERS_OPEN", False)

    def no_folders(path, *arguments, **options):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", no_folders)
    with alone_in(tmp_path):
        write_whole(tmp_path / "a", b"line\r\n\n")
    assert (tmp_path / "a").read_bytes() == b"line\r\n\n"


@pytest.mark.parametrize("force", [False, True])
def test_systems_without_nameless_files_or_links_lose_nothing_either(tmp_path, monkeypatch, force):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)

    def no_links(*_, **__):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    write_whole(tmp_path / "a", b"first", force=force)
    assert (tmp_path / "a").read_bytes() == b"first"
    write_whole(tmp_path / "a", b"first")  # the same again is no clash
    with pytest.raises(gs.GibbsafeError, match="exists already"):
        write_whole(tmp_path / "a", b"second")
    write_whole(tmp_path / "a", b"third", force=True)
    assert (tmp_path / "a").read_bytes() == b"third"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_dangling_link_is_a_name_that_is_taken(tmp_path):
    (tmp_path / "r.json").symlink_to(tmp_path / "ledger.db")
    with pytest.raises(gs.GibbsafeError, match="exists already"):
        write_whole(tmp_path / "r.json", b"x")
    with pytest.raises(gs.GibbsafeError, match="exists already"):
        require_free(tmp_path / "r.json")
    assert not (tmp_path / "ledger.db").exists()


def test_two_pictures_to_one_path_lose_nothing(tmp_path):
    pytest.importorskip("matplotlib")
    from gibbsafe._plotting import figure

    path = tmp_path / "curve.png"
    with pytest.raises(gs.GibbsafeError, match="exists already"), figure(path, "x", "y"):
        path.write_bytes(b"another's picture")  # free when this one began
    assert path.read_bytes() == b"another's picture"
    with figure(path, "x", "y", force=True) as axes:
        axes.plot([0, 1])
    assert path.read_bytes().startswith(b"\x89PNG")


#: What an audit is done with soonest.
SHARE = """
n = 20
adjacency = "replace-one"
budget = {epsilon = 1.0, delta = 0}
model = {name = "BetaBernoulli", trim = [0.2, 0.7]}
target = {name = "y", labels = ["no", "yes"]}
"""


def test_pictures_of_commands_keep_what_exists(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("share.toml").write_text(SHARE)
    audit = ("audit", "share.toml", "--draws", "8", "--effort", "1", "-q", "--out", "curve.png")
    assert run(*audit)[0] == 0
    before = Path("curve.png").read_bytes()
    assert run(*audit)[0] == 1
    assert Path("curve.png").read_bytes() == before
    assert run(*audit, "--force")[0] == 0
