"""Privacy under a metric on data sets (Dimitrakakis et al. 2017, Definition 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from gibbsafe._numerics import sum_up, up
from gibbsafe._validate import count, fail, non_negative
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.proved import ApproximateDP, BoundedRange, PureDP

__all__ = ["Metric", "MetricDP"]


@dataclass(frozen=True)
class Metric:
    """A named pseudo-metric on data sets; two claims are under one metric if name and function are the same.

    >>> round(Metric.absolute().between([0.0, 2.0], [1.0, 2.5]), 3)
    1.5
    """

    name: str
    distance: Callable[[object, object], float] | None = field(default=None, repr=False)

    def between(self, x: object, y: object) -> float:
        """Return ρ(x, y)."""
        if self.distance is None:
            raise PremiseError(f"metric {self.name!r} is known by name only: state the distance itself")
        return non_negative(f"distance under {self.name}", float(self.distance(x, y)))

    @classmethod
    def hamming(cls) -> Metric:
        """Return the number of records in which two data sets differ (Remark 3: distance 1 is replace-one)."""
        return cls("hamming", _hamming)

    @classmethod
    def absolute(cls) -> Metric:
        """Return the sum of absolute differences over all records and cells."""
        return cls("absolute", _absolute)

    @classmethod
    def induced(cls, name: str, statistic: Callable[[object], object]) -> Metric:
        """Return ρ(x, y) = ‖τ(x) − τ(y)‖₂ for a statistic τ (§2.2.2).

        The paper's assumptions then require τ to be sufficient: data sets with equal τ must be equally likely under
        every parameter. That is a premise of whoever uses the metric.

        >>> total = Metric.induced("sum", np.sum)
        >>> total.between([1, 2, 3], [2, 2, 3])
        1.0
        """
        return cls(name, _Induced(statistic))


def _hamming(x: object, y: object) -> float:
    a, b = np.asarray(x), np.asarray(y)
    if a.shape != b.shape:
        fail("shapes", (a.shape, b.shape), "equal for the Hamming distance")
    return float(np.count_nonzero((a != b).reshape(len(a), -1).any(axis=1)))


def _absolute(x: object, y: object) -> float:
    return float(np.abs(np.asarray(x, float) - np.asarray(y, float)).sum())


@dataclass(frozen=True)
class _Induced:
    statistic: Callable[[object], object]

    def __call__(self, x: object, y: object) -> float:
        difference = np.asarray(self.statistic(x), float) - np.asarray(self.statistic(y), float)
        return float(np.linalg.norm(difference.ravel()))


@dataclass(frozen=True, init=False)
class MetricDP:
    """P(S|x) ≤ e^{ερ(x,y)} P(S|y) + δρ(x,y) for all data sets x, y and events S.

    ``epsilon`` and ``delta`` are per unit of distance (kept as `epsilon_per_unit` and `delta_per_unit`). A claim that comes from
    a range argument (``bounded_range=True``) converts to `BoundedRange`, which composes better. Ordinary guarantees exist at a
    stated distance only: see `at`.

    >>> claim = MetricDP(0.5, Metric.hamming())
    >>> print(claim.at(2.0))
    1-DP
    >>> claim.compose(3).epsilon_per_unit
    1.5
    """

    epsilon_per_unit: float
    metric: Metric
    delta_per_unit: float
    bounded_range: bool

    def __init__(self, epsilon: float, metric: Metric | str, delta: float = 0.0, *, bounded_range: bool = False) -> None:
        named = Metric(metric) if isinstance(metric, str) else metric
        if not isinstance(named, Metric):
            fail("metric", metric, "a Metric or the name of one")
        if bounded_range and delta:
            fail("delta", delta, "0 for a claim by range")
        object.__setattr__(self, "epsilon_per_unit", non_negative("epsilon", epsilon))
        object.__setattr__(self, "metric", named)
        object.__setattr__(self, "delta_per_unit", non_negative("delta", delta))
        object.__setattr__(self, "bounded_range", bounded_range)

    def at(self, distance: float) -> Guarantee:
        """Return the ordinary guarantee between data sets at most ``distance`` apart."""
        rho = non_negative("distance", distance)
        epsilon, delta = self.epsilon_per_unit * rho, self.delta_per_unit * rho
        if rho != 1:
            epsilon, delta = up(epsilon), up(delta)
        if self.bounded_range:
            return BoundedRange(epsilon)
        if delta == 0 and epsilon > 0:
            return PureDP(epsilon)
        if delta >= 1:
            raise PremiseError(f"delta reaches {delta:.3g} >= 1 at distance {rho:g}: nothing is claimed there")
        return ApproximateDP(epsilon, delta)

    def between(self, x: object, y: object) -> Guarantee:
        """Return the ordinary guarantee between two given data sets (public ones: the distance is a function of both)."""
        return self.at(self.metric.between(x, y))

    def compose(self, times: int) -> MetricDP:
        """Return the claim for ``times`` releases: ε and δ add (Theorem 4)."""
        return compose_metric([self] * count("times", times))

    def epsilon(self, delta: float) -> NoReturn:
        """Refuse: a metric claim has an ε at a stated distance only."""
        raise PremiseError(f"MetricDP under {self.metric.name!r} has no epsilon of its own: use .at(distance).epsilon(delta)")

    def delta(self, epsilon: float) -> NoReturn:
        """Refuse: a metric claim has a δ at a stated distance only."""
        raise PremiseError(f"MetricDP under {self.metric.name!r} has no delta of its own: use .at(distance).delta(epsilon)")

    def group(self, size: int) -> NoReturn:
        """Refuse: the metric already says how far a group is."""
        raise PremiseError(f"MetricDP under {self.metric.name!r} has no group size: use .at(distance of the group)")

    def __str__(self) -> str:
        return f"{self.epsilon_per_unit:.6g} per unit of {self.metric.name}"


def compose_metric(claims: list[MetricDP]) -> MetricDP:
    """Compose claims under one metric: ε and δ per unit add; several draws by range are claimed as pure."""
    metrics = {claim.metric for claim in claims}
    if len(metrics) != 1:
        names = ", ".join(sorted(metric.name for metric in metrics)) or "none"
        raise PremiseError(f"metrics {names}: claims compose under one metric only")
    total_epsilon = sum_up(claim.epsilon_per_unit for claim in claims)
    total_delta = sum_up(claim.delta_per_unit for claim in claims)
    if len(claims) == 1:
        return claims[0]
    return MetricDP(total_epsilon, metrics.pop(), total_delta)
