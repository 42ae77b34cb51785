"""Composition: a guarantee that keeps its parts and its slack, and answers by the tightest sound route."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import overload

from scipy.optimize import minimize_scalar

from gibbsafe._numerics import least, root_sum_of_squares, up
from gibbsafe._types import JSON
from gibbsafe._validate import choice, count, fail, non_negative, probability
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.metric import MetricDP, compose_metric
from gibbsafe.privacy.profiles import gaussian_delta, slack_delta
from gibbsafe.privacy.proved import CONVERSIONS, ApproximateDP, ConcentratedDP, GaussianDP

__all__ = ["Composition", "compose"]

ROUTES = ("gaussian", "zcdp", "basic")
Profile = Callable[[float], float]


class Composition(Guarantee):
    """The guarantee of a fixed list of releases, each of which may depend on the earlier ones' outputs.

    ``parts`` are (guarantee, count) pairs in a canonical order, nested compositions flattened, so that n-fold
    composition equals n calls whatever their order. ``slack`` γ bounds the total variation between what ran and what
    the parts describe, for every data set; it adds (1 + e^ε)γ to δ once, at the ε that is claimed.

    Routes:
        ``gaussian``: √Σμ²-GDP, where every part implies a μ (a ρ-zCDP part does not).
        ``zcdp``: Σρ-zCDP (pure ε²/2, bounded range r²/8, Gaussian μ²/2).
        ``basic``: Σε and Σδ; parts that have a profile only share the remaining ε equally.
        ``auto``: the tightest of these at the ε or δ asked for. (A fixed list may do this; a ledger may not.)

    >>> from gibbsafe.privacy import BoundedRange
    >>> hundred = BoundedRange(0.1).compose(100)
    >>> hundred.best_route(1e-6), round(hundred.epsilon(1e-6), 2), round(hundred.epsilon(1e-6, route="gaussian"), 2)
    ('zcdp', 2.42, 2.89)
    """

    parts: tuple[tuple[Guarantee, int], ...]
    slack: float

    def __init__(
        self,
        parts: Iterable[tuple[Guarantee, int]],
        *,
        slack: float = 0.0,
        adjacency: Adjacency | str | None = None,
    ) -> None:
        tally: Counter[Guarantee] = Counter()
        slacks = [non_negative("slack", slack)]
        for part, times in parts:
            if not isinstance(part, Guarantee):
                raise PremiseError(f"{part!r}: only proved guarantees compose; an estimate or a metric claim does not")
            if isinstance(part, Composition):
                for inner, copies in part.parts:
                    tally[inner] += copies * count("times", times)
                slacks += [part.slack] * times
            else:
                tally[part] += count("times", times)
        stated = {part.adjacency for part in tally} | ({Adjacency.of(adjacency)} if adjacency is not None else set())
        if len(stated) > 1:
            names = " and ".join(sorted("unstated" if a is None else a.value for a in stated))
            raise PremiseError(f"adjacency of the parts is {names}: one composition has one; see under() and to_replace_one()")
        ordered = tuple(sorted(tally.items(), key=lambda item: repr(item[0])))
        total = math.fsum(slacks)
        if total >= 1:
            fail("slack", total, "below 1 in all")
        super().__init__(next(iter(stated), None), parts=ordered, slack=total)
        object.__setattr__(self, "parts", ordered)
        object.__setattr__(self, "slack", self.parameters["slack"])

    # -- routes --------------------------------------------------------------------------------------------------

    def _sum(self, pairs: Sequence[tuple[float, float] | None], *, squares: bool = False) -> tuple[float, float] | None:
        """Add (parameter, δ) pairs times their counts, parameters plainly or by squares; None if one part has none."""
        if any(pair is None for pair in pairs):
            return None
        counted = [(pair, times) for pair, (_, times) in zip(pairs, self.parts, strict=True) if pair is not None]
        if len(counted) == 1 and counted[0][1] == 1:
            return counted[0][0]
        failure = up(math.fsum(times * pair[1] for pair, times in counted))
        if squares:
            return root_sum_of_squares(math.sqrt(times) * pair[0] for pair, times in counted), failure
        return up(math.fsum(times * pair[0] for pair, times in counted)), failure

    def _pure(self) -> tuple[float, float] | None:
        return None if self.slack else self._sum([part._pure() for part, _ in self.parts])

    def _gaussian(self) -> tuple[float, float] | None:
        return None if self.slack else self._gaussian_total

    def _concentrated(self) -> tuple[float, float] | None:
        return None if self.slack else self._concentrated_total

    @cached_property
    def _gaussian_total(self) -> tuple[float, float] | None:
        return self._sum([part._gaussian() for part, _ in self.parts], squares=True)

    @cached_property
    def _concentrated_total(self) -> tuple[float, float] | None:
        return self._sum([part._concentrated() for part, _ in self.parts])

    def _gaussian_route(self) -> Profile | None:
        if self._gaussian_total is None:
            return None
        mu, failure = self._gaussian_total
        return lambda epsilon: _plus(gaussian_delta(epsilon, mu), failure)

    def _zcdp_route(self) -> Profile | None:
        if self._concentrated_total is None:
            return None
        readings = {part.conversion for part, _ in self.parts if isinstance(part, ConcentratedDP)}
        alone = len(readings) == 1 and all(isinstance(part, ConcentratedDP) for part, _ in self.parts)
        profile = CONVERSIONS[readings.pop() if alone else "optimal"]
        rho, failure = self._concentrated_total
        return lambda epsilon: _plus(profile(epsilon, rho), failure)

    def _basic_route(self) -> Profile | None:
        if sum(times for _, times in self.parts) == 1:
            return self.parts[0][0]._delta
        fixed = [(part._pure(), times) for part, times in self.parts]
        failure = up(math.fsum(times * pair[1] for pair, times in fixed if pair is not None))
        curves = [(part, times) for part, times in self.parts if part._pure() is None]
        if not curves:
            return None if failure >= 1 else ApproximateDP(self._pure_total, failure)._delta
        sharers = sum(times for _, times in curves)

        def profile(epsilon: float) -> float:
            share = (epsilon - self._pure_total) / sharers * (1 - 2.0**-50)
            return 1.0 if share < 0 else up(failure + math.fsum(times * part._delta(share) for part, times in curves))

        return profile

    @cached_property
    def _pure_total(self) -> float:
        """Sum of the pure ε of the parts that have one: where the basic profile has its kink."""
        fixed = [(part._pure(), times) for part, times in self.parts]
        total = math.fsum(times * pair[0] for pair, times in fixed if pair is not None)
        return total if len(fixed) == 1 and fixed[0][1] == 1 else up(total)

    @cached_property
    def _profiles(self) -> dict[str, Profile]:
        if not self.parts:
            return {"basic": self._with_slack(lambda epsilon: 0.0)}
        candidates = zip(ROUTES, (self._gaussian_route(), self._zcdp_route(), self._basic_route()), strict=True)
        return {name: self._with_slack(profile) for name, profile in candidates if profile is not None}

    def _with_slack(self, profile: Profile) -> Profile:
        """Add (1 + e^ε)γ and make the sum non-increasing.

        A claim at ε′ ≤ ε is a claim at ε, so the value at any ε′ ≤ ε may be quoted. The sum falls and then rises: beyond its
        lowest point, which is searched once, the value there is quoted, and beyond the kink of pure parts the value at the kink.
        """
        if self.slack == 0:
            return lambda epsilon: min(1.0, profile(epsilon))

        def padded(epsilon: float) -> float:
            return min(1.0, up(profile(epsilon) + slack_delta(epsilon, self.slack)))

        @cache
        def quoted() -> tuple[tuple[float, float], ...]:
            horizon = max(math.log(1 / self.slack), 1e-10)
            even = [math.log(1e-14) + k / 64 * (math.log(horizon) - math.log(1e-14)) for k in range(65)]
            start = min(max(self._pure_total, 1e-14), horizon)  # below it nothing falls, and the rest may be short
            grid = sorted([*even, *(math.log(start + k / 64 * (horizon - start)) for k in range(65))])
            nearest = min(range(len(grid)), key=lambda k: padded(math.exp(grid[k])))
            bracket = (grid[max(nearest - 1, 0)], grid[min(nearest + 1, len(grid) - 1)])
            search = minimize_scalar(lambda x: padded(math.exp(x)), bounds=bracket, method="bounded", options={"xatol": 1e-10})
            return tuple((point, padded(point)) for point in (math.exp(float(search.x)), math.exp(grid[nearest])))

        def least_below(epsilon: float) -> float:
            values = [padded(epsilon)]
            if self._pure_total <= epsilon:
                values.append(padded(self._pure_total))
            if epsilon > 0 and padded(epsilon * (1 - 1e-7)) <= values[0]:  # no longer falling
                values += [value for point, value in quoted() if point <= epsilon]
            return min(values)

        return least_below

    # -- answers -------------------------------------------------------------------------------------------------

    @cached_property
    def _contenders(self) -> dict[str, Profile]:
        """The routes that ``auto`` has to look at: for Gaussian parts alone no other can win."""
        if self.parts and all(isinstance(part, GaussianDP) for part, _ in self.parts):
            return {"gaussian": self._profiles["gaussian"]}
        return self._profiles

    def _delta(self, epsilon: float) -> float:
        return min((profile(epsilon) for profile in self._contenders.values()), default=1.0)

    def _route(self, route: str) -> Profile:
        if choice("route", route, ("auto", *ROUTES)) == "auto":
            return self._delta
        if route not in self._profiles:
            raise PremiseError(f"route {route}: not every part of {self} implies a guarantee of that kind")
        return self._profiles[route]

    def delta(self, epsilon: float, route: str = "auto") -> float:
        """Return an upper bound on δ at ``epsilon`` by the route asked for."""
        return self._route(route)(non_negative("epsilon", epsilon))

    def epsilon(self, delta: float, route: str = "auto") -> float:
        """Return the least ε whose δ by the route asked for is at most ``delta``; infinite where there is none."""
        target = probability("delta", delta)
        if route != "auto":
            profile = self._route(route)
            horizon = 1 - math.log(self.slack) if self.slack else math.inf  # beyond it the slack alone exceeds 1
            return least(lambda epsilon: profile(epsilon) <= target, 0.0, horizon)
        return min((self.epsilon(delta, route=name) for name in self._contenders), default=math.inf)

    def routes(self, delta: float) -> dict[str, float]:
        """Return ε at ``delta`` by every route that is open to these parts."""
        return {name: self.epsilon(delta, route=name) for name in self._profiles}

    def best_route(self, delta: float) -> str:
        """Return the name of the route that gives the smallest ε at ``delta``."""
        prices = self.routes(delta)
        return min(prices, key=prices.__getitem__)

    def _group(self, size: int) -> Composition:
        grouped = [(part.group(size), times) for part, times in self.parts]
        return Composition(grouped, slack=self.slack, adjacency=self.adjacency)

    def _restate(self, adjacency: Adjacency) -> Composition:
        restated = [(part._restate(adjacency), times) for part, times in self.parts]
        return Composition(restated, slack=self.slack, adjacency=adjacency)

    # -- value semantics -----------------------------------------------------------------------------------------

    def _plain(self) -> JSON:
        return {"parts": [{"times": times, **part.to_dict()} for part, times in self.parts], "slack": self.slack}

    @classmethod
    def _from_plain(cls, fields: JSON) -> Guarantee:
        parts = [
            (Guarantee.from_dict({k: v for k, v in part.items() if k != "times"}), part["times"]) for part in fields["parts"]
        ]
        return cls(parts, slack=fields["slack"], adjacency=fields.get("adjacency"))

    def __str__(self) -> str:
        listed = " + ".join(f"{times} × {part}" if times > 1 else str(part) for part, times in self.parts)
        return (listed or "nothing released") + (f", total-variation slack {self.slack:.3g}" if self.slack else "")


def _plus(delta: float, failure: float) -> float:
    return up(delta + failure) if failure else delta


@overload
def compose(guarantees: Iterable[Guarantee], *, slack: float = 0.0) -> Composition: ...
@overload
def compose(guarantees: Iterable[MetricDP], *, slack: float = 0.0) -> MetricDP: ...
def compose(guarantees: Iterable[Guarantee] | Iterable[MetricDP], *, slack: float = 0.0) -> Composition | MetricDP:
    """Compose a fixed list of guarantees (they may be adaptive; the list itself is fixed in advance).

    Metric claims compose among themselves, under one metric.

    >>> from gibbsafe.privacy import GaussianDP, PureDP
    >>> compose([GaussianDP(0.3), GaussianDP(0.4)]) == compose([GaussianDP(0.4), GaussianDP(0.3)])
    True
    >>> print(compose([GaussianDP(0.3), PureDP(0.1), PureDP(0.1)]))
    0.3-GDP + 2 × 0.1-DP
    """
    parts = list(guarantees)
    if parts and all(isinstance(part, MetricDP) for part in parts):
        if slack:
            fail("slack", slack, "0 for metric claims")
        return compose_metric([part for part in parts if isinstance(part, MetricDP)])
    return Composition([(part, 1) for part in parts], slack=slack)  # type: ignore[misc]
