"""Every number on the page, and every benchmark number in the README, comes from the committed results."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def test_the_page_is_what_the_committed_results_give():
    import report

    results = report.load_all(folder=ROOT / "benchmarks" / "results")
    assert report.page(results) == (ROOT / "docs" / "benchmarks.md").read_text()


def test_figures_that_the_page_shows_exist():
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page):
        assert (ROOT / "docs" / target).exists()


def test_readme_numbers_about_benchmarks_are_on_the_page():
    """A paragraph of the README that points at the page may hold only numbers that stand there."""
    page = set(NUMBER.findall((ROOT / "docs" / "benchmarks.md").read_text()))
    for paragraph in (ROOT / "README.md").read_text().split("\n\n"):
        if "docs/benchmarks.md" in paragraph and not paragraph.startswith(("|", "```")):
            words = re.sub(r"`[^`]*`|\([^)]*\.md\)|\[docs/[^]]*\]", "", paragraph)
            unknown = [number for number in NUMBER.findall(words) if "." in number and number.rstrip(".,") not in page]
            assert not unknown, f"{unknown}: not on docs/benchmarks.md"


def test_committed_results_say_what_made_them():
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        if path.stem == "out_of_core" or path.stem.endswith("_quick"):
            continue  # states its Python only; not committed
        document = json.loads(path.read_text())
        assert {"date", "machine", "versions"} <= set(document), path.name


def test_verdicts():
    import report_utility

    def cell(ours, theirs, error):
        entry = {"log_loss_error": error, "accuracy": 0.5, "accuracy_error": 0.0}
        return {"methods": {"estimate": entry | {"log_loss": ours}, "gradient descent": entry | {"log_loss": theirs}}}

    assert report_utility.verdict(cell(0.4, 0.5, 0.01)) == "better"
    assert report_utility.verdict(cell(0.51, 0.5, 0.01)) == "level"
    assert report_utility.verdict(cell(0.6, 0.5, 0.01)) == "worse"
