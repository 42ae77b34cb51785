"""``gibbsafe serve``: the desk for a team."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Anchor, app, say

if TYPE_CHECKING:
    from gibbsafe.service import Settings

DatabaseOption = Annotated[
    str, typer.Option(help="The desk's tables: sqlite:///path or postgresql://..., or env:NAME for a variable that has it.")
]
LedgerUrl = Annotated[
    str | None, typer.Option(help="The ledger's database; on PostgreSQL by default the same, else ledger.db beside it.")
]
KeyOption = Annotated[Path, typer.Option(help="Private key that signs releases (gibbsafe key new); its .pub stands beside it.")]
DataOption = Annotated[
    list[str], typer.Option(help="A folder, or store like s3://bucket/desk/, in which data sets may lie; may be repeated.")
]
SlotOption = Annotated[int, typer.Option(help="Seconds of a slot: results appear at whole slots only.")]


def settings_of(  # noqa: PLR0917 - what an installation states
    database: str, ledger: str | None, key: Path, data: list[str], anchor: str | None, slot: int, **others: object
) -> Settings:
    """Return what an installation's options say."""
    from gibbsafe._extras import require_extra
    from gibbsafe.data.places import is_url
    from gibbsafe.ledger.secret import resolve

    require_extra("service", "the desk")
    from gibbsafe.service import Settings

    url = resolve(database)
    url = url if "://" in url else f"sqlite:///{url}"
    beside = f"sqlite:///{Path(url.removeprefix('sqlite:///')).parent / 'ledger.db'}" if url.startswith("sqlite") else url
    place = beside if ledger is None else resolve(ledger)
    place = place if "://" in place else f"sqlite:///{place}"
    folders = tuple(Path(each).absolute() for each in data if not is_url(each))
    stores = tuple(each for each in data if is_url(each))
    return Settings(url, place, key, data=folders, stores=stores, anchor=anchor, slot=slot, **others)  # type: ignore[arg-type]


@app.command("serve")
def serve(
    *,
    database: DatabaseOption = "sqlite:///desk.db",
    ledger: LedgerUrl = None,
    key: KeyOption = Path("desk.key"),
    data: DataOption = [],  # noqa: B006 - Typer reads it once
    anchor: Anchor = None,
    host: Annotated[str, typer.Option(help="Address to listen at; a reverse proxy with HTTPS stands before it.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8400,
    name: Annotated[list[str], typer.Option(help="Host name by which browsers call it; may be repeated.")] = [],  # noqa: B006
    own_folders: Annotated[bool, typer.Option("--own-folders", help="An owner's data lie in FOLDER/NAME of --data.")] = False,
    slot: SlotOption = 60,
    open_id: Annotated[str | None, typer.Option(help="Address of a provider of identities (OpenID Connect).")] = None,
    open_id_client: Annotated[
        str, typer.Option(help="What the provider knows this desk by: ID, with its secret in env:NAME.")
    ] = "",
    insecure_http: Annotated[bool, typer.Option("--insecure-http", help="Cookies over HTTP: on this machine alone.")] = False,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Start no worker: 'gibbsafe desk work' runs elsewhere.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="A desk to try, in a new folder: made-up data, three users.")] = False,
) -> None:
    """Serve the desk: owners register data, analysts ask, owners approve, a worker in a process of its own releases.

    The first operator is made with `gibbsafe desk user`. docs/service.md says how to install it for a team.

    Examples:

    `gibbsafe serve --database sqlite:///desk.db --key desk.key --data /srv/data --name desk.example`

    `gibbsafe serve --database env:DESK_DATABASE --key /etc/gibbsafe/desk.key --data /srv/data --name desk.example --no-worker`

    `gibbsafe serve --demo`
    """
    if demo:
        from gibbsafe._extras import require_extra

        require_extra("service", "the desk")
        from gibbsafe.cli.desk_demo import run

        run(port)
        return
    if insecure_http and host not in ("127.0.0.1", "::1", "localhost"):
        raise typer.BadParameter("--insecure-http is for this machine alone: leave --host at 127.0.0.1")
    settings = settings_of(
        database, ledger, key, data, anchor, slot, secure=not insecure_http, hosts=(*name, "localhost", "127.0.0.1"),
        open_id=_provider(open_id, open_id_client), own_folders=own_folders,
    )  # fmt: skip
    from gibbsafe.service.server import listen
    from gibbsafe.service.server import serve as run_server

    if not settings.public_key.is_file():
        raise typer.BadParameter(f"--key: {settings.public_key} is not there; run 'gibbsafe key new {key}' first")
    at = listen(host, port)
    say(f"the desk listens at http://{host}:{at.getsockname()[1]}; stop it with Ctrl-C")
    run_server(settings, at, worker=not no_worker)


def _provider(issuer: str | None, client: str) -> object:
    """Return the provider of identities that the options name."""
    if issuer is None:
        return None
    from gibbsafe.ledger.secret import resolve
    from gibbsafe.service.settings import OpenIdProvider

    client_id, mark, place = client.partition(",")
    if not mark or not place.startswith(("env:", "file:")):
        raise typer.BadParameter("--open-id-client: must be ID,env:NAME or ID,file:PATH: the secret stands nowhere else")
    return OpenIdProvider(issuer, client_id, resolve(place))
