"""A release at its page: taken away, verified, and asked."""

import json

import pytest

import gibbsafe as gs
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.views import ColumnChoice
from gibbsafe.service.web.releases import read_rows

AGE, WARD = ColumnChoice("age", "number", (0, 99), None, {}), ColumnChoice("ward", "category", None, ("a", "b", 3), {})


@pytest.fixture
def place(filled):
    return f"/releases/{filled.ids['release of ana']}"


def test_what_is_downloaded_is_what_was_released(place, visit, tmp_path, filled):
    analyst = visit("ana")
    (tmp_path / "release.json").write_bytes(analyst.get(f"{place}/release.json").content)
    (tmp_path / "desk.pub").write_bytes(analyst.get("/public-key").content)
    loaded = gs.Release.load(tmp_path / "release.json", public_key=tmp_path / "desk.pub")
    assert json.loads((tmp_path / "release.json").read_text()) == loaded.to_dict()
    assert filled.desk.certificate(filled.actor("ana"), filled.ids["release of ana"]).release_sha256 == loaded.to_dict()["sha256"]


def test_a_row_is_predicted_in_the_page_and_as_a_piece_of_it(place, visit):
    analyst = visit("ana")
    row = {"x0": "12", "x1": "0.5"}
    whole, piece = (analyst.send(f"{place}/predict", headers=headers, **row).text for headers in ({}, {"HX-Request": "true"}))
    assert "<html" in whole
    assert "<html" not in piece
    for text in (whole, piece):
        assert "chance of yes" in text
    wrong = analyst.send(f"{place}/predict", **{"x0": "large", "x1": "0.5"})
    assert "Radius: must be a number (5 to 30)." in wrong.text


def test_rows_of_a_file_are_predicted(place, visit):
    analyst = visit("ana")
    rows = {"rows_file": ("rows.csv", b"radius,texture,person\n6,0.1,x\n29,0.9,y\n")}
    answer = analyst.send(f"{place}/predict-file", files=rows)
    assert answer.headers["content-disposition"] == 'attachment; filename="predictions.csv"'
    assert answer.text.splitlines()[0].startswith("prediction,chance of yes")
    assert len(answer.text.splitlines()) == 3
    wrong = analyst.send(f"{place}/predict-file", files={"rows_file": ("rows.csv", b"radius\n1\n")})
    assert wrong.status_code == 422
    assert "File: has no column texture" in wrong.text


def test_synthetic_rows_have_the_tables_names(place, visit):
    analyst = visit("ana")
    rows = analyst.send(f"{place}/synthetic", rows="7").text.splitlines()
    assert rows[0] == "radius,texture,benign"
    assert len(rows) == 8
    assert {row.rsplit(",", 1)[1] for row in rows[1:]} <= {"no", "yes"}
    for wrong in ("0", "many", "1e9"):
        assert analyst.send(f"{place}/synthetic", rows=wrong).status_code == 422


def test_intervals_of_another_level_are_a_piece_of_the_page(place, visit):
    analyst = visit("ana")
    assert "What it says" in analyst.get(f"{place}/summary?level=0.99").text
    assert 'value="0.9" selected' in analyst.get(f"{place}?level=hostile").text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ward\na\n", "no column age"),
        ("age,ward\nold,a\n", "age in line 2: must be a number"),
        ("age,ward\n1,a\n2,z\n", "ward in line 3: must be one of a, b, 3"),
        ("age,ward\n" + "1,a\n" * 4, "more than 3 rows"),
        ('age,ward\n"1,a\n', "no CSV"),
        ("", "no column age"),
    ],
)
def test_files_that_are_no_rows_are_refused_by_line(text, words):
    with pytest.raises(Refusal, match=words):
        read_rows(text, (AGE, WARD), 3)


def test_levels_are_read_as_they_are_declared():
    assert read_rows("age,ward\n5, 3 \n", (AGE, WARD), 3) == [{"age": 5.0, "ward": 3}]
