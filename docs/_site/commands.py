"""The page about commands is written from the application itself: what `gibbsafe COMMAND --help` says, as Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any


def cell(text: str) -> str:
    """One cell of a table: one line, in which a bar separates nothing."""
    return " ".join(text.split()).replace("|", "\\|")


def invocation(option: Any) -> str:
    """How an option is written: `--flag`, `--seed SEED`, `--on / --off`."""
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.secondary_opts:
        return " / ".join([names, *(f"`{name}`" for name in option.secondary_opts)])
    return names if option.is_flag else f"{names} {(option.metavar or option.name).upper()}"


def rows(parameters: list[Any]) -> Iterator[str]:
    """Yield a table of arguments and options: how each is written, what it does, what it is where it is left out."""
    for parameter in parameters:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        is_option = parameter.param_type_name == "option"
        name = invocation(parameter) if is_option else f"`{(parameter.metavar or parameter.name).upper()}`"
        stated = f"`{parameter.default}`" if isinstance(parameter.default, str | int | float) and parameter.default else ""
        words = getattr(parameter, "help", None) or ""
        yield f"| {cell(name)} | {cell(words)} | {'required' if parameter.required else cell(stated)} |"


def described(command: Any, path: str, level: int) -> Iterator[str]:
    """Yield the lines about a command and about those beneath it."""
    if level > 1:
        yield from ["", f"{'#' * level} `{path}`", ""]
    yield inspect.cleandoc(command.help or "").replace("\f", "")
    table = list(rows(command.params))
    if table and not getattr(command, "commands", None):
        yield from ["", "| | | default |", "|---|---|---|", *table]
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from described(child, f"{path} {name}", level + 1)


def page() -> str:
    """Return Markdown about every command."""
    import typer

    from gibbsafe.cli import app

    return "\n".join(described(typer.main.get_command(app), "gibbsafe", 1))
