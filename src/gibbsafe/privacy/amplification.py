"""Amplification: a record that is replaced by noise before it is used is better protected."""

from __future__ import annotations

import math

from gibbsafe._numerics import up
from gibbsafe._validate import open_probability
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.guarantee import Guarantee
from gibbsafe.privacy.proved import ApproximateDP

__all__ = ["amplify"]


def amplify(guarantee: Guarantee, keep_probability: float) -> ApproximateDP:
    """Return the guarantee when every record is kept with probability q and otherwise replaced by public noise.

    Couple the coins of two neighbours: with probability 1−q the differing record vanishes in both, so by joint convexity
    (ε, δ) becomes (ln(1 + q(e^ε − 1)), qδ) (Balle, Barthe, Gaboardi 2018). The claim must hold for every data set:
    Gaussian and concentrated claims are stated at one δ first, estimates are refused.

    >>> from gibbsafe.privacy import PureDP
    >>> print(amplify(PureDP(1.0), 0.5))
    (0.620115, 0)-DP
    """
    q = open_probability("keep_probability", keep_probability)
    pair = guarantee._pure() if isinstance(guarantee, Guarantee) else None
    if pair is None:
        raise PremiseError(f"{guarantee}: only a proved (epsilon, delta) claim is amplified; state it with approximate(delta)")
    epsilon, delta = pair
    amplified = math.log1p(q * math.expm1(epsilon)) if epsilon < 700 else epsilon
    return ApproximateDP(up(up(amplified)), up(q * delta), adjacency=guarantee.adjacency)
