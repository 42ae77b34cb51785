"""What an account may spend, fixed when it is opened: a privacy filter.

An analyst who sees every release may choose the next one by what came before. The claim (ε, δ) then needs caps fixed before the
first release: μ_cap, Γ_cap and Δ_cap with

    gdp_delta(ε, μ_cap) + (1 + e^ε) Γ_cap + Δ_cap ≤ δ,

and a release is admitted iff Σμᵢ² ≤ μ_cap², Σγᵢ ≤ Γ_cap and Σδᵢ ≤ Δ_cap. Given the history, a μᵢ-GDP release is post-processing
of Brownian motion run for time μᵢ², and stopping before μ_cap² is post-processing of the whole path (Smith, Thakurta 2022); what
really ran and what the guarantees describe differ with probability at most Γ_cap, and the δᵢ add. **The claim is the budget
itself**, never the amount spent so far: a running sum tested against δ is unsound, and so is one quoted as an odometer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction

from gibbsafe._numerics import down, greatest, up
from gibbsafe._types import JSON
from gibbsafe._validate import choice, probability
from gibbsafe.errors import BudgetError
from gibbsafe.ledger.units import as_float, as_fraction, at_least, cap_units
from gibbsafe.privacy import Budget
from gibbsafe.privacy.profiles import gaussian_delta, slack_delta, zcdp_delta

__all__ = ["CURRENCIES", "Caps", "affordable_epsilon", "caps_for", "claimed_delta"]

#: What the main sum of an account adds up, by the name of its currency.
CURRENCIES = {"gaussian": "μ²", "zcdp": "ρ", "pure": "ε"}
#: Share of δ kept for total-variation slack and for the δᵢ of releases, half each.
DEFAULT_RESERVE = 0.1
#: Doubles beyond a cap that are tried as well.
NEIGHBOURS = 64


@dataclass(frozen=True)
class Caps:
    """Caps of an account in whole units: of its main sum, of the slacks γᵢ and of the δᵢ."""

    main: int
    slack: int
    failure: int

    def to_dict(self) -> dict[str, str]:
        """Return plain data; whole numbers of this size travel as text."""
        return {name: str(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: JSON) -> Caps:
        """Rebuild caps from `to_dict`'s data."""
        return cls(**{name: int(value) for name, value in data.items()})

    def shares(self, spent: Caps) -> dict[str, float]:
        """Return the share of each cap that is spent (0 where the cap is 0)."""
        pairs = ((name, getattr(spent, name), getattr(self, name)) for name in ("main", "slack", "failure"))
        return {name: float(Fraction(used, cap)) if cap else 0.0 for name, used, cap in pairs}


def caps_for(budget: Budget, currency: str, reserve: float | None = None) -> Caps:
    """Turn a budget into caps; ``reserve`` is the share of δ kept for slacks and δᵢ together (default one tenth).

    A pure account spends no δ on its main sum Σε ≤ ε, so that all of δ is kept for the others.

    >>> caps = caps_for(Budget(1.0, 1e-6), "gaussian")
    >>> round(as_float(caps.main) ** 0.5, 6), round(as_float(caps.failure), 15)
    (0.235501, 5e-08)
    """
    choice("currency", currency, CURRENCIES)
    if currency != "pure" and budget.delta == 0:
        raise BudgetError(f"delta = 0: no {currency} sum fits it; open the account with currency pure, or with a delta above 0")
    share = 1.0 if currency == "pure" else probability("reserve", DEFAULT_RESERVE if reserve is None else reserve)
    failure = down(budget.delta * share / 2)
    slack = down(down(failure) / up(slack_delta(budget.epsilon, 1.0)))
    rest = budget.delta
    if failure > 0:
        rest = (budget.delta - failure - up(slack_delta(budget.epsilon, slack))) * (1 - 2.0**-36)  # room for roundings
    caps = Caps(_main_cap(budget.epsilon, rest, currency), cap_units(slack), cap_units(failure))
    if Fraction(claimed_delta(budget.epsilon, currency, caps)) > Fraction(budget.delta):
        raise BudgetError(f"budget {budget}: no caps fit below it; choose a larger delta")
    return caps


def _main_cap(epsilon: float, delta: float, currency: str) -> int:
    if currency == "pure":
        return cap_units(epsilon)
    if currency == "zcdp":
        return cap_units(_last(lambda rho: zcdp_delta(epsilon, rho) <= delta))
    return cap_units(Fraction(_last(lambda mu: gaussian_delta(epsilon, mu) <= delta)) ** 2)


def _last(admitted: Callable[[float], bool]) -> float:
    """Return the greatest double that is admitted, looking a little beyond where the rounding of a profile may hide one.

    A plan that spends the whole budget found its parameter by another search: the cap must not be below it. Every number that is
    tried is admitted by the same upper bound on δ, so nothing rests on the search.
    """
    best = value = greatest(admitted)
    for _ in range(NEIGHBOURS if 0 < best < math.inf else 0):
        value = math.nextafter(value, math.inf)
        best = value if admitted(value) else best
    return best


def _root(square: Fraction) -> float:
    """Return the smallest double whose square is not below ``square``, up to one: exact where it is the square of a double."""
    root = math.sqrt(at_least(square))
    below = math.nextafter(root, 0.0)
    if Fraction(below) ** 2 >= square:
        return below
    return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)


def affordable_epsilon(left: Caps, currency: str, delta: float) -> float:
    """Return an ε such that one more release planned for (ε, ``delta``) fits into what is left of the main cap.

    A release that is Gaussian DP, in Gaussian and zCDP accounts; a pure one where ε itself is added up. It is what a release may
    cost, not what was spent: claims of several releases do not add up in ε.
    """
    main = as_fraction(left.main)
    if currency == "pure":
        return down(float(main))
    mu = down(math.sqrt(float(main if currency == "gaussian" else 2 * main)))
    return down(greatest(lambda epsilon: gaussian_delta(epsilon, mu) > delta)) if mu > 0 else 0.0


def claimed_delta(epsilon: float, currency: str, caps: Caps) -> float:
    """Return an upper bound on δ at ε of whatever an analyst does within the caps, to the last digit."""
    main = as_fraction(caps.main)
    if currency == "gaussian":
        profile = gaussian_delta(epsilon, _root(main))
    else:
        profile = 0.0 if currency == "pure" else zcdp_delta(epsilon, at_least(main))
    slack = slack_delta(epsilon, up(as_float(caps.slack))) if caps.slack else 0.0
    return at_least(Fraction(profile) + Fraction(slack) + as_fraction(caps.failure))
