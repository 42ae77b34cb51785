"""``gibbsafe verify``: recompute hash and claim of a release, without data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.app import Json, Quiet, app, print_json


@app.command("verify")
def verify(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute a release's hash and claim from its own constants; exit 1 if they do not hold.

    It detects accident and inconsistency, not forgery: whoever can write the file can write a consistent one.

    Example: `gibbsafe verify release.json`
    """
    from gibbsafe.release import verify as check

    certificate = check(release)
    if as_json:
        print_json({"verified": True, "certificate": certificate.to_dict()})
    elif not quiet:
        typer.echo(f"{certificate}\n\nverified: hash and claim of {release} hold")
