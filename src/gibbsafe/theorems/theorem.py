"""What a theorem is here: from declared constants to a guarantee, and back to the coldest posterior a budget allows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from gibbsafe._numerics import greatest
from gibbsafe._validate import choice, count, positive
from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.privacy import Adjacency, Budget, Guarantee
from gibbsafe.theorems.constants import Constants

__all__ = ["THEOREMS", "Premise", "Theorem", "get"]


@dataclass(frozen=True)
class Premise:
    """A hypothesis of a theorem: ``checked`` from the declared constants, or ``asserted`` by whoever uses it."""

    statement: str
    checked: bool = False

    def __str__(self) -> str:
        return f"{self.statement} ({'checked' if self.checked else 'asserted'})"


class Theorem(ABC):
    """One result of the literature, corrected where the paper is wrong.

    A subclass states `name`, `title`, `reference`, `errata`, its `premises`, and `_one_draw`. Priced is one draw from
    exp(−β Σ ℓ(θ, xᵢ)) π(θ) with inverse temperature β; several draws compose.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    errata: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Return the premises; raise `PremiseError` on the first that the constants contradict or leave open."""

    @abstractmethod
    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> Guarantee: ...

    def _draws(self, constants: Constants, beta: float, adjacency: Adjacency, draws: int) -> Guarantee:
        one = self._one_draw(constants, beta, adjacency)
        return one if draws == 1 else one.compose(draws)

    def guarantee(
        self,
        constants: Constants | Mapping[str, Any],
        *,
        inverse_temperature: float,
        adjacency: Adjacency | str,
        draws: int = 1,
    ) -> Guarantee:
        """Return what ``draws`` draws at inverse temperature β guarantee."""
        constants, adjacency = Constants.of(constants), Adjacency.of(adjacency)
        beta = positive("inverse_temperature", inverse_temperature)
        self.premises(constants, adjacency)
        return self._draws(constants, beta, adjacency, count("draws", draws)).under(adjacency)

    def calibrate(
        self,
        constants: Constants | Mapping[str, Any],
        budget: Budget,
        *,
        adjacency: Adjacency | str,
        draws: int = 1,
    ) -> float:
        """Return the largest β (to the last floating-point digit) whose guarantee the budget admits.

        The budget is re-checked at the β that is returned, so it is never overspent.
        """
        constants, adjacency = Constants.of(constants), Adjacency.of(adjacency)
        draws = count("draws", draws)
        self.premises(constants, adjacency)
        self._check_budget(budget)
        beta = self._largest(constants, budget, adjacency, draws)
        if beta == 0:
            raise BudgetError(f"budget {budget}: {self.name} allows no inverse temperature above 0; ask for a larger delta")
        if beta == math.inf:
            raise PremiseError(f"{self.name}: the loss does not depend on the record, any inverse temperature would do")
        return beta

    def _check_budget(self, budget: Budget) -> None:  # noqa: B027 - most theorems cover every budget
        """Refuse budgets that the theorem does not cover."""

    def _largest(self, constants: Constants, budget: Budget, adjacency: Adjacency, draws: int) -> float:
        return greatest(lambda beta: budget.admits(self._draws(constants, beta, adjacency, draws)))

    def note(self, constants: Constants, beta: float, adjacency: Adjacency) -> str:
        """Return what a reader of a comparison should know besides β."""
        return ""


#: Every theorem by its public name; a new one is one new file that calls `register`.
THEOREMS: dict[str, Theorem] = {}


def register(cls: type[Theorem]) -> type[Theorem]:
    """Add a theorem to the registry."""
    THEOREMS[cls.name] = cls()
    return cls


def get(name: str) -> Theorem:
    """Return the theorem with this name; an unknown name is refused with the nearest ones."""
    return THEOREMS[choice("theorem", name, THEOREMS)]
