"""Likelihoods f(x; u) of a record with location u = θᵀw: their logarithm, derivative ratios and extremes over intervals.

`ratios` returns f⁽ʲ⁾/f for j = 1…4 (derivatives in u). From them come the derivatives of log k_p for any contamination, since
k_p⁽ʲ⁾/k_p = q·f⁽ʲ⁾/f with the responsibility q = (1−p)f/k_p.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from gibbsafe._types import Floats
from gibbsafe._validate import open_probability
from gibbsafe.contamination.model.densities import Density, Normal
from gibbsafe.errors import PremiseError

__all__ = ["AsymmetricLaplace", "CauchyNoise", "Likelihood", "LogisticLabel", "NormalNoise", "log_mixture", "mixture_derivatives"]


class Likelihood(ABC):
    """f(x; u, s): location u, scale s."""

    name: str
    #: ∂f/∂u and ∂f/∂s fall like |x|^(−power); infinity for lighter than any power.
    location_power: float = math.inf
    scale_power: float = math.inf
    smooth: bool = True
    labels: bool = False
    #: Whether records far outside still tell locations apart, so that searches have to look there.
    long_tails: bool = False

    @abstractmethod
    def log_f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return log f(x; u, s)."""

    def f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return f(x; u, s), a new array."""
        log_f = self.log_f(x, u, scale)
        with np.errstate(under="ignore"):
            return np.exp(log_f, out=log_f)

    @abstractmethod
    def ratios(self, x: Floats, u: Floats, scale: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
        """Return f⁽ʲ⁾/f for j = 1…4."""

    @abstractmethod
    def sample(self, u: Floats, scale: float, generator: np.random.Generator) -> Floats:
        """Return one record for every location."""

    def nearest(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the u in [low, high] that makes x most likely."""
        return np.clip(x, low, high)

    def farthest(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the u in [low, high] that makes x least likely: an end."""
        return np.where(np.abs(x - low) >= np.abs(x - high), low, high)

    #: Where the third derivative in u vanishes, in scales of the residual: the second derivative's only extremes inside.
    inflections: tuple[float, ...] = ()

    def curvature_range(self, x: Floats, low: Floats, high: Floats, scale: float = 1.0) -> tuple[Floats, Floats]:
        """Return the least and the largest ∂²f/∂u² over u in [low, high]."""
        points = [low, high]
        for root in self.inflections:
            inner = x - scale * root
            points.append(np.clip(inner, low, high))
        values = np.stack([self.ratios(x, u, scale)[1] * np.exp(self.log_f(x, u, scale)) for u in points])
        return values.min(axis=0), values.max(axis=0)

    def scale_score(self, x: Floats, u: Floats, scale: Floats | float) -> Floats:
        """Return ∂ log f/∂ log s."""
        raise PremiseError(f"{self.name}: its scale is part of the declaration")

    def clean_spread(self, reach: float, scale: float) -> float:
        """Return sup log f(x; u)/f(x; u′) over records and |u − u′| ≤ reach, of one scale: infinite unless tails are heavy."""
        return math.inf if reach > 0 else 0.0

    def best_scale(self, distance: Floats, low: float, high: float) -> Floats:
        """Return the scale in [low, high] that makes a residual most likely: its size, for normal and Cauchy noise alike."""
        return np.clip(distance, low, high)

    def check_tails(self, density: Density, *, unknown_scale: bool = False, scale: float = 1.0) -> None:
        """Refuse a g lighter than the derivative of f (Assumption 4)."""
        power = self.scale_power if unknown_scale else self.location_power
        if density.tail_power > power:
            raise PremiseError(
                f"contamination: {density.describe()} has lighter tails (|x|^−{density.tail_power:g}) than the derivative of the "
                f"{self.name} likelihood (|x|^−{power:g}), so Assumption 4 fails; use a Cauchy density"
            )
        if isinstance(density, Normal) and not (isinstance(self, NormalNoise) and not unknown_scale and density.scale > scale):
            raise PremiseError(
                f"contamination: {density.describe()} has lighter tails than the {self.name} likelihood needs (Assumption 4); "
                "use a Student t or Cauchy density"
            )


@dataclass(frozen=True)
class NormalNoise(Likelihood):
    """x ~ N(u, s²)."""

    name = "normal"
    inflections = (-math.sqrt(3), 0.0, math.sqrt(3))

    def log_f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return the normal log density."""
        r = np.asarray((x - u) / scale)
        r *= r
        r *= -0.5
        r -= np.log(scale) + 0.5 * math.log(2 * math.pi)
        return r

    def ratios(self, x: Floats, u: Floats, scale: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
        """Return Hermite polynomials of the residual."""
        r = (x - u) / scale
        r2 = r * r
        return r / scale, (r2 - 1) / scale**2, (r2 - 3) * r / scale**3, ((r2 - 6) * r2 + 3) / scale**4

    def sample(self, u: Floats, scale: float, generator: np.random.Generator) -> Floats:
        """Return normal records."""
        return u + scale * generator.standard_normal(np.shape(u))

    def scale_score(self, x: Floats, u: Floats, scale: Floats | float) -> Floats:
        """Return r² − 1."""
        value: Floats = ((x - u) / scale) ** 2 - 1
        return value


@dataclass(frozen=True)
class CauchyNoise(Likelihood):
    """x ~ Cauchy(u, s), density 1/(πs(1 + r²)); the paper's C.3 prints a normaliser that is off (E24)."""

    name = "Cauchy"
    long_tails = True
    inflections = (-1.0, 0.0, 1.0)
    location_power = 3.0
    scale_power = 2.0

    def log_f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return the Cauchy log density."""
        r = np.asarray((x - u) / scale)
        r *= r
        r += 1.0
        with np.errstate(over="ignore"):
            np.log(r, out=r)
        r += np.log(math.pi * np.asarray(scale))
        return np.negative(r, out=r)

    def f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return the Cauchy density, without a logarithm."""
        r = np.asarray((x - u) / scale)
        r *= r
        r += 1.0
        r *= math.pi * np.asarray(scale)
        return np.divide(1.0, r, out=r)

    def ratios(self, x: Floats, u: Floats, scale: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
        """Return f⁽ʲ⁾/f from the derivatives of (1 + r²)⁻¹."""
        r = (x - u) / scale
        h = 1 / (1 + r * r)
        r2 = r * r
        return (
            2 * r * h / scale,
            (6 * r2 - 2) * h**2 / scale**2,
            24 * r * (r2 - 1) * h**3 / scale**3,
            24 * ((5 * r2 - 10) * r2 + 1) * h**4 / scale**4,
        )

    def clean_spread(self, reach: float, scale: float) -> float:
        """Return 2 asinh(R/2s)."""
        return 2 * math.asinh(reach / (2 * scale))

    def sample(self, u: Floats, scale: float, generator: np.random.Generator) -> Floats:
        """Return Cauchy records."""
        return u + scale * generator.standard_cauchy(np.shape(u))

    def scale_score(self, x: Floats, u: Floats, scale: Floats | float) -> Floats:
        """Return (r² − 1)/(r² + 1)."""
        r2 = ((x - u) / scale) ** 2
        value: Floats = (r2 - 1) / (r2 + 1)
        return value


@dataclass(frozen=True)
class LogisticLabel(Likelihood):
    """A label x in {0, 1} with P(1) = 1/(1 + e^(−u))."""

    name = "logistic"
    location_power = 0.0
    labels = True

    def log_f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return −log(1 + e^(∓u))."""
        return -np.logaddexp(0, (1 - 2 * np.asarray(x)) * u)

    def f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return 1/(1 + e^(∓u)), without a logarithm."""
        return np.asarray(special.expit((2 * np.asarray(x) - 1) * u))

    def ratios(self, x: Floats, u: Floats, scale: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
        """Return f⁽ʲ⁾/f of the logistic function, with the label's sign."""
        y = 2 * np.asarray(x) - 1
        s = special.expit(y * u)
        t = 1 - s
        return y * t, t * (1 - 2 * s), y * t * (1 - 6 * s + 6 * s * s), t * (1 - 2 * s) * (1 - 12 * s + 12 * s * s)

    def sample(self, u: Floats, scale: float, generator: np.random.Generator) -> Floats:
        """Return labels."""
        return np.asarray(generator.random(np.shape(u)) < special.expit(u), dtype=np.float64)

    def nearest(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the upper end for label 1, the lower for 0."""
        return np.where(np.asarray(x) > 0.5, high, low)

    def farthest(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the other end."""
        return np.where(np.asarray(x) > 0.5, low, high)


@dataclass(frozen=True)
class AsymmetricLaplace(Likelihood):
    """Density τ(1−τ)exp(−Q_τ(x − u)), Q_τ(r) = r(τ − 1{r<0}): the τ-quantile's likelihood (C.4)."""

    tau: float = 0.5
    name = "asymmetric Laplace"
    long_tails = True
    smooth = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", open_probability("tau", self.tau))

    def log_f(self, x: Floats, u: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return the log density."""
        r = (x - u) / scale
        steep = np.asarray(np.where(r < 0, 1 - self.tau, -self.tau))
        steep *= r
        steep += math.log(self.tau * (1 - self.tau)) - np.log(scale)
        return steep

    def ratios(self, x: Floats, u: Floats, scale: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
        """Return powers of the slope: the kink has no density of its own."""
        slope = np.where(x > u, self.tau, self.tau - 1) / scale
        return slope, slope**2, slope**3, slope**4

    def sample(self, u: Floats, scale: float, generator: np.random.Generator) -> Floats:
        """Return u plus exponentials of rates τ above and 1 − τ below."""
        above = generator.random(np.shape(u)) < 1 - self.tau
        size = generator.standard_exponential(np.shape(u)) * scale
        return u + np.where(above, size / self.tau, -size / (1 - self.tau))

    def farthest(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """Return the end at which the check loss is larger."""
        return np.where(self.log_f(x, low) <= self.log_f(x, high), low, high)


def log_mixture(log_f: Floats, log_g: Floats, p: float) -> Floats:
    """Return log((1−p)f + p g), in log space so that far records neither vanish nor overflow."""
    if p == 0:
        return log_f
    return np.logaddexp(math.log1p(-p) + log_f, math.log(p) + log_g)


def mixture_derivatives(q: Floats, ratios: tuple[Floats, Floats, Floats, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the first four derivatives of log k_p from the responsibility and f⁽ʲ⁾/f."""
    k1, k2, k3, k4 = (q * ratio for ratio in ratios)
    s1 = k1 * k1
    return (
        k1,
        k2 - s1,
        k3 - 3 * k1 * k2 + 2 * s1 * k1,
        k4 - 4 * k1 * k3 - 3 * k2 * k2 + 12 * s1 * k2 - 6 * s1 * s1,
    )
