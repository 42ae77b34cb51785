"""The exact privacy profile of a draw from an untrimmed Beta posterior of 0/1 records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, digamma, expit, gammaln

from gibbsafe._numerics import FLOOR, up
from gibbsafe._types import Floats
from gibbsafe._validate import count, fail, positive
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.guarantee import Guarantee

__all__ = ["LARGEST_N", "BetaBernoulliDP", "beta_bernoulli_delta", "check_shape"]

#: Every number of successes is looked at, so n is limited.
LARGEST_N = 20_000
#: Prior shapes that the special functions carry; tests compare them with quadrature over this whole range.
SHAPES = (1e-12, 1e6)
#: Posterior shapes that they carry together; beyond it nothing is claimed (δ = 1).
LARGEST_TOTAL = 1e9
#: Error allowed to a tail: relative, more of it far out (`_relative_error`), and absolute where it is one minus the other tail.
TAIL_ERROR = 1e-10
COMPLEMENT_ERROR = 1e-14
#: Log-odds beyond which a tail is its leading term to the last digit (the next is smaller by e^{−LEADING} times a shape).
LEADING = 600.0
_FEW, _MANY = (np.polynomial.legendre.leggauss(nodes) for nodes in (4, 16))


def check_shape(name: str, value: float) -> float:
    """Return a prior's shape if the profile's numerics carry it."""
    low, high = SHAPES
    if not low <= value <= high:
        raise PremiseError(f"{name} = {value:g}: the exact profile covers prior shapes from {low:g} to {high:g}; declare a trim")
    return value


def _mean_digamma(x: Floats, width: Floats) -> Floats:
    """Return (ln Γ(x + h) − ln Γ(x))/h without the cancellation of that difference: the mean of ψ over [x, x + h].

    ψ(x) = ψ(x + 1) − 1/x takes the pole out; the rest is smooth on the scale of x + 1, so a few nodes are exact to rounding.
    """
    y = x + 1.0
    nodes, weights = _FEW if width.max(initial=0.0) <= 0.01 else _MANY
    smooth = sum(w / 2 * digamma(y + width * (1 + node) / 2) for node, w in zip(nodes, weights, strict=True))
    if np.any(width > y):
        smooth = np.where(width > y, (gammaln(y + width) - gammaln(y)) / width, smooth)
    return np.asarray(smooth - np.log1p(width / x) / width)


def _log_leading(shape: Floats, other: Floats, log_x: Floats) -> Floats:
    """Return the logarithm of x^a/(a·B(a, b)), the leading term of the tail of Beta(a, b) below a tiny x; at most 0."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(0.0, shape * (log_x + _mean_digamma(other, shape)) - gammaln(1 + shape)))


def _tail(below: Floats, above: Floats, log_odds: Floats) -> Floats:
    """Return P(logit θ > log_odds) for θ ~ Beta(below, above).

    Above the middle it is the lower tail of 1 − θ; below it the complement of θ's lower tail; far out each is read in logarithms
    from its leading term, which floating-point probabilities cannot hold.
    """
    answers: tuple[tuple[npt.NDArray[np.bool_], Callable[[Floats, Floats, Floats], object]], ...] = (
        (log_odds > LEADING, lambda a, b, u: np.exp(_log_leading(b, a, -u))),
        ((log_odds >= 0) & (log_odds <= LEADING), lambda a, b, u: betainc(b, a, expit(-u))),
        ((log_odds < 0) & (log_odds >= -LEADING), lambda a, b, u: betaincc(a, b, expit(u))),
        (log_odds < -LEADING, lambda a, b, u: -np.expm1(_log_leading(a, b, u))),
    )
    tail = np.full(log_odds.shape, math.nan)
    for where, answer in answers:
        if where.any():
            tail[where] = answer(below[where], above[where], log_odds[where])
    return tail


