"""Giving way: processes that calculate leave the processor to those that answer people."""

from __future__ import annotations

import contextlib
import os

__all__ = ["give_way"]


def give_way(steps: int) -> None:
    """Come after whoever answers people, by so many steps of priority, and leave them a core where there are several."""
    with contextlib.suppress(OSError):
        if hasattr(os, "nice"):
            os.nice(steps)
        if hasattr(os, "sched_setaffinity"):
            allowed = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, allowed[1:] or allowed)
