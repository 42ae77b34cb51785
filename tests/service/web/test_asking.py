"""The wizard: questions that fit the declared columns, previews in place, requests that are made once."""

import re
from dataclasses import replace

import pytest

from gibbsafe.service.studies import MODELS_OFFERED
from gibbsafe.service.views import Choices, ColumnChoice
from gibbsafe.service.web.asking import questions_of, shown_preview
from gibbsafe.service.web.words import QUESTIONS

CHOICE = {"model": "LogisticRegression", "target": "benign", "columns": ["radius", "texture"], "epsilon": "1", "delta": "1e-7"}
CHOICE |= {"release": "estimate", "purpose": "to know", "key": "once"}
COLUMNS = (
    ColumnChoice("age", "number", (0, 99), None, {}),
    ColumnChoice("cost", "number", None, None, {}),
    ColumnChoice("ill", "label", None, ("no", "yes"), {}),
    ColumnChoice("ward", "category", None, ("a", "b", "c"), {}),
)


@pytest.fixture
def place(filled):
    return f"/datasets/{filled.ids['dataset of olga']}/ask"


def test_every_model_that_is_offered_has_a_question_in_words():
    assert set(MODELS_OFFERED) == set(QUESTIONS)


def test_questions_offer_the_columns_that_fit_them():
    found = {each.model: each for each in questions_of(Choices(COLUMNS, tuple(MODELS_OFFERED.items()), ()))}
    names = {model: [column.name for column in each.targets] for model, each in found.items()}
    assert names["LogisticRegression"] == ["ill"]
    assert names["PseudoHuberRegression"] == ["age", "cost"]
    assert names["LinearRegression"] == ["age"]  # least squares need bounds
    assert names["MultinomialRegression"] == ["ward"]
    assert [column.name for column in found["GaussianMean"].features] == ["age"]
    assert [column.name for column in found["LogisticRegression"].features] == ["age", "ill", "ward"]
    alone = questions_of(Choices(COLUMNS[2:3], tuple(MODELS_OFFERED.items()), ()))
    assert [each.model for each in alone] == ["LogisticRegression"]


def test_the_wizard_begins_with_the_declared_target(place, visit):
    page = visit("ana").get(place).text
    assert re.search('value="LogisticRegression" checked', page)
    assert re.search('value="radius" checked', page)
    assert not re.search('value="benign" checked', page)


@pytest.mark.parametrize("model", MODELS_OFFERED)
def test_what_the_wizard_offers_can_be_planned(model, place, visit, filled):
    """Every question that a page shows leads to a preview, at its first columns."""
    analyst = visit("ana")
    offered = questions_of(filled.desk.choices(filled.actor("ana"), filled.ids["dataset of olga"]))
    question = next((each for each in offered if each.model == model), None)
    if question is None:
        assert model in ("MultinomialRegression", "OrdinalRegression")  # no column has several levels
        return
    columns = analyst.send(f"{place}/columns", model=model)
    assert columns.headers["HX-Trigger-After-Settle"] == "columns"
    target = re.findall('<option value="([^"]*)" selected', columns.text)
    chosen = {"target": target[0]} if target else {}
    ticked = re.findall('name="columns" value="([^"]*)" checked', columns.text)
    answer = analyst.send(f"{place}/preview", **{**CHOICE, "model": model, "columns": ticked, "target": "", **chosen})
    assert "releases of this size still fit" in answer.text, answer.text


def test_a_preview_shows_what_a_choice_buys_and_spends_nothing(place, visit, filled):
    before = filled.desk.book(filled.actor("olga"), filled.ids["dataset of olga"]).entries
    page = visit("ana").send(f"{place}/preview", **CHOICE).text
    for words in ("right guesses of the best attacker", "releases of this size still fit", "Expected log-loss", "90 % intervals"):
        assert words in page
    assert filled.desk.book(filled.actor("olga"), filled.ids["dataset of olga"]).entries == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": "much"}, "Ε: write a number"),
        ({"epsilon": "nan"}, "Ε: write a number"),
        ({"epsilon": "6"}, "Epsilon: one request to this data set may have 5 at most"),
        ({"columns": []}, "Columns: choose at least one to explain it by"),
        ({"columns": ["benign"]}, "Columns: choose at least one to explain it by"),
        ({"columns": ["shoe size"]}, "the data set declares none of this name"),
        ({"model": "Oracle"}, "Question: choose one of the list"),
        ({"target": "radius"}, "Study: "),
    ],
)
def test_what_is_wrong_is_said_in_place(changed, words, place, visit):
    answer = visit("ana").send(f"{place}/preview", **(CHOICE | changed))
    assert answer.status_code == 200  # a piece of the page: it takes the place of the preview
    assert words in answer.text or words.lower() in answer.text.lower(), answer.text
    assert 'role="alert"' in answer.text


def test_a_request_is_made_once_however_often_it_is_sent(world, place, visit):
    analyst = visit("ana")
    first, second = (analyst.send(place, **CHOICE) for _ in range(2))
    assert first.status_code == second.status_code == 303
    assert first.headers["location"] == second.headers["location"]
    asked = world.desk.request(world.actor("ana"), first.headers["location"].rsplit("/", 1)[1])
    assert (asked.purpose, asked.state, asked.epsilon) == ("to know", "pending", 1.0)
    assert asked.study["purpose"] == "estimate"


def test_a_request_without_a_purpose_keeps_what_was_chosen(place, visit):
    answer = visit("ana").send(place, **(CHOICE | {"purpose": " ", "columns": ["texture"], "epsilon": "0.7"}))
    assert answer.status_code == 422
    assert "What is it for?" in answer.text
    assert 'value="0.7"' in answer.text
    assert 'value="texture" checked' in answer.text
    assert 'value="radius" checked' not in answer.text


def test_without_scripts_a_button_shows_the_preview(place, visit):
    answer = visit("ana").send(place, **CHOICE, do="preview")
    assert answer.status_code == 200
    assert "90 % intervals" in answer.text


def test_a_study_can_be_brought_as_a_file(world, place, visit):
    analyst = visit("ana")
    study = analyst.get(place.replace("/ask", "/study.toml")).text.encode()
    brought = {"study_file": ("study.toml", study)}
    shown = analyst.send(place, study="", do="preview", files=brought)
    assert "releases of this size still fit" in shown.text
    assert "[columns.radius]" in shown.text  # the text stays, to be submitted
    made = analyst.send(place, study="", purpose="from a file", files=brought)
    assert made.status_code == 303
    for text, words in (
        (b"n = ", "Study: not a TOML file"),
        (b"\xff\xfe", "File: is not UTF-8 text"),
        (b"", "Study: is missing"),
    ):
        wrong = analyst.send(place, study="", files={"study_file": ("study.toml", text)})
        assert wrong.status_code == 422
        assert words in wrong.text


def test_a_preview_without_a_rehearsal_has_no_pictures(filled):
    from gibbsafe.service.views import Choice

    asked = Choice("LogisticRegression", ("radius",), "benign", 1.0, 1e-7, "estimate")
    found = filled.desk.preview(filled.actor("ana"), filled.ids["dataset of olga"], choice=asked)
    assert [name for name, *_ in shown_preview(found)["losses"]] == [
        "this release",
        "without privacy, at best",
        "knowing nothing",
    ]
    assert len(shown_preview(found)["spans"]) == 2
    assert shown_preview(replace(found, rehearsal=None)) == {"losses": (), "spans": ()}
