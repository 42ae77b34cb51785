"""A case is one claim, made through the public interface with random constants, and the exact values it is held beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gibbsafe.errors import GibbsafeError

from .adaptive import Curve

__all__ = ["KINDS", "Case", "Check", "case", "run"]


@dataclass(frozen=True)
class Check:
    """An exact value, what is claimed of it, and the oracle's own error: violated if the claim is below the value by more."""

    what: str
    exact: Any
    claim: float
    error: float = 0.0

    @property
    def violated(self) -> bool:
        """Whether the claim understates."""
        return not (self.exact - self.error <= self.claim)

    def __str__(self) -> str:
        return f"{self.what}: exact {float(self.exact)!r} (error {self.error:.1e}) above the claim {self.claim!r}"


@dataclass
class Case:
    """One drawn case: its kind, its constants, its checks; ``refused`` is why no claim was made."""

    kind: str
    setting: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    refused: str | None = None

    def at_most(self, what: str, exact: Any, claim: float, error: float = 0.0) -> None:
        """Hold an exact value beside a claim that must not be below it."""
        self.checks.append(Check(what, exact, claim, error))

    def profile(self, guarantee: Any, curve: Curve, epsilons: Sequence[float], what: str = "δ") -> None:
        """Hold both directions of an exact curve beside a guarantee's profile, which must not increase."""
        claims = [guarantee.delta(epsilon) for epsilon in epsilons]
        for epsilon, exact, error, claim in zip(epsilons, curve.worst, curve.error, claims, strict=True):
            self.at_most(f"{what}({epsilon!r})", float(exact), claim, float(error))
        self.decreasing(epsilons, claims)

    def decreasing(self, epsilons: Sequence[float], claims: Sequence[float]) -> None:
        """Demand that a profile does not increase, rounding apart: profiles are inflated by more than 1e-12 for that."""
        ordered = sorted(zip(epsilons, claims, strict=True))
        for (low, before), (high, after) in pairwise(ordered):
            self.at_most(f"profile at {high!r} against {low!r}", after, before, 1e-12 * before)

    @property
    def violations(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.violated]


Draw = Callable[[np.random.Generator, Case], None]
#: Every kind of case by name, with its share of the suite.
KINDS: dict[str, tuple[float, Draw]] = {}


def case(name: str, share: float = 1.0) -> Callable[[Draw], Draw]:
    """Register a kind of case."""

    def register(draw: Draw) -> Draw:
        KINDS[name] = share, draw
        return draw

    return register


def run(seed: int, index: int, kind: str | None = None) -> Case:
    """Draw and check the case with this number; the same numbers give the same case."""
    rng = np.random.default_rng([seed, index])
    names = list(KINDS)
    shares = np.array([KINDS[name][0] for name in names])
    chosen = str(rng.choice(names, p=shares / shares.sum()))
    made = Case(kind or chosen)
    try:
        with np.errstate(all="ignore"):
            KINDS[made.kind][1](rng, made)
    except GibbsafeError as error:
        made.refused = f"{type(error).__name__}: {error}"
    return made
