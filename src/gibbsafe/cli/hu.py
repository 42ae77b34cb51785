"""``gibbsafe reproduce hu-…``: Table 1 and the figures of Hu et al. (2026)."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Force, Json, print_json, say
from gibbsafe.cli.reproduce import reproduce
from gibbsafe.cli.tables import grid, show

if TYPE_CHECKING:
    from gibbsafe._types import JSON
    from gibbsafe.reproduce.results import Results

Quick = Annotated[bool, typer.Option("--quick", help="About a minute instead of many.")]
Workers = Annotated[int, typer.Option(help="Processes; the numbers do not depend on how many.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="Also write the rows as CSV.")]
Sizes = Annotated[str | None, typer.Option(help="Numbers of records, as in 1000,10000.")]
Kept = Annotated[
    Path | None,
    typer.Option("--results", help="Write every piece here when it is done (JSON lines); what is there is not computed again."),
]
Repeats = Annotated[int | None, typer.Option(help="Simulated data sets per point.")]


def _numbers(name: str, text: str | None) -> tuple[int, ...] | None:
    from gibbsafe._validate import count, fail

    if text is None:
        return None
    try:
        return tuple(count(name, int(part), least=2) for part in text.split(","))
    except ValueError:
        return fail(name, text, "whole numbers with commas between them, as in 1000,10000")


def _given(**options: object) -> JSON:
    return {name: value for name, value in options.items() if value is not None}


def _results(path: Path | None) -> Results:
    from gibbsafe.reproduce.results import Results

    return Results(path)


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
    repeats: Annotated[int, typer.Option(help="Simulated data sets per n and seed for the literal method.")] = 1000,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 3,
    sizes: Sizes = None,
    quick: Quick = False,
    workers: Workers = 1,
    results: Kept = None,
    out: Csv = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Print Table 1 of Hu et al. (2026): ε̂ as printed, by Algorithm 1 literally, soundly, tightly, and exactly.

    Example: `gibbsafe reproduce hu-table1 --quick --json`
    """
    from gibbsafe._validate import count
    from gibbsafe.reproduce.hu import table1

    _require_free(force, out)
    few: JSON = {"repeats": 30, "bound_repeats": 12, "exact_sets": 4} if quick else {"repeats": repeats}
    few |= {"seeds": range(1, 2 if quick else count("seeds", seeds) + 1)} | _given(sizes=_numbers("sizes", sizes))
    rows = table1(**few, workers=workers, results=_results(results), progress=False if as_json else None)
    _write_csv(out, rows, force)
    if as_json:
        print_json(rows)
        return
    columns = ("paper", "literal", "sound", "tight", "exact")
    cells = (
        (
            f"{row['n']:,}",
            *("–" if row[name] is None else f"{row[name]:.3g}" for name in columns),
            _span(row["literal_interval"]),
            row["verdict"],
        )
        for row in rows
    )
    note = (
        "literal: Algorithm 1 as printed, with 1,000 particles (invalid: m·δ below 10), all seeds, with a 95 % interval; it "
        "differs where that excludes the printed one. sound: δ over all neighbours; tight: coupled bound; exact: privacy curve "
        "by quadrature, the largest over some data sets. All are estimates by simulation."
    )
    headings = ("n", *columns, "literal, 95 % interval", "literal and paper")
    show(grid("Hu et al. (2026), Table 1", headings, cells, numbers=range(6)), note)


def _span(interval: list[float] | None) -> str:
    return "–" if interval is None else f"[{interval[0]:.3g}, {interval[1]:.3g}]"


