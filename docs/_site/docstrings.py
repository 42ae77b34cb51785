"""Docstrings are plain text with code in backticks and formulas in Unicode; this makes reStructuredText of them."""

from __future__ import annotations

import re

CODE = re.compile(r"(``.+?``|`[^`]+`)")
BOLD = re.compile(r"(\*\*[^*]+\*\*)")


def inline(text: str) -> str:
    """Keep code and bold words, and take away whatever else reStructuredText would read into the signs of a formula."""
    pieces = CODE.split(text)
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = f"``{piece.strip('`')}``"
        else:
            kept = BOLD.split(piece)
            kept[::2] = [re.sub(r"([\\*|]|(?<=\w)_(?!\w))", r"\\\1", part) for part in kept[::2]]
            pieces[index] = "".join(kept)
    return "".join(pieces)


def escape(_app: object, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Rewrite a docstring in place (event `autodoc-process-docstring`): examples stay, indented formulas become literal."""
    result: list[str] = []
    example = literal = fields = False
    for before, line in zip(["", *lines], list(lines), strict=False):
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            example = False
            result.append(line)
            continue
        rule = set(line.strip()) == {"-"} and len(line.strip()) > 2
        fields |= rule
        literal &= indent > 0
        example |= line.lstrip().startswith(">>>")
        if indent >= 4 and not (literal or fields or example or before.strip()):
            result += ["::", ""]
            literal = True
        result.append(line if example or literal or rule else inline(line))
    lines[:] = result