def _one_direction(a: Floats, b: Floats, power: float, epsilon: float) -> Floats:
    """Return an upper bound on ∫(p − e^ε q)₊ for p = Beta(a + power, b), q = Beta(a, b + power).

    The ratio p/q is a power of the odds, so the integral is p's upper tail minus e^ε times q's, both from the log-odds
    (ε + ln B(a + power, b)/B(a, b + power))/power. Errors of the tails count against the claim, in both of them; a tail that is
    not a number counts as 1 of p and 0 of q.
    """
    log_odds = epsilon / power + (_mean_digamma(a, np.array(power)) - _mean_digamma(b, np.array(power)))
    mine, theirs = _tail(a + power, b, log_odds), _tail(a, b + power, log_odds)
    slip = np.where(log_odds < 0, COMPLEMENT_ERROR, 0.0)
    most = np.nan_to_num(mine, nan=1.0) * (1 + _relative_error(mine)) + slip
    least = np.maximum(0.0, np.nan_to_num(theirs, nan=0.0) * (1 - _relative_error(theirs)) - slip)
    with np.errstate(divide="ignore"):
        taken = np.exp(np.minimum(epsilon + np.log(least), 1.0))
    # Where both tails are their leading terms, e^ε q's is b/(b + power) of p's: nothing has to be subtracted.
    leading = np.where(log_odds > LEADING, most * (power / (b + power)) * (1 + TAIL_ERROR), math.inf)
    return np.asarray(np.minimum(np.maximum(most - taken, most * TAIL_ERROR), leading))


def _relative_error(tail: Floats) -> Floats:
    """Return the allowance for a tail's relative error: logarithms of small tails are large numbers and round accordingly."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(TAIL_ERROR * (1 + np.nan_to_num(np.minimum(-np.log(tail), 1e3), nan=0.0) / 4))


def beta_bernoulli_delta(epsilon: float, *, a: float, b: float, n: int, inverse_temperature: float = 1.0) -> float:
    """Return δ(ε) of one draw from Beta(a + βk, b + β(n − k)), k of n records being 1, under replacement of one record.

    Neighbouring posteriors are Beta(α + β, γ) and Beta(α, γ + β) with α = a + βk, γ = b + β(n − 1 − k); their density ratio is a
    power of the odds, so each direction is a difference of two tails. The largest over k = 0, …, n − 1 and both directions is
    exact; an allowance for the error of the special functions is added. Shapes that they do not carry are answered by 1.

    >>> round(beta_bernoulli_delta(0.5, a=2.0, b=2.0, n=8), 8)
    0.16203505
    """
    if a + b + inverse_temperature * n > LARGEST_TOTAL:
        return 1.0
    k = np.arange(n, dtype=np.float64)
    ones, zeros = a + inverse_temperature * k, b + inverse_temperature * (n - 1 - k)
    sides = ((ones, zeros),) if a == b else ((ones, zeros), (zeros, ones))  # k ↔ n − 1 − k exchanges the directions
    both = (_one_direction(x, y, inverse_temperature, epsilon) for x, y in sides)
    return min(1.0, up(max(FLOOR, *(float(side.max()) for side in both))))


class BetaBernoulliDP(Guarantee):
    """One draw of a proportion from its untrimmed, tempered Beta posterior: exact profile, no finite ε at δ = 0.

    Holds for n records with values 0 and 1 under replace-one. Several draws compose by sharing ε (no Gaussian or concentrated
    claim is proved).
    """

    def __init__(
        self, a: float, b: float, n: int, inverse_temperature: float, *, adjacency: Adjacency | str | None = None
    ) -> None:
        if adjacency is not None and Adjacency.of(adjacency) != Adjacency.REPLACE_ONE:
            raise PremiseError(f"adjacency {adjacency}: the profile of Beta posteriors is one of replace-one, n being public")
        if count("n", n) > LARGEST_N:
            fail("n", n, f"at most {LARGEST_N:,}: the profile looks at every number of successes; declare a trim instead")
        super().__init__(
            adjacency,
            a=check_shape("a", positive("a", a)),
            b=check_shape("b", positive("b", b)),
            n=n,
            inverse_temperature=positive("inverse_temperature", inverse_temperature),
        )

    def _delta(self, epsilon: float) -> float:
        if math.isinf(epsilon):
            return 0.0
        return beta_bernoulli_delta(epsilon, **self.parameters)

    def _group(self, size: int) -> NoReturn:
        raise PremiseError(f"{self}: no profile is known for groups of {size} records")

    def __str__(self) -> str:
        p = self.parameters
        return f"profile of Beta({p['a']:g}, {p['b']:g}) posteriors at β = {p['inverse_temperature']:.6g}, n = {p['n']:,}"