@reproduce.command("hu-figure1")
def hu_figure1(
    *,
    out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path("hu-figure1.png"),
    sizes: Sizes = None,
    sets: Annotated[int | None, typer.Option(help="Data sets per n.")] = None,
    draws: Annotated[int | None, typer.Option(help="Runs of each method on a data set.")] = None,
    quick: Quick = False,
    workers: Workers = 1,
    results: Kept = None,
    table: Csv = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Draw Figure 1 of Hu et al. (2026): errors of private means at equal budgets, CoinPress both ways.

    Example: `gibbsafe reproduce hu-figure1 --quick --out figure1.png`
    """
    from gibbsafe.reproduce.hu_figure1 import averages, draw_figure1, figure1

    _require_free(force, table, picture=out)
    options: JSON = {"sizes": (100, 1000, 10_000), "sets": 25, "draws": 20} if quick else {}
    options |= _given(sizes=_paper_sizes(sizes), sets=sets, draws=draws)
    rows = figure1(**options, workers=workers, results=_results(results), progress=False if as_json else None)
    draw_figure1(rows, out, force=force)
    _write_csv(table, averages(rows), force)
    _finish(rows, out, as_json)


def _paper_sizes(text: str | None) -> tuple[int, ...] | None:
    from gibbsafe._validate import fail
    from gibbsafe.reproduce.hu import PAPER

    found = _numbers("sizes", text)
    if found is not None and not set(found) <= set(PAPER):
        fail("sizes", text, "among " + ", ".join(map(str, PAPER)) + ": those of Table 1, whose ε̂ is the budget")
    return found


Truth = Annotated[float | None, typer.Option(help="The size a of the true parameters a·(1, −1, 1, …); ½ unless given.")]


def _regression_figure(number: int, axis: str) -> None:
    """Register the command of Figure 2 or 3: the same rows on another axis."""

    def draw(
        *,
        out: Annotated[Path, typer.Option(help="Where to write the picture (PNG, PDF or SVG).")] = Path(f"hu-figure{number}.png"),
        sizes: Sizes = None,
        repeats: Repeats = None,
        truth: Truth = None,
        quick: Quick = False,
        workers: Workers = 1,
        results: Kept = None,
        table: Csv = None,
        force: Force = False,
        as_json: Json = False,
    ) -> None:
        from gibbsafe.reproduce.hu_regressions import draw_regressions, regressions

        _require_free(force, table, picture=out)
        options: JSON = {"sizes": (3000, 10_000, 30_000), "repeats": 8} if quick else {}
        options |= _given(sizes=_numbers("sizes", sizes), repeats=repeats, truth=truth)
        rows = regressions(**options, workers=workers, results=_results(results), progress=False if as_json else None)
        draw_regressions(rows, out, number=number, force=force)
        _write_csv(table, rows, force)
        _finish(rows, out, as_json)

    said = f"Draw Figure {number} of Hu et al. (2026): ε̂ against n for three regressions, {axis}."
    example = f"Example: `gibbsafe reproduce hu-figure{number} --quick --out figure{number}.png`"
    reproduce.command(f"hu-figure{number}", help=f"{said}\n\n{example}")(draw)


_regression_figure(2, "with and without contamination")
_regression_figure(3, "on a logarithmic axis; with the --results of Figure 2 nothing is computed again")


@reproduce.command("hu-factor")
def hu_factor(
    *,
    sizes: Sizes = None,
    repeats: Repeats = None,
    quick: Quick = False,
    workers: Workers = 1,
    results: Kept = None,
    out: Csv = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Print by what factor contamination lowers ε̂ of logistic regression ("approximately four" in the paper), for several θ*.

    Example: `gibbsafe reproduce hu-factor --quick`
    """
    from gibbsafe.reproduce.hu_regressions import logistic_factor

    _require_free(force, out)
    options: JSON = {"sizes": (5000, 20_000), "repeats": 8} if quick else {}
    options |= _given(sizes=_numbers("sizes", sizes), repeats=repeats)
    rows = logistic_factor(**options, workers=workers, results=_results(results), progress=False if as_json else None)
    _write_csv(out, rows, force)
    if as_json:
        print_json(rows)
        return
    cells = (
        (
            f"±{row['truth']:g}",
            str(row["d"]),
            f"{row['n']:,}",
            f"{row['factor']:.3g}",
            _span(row["interval"]),
            str(row["repeats"]),
        )
        for row in rows
    )
    low, high = (function(row["factor"] for row in rows) for function in (min, max))
    note = f"Median ε̂ without contamination over median ε̂ with it, 95 % interval by resampling: from {low:.2f} to {high:.2f}."
    headings = ("θ*", "d", "n", "factor", "interval", "data sets")
    show(grid("Hu et al. (2026), §4.3: “approximately by a factor of four”", headings, cells, numbers=range(1, 6)), note)


def _finish(rows: list[JSON], out: Path, as_json: bool) -> None:
    if as_json:
        print_json({"figure": str(out), "rows": rows})
    else:
        say(f"wrote {out}")
