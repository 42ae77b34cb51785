"""``gibbsafe reproduce``: the papers' numbers and figures, beside the corrected ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Commands, Force, Json, app, print_json, say

reproduce = Commands(help="Replay the papers' tables and figures, beside the corrected ones.")
app.add_typer(reproduce, name="reproduce")


def show_table(title: str, headings: tuple[str, Sequence[str], Sequence[str]], rows: Iterable[Sequence[str]], note: str) -> None:
    """Print a table for people: a first column, columns of numbers, columns of words, and a note below."""
    from rich.console import Console
    from rich.table import Table

    first, numbers, words = headings
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), pad_edge=False)
    table.add_column(first)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in words:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(f"\n{note}")


def tell_figure(out: Path, as_json: bool) -> None:
    """Say where a picture was written."""
    if as_json:
        print_json({"figure": str(out)})
    else:
        say(f"wrote {out}")


@reproduce.command("minami-numbers")
def minami_numbers(as_json: Json = False) -> None:
    """Print every number of Minami et al. (2016) and its supplement beside the recomputed and the exact one.

    Example: `gibbsafe reproduce minami-numbers --json`
    """
    from gibbsafe.reproduce import minami

    rows = minami.numbers()
    if as_json:
        print_json([row.to_dict() for row in rows])
        return
    cells = (
        (f"{row.quantity} [dim]({row.where})[/dim]", row.printed, f"{row.recomputed:.6g}", f"{row.exact:.6g}", row.erratum or "")
        for row in rows
    )
    note = "recomputed: by the paper's own formula; exact: what the same posterior allows. Errata: docs/errata.md"
    show_table("Minami et al. (2016)", ("quantity", ("printed", "recomputed", "exact"), ("erratum",)), cells, note)


@reproduce.command("minami-figure1")
def minami_figure1(
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("minami-figure1.png"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw Figure 1 of Minami et al. (2016): loss differences grow with the parameter space, gradient differences do not.

    Example: `gibbsafe reproduce minami-figure1 --out figure1.png`
    """
    from gibbsafe._plotting import require_picture
    from gibbsafe.reproduce import minami

    require_picture(out, force=force)
    minami.figure1(out, force=force)
    tell_figure(out, as_json)


@reproduce.command("dimitrakakis-table")
def dimitrakakis_table(as_json: Json = False) -> None:
    """Print Lemmas 19 to 24 of Dimitrakakis et al. (2017) on examples: the paper's guarantee, the corrected one, the range bound.

    Example: `gibbsafe reproduce dimitrakakis-table --json`
    """
    from gibbsafe.reproduce import dimitrakakis

    rows = dimitrakakis.table()
    if as_json:
        print_json([row.to_dict() for row in rows])
        return
    cells = (
        (
            f"{row.lemma} {row.family} [dim]({row.example})[/dim]",
            *(f"{value:.4g}" for value in (row.paper, row.corrected, row.range)),
            row.quantity,
            row.errata,
        )
        for row in rows
    )
    note = "For replacing one record. range: by the log-likelihood difference's range, what plans use. Errata: docs/errata.md"
    headings = ("lemma and example", ("paper", "corrected", "range"), ("of", "errata"))
    show_table("Dimitrakakis et al. (2017)", headings, cells, note)


@reproduce.command("dimitrakakis-figure1")
def dimitrakakis_figure1(
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("dimitrakakis-figure1.png"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw Figure 1 of Dimitrakakis et al. (2017): the prior mass of Lipschitz parameters and its lower bounds.

    Example: `gibbsafe reproduce dimitrakakis-figure1 --out figure1.png`
    """
    from gibbsafe._plotting import require_picture
    from gibbsafe.reproduce import dimitrakakis

    require_picture(out, force=force)
    dimitrakakis.figure1(out, force=force)
    tell_figure(out, as_json)
