"""Rich tables in the house's plain style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gibbsafe._text import printable

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["facts", "grid", "show"]


def grid(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> Table:
    """Return a table without lines; columns listed in ``numbers`` are set right."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(printable(title)), title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False
    )
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    return table


def facts(title: str, pairs: Iterable[tuple[str, str]]) -> Table:
    """Return names and values, one pair per line."""
    table = grid(title, ("", ""), pairs)
    table.show_header = False
    return table


def show(*tables: Table | str) -> None:
    """Print tables one below the other."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = 130  # a file or a pipe has no width of its own
    for position, table in enumerate(tables):
        if position:
            console.print()
        console.print(printable(table) if isinstance(table, str) else table, markup=False, highlight=False)
