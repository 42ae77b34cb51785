"""``gibbsafe desk``: what an operator does at the machine itself: tables, first users, tokens, a worker."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Anchor, Commands, Json, app, print_json, say
from gibbsafe.cli.serve import DatabaseOption, DataOption, KeyOption, LedgerUrl, SlotOption, settings_of

if TYPE_CHECKING:
    from gibbsafe.service import Desk

desk = Commands(help="The operator's commands: migrate, user, token, work.")
app.add_typer(desk, name="desk")

HERE = "sqlite:///desk.db"


def _opened(database: str) -> Desk:
    settings = settings_of(database, None, Path("desk.key"), [], None, 60)
    from gibbsafe.service import Desk

    return Desk(settings).open()


@desk.command("migrate")
def migrate(*, database: DatabaseOption = HERE, as_json: Json = False) -> None:
    """Make the desk's tables, or bring older ones up to this version; `serve` does it too.

    Example: `gibbsafe desk migrate --database env:DESK_DATABASE`
    """
    _opened(database)
    print_json({"status": "up to date"}) if as_json else say("the tables are up to date")


@desk.command("user")
def user(
    name: Annotated[str, typer.Argument(help="The user's name.")],
    *,
    role: Annotated[list[str], typer.Option(help="owner, analyst, auditor or operator; may be repeated.")],
    subject: Annotated[str | None, typer.Option(help="ISSUER|SUBJECT at the provider of identities.")] = None,
    database: DatabaseOption = HERE,
    as_json: Json = False,
) -> None:
    """Make a user: the first operator, who makes the others in the browser.

    Example: `gibbsafe desk user otto --role operator`
    """
    from gibbsafe.service.people import SYSTEM

    made = _opened(database).create_user(SYSTEM, name, role, subject)
    print_json(asdict(made)) if as_json else say(f"made {made.name}: {', '.join(made.roles)}")


@desk.command("token")
def token(
    name: Annotated[str, typer.Argument(help="Whose token.")],
    *,
    label: Annotated[str, typer.Option(help="What it is for.")] = "made at the machine",
    days: Annotated[int, typer.Option(help="Days until it ends.")] = 90,
    database: DatabaseOption = HERE,
    as_json: Json = False,
) -> None:
    """Make a token and print it, this once: whoever has it is this user.

    Example: `gibbsafe desk token otto --label laptop --days 30`
    """
    from gibbsafe.errors import GibbsafeError
    from gibbsafe.service.people import SYSTEM

    opened = _opened(database)
    found = [each for each in opened.users(SYSTEM) if each.name == name]
    if not found:
        raise GibbsafeError(f"user {name!r}: there is none; make one with 'gibbsafe desk user'")
    made = opened.create_token(SYSTEM, found[0].id, label, days)
    print_json({"token": made.text, **asdict(made.token)}) if as_json else say(made.text)


@desk.command("work")
def work(
    *,
    database: DatabaseOption = HERE,
    ledger: LedgerUrl = None,
    key: KeyOption = Path("desk.key"),
    data: DataOption = [],  # noqa: B006 - Typer reads it once
    anchor: Anchor = None,
    slot: SlotOption = 60,
) -> None:
    """Work through the queue: the one process that reads data and signs releases. Several may run on PostgreSQL.

    Example: `gibbsafe desk work --database env:DESK_DATABASE --key /etc/gibbsafe/desk.key --data /srv/data`
    """
    settings = settings_of(database, ledger, key, data, anchor, slot)
    from gibbsafe.service.server import run_worker

    run_worker(settings)
