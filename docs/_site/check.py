"""Read the built site as a browser would: every link inside it leads somewhere, and nothing is fetched from afar.

python docs/_site/check.py docs/_build/html
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes by which a page makes a browser fetch something by itself.
FETCHED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(HTMLParser):
    """The names that a page has, where it leads, and what it fetches."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note names, links and what is fetched."""
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.names.add(value)
            if (tag, name) in FETCHED and value:
                self.fetched.append(value)
            elif tag == "a" and name == "href" and value:
                self.links.append(value)


def complaints(site: Path) -> list[str]:
    """Return one line for every link that leads nowhere and everything that comes from another host."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for target in page.fetched + page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.fetched and parts.scheme != "data":
                    found.append(f"{path.name}: fetches {target}")
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not aim.exists():
                found.append(f"{path.name}: {target} leads nowhere")
            elif parts.fragment and aim in pages and unquote(parts.fragment) not in pages[aim].names:
                found.append(f"{path.name}: {target} has no such place")
    styles = [path for path in site.rglob("*.css") if re.search(r"""url\(["']?(https?:)?//""", path.read_text("utf-8"))]
    return found + [f"{path.name}: fetches from another host" for path in styles]


if __name__ == "__main__":
    wrong = complaints(Path(sys.argv[1]))
    print("\n".join(wrong) or f"{len(list(Path(sys.argv[1]).rglob('*.html')))} pages: every link inside leads somewhere")
    sys.exit(bool(wrong))
