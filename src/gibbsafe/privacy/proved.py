"""The proved guarantees, each with its tight profile, its conversions and its group rule."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import ndtr, ndtri

from gibbsafe._numerics import SLACK, ceiling, half_square, up
from gibbsafe._validate import choice, non_negative, open_probability, positive, probability
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.profiles import (
    bounded_range_delta,
    bun_steinke_delta,
    corollary_8_delta,
    gaussian_delta,
    mu_of_pure,
    pure_delta,
    zcdp_delta,
)

__all__ = ["ApproximateDP", "BoundedRange", "ConcentratedDP", "GaussianDP", "PureDP"]

Stated = Adjacency | str | None


class PureDP(Guarantee):
    """Pure ε-DP: P(S) ≤ e^ε Q(S) for every event.

    >>> PureDP(1.0).epsilon(0.0)
    1.0
    >>> round(PureDP(1.0).delta(0.5), 6)
    0.287649
    """

    def __init__(self, epsilon: float, *, adjacency: Stated = None) -> None:
        super().__init__(adjacency, epsilon=positive("epsilon", epsilon))

    @property
    def pure_epsilon(self) -> float:
        """The ε of the claim."""
        return float(self.parameters["epsilon"])

    def _delta(self, epsilon: float) -> float:
        return pure_delta(epsilon, self.pure_epsilon)

    def _pure(self) -> tuple[float, float]:
        return self.pure_epsilon, 0.0

    def _gaussian(self) -> tuple[float, float]:
        return mu_of_pure(self.pure_epsilon), 0.0

    def _concentrated(self) -> tuple[float, float]:
        return half_square(self.pure_epsilon), 0.0

    def _group(self, size: int) -> PureDP:
        return PureDP(up(size * self.pure_epsilon), adjacency=self.adjacency)

    def __str__(self) -> str:
        return f"{self.pure_epsilon:.6g}-DP"


class ApproximateDP(Guarantee):
    """Approximate (ε, δ)-DP: P(S) ≤ e^ε Q(S) + δ for every event.

    Its profile is that of the worst such mechanism (Kairouz, Oh, Viswanath 2015): with probability δ it reveals
    everything, otherwise it is ε-randomised response.
    """

    def __init__(self, epsilon: float, delta: float, *, adjacency: Stated = None) -> None:
        super().__init__(adjacency, epsilon=non_negative("epsilon", epsilon), delta=probability("delta", delta))

    @property
    def pair(self) -> tuple[float, float]:
        """The (ε, δ) of the claim."""
        return float(self.parameters["epsilon"]), float(self.parameters["delta"])

    def _delta(self, epsilon: float) -> float:
        pure, failure = self.pair
        return failure if epsilon >= pure else min(1.0, up(failure + (1 - failure) * pure_delta(epsilon, pure)))

    def _pure(self) -> tuple[float, float]:
        return self.pair

    def _gaussian(self) -> tuple[float, float]:
        return mu_of_pure(self.pair[0]) if self.pair[0] > 0 else 0.0, self.pair[1]

    def _concentrated(self) -> tuple[float, float]:
        return half_square(self.pair[0]), self.pair[1]

    def _group(self, size: int) -> ApproximateDP:
        epsilon, failure = self.pair
        total = _group_failure(epsilon, failure, size)
        if total >= 1:
            raise PremiseError(f"{self}: says nothing about groups of {size} (delta would reach {total:.3g} >= 1)")
        return ApproximateDP(up(size * epsilon), total, adjacency=self.adjacency)

    def __str__(self) -> str:
        return f"({self.pair[0]:.6g}, {self.pair[1]:.3g})-DP"


def _group_failure(epsilon: float, failure: float, size: int) -> float:
    """Return δ(e^{kε} − 1)/(e^ε − 1), rounded up and at most 1: in logarithms where the factors do not fit a double."""
    if failure == 0 or size * epsilon <= 600:
        if epsilon == 0 or failure == 0:
            return min(1.0, up(failure * size))
        return min(1.0, failure * (math.expm1(size * epsilon) / math.expm1(epsilon)) * (1 + SLACK))  # the exponent is rounded too
    log_growth = (size - 1) * epsilon - math.log(-math.expm1(-epsilon))
    return min(1.0, max(failure, ceiling(math.log(failure) + log_growth)))


class GaussianDP(Guarantee):
    """Gaussian DP: telling P from Q is at least as hard as telling N(0, 1) from N(μ, 1) (Dong, Roth, Su 2022).

    >>> round(GaussianDP(0.5).delta(1.0), 9)
    0.006829595
    >>> round(GaussianDP(0.1).compose(9).epsilon(1e-5), 6)
    1.131775
    """

    def __init__(self, mu: float, *, adjacency: Stated = None) -> None:
        super().__init__(adjacency, mu=non_negative("mu", mu))

    @property
    def mu(self) -> float:
        """The separation μ of the two normals."""
        return float(self.parameters["mu"])

    def _delta(self, epsilon: float) -> float:
        return gaussian_delta(epsilon, self.mu)

    def _gaussian(self) -> tuple[float, float]:
        return self.mu, 0.0

    def _concentrated(self) -> tuple[float, float]:
        return half_square(self.mu), 0.0

    def _group(self, size: int) -> GaussianDP:
        return GaussianDP(up(size * self.mu), adjacency=self.adjacency)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return the exact bound Φ(Φ⁻¹(α) + μ)."""
        alpha = open_probability("false_positive_rate", false_positive_rate)
        return min(1.0, float(ndtr(ndtri(alpha) + self.mu)) * (1 + SLACK))

    def __str__(self) -> str:
        return f"{self.mu:.6g}-GDP"


