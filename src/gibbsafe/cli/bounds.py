"""``gibbsafe bounds``: bounds or levels of a column that are not public, released at a price and written into a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gibbsafe.cli.application import Anchor, Json, Quiet, app, print_json, say

if TYPE_CHECKING:
    from gibbsafe.data.files import CsvFormat
    from gibbsafe.ledger import Account
    from gibbsafe.ranges import PrivateBounds, PrivateLevels


Range = Annotated[str | None, typer.Option("--range", help="Public LOW:HIGH to look in, like -1e9:1e9.")]
Levels = Annotated[bool, typer.Option("--levels", help="Release which values of a category are common; needs --delta.")]
Origin = Annotated[str | None, typer.Option(help="Of dates: days are counted from it; by default the study's.")]
Ledger = Annotated[str | None, typer.Option(help="Account to charge, URL#account; by default the study's.")]
Persons = Annotated[str | None, typer.Option(help="Column that identifies persons; by default the study's.")]
Rows = Annotated[int | None, typer.Option(min=1, help="Rows of a person that count; by default the study's, or 1.")]
Untrusted = Annotated[bool, typer.Option("--untrusted", help="Charge before a record is decoded, replace invalid entries.")]


@app.command("bounds")
def bounds(
    table: Annotated[str, typer.Argument(help="The table: CSV, Parquet, Arrow, NumPy, a directory of them, or a URL of either.")],
    *,
    column: Annotated[str, typer.Option(help="The column.")],
    limits: Range = None,
    levels: Levels = False,
    epsilon: Annotated[float, typer.Option(help="ε of everything that is released here.")],
    delta: Annotated[float, typer.Option(help="δ of it.")] = 0.0,
    quantiles: Annotated[str, typer.Option(help="Which quantiles, between 0 and 1.")] = "0.01,0.99",
    origin: Origin = None,
    per_decade: Annotated[int, typer.Option(help="Round numbers per power of ten: 90, 20 or 10.")] = 90,
    other: Annotated[str, typer.Option(help="With --levels: the level for all other values.")] = "other",
    adjacency: Annotated[str | None, typer.Option(help="replace-one or add-remove; by default the account's.")] = None,
    study: Annotated[Path | None, typer.Option(help="Write them into this study file, with the charge.")] = None,
    ledger: Ledger = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Charge nobody: you keep the budget by yourself.")] = False,
    anchor: Anchor = None,
    key: Annotated[str | None, typer.Option(help="Name of the charge; by default the question's hash.")] = None,
    persons: Persons = None,
    rows_per_person: Rows = None,
    untrusted: Untrusted = False,
    dataset: Annotated[str | None, typer.Option(help="Id of the data set, if the account is bound to one.")] = None,
    show_values: Annotated[bool, typer.Option("--show-values", help="Let refusals name values: for the curator only.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release quantiles of a column as its bounds, or the common values of a category as its levels.

    The charge comes before the first random number. With --study, bounds and charge are written under [columns.NAME], and
    certificates say under which charge they were released.

    Examples:

    `gibbsafe bounds table.parquet --column income --range -1e9:1e9 --epsilon 0.2 --ledger ledger.db#clinic --study study.toml`

    `gibbsafe bounds table.csv --column ward --levels --epsilon 0.2 --delta 1e-7 --no-ledger`
    """
    from gibbsafe.errors import showing_values
    from gibbsafe.privacy import Budget
    from gibbsafe.ranges import private_bounds, private_levels

    _refuse_misuse(limits, ledger, levels=levels, untrusted=untrusted, shown=show_values)
    stated = _Stated.of(study, column, levels=levels)
    common: dict[str, Any] = stated.asked(persons, rows_per_person) | {
        "adjacency": adjacency, "ledger": stated.account(ledger, anchor, no_ledger=no_ledger), "key": key,
        "dataset": dataset or stated.dataset, "untrusted": untrusted,
    }  # fmt: skip
    found: PrivateBounds | PrivateLevels
    with showing_values(show_values):
        if limits is None:
            found = private_levels(table, column, Budget(epsilon, delta), other=other, **common)
        else:
            common |= {"quantiles": _numbers("quantiles", quantiles, ","), "origin": origin or stated.origin}
            found = private_bounds(table, column, _range(limits), Budget(epsilon, delta), per_decade=per_decade, **common)
    _tell(found, study, as_json=as_json, quiet=quiet)


