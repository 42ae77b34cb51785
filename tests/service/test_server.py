"""The desk as it is really run: commands, a server and a worker of their own, and the client, over loopback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import gibbsafe as gs
from gibbsafe.client import Desk, DeskError
from gibbsafe.release.signing import new_key

from .world import STUDY, write_table


@pytest.fixture
def installed(tmp_path, run):
    """A desk's folder, with a key, a table, and tokens of an owner and an analyst."""
    new_key(tmp_path / "desk.key")
    (tmp_path / "data").mkdir()
    write_table(tmp_path / "data" / "table.csv")
    database, tokens = f"sqlite:///{tmp_path / 'desk.db'}", {}
    for name, role in (("olga", "owner"), ("ana", "analyst")):
        code, _, refused = run("desk", "user", name, "--role", role, "--database", database)
        assert code == 0, refused
        code, said, refused = run("desk", "token", name, "--database", database, "--json")
        assert code == 0, refused
        tokens[name] = json.loads(said)["token"]
    return tmp_path, database, tokens


def start(folder, database, *options):
    command = [sys.executable, "-m", "gibbsafe", "serve", "--database", database, "--key", str(folder / "desk.key")]
    command += ["--data", str(folder / "data"), "--port", "0", "--slot", "1", "--insecure-http", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    line = process.stdout.readline()
    assert "listens at" in line, process.stderr.read()
    return process, line.split("at ")[1].split(";")[0]


def patiently(ask, seconds=60):
    """Ask until it is answered with something."""
    end = time.monotonic() + seconds
    while True:
        try:
            found = ask()
        except DeskError as error:
            found = None
            if error.status != 0:
                raise
        if found:
            return found
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.2)


def test_from_the_first_command_to_a_verified_release(installed, run):
    folder, database, tokens = installed
    process, url = start(folder, database)
    try:
        olga, ana = Desk(url, tokens["olga"]), Desk(url, tokens["ana"])
        patiently(olga.me)
        made = olga.register("tumours", str(folder / "data" / "table.csv"), STUDY, epsilon=3.0, delta=1e-6)
        patiently(lambda: olga.datasets()[0]["state"] == "ready")
        asked = ana.submit(made["id"], STUDY, "to see", key="1")
        olga.approve(asked["id"], asked["plan_sha256"])
        assert ana.wait(asked["id"], 60, 0.2)["state"] == "released"
        ana.download(asked["id"], folder / "release.json")
        assert ana.predict(asked["id"], [{"radius": 9.0, "texture": 0.5}])["rows"]
        assert olga.ledger(made["id"])["verified"]
    finally:
        process.send_signal(signal.SIGTERM)
        said, complained = process.communicate(timeout=60)
    assert "Traceback" not in said + complained
    code, _, refused = run("verify", folder / "release.json", "--public-key", folder / "desk.key.pub")
    assert code == 0, refused
    assert gs.Release.load(folder / "release.json").signature is not None


def test_commands_refuse_in_one_line(run, tmp_path):
    database = f"sqlite:///{tmp_path / 'desk.db'}"
    for arguments in (
        ("desk", "token", "nobody", "--database", database),
        ("desk", "user", "x", "--role", "king", "--database", database),
        ("desk", "user", " ", "--role", "owner", "--database", database),
        ("desk", "migrate", "--database", "mysql://host/db"),
        ("desk", "work", "--database", database, "--key", tmp_path / "missing.key"),
    ):
        code, _, refused = run(*arguments)
        assert code in (1, 2), arguments
        assert "Traceback" not in refused
    for arguments in (
        ("serve", "--database", database, "--key", tmp_path / "missing.key"),
        ("serve", "--database", database, "--insecure-http", "--host", "0.0.0.0"),
        ("serve", "--database", database, "--open-id", "https://id.example", "--open-id-client", "desk,secret"),
    ):
        code, _, refused = run(*arguments)
        assert code == 2, (arguments, refused)
    assert run("desk", "migrate", "--database", database)[0] == 0


def test_pages_are_sent_at_once():
    """A socket that does not name TCP keeps Nagle's algorithm, and every page waits 40 ms for its end."""
    import socket

    from gibbsafe.service.server import listen

    with listen("127.0.0.1", 0) as found:
        assert found.proto == socket.IPPROTO_TCP


FILES = Path(__file__).parents[2] / "packaging" / "desk"


@pytest.mark.parametrize(
    ("file", "command"), [("gibbsafe-web.service", "serve"), ("gibbsafe-worker.service", "desk work"), ("Containerfile", "serve")]
)
def test_units_and_image_name_options_that_there_are(run, file, command):
    text = (FILES / file).read_text()
    known = set(re.findall(r"--[a-z-]+", run(*command.split(), "--help")[1]))
    lines = re.search(r"(?s)(ExecStart=|CMD ).*?(?<!\\)\n", text)[0]
    assert command.split()[-1] in lines
    assert set(re.findall(r"--[a-z-]+", lines)) <= known


def test_a_desk_to_try(tmp_path):
    from gibbsafe.cli.desk_demo import filled
    from gibbsafe.service import Desk as Inside

    settings, tokens = filled(tmp_path)
    desk = Inside(settings)
    ana = desk.authenticate(tokens["ana"])
    (asked,) = desk.requests(ana)
    assert asked.state == "released"
    assert set(tokens) == {"olga", "ana", "otto"}
    assert desk.summary(ana, asked.id).rows
    desk.store.engine.dispose()
