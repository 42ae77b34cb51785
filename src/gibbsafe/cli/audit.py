"""``gibbsafe audit``: try to refute what a plan claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, Quiet, app, print_json, say


@app.command("audit")
def audit(  # noqa: PLR0917 - options of a command
    source: Annotated[Path, typer.Argument(help="A plan (JSON) or a study (TOML).")],
    draws: Annotated[int, typer.Option(help="Runs of the mechanism on each of the two data sets.")] = 2000,
    confidence: Annotated[float, typer.Option(help="Confidence of the lower bound from runs.")] = 0.99,
    effort: Annotated[int, typer.Option(help="How many pairs of data sets to look at.")] = 400,
    seconds: Annotated[float | None, typer.Option(help="Stop after this long, with what was found until then.")] = None,
    workers: Annotated[int, typer.Option(help="Processes that sample.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Draw claimed, exact and estimated curve here (PNG, PDF or SVG).")] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for the worst neighbouring data sets and try to refute the plan's claim on them; exit 1 if it is refuted.

    Needs no data: the audit makes its own. Example: `gibbsafe audit plan.json --draws 20000 --out audit.png`
    """
    from gibbsafe._extras import require_extra
    from gibbsafe._plotting import require_picture

    if out is not None:
        require_picture(out, force=force, inputs=[source])
    if workers > 1:
        require_extra("sklearn", "--workers above 1")

    from gibbsafe.audit import audit_plan
    from gibbsafe.cli.inputs import load_proved_plan

    plan = load_proved_plan(source)
    found = audit_plan(plan, draws=draws, confidence=confidence, effort=effort, seconds=seconds, workers=workers)
    if out is not None:
        found.draw(out, force=force)
    if as_json:
        print_json(found.to_dict() | ({} if out is None else {"picture": str(out)}))
    elif not quiet:
        say(str(found) + ("" if out is None else f"\nwrote {out}"))
    if found.refuted:
        raise typer.Exit(1)
