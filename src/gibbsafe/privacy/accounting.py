"""Export to `dp_accounting`, the accounting library of Google's differential-privacy team, and a cross-check by it.

An event carries no adjacency: it describes the curve that our guarantee implies, under the adjacency that it states.
Bounded range is exported through zCDP, never through an exponential-mechanism event: where `dp_accounting` has one, its
`RdpAccountant` prices it without its count, so that a hundred draws would cost one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gibbsafe.errors import PremiseError
from gibbsafe.privacy.composition import Composition
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.proved import BoundedRange, ConcentratedDP, GaussianDP, PureDP

__all__ = ["pld_epsilon", "to_dp_event"]


def _composed(guarantee: Composition) -> Any:
    from dp_accounting import dp_event

    if guarantee.slack:
        raise PremiseError(f"{guarantee}: total-variation slack has no dp_accounting event")
    repeated = [dp_event.SelfComposedDpEvent(to_dp_event(part), times) for part, times in guarantee.parts]
    return dp_event.ComposedDpEvent(repeated)


def _event(name: str, *fields: Callable[[Any], float]) -> Callable[[Any], Any]:
    def build(guarantee: Guarantee) -> Any:
        from dp_accounting import dp_event

        return getattr(dp_event, name)(*(field(guarantee) for field in fields))

    return build


_EVENTS: dict[type[Guarantee], Callable[[Any], Any]] = {
    GaussianDP: _event("GaussianDpEvent", lambda g: 1 / g.mu if g.mu > 0 else math.inf),
    ConcentratedDP: _event("ZCDpEvent", lambda g: g.rho),
    BoundedRange: _event("ZCDpEvent", lambda g: g.concentrated().rho),
    PureDP: _event("RandomizedResponseDpEvent", lambda g: 2 / (1 + math.exp(g.pure_epsilon)), lambda g: 2),
    Composition: _composed,
}


def to_dp_event(guarantee: Guarantee) -> Any:
    """Return a `dp_accounting` event that is at least as revealing as ``guarantee`` allows.

    A μ-GDP draw is ``GaussianDpEvent(1/μ)``; a pure claim is randomised response on two values, its worst case.
    """
    if type(guarantee) not in _EVENTS:
        raise PremiseError(f"{guarantee}: no dp_accounting event describes it")
    return _EVENTS[type(guarantee)](guarantee)


def pld_epsilon(guarantee: Guarantee, delta: float) -> float:
    """Return ε at ``delta`` as `dp_accounting`'s privacy-loss-distribution accountant computes it (pessimistically)."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(NeighboringRelation.REPLACE_SPECIAL)  # the one that admits both kinds of event we export
    accountant.compose(to_dp_event(guarantee))
    return float(accountant.get_epsilon(delta))
