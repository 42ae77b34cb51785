"""``gibbsafe compare``: private means on a problem of one's own, at equal claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, app, print_json, say
from gibbsafe.cli.tables import grid, show


@app.command("compare")
def compare(
    *,
    n: Annotated[int, typer.Option("--n", help="Number of records.")],
    epsilon: Annotated[float, typer.Option(help="ε, for replacing one record.")],
    delta: Annotated[float | None, typer.Option(help="δ; 1/(10n) unless given.")] = None,
    records: Annotated[str, typer.Option(help="Law of the records: normal, student-t, laplace, uniform or skewed.")] = "normal",
    mean: Annotated[float, typer.Option(help="Their mean.")] = 0.0,
    scale: Annotated[float, typer.Option(help="Their scale, which is also the public guess.")] = 1.0,
    low: Annotated[float, typer.Option(help="Public lower bound of the mean.")] = -300.0,
    high: Annotated[float, typer.Option(help="Public upper bound of the mean.")] = 300.0,
    sets: Annotated[int, typer.Option(help="Simulated data sets.")] = 40,
    draws: Annotated[int, typer.Option(help="Runs of each method on a data set.")] = 10,
    repeats: Annotated[
        int, typer.Option(help="Data sets simulated for the contaminated posterior's ε̂, at every rate tried.")
    ] = 60,
    failure: Annotated[float, typer.Option(help="Share of data sets for which that ε̂ may fail.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of all simulations.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Also draw the errors (PNG, PDF or SVG).")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare private means at one claim (ε, δ): errors by simulation, the kind of guarantee beside each. No data are read.

    Example: `gibbsafe compare --n 1000 --epsilon 0.5 --mean 30 --scale 8 --out means.png`
    """
    from gibbsafe._files import require_free
    from gibbsafe.reproduce.comparison import DataModel, compare_means

    if out is not None:
        require_free(out, force=force)
    found = compare_means(
        n=n,
        epsilon=epsilon,
        delta=delta,
        data_model=DataModel(records, mean, scale),
        bounds=(low, high),
        sets=sets,
        draws=draws,
        repeats=repeats,
        failure=failure,
        seed=seed,
        progress=False if as_json else None,
    )
    if out is not None:
        found.draw(out, force=force)
    if as_json:
        print_json(found.to_dict() | {"figure": None if out is None else str(out)})
        return
    cells = ((row.method, "–" if row.mse is None else f"{row.mse:.3g}", row.kind, row.guarantee, row.note) for row in found.rows)
    note = "Equal claims are not equal guarantees: an estimated one is for most data sets of the simulated model, and no others."
    title = f"Mean of {n:,} {records} records, ε = {epsilon:g}, δ = {found.delta:.3g}: mean squared error over {sets} data sets"
    show(grid(title, ("method", "error", "guarantee", "claim", "note"), cells, numbers=(1,)), note)
    if out is not None:
        say(f"wrote {out}")
