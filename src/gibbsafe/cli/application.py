"""The Typer application, and what every command shares: errors in one line, exit codes, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from gibbsafe._text import has_password, printable
from gibbsafe._version import __version__
from gibbsafe.errors import GibbsafeError

__all__ = ["Anchor", "Commands", "Force", "Json", "Quiet", "RefusedPurpose", "app", "main", "print_json", "say"]


Function = TypeVar("Function", bound=Callable[..., Any])


class _ShowsFlags:
    """A flag takes no value: newer versions of Typer print a type behind it all the same."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, flags without the name of a type."""
        listed: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in listed:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return listed


class _Command(_ShowsFlags, TyperCommand):
    """A command whose help shows flags as flags."""


class _Group(_ShowsFlags, TyperGroup):
    """A group of commands whose help shows flags as flags."""


class Commands(typer.Typer):
    """A group of commands in the house's way: help shows flags as flags, and nothing is done without a command."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, no_args_is_help=True, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """Register a function as a command."""
        return super().command(name, cls=_Command, **options)


app = Commands(
    name="gibbsafe",
    help="Differentially private Bayesian inference by posterior sampling.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

#: How Typer ends after Ctrl-C; here an interrupt is a refusal like others.
INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but refusals.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


def _refuse_passwords(arguments: Sequence[str]) -> None:
    """Refuse a password on the command line, where every user of the machine and the shell's history see it.

    Wherever it stands: Typer quotes arguments that it does not understand.
    """
    if any(map(has_password, arguments)):
        print(
            "gibbsafe: an argument has a password, which others can see; put the URL into a variable and pass env:NAME#account",
            file=sys.stderr,
        )
        sys.exit(2)


def _refuse_purpose(purpose: str | None) -> None:
    if purpose is not None:
        raise typer.BadParameter("is called --reason, since the purpose of a study is another thing; pass --reason")


Anchor = Annotated[
    str | None,
    typer.Option(help="Where charges leave marks: a file, the URL of another database, or - for stdout."),
]
RefusedPurpose = Annotated[str | None, typer.Option("--purpose", hidden=True, callback=_refuse_purpose)]


def _version(show: bool) -> None:
    if show:
        typer.echo(f"gibbsafe {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Differentially private Bayesian inference by posterior sampling.

    From a table to a verified release: `init`, `plan`, `ledger open`, `release`, `verify`; then `query` and `report` for free.
    """


def print_json(document: object) -> None:
    """Print one JSON document; floats keep every digit."""
    say(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text; whatever control characters files brought into it are spelled out."""
    typer.echo(printable(text), err=err, nl=nl)


@cache
def _command() -> Any:
    """Return the command as Typer builds it, once: reading every signature takes longer than many commands."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line: exit 0 on success, 1 on a refusal with its reason on stderr or an interrupt, 2 on misuse."""
    _refuse_passwords(sys.argv[1:])
    try:
        _command()()
    except (GibbsafeError, OSError) as refusal:
        reason = printable(" ".join(str(refusal).split()))
        print(f"gibbsafe: {reason}", file=sys.stderr)
        sys.exit(1)
    except MemoryError:
        print("gibbsafe: there is not enough memory for it; give it more, or less to do", file=sys.stderr)
        sys.exit(1)
    except SystemExit as stop:
        sys.exit(1 if stop.code == INTERRUPTED else stop.code)
