"""Public contaminating densities g: normalised, heavy-tailed, and never centred at the unknown truth.

`log_density(x, centre)` and `sample(generator, centre)` take the records' true location as well, since the paper's own choice
follows it (`CentredAtTruth`, for reproduction only). Every other density ignores it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy import integrate, special

from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive, real
from gibbsafe.errors import PremiseError

__all__ = [
    "Asserted",
    "Cauchy",
    "CentredAtTruth",
    "Density",
    "Envelope",
    "Normal",
    "StudentT",
    "Truncated",
    "UniformLabels",
]


class Density(ABC):
    """A density of one record that is fixed before data are seen."""

    @property
    def tail_power(self) -> float:
        """The density falls like |x|^(−tail_power); infinity for anything lighter than every power."""
        return math.inf

    #: Whether it follows the unknown truth, which no public density may.
    follows_truth: ClassVar[bool] = False

    @abstractmethod
    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x)."""

    @abstractmethod
    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return one draw for every entry of ``centre``."""

    @abstractmethod
    def describe(self) -> str:
        """Return the density in words."""


@dataclass(frozen=True)
class StudentT(Density):
    """Student's t with ``degrees`` of freedom: Γ((ν+1)/2)/(Γ(ν/2)√(νπ)s)·(1 + (x−m)²/(νs²))^(−(ν+1)/2).

    The normaliser printed in Hu et al. §4.3 does not integrate to one (E23); this one does.

    >>> round(float(np.exp(StudentT(5.0).log_density(np.array(0.7)))), 12)
    0.286765457577
    """

    degrees: float
    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", positive("degrees", self.degrees))
        object.__setattr__(self, "location", real("location", self.location))
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def tail_power(self) -> float:
        """ν + 1."""
        return self.degrees + 1

    @property
    def _constant(self) -> float:
        half = self.degrees / 2
        return float(special.gammaln(half + 0.5) - special.gammaln(half)) - 0.5 * math.log(self.degrees * math.pi * self.scale**2)

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x)."""
        r = (np.asarray(x, dtype=np.float64) - self.location) / self.scale
        value: Floats = self._constant - (self.degrees + 1) / 2 * np.log1p(r * r / self.degrees)
        return value

    def cdf(self, r: Floats) -> Floats:
        """Return the distribution function of the standard law (location 0, scale 1)."""
        return np.asarray(special.stdtr(self.degrees, r), dtype=np.float64)

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws."""
        return self.location + self.scale * generator.standard_t(self.degrees, size=np.shape(centre))

    def describe(self) -> str:
        """Return the density in words."""
        return f"Student t with {self.degrees:g} degrees of freedom at {self.location:g}, scale {self.scale:g}"


@dataclass(frozen=True)
class Cauchy(Density):
    """The Cauchy density 1/(πs(1 + ((x−m)/s)²)).

    >>> round(float(np.exp(Cauchy(0.0, 2.0).log_density(np.array(2.0)))), 6)
    0.079577
    """

    location: float = 0.0
    scale: float = 1.0
    tail_power = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", real("location", self.location))
        object.__setattr__(self, "scale", positive("scale", self.scale))

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x)."""
        r = (np.asarray(x, dtype=np.float64) - self.location) / self.scale
        value: Floats = -math.log(math.pi * self.scale) - np.log1p(r * r)
        return value

    def cdf(self, r: Floats) -> Floats:
        """Return the distribution function of the standard law (location 0, scale 1)."""
        return 0.5 + np.arctan(r) / math.pi

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws."""
        return self.location + self.scale * generator.standard_cauchy(size=np.shape(centre))

    def describe(self) -> str:
        """Return the density in words."""
        return f"Cauchy at {self.location:g}, scale {self.scale:g}"


@dataclass(frozen=True)
class Normal(Density):
    """The normal density: light-tailed, so that only a normal likelihood of smaller scale may use it."""

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", real("location", self.location))
        object.__setattr__(self, "scale", positive("scale", self.scale))

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x)."""
        r = (np.asarray(x, dtype=np.float64) - self.location) / self.scale
        value: Floats = -0.5 * math.log(2 * math.pi) - math.log(self.scale) - 0.5 * r * r
        return value

    def cdf(self, r: Floats) -> Floats:
        """Return the distribution function of the standard law (location 0, scale 1)."""
        return np.asarray(special.ndtr(r), dtype=np.float64)

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws."""
        return self.location + self.scale * generator.standard_normal(np.shape(centre))

    def describe(self) -> str:
        """Return the density in words."""
        return f"normal at {self.location:g}, scale {self.scale:g}"


@dataclass(frozen=True)
class UniformLabels(Density):
    """A fair coin on the labels 0 and 1, for logistic regression."""

    tail_power = 0.0

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log ½."""
        return np.full(np.shape(x), -math.log(2))

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return fair coins."""
        return generator.integers(0, 2, size=np.shape(centre)).astype(np.float64)

    def describe(self) -> str:
        """Return the density in words."""
        return "a fair coin on the labels"


@dataclass(frozen=True)
class Envelope(Density):
    """g ∝ sup of N(x; θ, s²) over θ in [low, high]: flat between, normal tails outside; for trimmed parameters only.

    It makes sup f/g the same constant C = (high − low)/(s√(2π)) + 1 for every record, which is the least possible where the
    far end of the interval is out of reach.

    >>> round(Envelope(0.0, 100.0, 8.0).ratio, 3)
    5.987
    """

    low: float
    high: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not real("low", self.low) < real("high", self.high):
            fail("low", self.low, f"below high = {self.high}")
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def ratio(self) -> float:
        """C = sup f/g."""
        return (self.high - self.low) / (self.scale * math.sqrt(2 * math.pi)) + 1

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x)."""
        x = np.asarray(x, dtype=np.float64)
        r = np.maximum(np.maximum(self.low - x, x - self.high), 0.0) / self.scale
        value: Floats = -0.5 * r * r - math.log(self.scale * math.sqrt(2 * math.pi) * self.ratio)
        return value

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws: from the flat part, or from one of the two half normals."""
        shape = np.shape(centre)
        flat = generator.random(shape) < 1 - 1 / self.ratio
        inside = self.low + (self.high - self.low) * generator.random(shape)
        away = self.scale * generator.standard_normal(shape)
        return np.where(flat, inside, np.where(away > 0, self.high + away, self.low + away))

    def describe(self) -> str:
        """Return the density in words."""
        return f"the envelope of N(θ, {self.scale:g}²), θ in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class Truncated(Density):
    """A density restricted to an interval and normalised there; draws outside are drawn again."""

    base: Density
    low: float
    high: float

    def _log_mass(self, centre: Floats | float) -> Floats:
        if not self.base.follows_truth:
            return np.array(_log_mass(self, 0.0))
        where = np.asarray(centre, dtype=np.float64)
        if where.size and (where == where.flat[0]).all():
            return np.array(_log_mass(self, float(where.flat[0])))
        return np.array([_log_mass(self, float(value)) for value in where.flat]).reshape(where.shape)

    @property
    def tail_power(self) -> float:
        """Zero: on a bounded space no tail is too light."""
        return 0.0

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x), −∞ outside the interval."""
        x = np.asarray(x, dtype=np.float64)
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, self.base.log_density(x, centre) - self._log_mass(centre), -np.inf)

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws."""
        draws = self.base.sample(generator, centre)
        outside = (draws < self.low) | (draws > self.high)
        while outside.any():
            draws[outside] = self.base.sample(generator, np.asarray(centre)[outside])
            outside = (draws < self.low) | (draws > self.high)
        return draws

    def describe(self) -> str:
        """Return the density in words."""
        return f"{self.base.describe()}, restricted to [{self.low:g}, {self.high:g}]"


@lru_cache(maxsize=4096)
def _log_mass(density: Truncated, shift: float) -> float:
    """Return the log of the mass that the moved density has inside the interval."""
    base = density.base.base if isinstance(density.base, CentredAtTruth) else density.base
    if not isinstance(base, StudentT | Cauchy | Normal):
        raise PremiseError(f"{base.describe()}: its mass on an interval is not known; use a Student t, Cauchy or normal one")
    ends = np.array([density.low, density.high])
    low, high = base.cdf((ends - base.location - shift) / base.scale)
    return math.log(float(high - low))


@dataclass(frozen=True)
class CentredAtTruth(Density):
    """A density that follows the unknown true location: the paper's choice, for reproducing its tables only.

    No curator can use it, since the truth is what the data are asked for.
    """

    base: Density
    follows_truth: ClassVar[bool] = True

    @property
    def tail_power(self) -> float:
        """That of the density which is moved."""
        return self.base.tail_power

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x − centre)."""
        return self.base.log_density(np.asarray(x, dtype=np.float64) - centre)

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws around the centres."""
        return np.asarray(centre) + self.base.sample(generator, centre)

    def describe(self) -> str:
        """Return the density in words."""
        return f"{self.base.describe()}, moved to the unknown truth (reproduction only)"


@dataclass(frozen=True)
class Asserted(Density):
    """A density of the user's own, whose tails are asserted to be heavy enough; that it integrates to one is checked.

    >>> g = Asserted(lambda x: -np.abs(x) - np.log(2), lambda rng, size: rng.laplace(size=size), tails_asserted=True)
    >>> Asserted(lambda x: -np.abs(x), lambda rng, size: rng.laplace(size=size), tails_asserted=True)
    Traceback (most recent call last):
    gibbsafe.errors.PremiseError: contamination: the density integrates to 2, not to 1; normalise it
    """

    log_function: Callable[[Floats], Floats]
    sampler: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    tails_asserted: bool = False
    tail_power = 0.0

    def __post_init__(self) -> None:
        if not self.tails_asserted:
            raise PremiseError(
                "contamination: whether this density's tails are heavy enough (Assumption 4) is not known; "
                "assert it with tails_asserted=True, or use StudentT or Cauchy"
            )
        halves = [integrate.quad(lambda x: float(np.exp(self.log_function(np.array(x)))), *ends, limit=400)[0] for ends in _LINE]
        total = math.fsum(halves)
        if not abs(total - 1) < 1e-6:
            raise PremiseError(f"contamination: the density integrates to {total:.6g}, not to 1; normalise it")

    def log_density(self, x: Floats, centre: Floats | float = 0.0) -> Floats:
        """Return log g(x)."""
        return np.asarray(self.log_function(np.asarray(x, dtype=np.float64)), dtype=np.float64)

    def sample(self, generator: np.random.Generator, centre: Floats) -> Floats:
        """Return independent draws."""
        return np.asarray(self.sampler(generator, np.shape(centre)), dtype=np.float64)

    def describe(self) -> str:
        """Return the density in words."""
        return "a density of the user's own, its tails asserted"


_LINE = ((-math.inf, 0.0), (0.0, math.inf))
