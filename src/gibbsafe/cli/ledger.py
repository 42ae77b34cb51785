"""``gibbsafe ledger``: budget accounts. An account is named URL#account, like ledger.db#clinic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Anchor, Commands, Force, Json, Quiet, RefusedPurpose, app, print_json, say

if TYPE_CHECKING:
    from gibbsafe._types import JSON
    from gibbsafe.privacy import Guarantee

ledger = Commands(help="Budget accounts: open, show, spend, export, check, mark, anchor, backup, grants.")
app.add_typer(ledger, name="ledger")

Reference = Annotated[
    str,
    typer.Argument(
        metavar="URL#ACCOUNT",
        help="Like ledger.db#clinic or postgresql://host/db#clinic; env:NAME#clinic and file:PATH#clinic read a URL.",
    ),
]
Adjacent = Annotated[str, typer.Option(help="replace-one or add-remove.")]
Unit = Annotated[str, typer.Option(help="record, or person for releases that cap the rows per person.")]
Reason = Annotated[str, typer.Option(help="Why, for readers of the journal.")]
Who = Annotated[str | None, typer.Option(help="Who you claim to be; by default the user of the process.")]
DataSet = Annotated[str | None, typer.Option(help="Id of the data set.")]


@ledger.command("open")
def open_(
    reference: Reference,
    *,
    epsilon: Annotated[float | None, typer.Option(help="ε that the account will claim.")] = None,
    delta: Annotated[float, typer.Option(help="δ that the account will claim.")] = 0.0,
    adjacency: Adjacent,
    unit: Unit = "record",
    journal: Annotated[bool, typer.Option("--journal", help="A journal of estimated claims, without budget or total.")] = False,
    currency: Annotated[str | None, typer.Option(help="gaussian, zcdp, or pure (the default where δ is 0).")] = None,
    reserve: Annotated[float | None, typer.Option(help="Share of δ kept for slacks and the δ of releases: 0.1.")] = None,
    reason: Reason = "",
    who: Who = None,
    anchor: Anchor = None,
    dataset: DataSet = None,
    seeded: Annotated[bool, typer.Option("--seeded", help="Admit releases with a seeded generator: for tests only.")] = False,
    purpose: RefusedPurpose = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open an account for one data set. Its caps are fixed now: they are what everything charged to it will claim together.

    Examples:

    `gibbsafe ledger open ledger.db#clinic --epsilon 3 --delta 1e-6 --adjacency replace-one`

    `gibbsafe ledger open ledger.db#estimates --journal --adjacency replace-one`
    """
    from gibbsafe.cli.ledger_view import show_status
    from gibbsafe.ledger import open_account, open_journal, parse_reference
    from gibbsafe.privacy import Budget

    refuse_two_documents(anchor, as_json)
    url, name = parse_reference(reference)
    about: JSON = {"reason": reason, "who": who, "anchor": anchor, "dataset": dataset, "seeded": seeded}
    if journal:
        if epsilon is not None or delta or currency is not None or reserve is not None or unit != "record":
            raise typer.BadParameter("--journal states no total: leave --epsilon, --delta, --unit, --currency and --reserve out")
        result = open_journal(url, name, adjacency=adjacency, **about)
    elif epsilon is None:
        raise typer.BadParameter("--epsilon is missing: the budget of the account, or --journal for one of estimated claims")
    else:
        rest: JSON = {"unit": unit, "currency": currency, "reserve": reserve}
        result = open_account(url, name, Budget(epsilon, delta), adjacency=adjacency, **rest, **about)
    show_status(result.status(), as_json=as_json, quiet=quiet)


