"""The pages about modules: a table of what a module offers, and its docstrings, in place of the block ```{api} MODULE."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

FRONT = "gibbsafe"
WANTED = re.compile(r"^```\{api\} ([\w.]+)\n```$", re.M)


def directive(thing: object) -> str:
    """How Sphinx calls a thing of this kind."""
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    return "autofunction"


def lines(module_name: str) -> Iterator[str]:
    """Yield reStructuredText about the public names of a module, but for those that the front page has."""
    module = importlib.import_module(module_name)
    elsewhere = set() if module_name == FRONT else set(importlib.import_module(FRONT).__all__)
    offered = {name: getattr(module, name) for name in module.__all__ if not name.startswith("_") and name not in elsewhere}
    things = {name: thing for name, thing in offered.items() if inspect.isclass(thing) or inspect.isroutine(thing)}
    yield from [f".. automodule:: {module_name}", "   :no-members:", "", f".. currentmodule:: {module_name}", ""]
    yield from [".. autosummary::", "", *(f"   {name}" for name in things), ""]
    for name, thing in things.items():
        yield from [f".. {directive(thing)}:: {name}", ""]


def expanded(text: str) -> str:
    """Return a page with its blocks replaced."""

    def described(block: re.Match[str]) -> str:
        return "\n".join(["````{eval-rst}", *lines(block[1]), "````"])

    return WANTED.sub(described, text)
