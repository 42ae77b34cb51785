"""The third paper's blocks of docs/contamination.md are what the committed rows say."""

import importlib

import pytest


@pytest.fixture
def third_paper():
    return importlib.import_module("benchmarks.report.third_paper")


def test_the_page_is_what_the_rows_say(third_paper):
    text = (third_paper.DOCS / "contamination.md").read_text(encoding="utf-8")
    assert third_paper.page(text) == text


def test_every_figure_has_its_picture_and_rows(third_paper):
    for name in ("hu-figure1", "hu-figure2", "hu-figure3"):
        assert (third_paper.DOCS / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for row in third_paper.rows("hu-table1"):
        low, high = row["literal_interval"]
        outside = not low - 0.005 <= row["paper"] <= high + 0.005
        assert (row["verdict"] == "differs") == outside