@ledger.command("show")
def show(reference: Reference, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what an account claims, the share of each cap spent, and what one more release may cost.

    Example: `gibbsafe ledger show ledger.db#clinic`
    """
    from gibbsafe.cli.ledger_view import show_charges, show_status
    from gibbsafe.ledger import account

    found = account(reference)
    status = found.status()
    show_status(status, as_json=as_json, quiet=quiet)
    if as_json or quiet:
        return
    show_charges(found.charges())


@ledger.command("spend")
def spend(
    reference: Reference,
    *,
    key: Annotated[str, typer.Option(help="Unique name of this charge.")],
    adjacency: Adjacent,
    unit: Unit = "record",
    epsilon: Annotated[float | None, typer.Option(help="Pure or approximate DP.")] = None,
    delta: Annotated[float, typer.Option(help="With --epsilon.")] = 0.0,
    mu: Annotated[float | None, typer.Option(help="Gaussian DP.")] = None,
    rho: Annotated[float | None, typer.Option(help="Zero-concentrated DP.")] = None,
    bounded_range: Annotated[float | None, typer.Option("--range", help="Bounded range.")] = None,
    slack: Annotated[float, typer.Option(help="Total-variation slack of its sampler.")] = 0.0,
    times: Annotated[int, typer.Option(help="How many such releases.")] = 1,
    mechanism: Annotated[str, typer.Option(help="What it was.")] = "",
    reason: Reason = "",
    who: Who = None,
    anchor: Anchor = None,
    dataset: DataSet = None,
    purpose: RefusedPurpose = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Charge a mechanism outside gibbsafe, by its guarantee. Charge first, then run it.

    Example: `gibbsafe ledger spend ledger.db#clinic --key histogram --mu 0.1 --adjacency replace-one`
    """
    from gibbsafe.ledger import account
    from gibbsafe.privacy.composition import Composition

    parts = _guarantees(epsilon, delta, mu, rho, bounded_range)
    if len(parts) != 1:
        raise typer.BadParameter("state one guarantee: --epsilon (with --delta), --mu, --rho or --range")
    guarantee = parts[0].under(adjacency)
    if slack or times != 1:
        guarantee = Composition([(guarantee, times)], slack=slack, adjacency=adjacency)
    found = account(reference, anchor)
    refuse_two_documents(found.anchor_place(), as_json)
    charge = found.spend(guarantee, key=key, unit=unit, mechanism=mechanism, reason=reason, who=who, dataset=dataset)
    if as_json:
        print_json({"entry": charge.number, "status": found.status()})
    elif not quiet:
        say(f"charged {guarantee} to {found} as entry {charge.number}")


def refuse_two_documents(anchor: str | None, as_json: bool) -> None:
    """A mark on stdout would be a second document beside the one of --json."""
    if anchor == "-" and as_json:
        raise typer.BadParameter("--anchor - prints marks, and --json prints one document; use one of them")


def _guarantees(epsilon: float | None, delta: float, mu: float | None, rho: float | None, width: float | None) -> list[Guarantee]:
    from gibbsafe.privacy import ApproximateDP, BoundedRange, ConcentratedDP, GaussianDP, PureDP

    parts: list[Guarantee] = []
    if epsilon is not None:
        parts.append(PureDP(epsilon) if delta == 0 else ApproximateDP(epsilon, delta))
    parts += [
        kind(value) for kind, value in ((GaussianDP, mu), (ConcentratedDP, rho), (BoundedRange, width)) if value is not None
    ]
    return parts


@ledger.command("export")
def export(
    reference: Reference,
    out: Annotated[Path | None, typer.Option(help="Write to a file instead of the screen.")] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the whole account as JSON, with the head of its chain. Keep the head where the ledger's owner cannot reach it.

    Example: `gibbsafe ledger export ledger.db#clinic --out clinic.json`
    """
    import json

    from gibbsafe._files import write_whole
    from gibbsafe.ledger import account
    from gibbsafe.ledger import export as everything

    document = everything(account(reference))
    if out is not None:
        write_whole(out, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).encode(), force=force)
    if as_json or out is None:
        print_json(document)
    elif not quiet:
        say(f"wrote {out}; head {document['head']}")


@ledger.command("check")
def check(
    reference: Reference,
    head: Annotated[
        str | None, typer.Option(help="The newest head that is known: a ledger that ends before it is refused.")
    ] = None,
    anchor: Anchor = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute an account's chain, sums and caps from its entries; exit 1 if anything does not fit.

    Example: `gibbsafe ledger check ledger.db#clinic`
    """
    from gibbsafe.ledger import account
    from gibbsafe.ledger import check as recompute

    report = recompute(account(reference, anchor), head)
    if as_json:
        print_json(report)
    elif not quiet:
        say(f"consistent: {report['entries']} entries, head {report['head']}")


@ledger.command("anchor")
def begin_anchor(
    reference: Reference,
    anchor: Anchor = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Leave a mark of an account as it is now: the first one of an account that was opened without an anchor.

    Example: `gibbsafe ledger anchor ledger.db#clinic --anchor /mnt/other/marks.jsonl`
    """
    from dataclasses import asdict

    from gibbsafe.ledger import account

    found = account(reference, anchor)
    refuse_two_documents(found.anchor_place(), as_json)
    mark = found.begin_anchor()
    if as_json:
        print_json(asdict(mark))
    elif not quiet:
        say(f"marked: {mark.entries} entries, head {mark.head}")


@ledger.command("backup")
def backup(
    url: Annotated[str, typer.Argument(metavar="LEDGER", help="The SQLite file.")],
    out: Annotated[Path, typer.Option(help="Where the copy is written.")],
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy a SQLite ledger whole, its write-ahead log included, and check the copy. Copying the file by hand loses charges.

    Example: `gibbsafe ledger backup ledger.db --out ledger-copy.db`
    """
    from gibbsafe.ledger import Database, copy_ledger, parse_reference

    place, _ = parse_reference(f"{url}#all")
    checked = copy_ledger(Database(place), out, force=force)
    if as_json:
        print_json({"backup": str(out), "accounts": checked})
    elif not quiet:
        say(f"wrote {out}: {len(checked)} account{'s' * (len(checked) != 1)}, consistent")


@ledger.command("grants")
def grants(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="The PostgreSQL database, with --apply.")] = None,
    prefix: Annotated[str, typer.Option(help="Of the roles' names.")] = "gibbsafe",
    apply: Annotated[bool, typer.Option("--apply", help="Carry it out instead of printing it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print SQL for PostgreSQL: roles (owner opens, charger appends, auditor reads), append-only grants and triggers.

    Example: `gibbsafe ledger grants | psql ledger`
    """
    from gibbsafe.ledger import Database, apply_grants, grants_sql, parse_reference

    if apply != (url is not None):
        raise typer.BadParameter("--apply needs the URL of a database, and a URL needs --apply")
    if url is not None:
        apply_grants(Database(parse_reference(f"{url}#all")[0]), prefix)
    roles = [f"{prefix}_{role}" for role in ("owner", "charger", "auditor")]
    if as_json:
        print_json({"roles": roles, "sql": grants_sql(prefix), "applied": apply})
    elif not apply:
        say(grants_sql(prefix), nl=False)
    elif not quiet:
        say(f"roles {', '.join(roles)} are set up; give a login one of them with GRANT")


@ledger.command("mark")
def mark(
    reference: Reference,
    release: Annotated[Path, typer.Argument(help="The release file.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Mark a charge released whose release was written when the ledger could not be told: only the file that it produced.

    Example: `gibbsafe ledger mark ledger.db#clinic release.json`
    """
    from gibbsafe.cli.inputs import load_release
    from gibbsafe.ledger import account

    loaded = load_release(release)
    charge = account(reference).find_charge(loaded)
    charge.settle(loaded)
    if as_json:
        print_json({"entry": charge.number})
    elif not quiet:
        say(f"entry {charge.number} is marked released")