#: How a ρ is read as (ε, δ): the best known way, and the two that the papers print.
CONVERSIONS: dict[str, Callable[[float, float], float]] = {
    "optimal": zcdp_delta,
    "bun-steinke": bun_steinke_delta,
    "corollary-8": corollary_8_delta,
}


class ConcentratedDP(Guarantee):
    """Zero-concentrated DP: Rényi divergence D_α ≤ αρ for every α > 1 (Bun, Steinke 2016).

    ``conversion`` says how ρ is read as (ε, δ): ``"optimal"`` by default; ``"bun-steinke"`` and ``"corollary-8"`` are
    the weaker readings of Minami et al. (2016), kept so that the paper's own numbers can be computed.

    >>> round(ConcentratedDP(0.02).epsilon(1e-5), 6), round(ConcentratedDP(0.02, conversion="bun-steinke").epsilon(1e-5), 6)
    (0.794315, 0.979705)
    """

    def __init__(self, rho: float, *, conversion: str = "optimal", adjacency: Stated = None) -> None:
        conversion = choice("conversion", conversion, CONVERSIONS)
        super().__init__(adjacency, rho=non_negative("rho", rho), conversion=conversion)

    @property
    def rho(self) -> float:
        """The Rényi slope ρ."""
        return float(self.parameters["rho"])

    @property
    def conversion(self) -> str:
        """How ρ is read as (ε, δ)."""
        return str(self.parameters["conversion"])

    def _delta(self, epsilon: float) -> float:
        return CONVERSIONS[self.conversion](epsilon, self.rho)

    def _concentrated(self) -> tuple[float, float]:
        return self.rho, 0.0

    def _group(self, size: int) -> ConcentratedDP:
        return ConcentratedDP(up(size**2 * self.rho), conversion=self.conversion, adjacency=self.adjacency)

    def __str__(self) -> str:
        return f"{self.rho:.6g}-zCDP"


class BoundedRange(Guarantee):
    """Bounded range r: sup − inf of the log density ratio is at most r (Durfee, Rogers 2019).

    Implies r-DP, r²/8-zCDP and μ-GDP with the μ of pure r/2; its own profile is tighter than each.

    >>> round(BoundedRange(1.2).delta(0.4), 9), BoundedRange(1.2).epsilon(0.0)
    (0.155535163, 1.2)
    """

    def __init__(self, range: float, *, adjacency: Stated = None) -> None:
        super().__init__(adjacency, range=non_negative("range", range))

    @property
    def range(self) -> float:
        """The width r of the log density ratio."""
        return float(self.parameters["range"])

    def _delta(self, epsilon: float) -> float:
        return bounded_range_delta(epsilon, self.range)

    def _pure(self) -> tuple[float, float]:
        return self.range, 0.0

    def _gaussian(self) -> tuple[float, float]:
        return mu_of_pure(self.range / 2) if self.range > 0 else 0.0, 0.0

    def _concentrated(self) -> tuple[float, float]:
        return half_square(self.range, 1 / 8), 0.0

    def _group(self, size: int) -> BoundedRange:
        return BoundedRange(up(size * self.range), adjacency=self.adjacency)

    def total_variation(self) -> float:
        """Return tanh(r/4), an upper bound on the total variation."""
        return up(math.tanh(self.range / 4))

    def tight_concentration(self) -> float:
        """Return ρ(r) = r/(1−e^{−r}) − 1 − ln(r/(1−e^{−r})) ≤ r²/8.

        Verified numerically for orders up to 64 only, so no conversion rests on it.
        """
        if self.range < 1e-3:
            return self.range**2 / 8
        ratio = self.range / -math.expm1(-self.range)
        return up(ratio - 1 - math.log(ratio))

    def __str__(self) -> str:
        return f"{self.range:.6g}-bounded range"
