"""What a curator is willing to spend."""

from __future__ import annotations

from dataclasses import dataclass

from gibbsafe._validate import positive, probability
from gibbsafe.errors import BudgetError
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

    def claim(self, guarantee: Guarantee) -> float:
        """Return the ε that a certificate may state at this δ; refuse a guarantee that is above the budget.

        Both have to agree that it is not: δ at the budget's ε, and ε at its δ. (They do for a non-increasing profile; the second
        may exceed the budget by the rounding of a profile, where the budget's own ε is as true a statement.)
        """
        stated = guarantee.epsilon(self.delta)
        if not self.admits(guarantee) or stated > self.epsilon * (1 + 2.0**-30):
            found = f"ε = {stated:.9g} at its δ, δ = {guarantee.delta(self.epsilon):.9g} at its ε"
            raise BudgetError(f"budget {self}: {guarantee} is above it ({found}); ask for a larger budget")
        return min(stated, self.epsilon)

    def __str__(self) -> str:
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g})"