def _refuse_misuse(limits: str | None, ledger: str | None, *, levels: bool, untrusted: bool, shown: bool) -> None:
    if levels == (limits is not None):
        raise typer.BadParameter("name --range LOW:HIGH for the bounds of a number, or --levels for a category")
    if untrusted and (shown or ledger is None):
        raise typer.BadParameter("--untrusted needs --ledger, and excludes --show-values: refusals would show what records hold")


def _tell(found: PrivateBounds | PrivateLevels, study: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Say what was released, before the study is written: what was paid for is told in any case."""
    from gibbsafe.study.writing import write_declaration

    if as_json:
        print_json(found.to_dict() | {"study": None if study is None else str(study)})
    elif not quiet:
        say(str(found))
    if study is not None:
        place = write_declaration(study, found.column, found.declaration())
        if not as_json and not quiet:
            say(f"wrote [{place}] of {study}")


def _numbers(name: str, text: str, between: str) -> list[float]:
    from gibbsafe._validate import fail

    try:
        return [float(part) for part in text.split(between)]
    except ValueError:
        fail(name, text, f"numbers with '{between}' between them")


def _range(text: str) -> tuple[float, float]:
    from gibbsafe._validate import fail

    ends = _numbers("range", text, ":")
    if len(ends) != 2:
        fail("range", text, "LOW:HIGH, two numbers")
    return ends[0], ends[1]


@dataclass(frozen=True)
class _Stated:
    """What a study says of its ledger, its persons and its files; it may be unfinished."""

    reference: str | None = None
    anchor: str | None = None
    dataset: str | None = None
    persons: str | None = None
    rows_per_person: int = 1
    csv_format: CsvFormat | None = None
    origin: str | None = None

    @classmethod
    def of(cls, study: Path | None, column: str, *, levels: bool) -> _Stated:
        """Read it, and refuse a study into which nothing can be written before anything is spent."""
        from gibbsafe.study.columns import read_table
        from gibbsafe.study.declaration import read_account, read_anchor, read_csv_format, read_persons, read_text, read_toml
        from gibbsafe.study.writing import place_of, require_room

        if study is None:
            return cls()
        require_room(study, column, levels=levels)
        document, folder = read_toml(study), study.parent
        ledger = read_table(document, "ledger", None)
        person, rows = read_persons(document)
        origin = place_of(document, column)[1].get("origin")
        return cls(
            read_account(ledger, folder), read_anchor(ledger, folder), read_text("ledger.dataset", ledger.get("dataset")),
            person, rows, read_csv_format(read_table(document, "csv", ("delimiter", "encoding", "decimal"))),
            None if origin is None else str(origin),
        )  # fmt: skip

    def asked(self, persons: str | None, rows_per_person: int | None) -> dict[str, Any]:
        """Return whose rows are read, and how: as options say, or the study."""
        rows = self.rows_per_person if rows_per_person is None else rows_per_person
        return {"csv_format": self.csv_format, "persons": persons or self.persons, "rows_per_person": rows}

    def account(self, reference: str | None, anchor: str | None, *, no_ledger: bool) -> Account | None:
        """Return the account to charge, as options or the study say."""
        from gibbsafe import ledger
        from gibbsafe.errors import BudgetError

        if reference is not None and no_ledger:
            raise typer.BadParameter("--ledger and --no-ledger exclude each other")
        wanted = None if no_ledger else reference or self.reference
        if wanted is None and not no_ledger:
            raise BudgetError(
                "ledger: no account is named; write [ledger] into the study, pass --ledger URL#account, or --no-ledger"
            )
        return None if wanted is None else ledger.account(wanted, anchor or self.anchor)
