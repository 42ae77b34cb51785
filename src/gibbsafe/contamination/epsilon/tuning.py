"""Choosing contamination or sample size for a target ε̂, and how ε̂ falls with n."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gibbsafe._validate import count, positive
from gibbsafe.contamination.epsilon.estimate import Simulated, estimate_epsilon, simulate
from gibbsafe.contamination.epsilon.quantiles import upper_order
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import EstimatedPrivacy

__all__ = ["Curve", "choose_n", "choose_rate", "confirmed_n", "confirmed_rate", "epsilon_curve", "fitted_exponent"]


def fitted_exponent(sizes: Sequence[float], epsilons: Sequence[float]) -> float:
    """Return the slope of log ε against log n by least squares.

    >>> round(fitted_exponent([100, 1000, 10000], [1.0, 0.1, 0.01]), 12)
    -1.0
    """
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(epsilons, dtype=np.float64))
    return float(np.polynomial.polynomial.polyfit(x, y, 1)[1])


@dataclass(frozen=True)
class Curve:
    """ε̂ against n, and the exponent that fits it; an extrapolation beyond the sizes simulated is a guess."""

    sizes: tuple[int, ...]
    estimates: tuple[EstimatedPrivacy, ...]
    exponent: float

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The estimates' ε̂."""
        return tuple(estimate.epsilon for estimate in self.estimates)


def epsilon_curve(model: ContaminatedModel, sizes: Sequence[int], **options: Any) -> Curve:
    """Estimate ε̂ at every size (options as for `estimate_epsilon`) and fit its exponent."""
    checked = tuple(count("sizes", size, least=2) for size in sizes)
    if len(set(checked)) < 2:
        raise PremiseError("sizes: an exponent needs two different sizes at least")
    estimates = tuple(estimate_epsilon(model, size, **options) for size in checked)
    return Curve(checked, estimates, fitted_exponent(checked, [e.epsilon for e in estimates]))


def _bisect(estimate: Callable[[float], EstimatedPrivacy], target: float, good: float, bad: float, steps: int) -> float:
    """Return the last point towards ``bad`` at which the estimate, remade there, still meets the target."""
    if estimate(good).epsilon > target:
        return math.nan
    if estimate(bad).epsilon <= target:
        return bad
    for _ in range(steps):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if estimate(middle).epsilon <= target else (good, middle)
    return good


def choose_rate(
    model: ContaminatedModel, n: int, epsilon: float, *, steps: int = 6, **options: Any
) -> tuple[float, EstimatedPrivacy]:
    """Return the least contamination rate p with ε̂ ≤ epsilon at n records, and the estimate made with it.

    ε̂ falls with p at first; later the posterior widens as fast as a record's influence shrinks, so nothing more is gained. The
    same seeds serve every p, so the search compares like with like: the estimate was chosen by, so publish one made anew
    (`confirmed_rate`). Refused where no p up to 0.9 is enough.
    """
    target = positive("epsilon", epsilon)

    @cache
    def at(logit: float) -> EstimatedPrivacy:
        return estimate_epsilon(replace(model, rate=1 / (1 + math.exp(-logit))), n, **options)

    tried = [math.log(p / (1 - p)) for p in (0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.9)]
    for bad, good in zip([tried[0], *tried], tried, strict=False):
        if at(good).epsilon <= target:
            found = _bisect(at, target, good, bad, steps)
            return 1 / (1 + math.exp(-found)), at(found)
    raise PremiseError(f"epsilon = {epsilon}: not reached at n = {n} by any contamination up to 0.9; use more records")


def choose_n(
    model: ContaminatedModel, epsilon: float, *, largest: int = 1_000_000, steps: int = 8, **options: Any
) -> tuple[int, EstimatedPrivacy]:
    """Return the least n (to the search's resolution) with ε̂ ≤ epsilon under the model's own rate, and its estimate."""
    target = positive("epsilon", epsilon)

    @cache
    def at(log_n: float) -> EstimatedPrivacy:
        return estimate_epsilon(model, math.ceil(math.exp(log_n)), **options)

    high = math.log(50)
    while high < math.log(largest) and at(high).epsilon > target:
        high += math.log(4)
    high = min(high, math.log(largest))
    found = _bisect(at, target, high, max(high - math.log(4), math.log(10)), steps)
    if math.isnan(found):
        raise PremiseError(f"epsilon = {epsilon}: not reached with n = {largest}; allow more records or contaminate more")
    return math.ceil(math.exp(found)), at(found)


#: Repeats and quantile of a search: their largest ε̂ stands for the quantile that is confirmed afterwards.
QUICK: dict[str, Any] = {"repeats": 30, "quantile": 0.9, "confidence": 0.95}
#: How often a choice is confirmed with new data sets; each try has its share of the doubt.
TRIES = 3


def _confirmed(
    choose: Callable[[float], Any], simulated: Callable[[Any, int, float], Simulated], target: float, confidence: float, seed: int
) -> tuple[Any, Simulated]:
    """Choose by a quick search, then estimate anew from seeds that the search never saw, and again a little safer if above.

    Whichever of the tries is kept, all of them together err with probability at most 1 − confidence: each is at 1 − (1−c)/3.
    """
    level, aim = 1 - (1 - confidence) / TRIES, 0.97 * target
    for k in range(1, TRIES + 1):
        chosen = choose(aim)
        found = simulated(chosen, seed + k, level)
        if found.estimate.epsilon <= target:
            return chosen, found
        aim *= 0.97 * target / found.estimate.epsilon
    raise PremiseError(
        f"epsilon = {target:g}: not met by the choice in {TRIES} estimates with new data sets "
        f"(the last is {found.estimate.epsilon:.4g}); name the rate, or use more records"
    )


def confirmed_rate(
    model: ContaminatedModel,
    n: int,
    epsilon: float,
    *,
    repeats: int = 1000,
    quantile: float = 0.99,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> tuple[float, Simulated]:
    """Return a rate found by a quick `choose_rate`, and an estimate with it from data sets that the choice never saw."""
    delta = options.pop("delta", None)

    def choose(aim: float) -> float:
        return choose_rate(model, n, aim, steps=4, seed=seed, delta=delta, **QUICK, **options)[0]

    def simulated(rate: float, fresh: int, level: float) -> Simulated:
        return simulate(replace(model, rate=rate), n, delta, repeats, quantile, confidence=level, seed=fresh, **options)

    upper_order(repeats, quantile, 1 - (1 - confidence) / TRIES)  # too few repeats are refused before a search
    return _confirmed(choose, simulated, positive("epsilon", epsilon), confidence, seed)


def confirmed_n(
    model: ContaminatedModel,
    epsilon: float,
    *,
    repeats: int = 1000,
    quantile: float = 0.99,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> tuple[int, Simulated]:
    """Return the number of records found by a quick `choose_n`, and an estimate with it from new data sets."""
    delta = options.pop("delta", None)

    def choose(aim: float) -> int:
        return choose_n(model, aim, steps=4, seed=seed, delta=delta, **QUICK, **options)[0]

    def simulated(n: int, fresh: int, level: float) -> Simulated:
        return simulate(model, n, delta, repeats, quantile, confidence=level, seed=fresh, **options)

    upper_order(repeats, quantile, 1 - (1 - confidence) / TRIES)
    return _confirmed(choose, simulated, positive("epsilon", epsilon), confidence, seed)
