"""What every proved guarantee can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from gibbsafe._numerics import exp, least, up
from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, count, non_negative, open_probability, probability
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.adjacency import Adjacency

if TYPE_CHECKING:
    from gibbsafe.privacy.composition import Composition
    from gibbsafe.privacy.proved import ApproximateDP, ConcentratedDP, GaussianDP

__all__ = ["Guarantee"]


class Guarantee(ABC):
    """A proved privacy guarantee: an immutable value with a profile δ(ε).

    Subclasses give `delta` and the three currencies it converts to: `_pure`, `_gaussian`, `_concentrated`, each a pair
    (parameter, additive δ) or ``None`` where no conversion is proved. Everything else is derived here.

    Guarantees:
        `delta` and `epsilon` never understate, to the last floating-point digit; `delta` is non-increasing.
    """

    registry: ClassVar[dict[str, type[Guarantee]]] = {}
    adjacency: Adjacency | None
    parameters: Document

    def __init_subclass__(cls) -> None:
        Guarantee.registry[cls.__name__] = cls

    def __init__(self, adjacency: Adjacency | str | None, **parameters: object) -> None:
        stated = None if adjacency is None else Adjacency.of(adjacency)
        object.__setattr__(self, "adjacency", stated)
        object.__setattr__(self, "parameters", MappingProxyType(parameters))

    # -- the profile ---------------------------------------------------------------------------------------------

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on δ at ``epsilon`` ≥ 0 (at 0 it is the total variation)."""
        return self._delta(non_negative("epsilon", epsilon))

    def epsilon(self, delta: float) -> float:
        """Return the least ε ≥ 0 with `delta` (ε) ≤ ``delta``: an upper bound, infinite where there is none."""
        target = probability("delta", delta)
        return least(lambda epsilon: self._delta(epsilon) <= target)

    @abstractmethod
    def _delta(self, epsilon: float) -> float: ...

    # -- the currencies ------------------------------------------------------------------------------------------

    def _pure(self) -> tuple[float, float] | None:
        return None

    def _gaussian(self) -> tuple[float, float] | None:
        return None

    def _concentrated(self) -> tuple[float, float] | None:
        return None

    def gaussian(self) -> GaussianDP:
        """Convert to Gaussian DP, or refuse where no μ is proved."""
        kind: type[GaussianDP] = self._as("GaussianDP")
        return kind(self._exactly("Gaussian DP", self._gaussian()), adjacency=self.adjacency)

    def concentrated(self) -> ConcentratedDP:
        """Convert to zero-concentrated DP, or refuse where no ρ is proved."""
        kind: type[ConcentratedDP] = self._as("ConcentratedDP")
        return kind(self._exactly("concentrated DP", self._concentrated()), adjacency=self.adjacency)

    def approximate(self, delta: float) -> ApproximateDP:
        """State the guarantee as (ε, δ) at one δ."""
        epsilon = self.epsilon(delta)
        if epsilon == math.inf:
            raise PremiseError(f"{self}: no finite epsilon at delta = {delta!r}; ask for a larger delta")
        kind: type[ApproximateDP] = self._as("ApproximateDP")
        return kind(epsilon, delta, adjacency=self.adjacency)

    @staticmethod
    def _as(name: str) -> Any:
        """Return the kind of guarantee that is registered under a name: every kind is a subclass, and registers itself."""
        return Guarantee.registry[name]

    def _exactly(self, currency: str, pair: tuple[float, float] | None) -> float:
        if pair is None or pair[1] > 0:
            raise PremiseError(f"{self}: implies no {currency} guarantee without a remaining delta")
        return pair[0]

    # -- combining -----------------------------------------------------------------------------------------------

    def compose(self, times: int) -> Composition:
        """Return the guarantee of ``times`` releases, each under this one."""
        kind: type[Composition] = self._as("Composition")
        return kind([(self, count("times", times))], adjacency=self.adjacency)

    def group(self, size: int) -> Guarantee:
        """Return the guarantee for groups of ``size`` records changed at once (``group(1)`` is this one)."""
        size = count("size", size)
        return self if size == 1 else self._group(size)

    @abstractmethod
    def _group(self, size: int) -> Guarantee: ...

    def under(self, adjacency: Adjacency | str) -> Self:
        """State the adjacency of a guarantee that has none yet (a different one is refused, never overwritten)."""
        wanted = Adjacency.of(adjacency)
        if self.adjacency not in (None, wanted):
            raise PremiseError(f"{self}: holds under {self.adjacency}, not {wanted}; see to_replace_one()")
        return self._restate(wanted)

    def _restate(self, adjacency: Adjacency) -> Self:
        return type(self)(**self.parameters, adjacency=adjacency)

    def to_replace_one(self) -> Guarantee:
        """Convert an add-remove guarantee: a replacement is one removal and one addition (a group of 2)."""
        if self.adjacency == Adjacency.REPLACE_ONE:
            return self
        if self.adjacency is None:
            raise PremiseError(f"{self}: adjacency unstated; state it first with under('add-remove')")
        return self.group(2)._restate(Adjacency.REPLACE_ONE)

    # -- the attacker's view -------------------------------------------------------------------------------------

    def advantage(self) -> float:
        """Return an upper bound on the best membership attacker's true-positive minus false-positive rate: δ(0)."""
        return self._delta(0.0)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return an upper bound on the best attacker's true-positive rate α ↦ 1 − f(α), f the trade-off function.

        Every ε gives 1 − f(α) ≤ min(δ(ε) + e^ε α, 1 − e^{−ε}(1 − δ(ε) − α)); the least over a fine grid is returned.
        """
        alpha = open_probability("false_positive_rate", false_positive_rate)
        grid = [0.0] + [10 ** (k / 40 - 6) for k in range(9 * 40 + 1)]
        best = 1.0
        for epsilon in grid:
            delta = self._delta(epsilon)
            if delta < 1:
                best = min(best, delta + exp(epsilon) * alpha, 1 - math.exp(-epsilon) * max(0.0, 1 - delta - alpha))
        return min(1.0, up(best))

    # -- value semantics -----------------------------------------------------------------------------------------

    def to_dict(self) -> JSON:
        """Return plain data that `from_dict` turns back into an equal guarantee."""
        data: JSON = {"type": type(self).__name__, **self._plain()}
        if self.adjacency is not None:
            data["adjacency"] = self.adjacency.value
        return data

    def _plain(self) -> JSON:
        return dict(self.parameters)

    @staticmethod
    def from_dict(data: Document) -> Guarantee:
        """Rebuild a guarantee from `to_dict`'s data."""
        fields = dict(data)
        cls = Guarantee.registry[choice("guarantee type", fields.pop("type", None), Guarantee.registry)]
        return cls._from_plain(fields)

    @classmethod
    def _from_plain(cls, fields: JSON) -> Guarantee:
        return cls(**fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Guarantee)
        return self.adjacency == other.adjacency and dict(self.parameters) == dict(other.parameters)

    def __hash__(self) -> int:
        return hash((type(self), self.adjacency, tuple(self.parameters.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Guarantee.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        stated = dict(self.parameters) | ({} if self.adjacency is None else {"adjacency": self.adjacency.value})
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in stated.items())})"
