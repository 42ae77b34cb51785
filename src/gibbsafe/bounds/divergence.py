"""How far two posteriors are apart, as a function of how far their data sets are apart (Dimitrakakis et al. 2017, Theorem 7)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from gibbsafe._numerics import half_square, up
from gibbsafe._types import JSON
from gibbsafe._validate import count, non_negative
from gibbsafe.privacy import BoundedRange
from gibbsafe.theorems import stochastic_lipschitz

__all__ = ["PosteriorGap", "lipschitz_gap", "range_gap", "stochastic_gap", "total_variation_of"]


@dataclass(frozen=True)
class PosteriorGap:
    """Upper bounds on the divergence of all draws from two posteriors: KL and total variation, sharpened and as in the paper."""

    kl: float
    total_variation: float
    kl_paper: float
    total_variation_paper: float

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self)


def total_variation_of(kl: float) -> float:
    """Return the better of Pinsker's √(KL/2) and Bretagnolle and Huber's 1 − ½e^{−KL}: an upper bound on total variation.

    >>> total_variation_of(0.02), round(total_variation_of(3.0), 4)
    (0.10000000000000009, 0.9751)
    """
    divergence = non_negative("kl", kl)
    return min(1.0, up(math.sqrt(divergence / 2)), up(1 - math.exp(-divergence) / 2))


def range_gap(width: float, draws: int = 1) -> PosteriorGap:
    """Return the gap of N draws where the log-likelihood difference varies by at most r over the parameters.

    KL ≤ Nr²/8; one draw has total variation at most tanh(r/4), several at most δ(0) of their composition. The paper has KL ≤ Nr.
    """
    r, times = non_negative("width", width), count("draws", draws)
    kl, paper = times * half_square(r, 1 / 8), up(times * r)
    single = BoundedRange(r)
    tv = single.total_variation() if times == 1 else min(total_variation_of(kl), single.compose(times).delta(0.0))
    return PosteriorGap(min(kl, paper), min(tv, 1.0), paper, total_variation_of(paper))


def lipschitz_gap(lipschitz: float, distance: float, draws: int = 1) -> PosteriorGap:
    """Return the gap of data sets at distance ρ where log p_θ(x) is L-Lipschitz in x for every θ (Theorem 7.1).

    The paper has KL ≤ 2Lρ; a Lipschitz likelihood has range at most 2Lρ, so KL ≤ (Lρ)²/2 and TV ≤ tanh(Lρ/2).

    >>> gap = lipschitz_gap(1.0, 0.1)
    >>> round(gap.kl, 6), round(gap.kl_paper, 6)
    (0.005, 0.2)
    """
    return range_gap(up(2 * non_negative("lipschitz", lipschitz) * non_negative("distance", distance)), draws)


def stochastic_gap(*, rate: float, floor: float, ratio: float, distance: float, draws: int = 1) -> PosteriorGap:
    """Return the gap under the stochastic Lipschitz assumption (c, L₀) with likelihood ratio C (Theorem 7.2, erratum E9).

    KL ≤ 2NC(L₀ + 1/c)ρ for any c > 0, where the paper has NC(1 + 2L₀ + 1/c)ρ and needs c > 1.
    """
    times = count("draws", draws)
    kl = up(times * stochastic_lipschitz.kl_bound(rate=rate, floor=floor, ratio=ratio, distance=distance))
    paper = up(times * ratio * (1 + 2 * floor + 1 / rate) * distance)
    return PosteriorGap(kl, total_variation_of(kl), paper, total_variation_of(paper))
