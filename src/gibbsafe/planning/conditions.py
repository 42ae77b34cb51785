"""What is refused or coarsened before a plan is made, from public numbers."""

from __future__ import annotations

import math

from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.stage import Stage

__all__ = ["MOST_RECORDS", "coarse", "require_conditioning"]

#: Largest curvature of the data beside the prior's precision, largest force in its deviations and largest sum of losses at its
#: centre that the shell sampler is trusted with, whatever the data; and the number of records for which that must hold where
#: theirs is private.
WORST_CONDITION, WORST_FORCE, WORST_SUM = 1e10, 1e9, 1e12
MOST_RECORDS = 10**8


def coarse(guess: int) -> int:
    """Return the power of four nearest to a guess of n in ratio: under add-remove n is private, and what a plan says is public.

    >>> [coarse(n) for n in (1, 2, 3, 1000, 2048, 2049)]
    [1, 1, 4, 1024, 1024, 4096]
    """
    power = 1
    while 2 * power < guess:
        power *= 4
    return power


def require_conditioning(loss: Loss, stages: tuple[Stage, ...], rows: int) -> None:
    """Refuse, from public numbers, posteriors on which the shell sampler's rounding could cost more than a tenth of a nat.

    The curvature of n records is at most βn·smoothness beside the prior's precision m, and their pull βn·Lip in units of 1/√m
    (docs/samplers.md, rounding lemma, §6). Where n is private the limits are those of `MOST_RECORDS`: a floor on m.
    """
    for stage in stages:
        beta, least = stage.inverse_temperature, min(stage.prior_precision)
        ratio, slope = beta * rows * loss.smoothness / least, beta * rows * loss.lipschitz
        force, far = slope / math.sqrt(least), 0.0 if loss.of_residual else slope * math.hypot(*(stage.prior_centre or ()))
        if ratio > WORST_CONDITION or force > WORST_FORCE:
            raise PremiseError(
                f"prior precision: {rows:,} records could outweigh it {ratio:.3g} times (limit {WORST_CONDITION:g}) or pull "
                f"{force:.3g} of its deviations away (limit {WORST_FORCE:g}); raise it"
            )
        if far > WORST_SUM:
            raise PremiseError(f"prior centre: {rows:,} losses there could sum to {far:.3g} (limit {WORST_SUM:g}); move it to 0")
