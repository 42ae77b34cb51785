"""``gibbsafe report``: one page about a release, for whoever has to sign it off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gibbsafe.cli.application import Force, Json, Quiet, app, print_json, say


@app.command("report")
def report(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    *,
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path("report.html"),
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.9,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one self-contained HTML page: what was released, what is claimed and why, what an attacker gains, how to verify.

    Example: `gibbsafe report release.json --out report.html`
    """
    from gibbsafe._extras import has_extra
    from gibbsafe._files import require_free, write_whole
    from gibbsafe.cli.inputs import load_release
    from gibbsafe.release import Release
    from gibbsafe.report import render, render_estimated
    from gibbsafe.report.page import PICTURES

    require_free(out, force=force, inputs=[release])
    loaded = load_release(release)
    page = (
        render(loaded, level=level, name=release.name) if isinstance(loaded, Release) else render_estimated(loaded, release.name)
    )
    write_whole(out, page.encode(), force=force, inputs=[release])
    if as_json:
        print_json({"report": str(out), "bytes": len(page.encode())})
    elif not quiet:
        say(f"wrote {out}" + ("" if has_extra("plots") else f", without pictures: {PICTURES}"))
