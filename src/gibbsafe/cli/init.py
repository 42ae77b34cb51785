"""``gibbsafe init``: a study file to fill in, with the names of a table's columns and none of its values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, Quiet, app, print_json, say


@app.command("init")
def init(
    table: Annotated[Path | None, typer.Argument(help="A table: CSV, Parquet, Arrow or NumPy.")] = None,
    *,
    out: Annotated[Path, typer.Option(help="Where the study is written; an existing file is kept.")] = Path("study.toml"),
    target: Annotated[str | None, typer.Option(help="The response column.")] = None,
    example: Annotated[bool, typer.Option("--example", help="Write an example: patients.csv, made up, and its study.")] = False,
    contaminated: Annotated[
        bool, typer.Option("--contaminated", help="With --example: waiting.csv, for an estimated release of unbounded records.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a study file that lists a table's columns and asks for every bound. Only column names are read.

    Bounds and levels have to come from you: what is learned from the data is not public.

    Examples:

    `gibbsafe init table.csv --target outcome`

    `gibbsafe init --example`

    `gibbsafe init --example --contaminated`
    """
    from gibbsafe._files import require_free, write_whole
    from gibbsafe.cli.templates import CONTAMINATED_STUDY, blank_study, example_study, example_table, waiting_table
    from gibbsafe.data.directories import column_names

    if (table is None) == (not example):
        raise typer.BadParameter("name a table, or ask for --example")
    if contaminated and not example:
        raise typer.BadParameter("--contaminated goes with --example")
    inputs = [] if table is None else [table]
    require_free(out, force=force, inputs=inputs)
    written = [out]
    if example:
        place = out.parent / ("waiting.csv" if contaminated else "patients.csv")
        require_free(place, force=force)
        write_whole(place, (waiting_table() if contaminated else example_table()).encode(), force=force)
        write_whole(out, (CONTAMINATED_STUDY if contaminated else example_study()).encode(), force=force)
        written.append(place)
    else:
        assert table is not None
        write_whole(out, blank_study(column_names(table), target, table.name).encode(), force=force, inputs=inputs)
    if as_json:
        print_json({"written": [str(path) for path in written]})
    elif not quiet:
        say(f"wrote {' and '.join(map(str, written))}")
        step = "" if example else f"fill in bounds, levels, n and budget in {out}, then "
        say(f"next: {step}gibbsafe plan {out}")
