"""One posterior to draw from, as a plan states it: temperature, prior, steps."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Stage"]


@dataclass(frozen=True)
class Stage:
    """One posterior to draw from, in scaled units; ``prior_centre`` None means the draw of the stage before."""

    inverse_temperature: float
    prior_precision: tuple[float, ...]
    prior_centre: tuple[float, ...] | None
    draws: int
    step: float | None = None
    steps: int | None = None
    slack: float | None = None
