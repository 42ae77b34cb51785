"""``gibbsafe reproduce hu-…``: Table 1 and the figures of Hu et al. (2026)."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Force, Json, print_json, say
from gibbsafe.cli.reproduce import reproduce

if TYPE_CHECKING:
    from gibbsafe._types import JSON

Quick = Annotated[bool, typer.Option("--quick", help="About a minute instead of many.")]
Workers = Annotated[int, typer.Option(help="Processes; the numbers do not depend on how many.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="Also write the rows as CSV.")]


def _write_csv(path: Path | None, rows: list[JSON], force: bool) -> None:
    if path is None:
        return
    from gibbsafe._files import write_whole

    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode(), force=force)


def _require_free(force: bool, table: Path | None, *, picture: Path | None = None) -> None:
    from gibbsafe._files import require_free
    from gibbsafe._plotting import require_picture

    if table is not None:
        require_free(table, force=force)
    if picture is not None:
        require_picture(picture, force=force)


@reproduce.command("hu-table1")
def hu_table1(
    *,
    repeats: Annotated[int, typer.Option(help="Simulated data sets per n for the literal method.")] = 1000,
    quick: Quick = False,
    workers: Workers = 1,
    out: Csv = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Print Table 1 of Hu et al. (2026): ε̂ as printed, by Algorithm 1 literally, soundly, tightly, and exactly.

    Example: `gibbsafe reproduce hu-table1 --quick --json`
    """
    from gibbsafe.reproduce.hu import table1

    _require_free(force, out)

    few: JSON = {"repeats": 30, "bound_repeats": 12, "exact_sets": 4} if quick else {"repeats": repeats}
    rows = table1(**few, workers=workers)
    _write_csv(out, rows, force)
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Hu et al. (2026), Table 1", title_justify="left", box=None, padding=(0, 1), pad_edge=False)
    columns = ("paper", "literal", "sound", "tight", "exact")
    for heading in ("n", *columns):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(f"{row['n']:,}", *(f"{row[name]:.3g}" for name in columns))
    console = Console()
    console.print(table)
    console.print(
        "\nliteral: Algorithm 1 as printed, with 1,000 particles (invalid: m·δ below 10); sound: δ over all neighbours; tight:"
        "\ncoupled bound; exact: privacy curve by quadrature, the largest over some data sets. All are estimates by simulation."
    )


@reproduce.command("hu-figure1")
def hu_figure1(
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("hu-figure1.png"),
    quick: Quick = False,
    table: Csv = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw Figure 1 of Hu et al. (2026): errors of private means at equal budget, by the paper's conversion and the right one.

    Example: `gibbsafe reproduce hu-figure1 --quick --out figure1.png`
    """
    from gibbsafe.reproduce.hu_figures import draw_figure1, figure1

    _require_free(force, table, picture=out)

    rows = figure1(sizes=(100, 1000, 10_000), sets=25, draws=20) if quick else figure1()
    draw_figure1(rows, out, force=force)
    _write_csv(table, rows, force)
    _finish(rows, out, as_json)


@reproduce.command("hu-figure2")
def hu_figure2(
    *,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("hu-figure2.png"),
    quick: Quick = False,
    workers: Workers = 1,
    table: Csv = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw Figures 2 and 3 of Hu et al. (2026): ε̂ against n for three regressions, with and without contamination.

    Example: `gibbsafe reproduce hu-figure2 --quick --out figure2.png`
    """
    from gibbsafe.reproduce.hu_figures import draw_figure2, figure2

    _require_free(force, table, picture=out)

    few: JSON = {"sizes": (3000, 10_000, 30_000), "repeats": 8} if quick else {}
    rows = figure2(workers=workers, **few)
    draw_figure2(rows, out, force=force)
    _write_csv(table, rows, force)
    _finish(rows, out, as_json)


def _finish(rows: list[JSON], out: Path, as_json: bool) -> None:
    if as_json:
        print_json({"figure": str(out), "rows": rows})
    else:
        say(f"wrote {out}")
