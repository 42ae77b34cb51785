"""The exact privacy profile of a draw from an untrimmed Beta posterior of 0/1 records."""

from __future__ import annotations

import math
from typing import NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln, expit

from gibbsafe._numerics import up
from gibbsafe._validate import count, fail, positive
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.adjacency import Adjacency
from gibbsafe.privacy.guarantee import Guarantee

Array: TypeAlias = npt.NDArray[np.float64]

__all__ = ["BetaBernoulliDP", "beta_bernoulli_delta"]

#: Every number of successes is looked at, so n is limited.
LARGEST_N = 20_000
#: Relative error allowed to SciPy's incomplete beta function; tests compare it with mpmath.
TAIL_ERROR = 1e-10


def _one_direction(a: Array, b: Array, power: float, epsilon: float) -> Array:
    """Return ∫(p − e^ε q)₊ for p = Beta(a + power, b), q = Beta(a, b + power): the ratio grows with θ, so p's upper tail.

    Tails are read from below, at 1 − θ, which keeps its digits near θ = 1; beyond the floats p's tail is overstated.
    """
    log_odds = (epsilon + betaln(a + power, b) - betaln(a, b + power)) / power
    rest = np.maximum(expit(-log_odds), np.finfo(np.float64).tiny)
    mine, tail = betainc(b, a + power, rest), betainc(b + power, a, rest)
    theirs = tail * math.exp(min(epsilon, 700.0))  # too small a factor beyond 700: the difference is overstated
    return np.asarray(np.maximum(0.0, mine - theirs) + TAIL_ERROR * (mine + theirs))


def beta_bernoulli_delta(epsilon: float, *, a: float, b: float, n: int, inverse_temperature: float = 1.0) -> float:
    """Return δ(ε) of one draw from Beta(a + βk, b + β(n − k)), k of n records being 1, under replacement of one record.

    Neighbouring posteriors are Beta(α + β, γ) and Beta(α, γ + β) with α = a + βk, γ = b + β(n − 1 − k); their density ratio is a
    power of the odds, so each direction is a difference of two tails. The largest over k = 0, …, n − 1 and both directions is
    exact; an allowance for the error of the special functions is added.

    >>> round(beta_bernoulli_delta(0.5, a=2.0, b=2.0, n=8), 9)
    0.162035053
    """
    k = np.arange(n, dtype=np.float64)
    ones, zeros = a + inverse_temperature * k, b + inverse_temperature * (n - 1 - k)
    both = (_one_direction(x, y, inverse_temperature, epsilon) for x, y in ((ones, zeros), (zeros, ones)))
    return min(1.0, up(max(float(side.max()) for side in both)))


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
            a=positive("a", a),
            b=positive("b", b),
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
