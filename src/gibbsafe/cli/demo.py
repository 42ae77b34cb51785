"""``gibbsafe demo``: the main job, from nothing, on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, app, print_json, say


@app.command("demo")
def demo(
    folder: Annotated[Path, typer.Option(help="Where release.json and demo.png are written.")] = Path(),
    epsilon: Annotated[float, typer.Option(help="Privacy budget ε (δ is 1e-6).")] = 1.0,
    details: Annotated[bool, typer.Option("--details", help="Also print the plan, the certificate and all theorems.")] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit made-up patients with and without privacy, verify the release, and draw what changes as ε falls.

    Example: `gibbsafe demo --epsilon 3 --folder /tmp`
    """
    from gibbsafe._files import require_free
    from gibbsafe.cli.demonstration import run

    for name in ("release.json", "demo.png"):
        require_free(folder / name, force=force)

    result = run(folder, (lambda text: None) if as_json else say, epsilon=epsilon, details=details, force=force)
    if as_json:
        print_json(result)
