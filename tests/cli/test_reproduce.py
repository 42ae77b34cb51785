"""The reproduce and demo commands, as a new user would run them."""

import json

import pytest
from typer.testing import CliRunner

from gibbsafe.cli import app, main

run = CliRunner().invoke


def test_minami_numbers_match_the_corrected_values():
    result = run(app, ["reproduce", "minami-numbers", "--json"])
    assert result.exit_code == 0
    rows = {row["quantity"]: row for row in json.loads(result.stdout)}
    mean = rows["β/n for the Gaussian mean"]
    assert mean["recomputed"] == pytest.approx(1.79658e-4, rel=1e-5)
    assert mean["exact"] == pytest.approx(8.2531946157554049e-4, rel=1e-9)
    assert rows["β/n of the Gaussian mechanism"]["recomputed"] == pytest.approx(1.6445e-4, rel=1e-4)
    crossing = rows["least n that beats the exponential mechanism"]
    assert (crossing["printed"], crossing["recomputed"], crossing["exact"]) == ("15", 70, 16)
    assert rows["the same against its sharper form"]["exact"] == 31
    free = rows["least n for which β = 1 is private"]
    assert (free["recomputed"], free["exact"]) == (5567, 1212)
    bernoulli = rows["β for the Bernoulli model with logit-normal prior"]
    assert bernoulli["recomputed"] == pytest.approx(0.012990076, rel=1e-6)
    assert bernoulli["exact"] == pytest.approx(0.057456747613, rel=1e-9)
    thresholds = [row["exact"] for name, row in rows.items() if name.startswith("ε up to which")]
    assert thresholds == pytest.approx([7.44, 8.08, 8.99, 9.92], abs=0.005)


def test_minami_numbers_as_a_table():
    result = run(app, ["reproduce", "minami-numbers"])
    assert result.exit_code == 0
    assert "E29" in result.stdout


def test_figure_is_a_picture(tmp_path):
    out = tmp_path / "figure.png"
    assert run(app, ["reproduce", "minami-figure1", "--out", str(out)]).exit_code == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("name", ["missing/figure.png", "figure.xyz"])
def test_a_figure_that_cannot_be_written_is_one_line(tmp_path, name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["gibbsafe", "reproduce", "minami-figure1", "--out", str(tmp_path / name)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("gibbsafe: ")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_misuse_exits_with_two(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["gibbsafe", "reproduce", "no-such-paper"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "no-such-paper" in capsys.readouterr().err


def test_version_and_help():
    assert run(app, ["--version"]).stdout.startswith("gibbsafe ")
    assert "reproduce" in run(app, ["--help"]).stdout
