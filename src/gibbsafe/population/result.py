"""What an interval says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import choice
from gibbsafe.queries.query import FREE

__all__ = ["Intervals"]


@dataclass(frozen=True, eq=False)
class Intervals:
    """One interval per parameter, in the user's units.

    Attributes:
        level: the coverage aimed at, for each parameter by itself.
        names, lower, upper: the parameters and their intervals.
        parts: per parameter, the standard deviations ``data_noise`` and ``draw_noise``, and ``shrinkage``: a bound on how far a
            prior set by the plan can have pulled, or how far a family's declared prior did, which is taken back. Empty where
            the interval is the public worst case.
        conservative: whether it is the public worst case, which covers far more often than ``level``.
        assumptions: what has to be true, in plain words.
    """

    level: float
    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    parts: dict[str, Floats]
    conservative: bool
    assumptions: tuple[str, ...]
    cost: str = FREE

    def __getitem__(self, name: str) -> tuple[float, float]:
        """Return (lower, upper) of one parameter."""
        place = self.names.index(choice("parameter", name, self.names))
        return float(self.lower[place]), float(self.upper[place])

    def covers(self, truth: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return for each parameter whether its interval holds the given value."""
        values = np.asarray(truth, dtype=np.float64)
        return np.asarray((self.lower <= values) & (values <= self.upper))

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {
            "level": self.level,
            "parameters": list(self.names),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "parts": {name: values.tolist() for name, values in self.parts.items()},
            "conservative": self.conservative,
            "assumptions": list(self.assumptions),
            "cost": self.cost,
        }

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        what = "public worst case, conservative" if self.conservative else "data noise, draw noise and shrinkage"
        lines = [f"{100 * self.level:g} % intervals ({what})"]
        for k, name in enumerate(self.names):
            parts = ", ".join(f"{part.replace('_', ' ')} {values[k]:.3g}" for part, values in self.parts.items())
            lines.append(f"  {name:<{width}}  {self.lower[k]:.6g} to {self.upper[k]:.6g}" + (f"   ({parts})" if parts else ""))
        return "\n".join([*lines, *(f"assumes: {line}" for line in self.assumptions), f"cost: {self.cost}"])
