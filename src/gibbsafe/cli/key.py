"""``gibbsafe key``: keys that sign releases, and signed lists that add, retire and revoke keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Commands, Json, Quiet, app, print_json, say

key = Commands(help="Keys that sign releases: new, list.")
app.add_typer(key, name="key")


@key.command("new")
def new(
    keyfile: Annotated[Path, typer.Argument(help="Where the private key is written; its public half is KEYFILE.pub.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make an Ed25519 key pair. Keep KEYFILE; give KEYFILE.pub to verifiers by another way than releases travel.

    Example: `gibbsafe key new curator.key`
    """
    from gibbsafe._files import require_free
    from gibbsafe.release.signing import new_key

    require_free(f"{keyfile}.pub")
    result = new_key(keyfile)
    if as_json:
        print_json({"key": result, "private": str(keyfile), "public": f"{keyfile}.pub"})
    elif not quiet:
        say(f"wrote {keyfile} (keep it) and {keyfile}.pub (give it away); key {result}")


@key.command("list")
def list_(
    path: Annotated[Path, typer.Argument(metavar="LIST", help="The list; a new one is begun if there is none.")],
    *,
    sign: Annotated[Path, typer.Option(help="The private key that verifiers trust: it signs the list.")],
    add: Annotated[list[Path] | None, typer.Option(help="A public key that may sign from now on.")] = None,
    retire: Annotated[list[Path] | None, typer.Option(help="A public key that signs no more; what it signed holds.")] = None,
    revoke: Annotated[list[Path] | None, typer.Option(help="A public key that was lost or stolen: nothing of it holds.")] = None,
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the next signed list of keys, for rotation and revocation; verifiers pass it as `verify --key-list`.

    Examples:

    `gibbsafe key list keys.json --sign root.key --add ward.key.pub`

    `gibbsafe key list keys.json --sign root.key --revoke ward.key.pub --reason stolen`
    """
    from gibbsafe._files import alone_in, write_whole
    from gibbsafe.release.signing import KeyList, read_private, read_public, sign_list

    private = read_private(sign)
    with alone_in(path.parent):  # of two changes at once none is lost
        result = KeyList.load(path, private.public_key()) if path.exists() else KeyList(0, [])
        for status, files in (("active", add), ("retired", retire), ("revoked", revoke)):
            for file in files or ():
                result = result.with_key(read_public(file), status, reason)
        document = sign_list(result, private)
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, text.encode(), force=True, inputs=[sign, *(add or ()), *(retire or ()), *(revoke or ())])
    if as_json:
        print_json(document)
    elif not quiet:
        say(f"wrote {path}: list {result.number} of {len(result.keys)} keys")
