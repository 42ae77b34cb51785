"""Export to `dp_accounting`, the accounting library of Google's differential-privacy team, and a cross-check by it.

An event carries no adjacency: it describes the curve that our guarantee implies, so it belongs into an accountant with
the default (add-or-remove) relation whatever adjacency our claim states; under replace-one `dp_accounting` would double
the sensitivity of the Gaussian once more. Pure and bounded-range claims are exported through zCDP, never through
randomised-response or exponential-mechanism events: accountants of `dp_accounting` price those without their count
(0.6.0: ten randomised responses cost one), which a test shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gibbsafe._extras import require_extra
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.blocks import BlockRanges
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
    BlockRanges: _event("ZCDpEvent", lambda g: g.concentrated().rho),
    BoundedRange: _event("ZCDpEvent", lambda g: g.concentrated().rho),
    PureDP: _event("ZCDpEvent", lambda g: g.concentrated().rho),
    Composition: _composed,
}


def to_dp_event(guarantee: Guarantee) -> Any:
    """Return a `dp_accounting` event that is at least as revealing as ``guarantee`` allows.

    A μ-GDP draw is ``GaussianDpEvent(1/μ)``; pure, bounded-range and concentrated claims are ``ZCDpEvent(ρ)``.
    """
    require_extra("accounting", "to_dp_event")
    if type(guarantee) not in _EVENTS:
        raise PremiseError(f"{guarantee}: no dp_accounting event describes it")
    return _EVENTS[type(guarantee)](guarantee)


def pld_epsilon(guarantee: Guarantee, delta: float) -> float:
    """Return ε at ``delta`` of a Gaussian claim as `dp_accounting`'s privacy-loss-distribution accountant computes it.

    That accountant discretises pessimistically, so its answer is an upper bound too, close to ours.
    """
    require_extra("accounting", "pld_epsilon")
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(to_dp_event(guarantee))
    return float(accountant.get_epsilon(delta))
