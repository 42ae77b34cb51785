"""Time that an audit may take: each part of it stops when its share is over, having looked at one thing at least."""

from __future__ import annotations

import time
from dataclasses import dataclass

__all__ = ["Clock"]


@dataclass(frozen=True)
class Clock:
    """When to stop, by `time.perf_counter`; None for never.

    >>> Clock().is_over(), Clock.within(0.0).is_over(), Clock.within(3600.0).is_over()
    (False, True, False)
    """

    ends: float | None = None

    @classmethod
    def within(cls, seconds: float | None) -> Clock:
        """Return a clock that is over after so many seconds."""
        return cls(None if seconds is None else time.perf_counter() + seconds)

    def left(self) -> float | None:
        """Return the seconds that are left, at least 0."""
        return None if self.ends is None else max(0.0, self.ends - time.perf_counter())

    def share(self, part: float) -> Clock:
        """Return a clock for this part of what is left."""
        left = self.left()
        return Clock.within(None if left is None else part * left)

    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.left() == 0.0
