"""``gibbsafe rehearse``: what a study would release of a made-up table, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, Quiet, app, print_json, say


@app.command("rehearse")
def rehearse(
    study: Annotated[Path, typer.Argument(help="The study file (.toml).")],
    *,
    epsilons: Annotated[str | None, typer.Option("--epsilon", help="Several ε, like 0.1,0.5,1; else around the study's.")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of a made-up table; by default the study's n, at most 100,000.")] = None,
    repeats: Annotated[int, typer.Option(help="Made-up tables for every ε.")] = 3,
    effect: Annotated[float, typer.Option(help="Standard deviation of the true predictor.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of all simulations.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Draw coefficients, intervals and loss (PNG, PDF or SVG).")] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate tables of the declared shape and release them as the study would, at several ε. Nothing is read or charged.

    Example: `gibbsafe rehearse study.toml --epsilon 0.3,1,3 --out rehearsal.png`
    """
    from gibbsafe._plotting import require_picture
    from gibbsafe.cli.bounds import _numbers
    from gibbsafe.cli.tables import grid, show
    from gibbsafe.study import Study
    from gibbsafe.study.rehearsal import rehearse as run

    if out is not None:
        require_picture(out, force=force, inputs=[study])
    asked = None if epsilons is None else _numbers("epsilon", epsilons, ",")
    found = run(Study.load(study), epsilons=asked, rows=rows, repeats=repeats, effect=effect, seed=seed)
    if out is not None:
        found.draw(out, force=force)
    if as_json:
        print_json(found.to_dict() | {"figure": None if out is None else str(out)})
        return
    if quiet:
        return
    told = found.to_dict()["releases"]
    names = found.parameters[:6]
    cells = [
        (
            f"{each['epsilon']:g}",
            f"{each['loss']['mean']:.4g}",
            f"{each['loss']['low']:.4g} to {each['loss']['high']:.4g}",
            *(f"{each['parameters'][name]['mean']:.3g} ± {each['parameters'][name]['sd']:.2g}" for name in names),
        )
        for each in told
    ]
    truth = ("truth", f"{found.loss_of_truth:.4g}", "", *(f"{value:.3g}" for value in found.truth[: len(names)]))
    headings = ("ε", found.loss, "one more release", *names)
    more = "" if len(names) == len(found.parameters) else f" {len(found.parameters) - len(names)} more parameters: --json."
    show(
        grid(f"Rehearsal: {found.note}", headings, [*cells, truth], numbers=(0, 1)),
        f"Knowing nothing: {found.loss} {found.loss_of_nothing:.4g}. Nothing was read, charged or released.{more}",
    )
    if out is not None:
        say(f"wrote {out}")
