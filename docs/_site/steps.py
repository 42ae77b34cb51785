"""The steps of ours in a build: run the examples, show what they print, write the page about commands, read docstrings."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from base64 import b64decode, b64encode
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import commands
import docstrings
import executed
import listing

DOCS = Path(__file__).parent.parent
SOURCES = DOCS.parent / "src"
#: Outputs and pictures of the examples, kept from one build to the next while neither page nor sources change.
KEPT = DOCS / "_build" / "executed"


def sources_digest() -> str:
    """One hash of everything that an example can depend on."""
    digest = hashlib.sha256(Path(executed.__file__).read_bytes())
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run_to_file(path: Path, kept: Path, key: str) -> None:
    """Run a page's blocks and keep what they show."""
    try:
        outputs = [output._asdict() for output in executed.run_page(path.read_text("utf-8"))]
    except Exception as failure:
        raise RuntimeError(f"{path.relative_to(DOCS)}: an example fails: {failure!r}") from failure
    for output in outputs:
        output["pictures"] = {name: b64encode(data).decode() for name, data in output["pictures"].items()}
    kept.write_text(json.dumps({"key": key, "outputs": outputs}))


def run_examples(_app: object) -> None:
    """Run the examples of all pages that changed, in two processes, and write their pictures (event `builder-inited`)."""
    KEPT.mkdir(parents=True, exist_ok=True)
    sources, waiting = sources_digest(), []
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for path in executed.pages(DOCS):
            text, kept = path.read_text("utf-8"), kept_place(path)
            key = hashlib.sha256((sources + text).encode()).hexdigest()
            if not kept.exists() or json.loads(kept.read_text())["key"] != key:
                waiting.append(pool.submit(run_to_file, path, kept, key))
        for job in waiting:
            job.result()


def kept_place(path: Path) -> Path:
    """Where the outputs of a page are kept."""
    return KEPT / f"{'-'.join(path.relative_to(DOCS).with_suffix('').parts)}.json"


def show_examples(_app: object, docname: str, source: list[str]) -> None:
    """Put outputs beneath the examples of a page, commands and modules into theirs (event `source-read`)."""
    kept = kept_place(DOCS / f"{docname}.md")
    if docname == "reference/cli":
        source[0] += "\n" + commands.page()
    source[0] = listing.expanded(source[0]).replace("](../CONTRIBUTING.md)", "](contributing.md)")
    if kept.exists() and executed.FENCED.search(source[0]):
        outputs = [executed.Output(**output) for output in json.loads(kept.read_text())["outputs"]]
        place = KEPT / kept.stem
        for output in outputs:
            for name, data in output.pictures.items():
                place.mkdir(exist_ok=True)
                (place / name).write_bytes(b64decode(data))
        source[0] = executed.with_outputs(source[0], outputs, f"/_build/executed/{kept.stem}")


def setup(app: Any) -> dict[str, object]:
    """Connect the three steps; docstrings are escaped before napoleon reads them."""
    app.connect("builder-inited", run_examples)
    app.connect("source-read", show_examples)
    app.connect("autodoc-process-docstring", docstrings.escape, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
