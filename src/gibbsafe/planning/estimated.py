"""The door from `gibbsafe.plan` to plans whose ε̂ is simulated: other types, which nothing on this side of it takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, TypeVar, overload

from gibbsafe._types import JSON
from gibbsafe.privacy import EstimatedBudget, EstimatedPrivacy

if TYPE_CHECKING:
    from gibbsafe.contamination.release.plans import EstimatedPlan

__all__ = ["KIND", "EstimatedClaim", "admits_estimates", "plan_estimated"]

#: The first thing that is said of whatever has an estimate only.
KIND = "estimated random DP, not proved"

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class EstimatedClaim(ABC):
    """What an estimated plan is to ledgers and files: something with an `EstimatedPrivacy`, and never with a guarantee."""

    #: What ledgers count by: one record is one person.
    rows_per_person: ClassVar[int] = 1

    @property
    @abstractmethod
    def estimate(self) -> EstimatedPrivacy:
        """What the simulation gave."""

    @abstractmethod
    def to_dict(self) -> JSON:
        """Return the plan as plain data."""


class Planner(Protocol[P, R_co]):
    """A planner of proved releases that sends estimated budgets through the door."""

    @overload
    def __call__(self, model: Any, budget: EstimatedBudget, **simulation: Any) -> EstimatedPlan: ...
    @overload
    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R_co: ...


def plan_estimated(model: object, budget: EstimatedBudget, **simulation: Any) -> EstimatedPlan:
    """Plan a contaminated model by simulation: see `gibbsafe.contamination.plan_estimated`."""
    from gibbsafe.contamination.release import plans

    return plans.plan_estimated(model, budget, **simulation)


def admits_estimates(planner: Callable[P, R_co]) -> Planner[P, R_co]:
    """Return the planner of proved releases, with the door beside it."""

    @wraps(planner)
    def planned(*arguments: Any, **options: Any) -> Any:
        budget = arguments[1] if len(arguments) > 1 else options.get("budget")
        return plan_estimated(*arguments, **options) if isinstance(budget, EstimatedBudget) else planner(*arguments, **options)

    return planned
