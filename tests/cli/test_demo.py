"""``gibbsafe demo`` from nothing to a verified release and a picture."""

import json

from typer.testing import CliRunner

import gibbsafe as gs
from gibbsafe.cli import app

run = CliRunner().invoke


def test_demo_writes_a_verified_release_and_a_picture(tmp_path):
    result = run(app, ["demo", "--folder", str(tmp_path), "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["claim"]["epsilon"] <= 1.0
    assert 0 <= document["accuracy"] <= 1
    assert gs.verify(tmp_path / "release.json")["claim"] == document["claim"]
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_as_text(tmp_path):
    result = run(app, ["demo", "--folder", str(tmp_path), "--draws", "1"])
    assert result.exit_code == 0
    for words in ("What the theorems allow", "A plan for", "Certificate", "Held-out rows", "times as cold"):
        assert words in result.stdout
