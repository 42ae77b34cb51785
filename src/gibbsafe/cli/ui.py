"""``gibbsafe ui``: the desk for one curator, in a browser on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import app, say

if TYPE_CHECKING:
    from gibbsafe.service import Settings
    from gibbsafe.service.tickets import Ticket

#: Seconds for the browser to come.
PATIENCE = 300


@app.command("ui")
def ui(
    *,
    folder: Annotated[Path, typer.Option(help="Where the desk keeps its tables, its ledger and its key.")] = Path(
        "gibbsafe-desk"
    ),
    data: Annotated[list[Path], typer.Option(help="A folder with tables; may be repeated, by default the current one.")] = [],  # noqa: B006
    port: Annotated[int, typer.Option(help="Port to listen at on this machine; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address instead of opening a browser.")] = False,
) -> None:
    """Open the desk in a browser, for one curator: SQLite, this machine alone, nobody else can come in.

    You are owner, analyst, auditor and operator at once. The address that opens works once.

    Example: `gibbsafe ui --data /srv/tables`
    """
    import webbrowser

    from gibbsafe.cli.serve import settings_of

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = settings_of(
        f"sqlite:///{folder.absolute() / 'desk.db'}", None, folder / "desk.key", [str(each) for each in data] or ["."], None, 5,
        secure=False, requests_per_minute=None,
    )  # fmt: skip
    from gibbsafe.service.server import listen, serve

    at = listen("127.0.0.1", port)
    ticket = _ticket(settings)
    address = f"http://127.0.0.1:{at.getsockname()[1]}/ticket/{ticket.secret}"

    def ready() -> None:
        say("the desk is open in your browser; stop it with Ctrl-C" if not no_browser else f"open {address} (works once)")
        if not no_browser:
            webbrowser.open(address)

    serve(settings, at, ticket=ticket, ready=ready)


def _ticket(settings: Settings) -> Ticket:
    """Make key and curator where there are none yet, and a ticket for the browser."""
    from gibbsafe.release.signing import new_key
    from gibbsafe.service import Desk
    from gibbsafe.service.authority import ROLES
    from gibbsafe.service.people import SYSTEM
    from gibbsafe.service.tickets import Ticket

    if not settings.key.exists():
        new_key(settings.key)
    desk = Desk(settings).open()
    name = "curator"
    known = [user for user in desk.users(SYSTEM) if user.name == name]
    curator = known[0] if known else desk.create_user(SYSTEM, name, ROLES)
    for token in desk.tokens(SYSTEM, curator.id):  # of earlier starts
        if not token.revoked:
            desk.revoke_token(SYSTEM, token.id)
    text = desk.create_token(SYSTEM, curator.id, "gibbsafe ui", days=1).text
    return Ticket(settings.new_secret(), text, settings.clock() + PATIENCE)
