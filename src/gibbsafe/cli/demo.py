"""``gibbsafe demo``: the main job, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, app, print_json, say


@app.command("demo")
def demo(
    folder: Annotated[Path, typer.Option(help="Where release.json and demo.png are written.")] = Path(),
    epsilon: Annotated[float, typer.Option(help="Privacy budget ε (δ is 1e-6).")] = 1.0,
    draws: Annotated[int, typer.Option(help="How many posterior draws to release.")] = 5,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Plan, release, verify and predict on the breast-cancer data, at ε = 1 and δ = 1e-6.

    Example: `gibbsafe demo --epsilon 3 --folder /tmp`
    """
    from gibbsafe._files import require_free
    from gibbsafe.cli.demonstration import run

    for name in ("release.json", "demo.png"):
        require_free(folder / name, force=force)

    result = run(folder, (lambda text: None) if as_json else say, epsilon=epsilon, draws=draws, force=force)
    if as_json:
        print_json(result)
