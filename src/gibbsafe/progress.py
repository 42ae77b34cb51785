"""A progress bar for whoever waits at a terminal, and silence everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Progress", "counting_bar", "sampling_bar"]

#: Called with (accepted draws, draws wanted, proposals made, seconds since the start).
Progress: TypeAlias = Callable[[int, int, int, float], None]


@contextmanager
def sampling_bar(progress: bool | Progress | None, draws: int) -> Iterator[Progress | None]:
    """Yield a report function: the caller's own, a bar on stderr (``True``, or ``None`` at a terminal), or None.

    The bar shows accepted draws, the acceptance rate and the time left at this rate. All of that depends on the data: it is
    for the curator's screen, and nothing is ever decided by it.
    """
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("sampling"),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[state]}"),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sampling", total=draws, state="setting up")

        def report(accepted: int, wanted: int, proposals: int, seconds: float) -> None:
            state = f"{accepted}/{wanted} draws, {proposals:,} proposals"
            if accepted:
                state += f", about {seconds / accepted * (wanted - accepted):.0f} s left"
            elif proposals:
                state += f", none accepted in {seconds:.0f} s; it runs until one is"
            bar.update(task, completed=accepted, state=state)

        yield report


@contextmanager
def counting_bar(progress: bool | None, total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a bar on stderr (``True``, or ``None`` at a terminal), or does nothing.

    A ``total`` of None is one that nobody knows: the bar then has no time left to show.
    """
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)
