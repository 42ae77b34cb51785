"""A progress bar for whoever waits at a terminal, and silence everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Report", "sampling_bar"]

#: Called with (accepted draws, draws wanted, proposals made, seconds since the start).
Report = Callable[[int, int, int, float], None]


@contextmanager
def sampling_bar(progress: bool | Report | None, draws: int) -> Iterator[Report | None]:
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
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("sampling"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sampling", total=draws, state="setting up")

        def report(accepted: int, wanted: int, proposals: int, seconds: float) -> None:
            state = f"{accepted}/{wanted} draws, {proposals:,} proposals"
            if accepted:
                state += f", about {seconds / accepted * (wanted - accepted):.0f} s left"
            elif proposals:
                state += f", none accepted in {seconds:.0f} s; it runs until one is"
            bar.update(task, completed=accepted, state=state)

        yield report
