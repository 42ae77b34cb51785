"""``gibbsafe estimate``: privacy estimated by simulation, as a study's ``[contamination]`` table says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gibbsafe.cli.application import Json, app, print_json, say
from gibbsafe.errors import GibbsafeError

if TYPE_CHECKING:
    from gibbsafe._types import JSON


def _table(path: Path) -> JSON:
    """Return the contamination table of a study file."""
    from gibbsafe.study.declaration import read_toml

    table = read_toml(path).get("contamination")
    if not isinstance(table, dict):
        raise GibbsafeError(f"{path}: has no [contamination] table; it names the model, n, truth and repeats")
    return table


@app.command("estimate")
def estimate(
    study: Annotated[Path, typer.Argument(help=r"A study file with a \[contamination] table.")],
    workers: Annotated[int | None, typer.Option(help="Processes; the numbers do not depend on how many.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate ε by simulation (Algorithm 1 of Hu et al. 2026). No data are read; it is not a differential-privacy guarantee.

    Example: `gibbsafe estimate study.toml --json`
    """
    from gibbsafe.contamination import estimate_from_dict

    table = _table(study)
    if workers is not None:
        table["workers"] = workers
    result = estimate_from_dict(table, progress=False if as_json else None)
    if as_json:
        print_json(result.to_dict())
        return
    say(str(result))
    say(result.promise)
    for note in result.notes:
        say(f"note: {note}")
