"""Examples of a page are run, and what they print and draw is put beneath them.

Every block of README and docs that is fenced as `python`, `console` or `r` runs, by this one file, and shows something: the
README's in `make test` (tests/test_docs.py), those of docs when the site is built (steps.py). A block has a directory and names
of its own, unless its page says `<!-- one story -->`: then all blocks of the page share them, in order. A block after
`<!-- needs PostgreSQL -->` is skipped by name where there is none. A command whose line ends in `# refused` must end with exit
code 1.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

STORY = "<!-- one story -->"
FENCED = re.compile(r"(?:^<!-- needs (?P<needs>\w+) -->\n)?^```(?P<language>python|console|r)\n(?P<body>.*?)^```$", re.S | re.M)
REFUSED = "  # refused"
PICTURES = {".svg", ".png"}
#: What is not run here: `make` runs it, or it would change the machine. Tests look whether a target of `make` exists.
ELSEWHERE = ("make", "pip", "python")
#: Commands whose output readers want to see beside ours.
SHELL = ("cat", "head", "ls")


class Output(NamedTuple):
    """What a block printed, the pictures it wrote, and what it lacked where it was skipped."""

    text: str
    pictures: dict[str, bytes]
    lacks: str | None = None


def pages(docs: Path) -> list[Path]:
    """Return the pages whose examples run when the site is built."""
    found = [path for path in sorted(docs.rglob("*.md")) if not path.relative_to(docs).parts[0].startswith("_")]
    return [path for path in found if FENCED.search(path.read_text("utf-8"))]


def is_missing(needs: str | None) -> bool:
    """Whether what a block needs is not to be had here."""
    if needs == "PostgreSQL":
        return "GIBBSAFE_TEST_POSTGRES" not in os.environ
    if needs == "jsonlite":  # of R
        asked = ["Rscript", "-e", "library(jsonlite)"]
        return not shutil.which("Rscript") or subprocess.run(asked, capture_output=True, check=False).returncode != 0
    if needs in ("formulaic", "JAX", "NumPyro"):
        return importlib.util.find_spec(needs.lower()) is None
    assert needs is None, f"nobody knows what {needs!r} is"
    return False


def ledger_url(place: Path) -> str:
    """Where examples that name LEDGER_URL keep their accounts: in a database of their own, or without a server in a file."""
    server = os.environ.get("GIBBSAFE_TEST_POSTGRES")
    if not server:
        return f"sqlite:///{place / 'ledger.db'}"
    import psycopg
    from psycopg.sql import SQL, Identifier

    name = f"docs_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return f"{server.rpartition('/')[0]}/{name}"


def run_command(line: str) -> str:
    """Run one line of a console block; return what a terminal would show."""
    words, expected = shlex.split(line.removesuffix(REFUSED)), int(line.endswith(REFUSED))
    if words[0] in SHELL:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    if words[0] != "gibbsafe":
        assert words[0] in ELSEWHERE, f"{line!r} is not a command that examples may use"
        return ""
    from gibbsafe.cli import main

    shown, code = io.StringIO(), 0
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown), patch.object(sys, "argv", words):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    assert code == expected, f"{line!r} ended with {code}: {shown.getvalue()}"
    return shown.getvalue()


def run_block(language: str, body: str, names: dict[str, object]) -> str:
    """Run a block in the current directory; return what it prints."""
    if language == "console":
        lines = body.strip().splitlines()
        return "".join(f"$ {line.removesuffix(REFUSED)}\n{run_command(line)}" for line in lines)
    if language == "r":
        done = subprocess.run(["Rscript", "--vanilla", "-"], input=body, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, "example", "exec"), names)
    return printed.getvalue()


def run_page(text: str) -> Iterator[Output]:
    """Run the blocks of a page in order; yield what each of them shows."""
    story = STORY in text
    with contextlib.ExitStack() as stack, patch.dict(os.environ, COLUMNS="110", TERM="dumb", MPLBACKEND="agg"):
        shared, names = Path(stack.enter_context(tempfile.TemporaryDirectory())), {"__name__": "example"}
        os.environ["LEDGER_URL"] = ledger_url(shared) if "LEDGER_URL" in text else ""
        for block in FENCED.finditer(text):
            if is_missing(block["needs"]):
                yield Output("", {}, lacks=block["needs"])
                continue
            place = shared if story else Path(stack.enter_context(tempfile.TemporaryDirectory()))
            before = set(place.iterdir())
            with contextlib.chdir(place):
                shown = run_block(block["language"], block["body"], names if story else {"__name__": "example"})
            drawn = sorted(path for path in set(place.iterdir()) - before if path.suffix in PICTURES)
            assert shown or drawn, f"an example shows nothing: {block['body'][:80]}"
            shown = shown.replace(f"{place}{os.sep}", "")
            yield Output(shown, {path.name: path.read_bytes() for path in drawn})


def with_outputs(text: str, outputs: list[Output], pictures: str) -> str:
    """Return the page with what its blocks showed beneath them; ``pictures`` is where the site finds their pictures."""
    shown = iter(outputs)

    def beneath(block: re.Match[str]) -> str:
        output = next(shown)
        if output.lacks:
            return f"{block[0]}\n\n*Not run in this build: it needs {output.lacks}.*"
        source = "" if block["language"] == "console" and output.text else f"{block[0]}\n"
        if output.text.strip():
            source += f"\n:::{{container}} output\n````text\n{output.text.rstrip()}\n````\n:::\n"
        return source + "".join(f"\n![]({pictures}/{name})\n" for name in output.pictures)

    return FENCED.sub(beneath, text)
