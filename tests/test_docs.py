"""Every example in README runs as printed (those of docs when the site is built), and every link leads somewhere."""

import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import gibbsafe as gs

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts)]


def load(name):
    """A module of the site, which is in no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


executed = load("executed")


def name_of(page):
    return str(page.relative_to(ROOT))


def outputs_of(text):
    return list(executed.run_page(text))


def test_examples_of_the_readme_run():
    text = (ROOT / "README.md").read_text()
    outputs = outputs_of(text)
    assert len(outputs) == len(list(executed.FENCED.finditer(text)))
    assert not {output.lacks for output in outputs} - {None}


def test_examples_of_every_other_page_run_when_the_site_is_built():
    assert executed.pages(ROOT / "docs") == [page for page in PAGES[1:] if executed.FENCED.search(page.read_text())]
    assert "executed.pages(DOCS)" in (ROOT / "docs" / "_site" / "steps.py").read_text()
    assert "make test docs" in (ROOT / ".ci" / "run").read_text()


def test_blocks_of_a_story_share_names_and_files_and_others_do_not():
    first = "from pathlib import Path\nx = 1\nPath('a').write_text('b')\nprint(x)"
    page = f"```python\n{first}\n```\n\n```python\nprint(x, Path('a').read_text())\n```\n"
    assert [output.text for output in outputs_of(f"<!-- one story -->\n{page}")] == ["1\n", "1 b\n"]
    with pytest.raises(NameError):
        outputs_of(page)


def test_an_example_that_fails_is_noticed():
    with pytest.raises(AssertionError, match="shows nothing"):
        outputs_of("```python\nx = 1\n```\n")
    for body in ("gibbsafe verify nothing.json", "gibbsafe --version  # refused", "rm -rf something"):
        with pytest.raises(AssertionError, match=body.split()[0]):
            outputs_of(f"```console\n{body}\n```\n")
    assert "nothing.json" in outputs_of("```console\ngibbsafe verify nothing.json  # refused\n```\n")[0].text


def test_what_an_example_lacks_is_named(monkeypatch):
    monkeypatch.delenv("GIBBSAFE_TEST_POSTGRES", raising=False)
    page = "<!-- needs PostgreSQL -->\n```python\nraise ValueError\n```\n"
    assert [output.lacks for output in outputs_of(page)] == ["PostgreSQL"]
    assert "it needs PostgreSQL" in executed.with_outputs(page, outputs_of(page), "/pictures")


def test_outputs_and_pictures_stand_beneath_their_block():
    page = "before\n\n```python\nfrom pathlib import Path\nprint('shown')\nPath('a.svg').write_text('<svg/>')\n```\n\nafter\n"
    written = executed.with_outputs(page, outputs_of(page), "/pictures")
    assert written.index("print(") < written.index("shown\n````") < written.index("![](/pictures/a.svg)") < written.index("after")


def test_no_example_is_left_out():
    """Whatever is fenced as Python, R or a terminal is run: nothing hides behind another spelling of the fence."""
    for page in PAGES:
        text = page.read_text()
        fences = re.findall(r"^ *[`~:]{3,} *\{?(?:python|py|console|bash|sh|shell|r|code-cell|pycon)\b.*$", text, re.M | re.I)
        assert len(fences) == len(list(executed.FENCED.finditer(text))), name_of(page)


def test_commands_of_make_are_targets():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"^make (\S+)$", page.read_text(), re.M):
            assert f"\n{target}:" in makefile, f"{name_of(page)}: make {target}"


def test_the_first_example_is_about_ten_lines():
    blocks = executed.FENCED.finditer((ROOT / "README.md").read_text())
    body = next(block["body"] for block in blocks if block["language"] == "python")
    assert len([line for line in body.splitlines() if line.strip()]) <= 13


def anchors(page):
    """The names that GitHub and the site give to a page's titles."""
    for title in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower()
        yield re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def test_links_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for target, anchor in re.findall(r"\]\((?!\w+:)([^)#]*)#?([^)]*)\)", text):
            aim = (page.parent / target) if target else page
            assert aim.exists(), f"{name_of(page)}: {target}"
            assert not anchor or anchor in anchors(aim), f"{name_of(page)}: {target}#{anchor}"


def test_every_public_module_has_a_page():
    pages = {path.stem for path in (ROOT / "docs" / "reference" / "api").glob("*.md")}
    assert pages >= {name for name in gs.__all__ if inspect.ismodule(getattr(gs, name))} | {"gibbsafe", "release", "report"}


def test_lemmas_that_sources_name_exist():
    named = 0
    for path in (ROOT / "src").rglob("*.py"):
        for number, page in re.findall(r"lemma\s+(S?\d+)\s+of\s+`(docs/\w+\.md)`", path.read_text()):
            named += 1
            assert re.search(rf"^#+ Lemma {number}:", (ROOT / page).read_text(), re.M), f"{path.name}: lemma {number} of {page}"
    assert named >= 4


def fields_of(section):
    """The names in the first column of the table under a title of docs/formats.md."""
    body = (ROOT / "docs" / "formats.md").read_text().split(f"\n## {section}")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", body, re.M))


def test_formats_name_every_field():
    model = gs.models.LogisticRegression(dimension=1)
    table = np.array([[0.1], [0.2]]), np.array([0, 1])
    for options, extra in (({}, {"transcript"}), ({"purpose": "estimate", "mechanism": "noisy-scores"}, set())):
        plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=2, adjacency="replace-one", **options)
        content = plan.release(table, generator=np.random.default_rng(0)).to_dict()
        assert fields_of("Release") == set(content) | {"charge", "signature"} | extra
        assert fields_of("Certificate") == set(content["certificate"])
        assert fields_of("Plan") == set(content["plan"])


def test_the_check_of_the_site_finds_what_is_wrong(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x"></a><a href="c.html"></a><a href="https://far.example"></a><p id="h">')
    (tmp_path / "b.html").write_text('<a href="a.html#h"></a><script src="https://far.example/x.js"></script>')
    found = load("check").complaints(tmp_path)
    assert found == [
        "a.html: b.html#x has no such place",
        "a.html: c.html leads nowhere",
        "b.html: fetches https://far.example/x.js",
    ]
