"""What a curator is willing to spend."""

from __future__ import annotations

from dataclasses import dataclass

from gibbsafe._validate import positive, probability
from gibbsafe.privacy.guarantee import Guarantee

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """A budget (ε, δ): a release fits if its δ at this ε is at most this δ.

    >>> from gibbsafe.privacy import GaussianDP
    >>> Budget(epsilon=1.0, delta=1e-6).admits(GaussianDP(0.2367)), Budget(1.0, 1e-6).admits(GaussianDP(0.2368))
    (True, False)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))

    def admits(self, guarantee: Guarantee) -> bool:
        """Return whether ``guarantee`` implies (ε, δ)-DP."""
        return guarantee.delta(self.epsilon) <= self.delta

    def __str__(self) -> str:
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g})"
