"""What a theorem is here: from declared constants to a guarantee, and back to the coldest posterior a budget allows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from gibbsafe._numerics import greatest
from gibbsafe._types import Document
from gibbsafe._validate import choice, count, positive
from gibbsafe.errors import BudgetError, ParameterError, PremiseError
from gibbsafe.privacy import Adjacency, Budget, Guarantee
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind

__all__ = ["THEOREMS", "Premise", "Theorem", "get", "priced_by", "register"]


@dataclass(frozen=True)
class Premise:
    """A hypothesis of a theorem: ``checked`` from the declared constants, or ``asserted`` by whoever uses it."""

    statement: str
    checked: bool = False

    def __str__(self) -> str:
        return f"{self.statement} ({'checked' if self.checked else 'asserted'})"


class Theorem(ABC):
    """One result of the literature, corrected where the paper is wrong.

    A subclass states `name`, `title`, `reference`, `errata`, the `kinds` of model it prices, its `premises`, and `_one_draw`.
    Priced is one draw from exp(−β Σ ℓ(θ, xᵢ)) π(θ) with inverse temperature β; several draws compose.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    errata: ClassVar[tuple[str, ...]] = ()
    #: The kinds of model whose draws it prices; which of their models, its premises say.
    kinds: ClassVar[tuple[Kind, ...]]
    #: The sampler whose draws it prices as they are made; None for exact draws from the posterior.
    sampler: ClassVar[str | None] = None
    #: Where nobody draws by that sampler: why not, and the theorem that does the same better. Refusals end with it.
    instead: ClassVar[str] = ""

    @abstractmethod
    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Return the premises; raise `PremiseError` on the first that the constants contradict or leave open."""

    def covers(self, constants: Constants, adjacency: Adjacency) -> bool:
        """Whether its premises hold of these constants."""
        try:
            self.premises(constants, adjacency)
        except PremiseError:
            return False
        return True

    @abstractmethod
    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> Guarantee: ...

    def _draws(self, constants: Constants, beta: float, adjacency: Adjacency, draws: int) -> Guarantee:
        one = self._one_draw(constants, beta, adjacency)
        return one if draws == 1 else one.compose(draws)

    def guarantee(
        self,
        constants: Constants | Document,
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
        constants: Constants | Document,
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
    """Add a theorem to the registry; one that cannot price what a kind it names declares is refused."""
    theorem = cls()
    if not cls.kinds:
        raise ParameterError(f"theorem {cls.name}: names no kind of model that it prices")
    for kind in cls.kinds:
        try:
            theorem.premises(kind.declares, Adjacency.REPLACE_ONE)
        except PremiseError as refusal:
            raise ParameterError(f"theorem {cls.name}: cannot price {kind} ({refusal})") from refusal
    THEOREMS[cls.name] = theorem
    return cls


def priced_by(kind: Kind, sampler: str) -> tuple[Theorem, ...]:
    """Return the theorems that price draws of a kind of model by this sampler: its own, or those of exact draws."""
    own = tuple(theorem for theorem in THEOREMS.values() if theorem.sampler == sampler and kind in theorem.kinds)
    return own or tuple(theorem for theorem in THEOREMS.values() if theorem.sampler is None and kind in theorem.kinds)


def get(name: str) -> Theorem:
    """Return the theorem with this name; an unknown name is refused with the nearest ones."""
    return THEOREMS[choice("theorem", name, THEOREMS)]
