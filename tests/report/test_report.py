"""The page: complete, self-contained, safe against names, small for large models, and looked at in a browser where one is."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.report import attack_view, render
from gibbsafe.report.attack import true_positive_rates

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def release_of(model, n, data, **options):
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **options)
    return plan.release(data, generator=np.random.default_rng(0), progress=False)


@pytest.fixture(scope="module")
def release():
    names = ("age <b>", "cost in $ and $", "weight & height")
    model = gs.models.LogisticRegression(dimension=3, feature_names=names)
    generator = np.random.default_rng(0)
    return release_of(model, 60, (generator.uniform(-1, 1, (60, 3)), np.arange(60) % 2), draws=40)


class Tags(HTMLParser):
    """Collects tags and the addresses that a page would fetch; checks that what is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "link", "img", "path", "use", "rect", "line", "circle"):
            self.open.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href", "data")]

    def handle_startendtag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href", "data")]

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def test_the_page_says_everything_a_privacy_officer_needs(release):
    page = render(release, level=0.8, name="r.json")
    for words in (
        "What was released",
        "What is claimed",
        "What an attacker gains",
        "Premises",
        "What the release says",
        "What is free, and what is not",
        "How to verify",
        "gibbsafe verify r.json",
        release.to_dict()["sha256"],
        "asserted",
        "checked",
        f"{attack_view(release.plan.guarantee).right_guesses:.2%}",
        "80%",
    ):
        assert words in page
    for premise in release.certificate["premises"]:
        assert premise["statement"].split("'")[0] in page
    assert page.count("<svg") == 4
    assert "Not for publication" in page  # the draws of this test are seeded


def test_the_page_fetches_nothing_and_is_well_formed(release):
    page = render(release)
    tags = Tags()
    tags.feed(page)
    assert all(address.startswith("#") for address in tags.addresses)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "<script" not in page
    assert tags.open in ([], ["html"])
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_names_are_text_not_markup(release):
    page = render(release)
    assert "age &lt;b&gt;" in page
    assert "age <b>" not in page
    assert "weight &amp; height" in page


def test_thousands_of_parameters_do_not_blow_up_the_page():
    model = gs.models.GaussianMean(dimension=3000)
    release = release_of(model, 50, np.random.default_rng(0).normal(0, 0.01, (50, 3000)), draws=3)
    page = render(release)
    assert len(page) < 600_000
    assert "2,992 more" in page
    assert "of 3,000" in page
    assert "No interval for the true parameter" in page


@pytest.fixture(scope="module")
def estimate():
    model = gs.models.LogisticRegression(dimension=3, feature_names=("age", "dose", "ward"))
    generator = np.random.default_rng(0)
    X = generator.uniform(-0.5, 0.5, (2000, 3))
    return release_of(model, 2000, (X, (X[:, 0] > 0).astype(int)), purpose="estimate")


def test_an_estimate_shows_a_posterior(estimate):
    page = render(estimate, level=0.8)
    for words in ("estimate of 4 parameters", "noisy scores behind it", "how probable each value", "chance of being above 0"):
        assert words in page
    assert "decided by the data" in page
    assert "One draw" not in page
    assert "inverse temperature 0" not in page.split("Technical details")[0]
    assert page.count("<svg") == 4


def test_words_about_what_the_data_do_not_say(estimate):
    little = release_of(estimate.plan.model, 5, (np.zeros((5, 3)), np.arange(5) % 2), purpose="estimate")
    assert any(words in render(little) for words in ("The data say little about", "Data and prior both speak of"))


def test_dots_lie_on_their_bars(estimate):
    from gibbsafe.population import overview

    for level in (0.05, 0.9):
        shown = overview(estimate, level)
        assert shown.intervals.covers(shown.mean).all()


def test_without_matplotlib_the_page_has_its_numbers_and_says_how_pictures_come(release, monkeypatch):
    whole = render(release)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = render(release)
    assert "<svg" in whole
    assert "<svg" not in page
    assert "<figure" not in page
    assert "pip install 'gibbsafe[plots]'" in page
    tables = re.findall(r"<td class=number>.*?</td>", whole)
    assert tables == re.findall(r"<td class=number>.*?</td>", page)


@pytest.mark.parametrize("draws", [1, 5])
def test_other_models_and_few_draws(draws):
    family = gs.models.BetaBernoulli(trim=(0.2, 0.8))
    plan = gs.plan(family, gs.Budget(1.0), n=None, adjacency="add-remove", draws=draws)
    page = render(plan.release(np.arange(30) % 2))
    assert "beta bernoulli" in page
    assert "number of records is itself private" in page
    assert "add or remove one record" in page
    assert "Not for publication" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_is_drawn_by_a_browser(release, tmp_path):
    """A screenshot of the page: not blank, as wide as asked, with the accent colours of all four pictures on it."""
    from matplotlib.image import imread

    (tmp_path / "report.html").write_text(render(release))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,4200"]
    command += [
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--screenshot={tmp_path / 'page.png'}",
        f"file://{tmp_path / 'report.html'}",
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    picture = (imread(tmp_path / "page.png")[..., :3] * 255).round().astype(int)
    assert picture.shape[1] == 1000
    ink = (picture.min(axis=2) < 120).any(axis=1)
    assert ink[:400].any()
    assert ink[2500:].any()
    blue = (np.abs(picture - [0x3F, 0x83, 0xC5]).max(axis=2) < 12).any(axis=1)
    assert np.flatnonzero(blue).max() - np.flatnonzero(blue).min() > 600  # the first and the last picture
    margins = picture[:, [0, 1, -1]].reshape(-1, 3)
    assert (margins == margins[0]).all()  # nothing runs off the page


@pytest.mark.parametrize(
    "guarantee",
    [
        gs.privacy.GaussianDP(0.5),
        gs.privacy.PureDP(0.7),
        gs.privacy.BoundedRange(1.0).compose(3),
        gs.privacy.ConcentratedDP(0.1),
        gs.privacy.ApproximateDP(0.5, 0.01),
    ],
)
def test_many_rates_at_once_are_bounds_as_one_by_one(guarantee):
    """Never below the exact trade-off where it is known, and no looser than 1 % beside the slower bound."""
    from scipy.special import ndtr, ndtri

    rates = np.array([0.001, 0.05, 0.3, 0.9])
    found = true_positive_rates(guarantee, rates)
    one_by_one = np.array([guarantee.true_positive_rate(float(rate)) for rate in rates])
    assert (found <= one_by_one * 1.01 + 1e-6).all()
    if isinstance(guarantee, gs.privacy.GaussianDP):
        assert (found >= ndtr(ndtri(rates) + guarantee.mu)).all()
    if isinstance(guarantee, gs.privacy.PureDP):
        assert (found >= np.minimum(np.exp(0.7) * rates, 1 - np.exp(-0.7) * (1 - rates))).all()
