"""``gibbsafe verify``: recompute hash and claim of a release, without data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Json, Quiet, app, print_json, say


@app.command("verify")
def verify(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    *,
    public_key: Annotated[Path | None, typer.Option(help="Require a signature by this key (a .pub file).")] = None,
    key_list: Annotated[
        Path | None, typer.Option(help="A list signed by that key: its keys count too, but revoked ones.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute a release's hash and claim from its own constants; exit 1 if they do not hold.

    Without a public key it detects accident and inconsistency, not forgery: whoever can write a file can write a consistent one.

    Examples:

    `gibbsafe verify release.json`

    `gibbsafe verify release.json --public-key curator.key.pub`
    """
    from gibbsafe.cli.inputs import load_release

    if key_list is not None and public_key is None:
        raise typer.BadParameter("--key-list needs --public-key, the key that signed it")
    loaded = load_release(release, public_key, key_list, simulate=True)
    certificate, signature = loaded.certificate, loaded.signature
    words = "unsigned" if signature is None else f"signed by key {signature['key']}"
    words += "" if signature is None else ", which holds" if public_key else ", which was not checked: pass --public-key"
    if as_json:
        state = "unsigned" if signature is None else "valid" if public_key else "unchecked"
        key = None if signature is None else signature["key"]
        print_json({"verified": True, "signature": state, "key": key, "certificate": certificate.to_dict()})
    elif not quiet:
        proved = "claim" in certificate
        what = "hash and claim" if proved else "hash and order statistic (an estimate: random DP, nothing is proved)"
        say(f"{certificate}\n\nverified: {what} of {release} hold; {words}")
