"""``gibbsafe reproduce``: the papers' numbers and figures, beside the corrected ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.app import Json, app, print_json

reproduce = typer.Typer(help="Replay the papers' tables and figures, beside the corrected ones.", no_args_is_help=True)
app.add_typer(reproduce, name="reproduce")


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
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Minami et al. (2016)", title_justify="left", box=None, padding=(0, 1), pad_edge=False)
    table.add_column("quantity")
    for heading in ("printed", "recomputed", "exact"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("erratum")
    for row in rows:
        values = (f"{value:.6g}" for value in (row.recomputed, row.exact))
        table.add_row(f"{row.quantity} [dim]({row.where})[/dim]", row.printed, *values, row.erratum or "")
    console = Console()
    console.print(table)
    console.print("\nrecomputed: by the paper's own formula; exact: what the same posterior allows. Errata: docs/errata.md")


@reproduce.command("minami-figure1")
def minami_figure1(
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("minami-figure1.png"),
    as_json: Json = False,
) -> None:
    """Draw Figure 1 of Minami et al. (2016): loss differences grow with the parameter space, gradient differences do not.

    Example: `gibbsafe reproduce minami-figure1 --out figure1.png`
    """
    from gibbsafe.reproduce import minami

    minami.figure1(out)
    if as_json:
        print_json({"figure": str(out)})
    else:
        typer.echo(f"wrote {out}")


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
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Dimitrakakis et al. (2017)", title_justify="left", box=None, padding=(0, 1), pad_edge=False)
    table.add_column("lemma and example")
    for heading in ("paper", "corrected", "range"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("of", "errata"):
        table.add_column(heading)
    for row in rows:
        values = (f"{value:.4g}" for value in (row.paper, row.corrected, row.range))
        table.add_row(f"{row.lemma} {row.family} [dim]({row.example})[/dim]", *values, row.quantity, row.errata)
    console = Console()
    console.print(table)
    console.print(
        "\nFor replacing one record. range: by the log-likelihood difference's range, what plans use. Errata: docs/errata.md"
    )


@reproduce.command("dimitrakakis-figure1")
def dimitrakakis_figure1(
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("dimitrakakis-figure1.png"),
    as_json: Json = False,
) -> None:
    """Draw Figure 1 of Dimitrakakis et al. (2017): the prior mass of Lipschitz parameters and its lower bounds.

    Example: `gibbsafe reproduce dimitrakakis-figure1 --out figure1.png`
    """
    from gibbsafe.reproduce import dimitrakakis

    dimitrakakis.figure1(out)
    if as_json:
        print_json({"figure": str(out)})
    else:
        typer.echo(f"wrote {out}")
