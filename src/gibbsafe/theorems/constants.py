"""The public numbers a model declares, which are all a theorem ever sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from gibbsafe._numerics import sum_up
from gibbsafe._types import Document
from gibbsafe._validate import choice, count, fail, non_negative, open_probability, positive, real
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency

__all__ = ["Constants", "as_blocks"]

Rule = Callable[[str, object], object]


def as_blocks(value: float | tuple[float, ...]) -> tuple[float, ...]:
    """Return a constant per block of parameters as a tuple: of one entry where it is one number."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _per_block(name: str, value: Any) -> float | tuple[float, ...]:
    entries = tuple(non_negative(name, entry) for entry in as_blocks(value))
    return entries if isinstance(value, tuple | list) else entries[0]


def _positive_blocks(name: str, value: Any) -> float | tuple[float, ...]:
    entries = tuple(positive(name, entry) for entry in as_blocks(value))
    return entries if isinstance(value, tuple | list) else entries[0]


def _flag(name: str, value: object) -> bool:
    return bool(value) if isinstance(value, bool) else fail(name, value, "True or False")


def _interval(name: str, value: object) -> tuple[float, float]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        fail(name, value, "a pair (a, b) with a < b")
    low, high = (real(name, end) for end in value)
    return (low, high) if low < high else fail(name, value, "a pair (a, b) with a < b")


def _pair(name: str, value: object) -> tuple[float, float]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        fail(name, value, "a pair of numbers above 0")
    return positive(name, value[0]), positive(name, value[1])


def _from(least: int) -> Rule:
    return lambda name, value: count(name, value, least=least)


