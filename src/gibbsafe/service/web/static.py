"""Files that pages need: two style sheets, one script that is not ours, a mark. Nothing is fetched from elsewhere."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

from gibbsafe.report.style import STYLE
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.web.pages import pages

__all__ = ["routes"]

routes = pages()
HERE = Path(__file__).parent / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".LICENSE": "text/plain"}
#: Everything that is served; the first sheet is the report's own, so that pages and reports look alike.
FILES = {path.name: (path.read_bytes(), KINDS[path.suffix]) for path in sorted(HERE.iterdir()) if path.suffix in KINDS}
FILES["report.css"] = (STYLE.encode(), KINDS[".css"])


@routes.get("/static/{name}")
def static(name: str) -> Response:
    """Return a file that pages need."""
    if name not in FILES:
        raise Refusal(404, "file: there is none of this name")
    content, kind = FILES[name]
    return Response(content, media_type=kind, headers={"Cache-Control": "public, max-age=3600"})
