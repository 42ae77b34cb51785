"""The page and the README are what the committed results give, and every promise but those named as missed holds there."""

import json
import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = [path for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")) if not path.stem.endswith("_quick")]


def committed():
    from benchmarks.report import page as report

    return report.load_all(folder=ROOT / "benchmarks" / "results")


# -- the committed page ----------------------------------------------------------------------------------------------


def test_the_page_is_what_the_committed_results_give():
    from benchmarks.report import page as report

    assert report.page(committed()) == (ROOT / "docs" / "benchmarks.md").read_text()


def test_the_readme_says_what_the_committed_results_give():
    from benchmarks.report import page as report

    _, paragraph, _ = report.between_markers((ROOT / "README.md").read_text())
    assert paragraph == report.readme(committed())


def test_other_paragraphs_of_the_readme_that_point_at_the_page_hold_no_numbers():
    from benchmarks.report import page as report

    before, _, after = report.between_markers((ROOT / "README.md").read_text())
    for paragraph in (before + after).split("\n\n"):
        if "docs/benchmarks.md" in paragraph:
            assert not re.search(r"\d", re.sub(r"`[^`]*`|\]\([^)]*\)", "", paragraph)), paragraph


def test_the_page_on_schedules_is_what_its_results_give():
    from benchmarks.questions import schedules

    results = json.loads((ROOT / "benchmarks" / "results" / "schedules.json").read_text())
    assert schedules.page(results) == (ROOT / "docs" / "schedules.md").read_text()


def test_the_page_on_scale_is_what_its_results_give():
    pytest.importorskip("distributed", reason="needs gibbsafe[dask]")
    from benchmarks.questions import costs

    results = json.loads((ROOT / "benchmarks" / "results" / "costs.json").read_text())
    _, inside, _ = costs.parted((ROOT / "docs" / "scale.md").read_text())
    assert inside == costs.section(results)
    assert results["worst"] <= 0.3


def test_draws_of_the_committed_run_come_when_they_should():
    """Hard data within seconds, a million records within what was stated, proposals below their bound."""
    from benchmarks.report import draws as report_draws

    cells = committed()["draws"]["cells"]
    assert {cell["kind"] for cell in cells} == {"iso", "one-hot", "separable", "heavy-tailed", "narrow hinge"}
    for cell, route, each in report_draws.taken(cells):
        if cell["kind"] != "iso" and cell["n"] <= 30_000:
            assert each["first_s"] <= {"default": 10, "within 1e-9": 60}[route]
        if route == "default" and (cell["n"], cell["parameters"]) == (100_000, 60):
            assert each["first_s"] <= 60
        if route == "default" and cell["n"] == 1_000_000:
            assert each["first_s"] <= 60 or 0.5 <= each["first_s"] / each["stated_s"] <= 2
        assert each.get("proposals", 0) <= each.get("proposals_at_most", 0)
    stopped = [cell for cell in cells if any("stopped_s" in each for each in cell["routes"].values())]
    assert all(cell["kind"] == "iso" or cell["n"] > 30_000 for cell in stopped)


def test_figures_that_the_page_shows_exist():
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page):
        assert (ROOT / "docs" / target).exists()


def test_every_section_has_committed_results():
    from benchmarks.report import page as report

    assert list(committed()) == list(report.SECTIONS)


def test_a_page_is_written_from_whatever_results_exist():
    from benchmarks.report import page as report

    found = committed()
    for name in found:
        assert "## Runs" in report.page({name: found[name]})
        assert "**Measured.**" in report.readme({name: found[name]})


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_committed_results_say_what_made_them(path):
    document = json.loads(path.read_text())
    assert {"date", "machine", "versions", "command"} <= set(document)
    assert document["quick"] is False
    for command in (document["command"], *document.get("earlier_commands", [])):
        module = command.split()[2]
        assert module.startswith("benchmarks.questions.")
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists()


# -- promises --------------------------------------------------------------------------------------------------------


#: Promised of estimates by noisy scores, and missed in the committed run.
AWAITED = (
    "seconds of an estimate on Adult over those of one in stages",
    "in which *estimate, all for the point* is at least level",  # 41 of 46 cells, by a millionth of log-loss in two of five
    "`SoftQuantileRegression` in stages",
    "two threads over one, gradient pass",
    # not measured yet at the promised size: the cluster's part of `workers`, and `scale`
    "Dask cluster of two workers",
    "overhead of a round of a cluster",
    "same bytes by 1, 2 and 4 workers",
    "exponent of time between the last two sizes",
    "anonymous memory, MiB",
    "seconds of a draw from 100,000,000 rows",
)


def test_every_promise_holds_in_the_committed_results():
    from benchmarks.report import promises

    results = committed()
    missed = {promise.what: promise.measured(results) for promise in promises.PROMISES if not promise.holds(results)}
    assert {what: value for what, value in missed.items() if not any(words in what for words in AWAITED)} == {}
    assert promises.kept(results) == len(promises.PROMISES) - len(missed)


def test_a_promise_without_results_or_at_other_sizes_does_not_hold():
    from benchmarks.report import promises

    first = promises.PROMISES[0]
    assert not first.holds({})
    assert first.measured({}) == "not measured"
    fewer = {"main_line": {"adult_one_draw": {"releases": 3, "log_loss": 0.1}}}
    assert not first.holds(fewer)
    assert not first.holds({"main_line": {"adult_one_draw": {"skipped": "data absent"}}})
    assert first.holds({"main_line": {"adult_one_draw": {"releases": 20, "log_loss": 0.1}}})


