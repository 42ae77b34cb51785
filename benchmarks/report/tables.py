"""What the page's sections share: Markdown tables, numbers in words, filled prose."""

from __future__ import annotations

import re
import textwrap


def table(head, rows):
    """A Markdown table."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def span(values, form="{:,}"):
    """One number, or the least and the greatest of several."""
    return " to ".join(dict.fromkeys(form.format(value) for value in (min(values), max(values))))


def listed(values):
    return " or ".join(f"{value:,}" for value in sorted(set(values)))


def small(value):
    """A number such as 1e-6, without the zero that Python writes."""
    return f"{value:g}".replace("e-0", "e-")


def budget(results):
    """The budget in words, where the results hold it."""
    if "budget" in results:
        results = results["budget"]
    named = (("ε", results.get("epsilon")), ("δ", results.get("delta")))
    return ", ".join(f"{name} = {small(value)}" for name, value in named if value is not None)


def wrapped(lines):
    """Lines with their prose refilled; tables, headings, pictures and HTML as they are, points of a list with an indent."""
    done, prose = [], []
    for line in [*lines, ""]:
        if line and not re.match(r"[|#!<\-]", line):
            prose.append(line)
            continue
        done += fill(" ".join(prose))
        done += fill(line, indent="  ") if line.startswith("- ") else [line]
        prose = []
    return done


def fill(text, indent=""):
    return textwrap.wrap(text, 126, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