_RULES: dict[str, Rule] = {
    "lipschitz": _per_block,
    "difference_lipschitz": _per_block,
    "convex": _flag,
    "loss_strong_convexity": non_negative,
    "smoothness": positive,
    "loss_bound": positive,
    "loss_interval": _interval,
    "loss_range": _positive_blocks,
    "difference_bound": positive,
    "difference_range": _positive_blocks,
    "sensitivity": positive,
    "fixed_normaliser": _flag,
    "prior_precision": _per_block,
    "prior_smoothness": positive,
    "n": _from(1),
    "minimum_n": _from(0),
    "maximum_n": _from(1),
    "record_radius": positive,
    "dimension": _from(1),
    "slack": open_probability,
    "step": positive,
    "steps": _from(1),
    "metric_lipschitz": positive,
    "metric_diameter": positive,
    "stochastic_rate": positive,
    "stochastic_floor": non_negative,
    "likelihood_ratio_bound": positive,
    "contamination": open_probability,
    "density_ratio": positive,
    "beta_prior": _pair,
    "clip": positive,
}


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Declared constants of a loss ℓ(θ, x), a prior and a sampler. Whatever is not declared is ``None``.

    Lipschitz constants and prior precisions may be tuples, one entry per block of parameters: with gradients bounded by
    L_j in block j and precision m_j there, the anisotropic theorem uses Σ L_j²/m_j. Ranges may be tuples where the loss is a sum
    over blocks of parameters that are independent under every posterior: one entry per block, which compose.

    Attributes:
        lipschitz: L, sup over records of the Lipschitz constant of θ ↦ ℓ(θ, x).
        difference_lipschitz: the same for ℓ(·, x) − ℓ(·, x′) over whole-record replacement (2L if not declared).
        convex: whether every ℓ(·, x) is convex.
        loss_strong_convexity: m_ℓ, by which every ℓ(·, x) is strongly convex.
        smoothness: M_ℓ, the Lipschitz constant of ∇ℓ(·, x).
        loss_bound: A with |ℓ| ≤ A.  loss_interval: (a, b) with a ≤ ℓ ≤ b.  loss_range: sup over x of its range over θ.
        difference_bound: sup |ℓ(θ, x) − ℓ(θ, x′)|.  difference_range: sup over (x, x′) of its range over θ.
        sensitivity: sup |Σℓ over D − Σℓ over D′| for the adjacency that is asked for.  fixed_normaliser: whether the posterior's
            normaliser is the same for every data set.
        prior_precision: m_π, by which −log prior is strongly convex.  prior_smoothness: M_π.
        n: number of records (replace-one only), or of persons with up to k records each: the least number of records, with
            ``maximum_n`` = n·k the largest.  minimum_n, maximum_n: public bounds on n (add-remove).
        record_radius: r with ‖x‖ ≤ r, for means.  dimension: number of parameters.
        slack: total-variation distance of the sampler from its target, for every data set.
        step, steps: step size and number of steps of a Langevin sampler; of the proximal sampler η and its rounds.
        metric_lipschitz, metric_diameter: Lipschitz constant of x ↦ log p_θ(x) under a metric, and the metric's diameter.
        stochastic_rate, stochastic_floor, likelihood_ratio_bound: c, L₀ and C of the stochastic Lipschitz assumption.
        contamination, density_ratio: p, and sup over x of sup_θ f(x; θ)/g(x), of a contaminated likelihood.
        beta_prior: (a, b) of an untrimmed Beta prior on the probability of 0/1 records.
        clip: the norm to which the scores of a person are clipped, whatever the likelihood.
    """

    lipschitz: float | tuple[float, ...] | None = None
    difference_lipschitz: float | tuple[float, ...] | None = None
    convex: bool | None = None
    loss_strong_convexity: float = 0.0
    smoothness: float | None = None
    loss_bound: float | None = None
    loss_interval: tuple[float, float] | None = None
    loss_range: float | tuple[float, ...] | None = None
    difference_bound: float | None = None
    difference_range: float | tuple[float, ...] | None = None
    sensitivity: float | None = None
    fixed_normaliser: bool | None = None
    prior_precision: float | tuple[float, ...] | None = None
    prior_smoothness: float | None = None
    n: int | None = None
    minimum_n: int = 0
    maximum_n: int | None = None
    record_radius: float | None = None
    dimension: int | None = None
    slack: float | None = None
    step: float | None = None
    steps: int | None = None
    metric_lipschitz: float | None = None
    metric_diameter: float | None = None
    stochastic_rate: float | None = None
    stochastic_floor: float | None = None
    likelihood_ratio_bound: float | None = None
    contamination: float | None = None
    density_ratio: float | None = None
    beta_prior: tuple[float, float] | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        for name, rule in _RULES.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, rule(name, value))
        if self.lipschitz is not None and self.difference_lipschitz is not None:
            if len(as_blocks(self.lipschitz)) != len(as_blocks(self.difference_lipschitz)):
                fail("difference_lipschitz", self.difference_lipschitz, "one number per block of lipschitz")
            for gap, single in zip(self.gap_blocks(Adjacency.REPLACE_ONE), as_blocks(self.lipschitz), strict=True):
                if gap > 2 * single * (1 + 1e-12):
                    fail("difference_lipschitz", self.difference_lipschitz, "at most twice lipschitz")

    @classmethod
    def of(cls, constants: Constants | Document) -> Constants:
        """Return ``constants`` itself, or build it from a mapping; unknown names are refused with the nearest ones."""
        if isinstance(constants, Constants):
            return constants
        if not isinstance(constants, Mapping):
            fail("constants", constants, "a Constants or a mapping of its fields")
        known = [field.name for field in fields(cls)]
        return cls(**{choice("constant", name, known): value for name, value in constants.items()})

    def need(self, *names: str) -> tuple[Any, ...]:
        """Return the named constants; a premise fails if one is not declared."""
        for name in names:
            if getattr(self, name) is None:
                raise PremiseError(f"{name}: not declared")
        return tuple(getattr(self, name) for name in names)

    def public_n(self, adjacency: Adjacency) -> int:
        """Return n where it is public; under add-remove no rule may use it."""
        if adjacency == Adjacency.ADD_REMOVE:
            raise PremiseError("n: private under add-remove, and this rule needs it; use replace-one")
        return int(self.need("n")[0])

    def row_bounds(self, adjacency: Adjacency) -> tuple[int, int]:
        """Return the least and the largest number of rows that any data set can have: what is public of it."""
        if adjacency == Adjacency.ADD_REMOVE:
            if self.maximum_n is None:
                raise PremiseError("maximum_n: not declared, and under add-remove the step size needs a public bound on n")
            return self.minimum_n, self.maximum_n
        n = self.public_n(adjacency)
        return n, n if self.maximum_n is None else self.maximum_n

    def gap_blocks(self, adjacency: Adjacency) -> tuple[float, ...]:
        """Return, per block, sup ‖∇g‖/β of the loss difference g between neighbours: 2L (or declared), add-remove L."""
        if adjacency == Adjacency.REPLACE_ONE and self.difference_lipschitz is not None:
            return as_blocks(self.difference_lipschitz)
        (single,) = self.need("lipschitz")
        factor = 2.0 if adjacency == Adjacency.REPLACE_ONE else 1.0
        return tuple(factor * entry for entry in as_blocks(single))

    def gap(self, adjacency: Adjacency) -> float:
        """Return the Euclidean norm of `gap_blocks`."""
        return math.hypot(*self.gap_blocks(adjacency))

    def precision_blocks(self) -> tuple[float, ...]:
        """Return the prior's precision per block, 0 where none is declared."""
        return as_blocks(self.prior_precision if self.prior_precision is not None else 0.0)

    def require_smoothness(self) -> tuple[float, float]:
        """Return (M_ℓ, M_π); refuse a smoothness below the strong convexity declared with it, which no function has."""
        smoothness, prior_smoothness = self.need("smoothness", "prior_smoothness")
        for name, larger, least in (
            ("prior_smoothness", prior_smoothness, max(self.precision_blocks())),
            ("smoothness", smoothness, self.loss_strong_convexity),
        ):
            if larger < least:
                raise PremiseError(f"{name} = {larger:g}: below the strong convexity {least:g} that is declared with it")
        return smoothness, prior_smoothness

    def curvature_blocks(self, inverse_temperature: float, rows: int) -> tuple[float, ...]:
        """Return, per block, the strong convexity m_π + rows·β·m_ℓ of the potential."""
        total = tuple(entry + rows * inverse_temperature * self.loss_strong_convexity for entry in self.precision_blocks())
        if min(total) <= 0:
            raise PremiseError("prior_precision: must be above 0 (or loss_strong_convexity, on a known number of rows)")
        return total

    @property
    def whole_difference_range(self) -> float | None:
        """The range of a loss difference over all parameters together: the sum over blocks."""
        return None if self.difference_range is None else sum_up(as_blocks(self.difference_range))

    def loss_width(self) -> float | None:
        """Return the width of the interval that the loss is known to stay in."""
        if self.loss_interval is not None:
            return self.loss_interval[1] - self.loss_interval[0]
        return None if self.loss_bound is None else 2 * self.loss_bound