def test_limits_of_promises():
    from benchmarks.report.promises import Promise

    promise = Promise("a range", "file", lambda document: document["values"], ("≥ 1.2", "≤ 2.8"))
    assert promise.holds({"file": {"values": [1.2, 2.8]}})
    assert not promise.holds({"file": {"values": [1.2, 2.9]}})
    assert not promise.holds({"file": {"values": [1.1]}})
    assert not promise.holds({"file": {"values": [math.nan]}})
    assert promise.measured({"file": {"values": [2.8, 1.2, 2.0]}}) == "1.20 to 2.80"
    assert not Promise("strict", "file", lambda document: [600.0], ("< 600",)).holds({"file": {}})


# -- who wins --------------------------------------------------------------------------------------------------------


def cell(ours, theirs, error=0.01, **other):
    entry = {"log_loss_error": error, "accuracy": 0.5, "accuracy_error": 0.0}
    methods = {"estimate": entry | {"log_loss": ours}, "non-private": {"log_loss": 0.3}}
    methods |= {name: entry | {"log_loss": loss} for name, loss in theirs.items()}
    return {"data": "made up", "n": 1000, "d": 6, "epsilon": 1.0, "signal": 39.5, "methods": methods} | other


def test_verdicts():
    from benchmarks.report import utility as report_utility

    assert report_utility.verdict(cell(0.4, {"gradient descent": 0.5})) == "better"
    assert report_utility.verdict(cell(0.51, {"gradient descent": 0.5})) == "level"
    assert report_utility.verdict(cell(0.6, {"gradient descent": 0.5})) == "worse"
    both = cell(0.5, {"gradient descent": 0.55, "gradient descent, tuned": 0.4})
    assert (report_utility.verdict(both), report_utility.verdict(both, tuned=False)) == ("worse", "better")


def test_the_target_is_said_to_be_met_only_if_it_is():
    from benchmarks.report import utility as report_utility

    won, lost = cell(0.4, {"gradient descent": 0.5}), cell(0.6, {"gradient descent": 0.5})
    assert "is not met" not in " ".join(report_utility.outcome([won] * 3))
    assert "is not met" in " ".join(report_utility.outcome([won, lost]))


def test_shares_and_excess_are_those_of_the_estimate_asked_about():
    from benchmarks.report import utility as report_utility

    both = cell(0.6, {"gradient descent": 0.5, "gradient descent, tuned": 0.45, report_utility.POINT: 0.44, "stages": 0.9})
    assert report_utility.share_level([both]) == 0.0
    assert report_utility.share_level([both], None, report_utility.POINT) == 1.0
    assert math.isnan(report_utility.share_level([cell(0.6, {"gradient descent": 0.5})], None, report_utility.POINT))
    assert report_utility.excess_ratios([both]) == pytest.approx([0.5])
    assert report_utility.excess_ratios([cell(0.6, {"stages": 0.305})]) == []  # not above its own error


def test_reasons_are_read_from_the_cell():
    from benchmarks.report import utility as report_utility

    assert report_utility.labels(cell(0.6, {"diffprivlib": 0.5})) == ["pure ε"]
    assert report_utility.labels(cell(0.6, {"diffprivlib": 0.5}, d=60)) == ["open"]
    assert report_utility.labels(cell(0.6, {"output perturbation": 0.29}, signal=2.0)) == ["weak signal", "below the fit"]
    assert report_utility.labels(cell(0.6, {"gradient descent": 0.5}, fit_norm=30.0, radius=7.0)) == ["long fit"]
    far = cell(0.6, {"gradient descent": 0.58, "gradient descent, tuned": 0.5})
    far["methods"]["gradient descent"] |= {"passes": 100, "rate": 4.0}
    far["methods"]["gradient descent, tuned"] |= {"passes": 300, "rate": 8.0}
    assert report_utility.labels(far) == ["farther descent"]
    assert "open" not in " ".join(report_utility.losses([far]))


def test_tables_of_counts_are_no_worse_than_the_peers_and_their_intervals_cover():
    """No peer is better by more than three standard errors in any measured table; intervals of 90 % cover at least 89 %."""
    from benchmarks.report import asked

    cells = committed()["tables"]["cells"]
    assert all({"OpenDP", "diffprivlib"} <= set(cell["methods"]) for cell in cells)
    assert [cell for cell in cells if asked.behind(cell)] == []
    assert min(cell["covered"] for cell in cells) > 0.89
    better = {"mean": 0.5, "error": 0.01}
    assert asked.behind({"methods": {asked.OURS: {"mean": 1.0, "error": 0.01}, "OpenDP": better}}) == ["OpenDP"]


def test_estimates_of_counts_and_times_keep_two_thirds_at_three():
    from benchmarks.questions import gains

    strong = [
        cell
        for table in committed()["gains"]["tables"]
        for cell in table["cells"]
        if cell["epsilon"] == 3 and cell["signal"] >= gains.SIGNAL
    ]
    assert len(strong) == len(gains.TABLES)
    assert min(cell["share"] for cell in strong) >= gains.SHARE
