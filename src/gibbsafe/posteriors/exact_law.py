"""A law over finitely many points with whole-number weights: no floating point.

A claim without δ about a discrete law allows no rounding at all: inverting a cumulated sum of doubles moves every mass by up to
2⁻⁵³, so a mass below that may vanish on one data set and not on its neighbour. Here a weight is m·2ᵉ for whole numbers m and e,
and `gibbsafe.samplers.trimmed.discrete` draws a point with probability *exactly* proportional to it. What rounding is left is
that of the weights themselves, at most 2^(3−bits) in the logarithm of each (`weight_error`); whoever claims something about the
law adds it to the price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from gibbsafe._validate import fail

__all__ = ["ExactLaw", "exact_law", "needed_bits", "weight_error"]


#: Bits of a machine word, in which weights are compared with random bits.
WORD = 64


def weight_error(bits: int) -> float:
    """Return an upper bound on |log weight − log asked for| of `exact_law` with weights of so many bits."""
    return 2.0 ** (3 - bits)


def needed_bits(width: float, share: float = 2.0**-52) -> int:
    """Return how many bits make rounding of weights a ``share`` of the range ``width`` of a claim.

    Neighbours D and D′ have log W(θ) − log W′(θ) with an error of two weights, and its range over θ that of four.

    >>> 4 * weight_error(needed_bits(0.001)) <= 0.001 * 2.0**-52
    True
    """
    if not width > 0:
        fail("width", width, "above 0")
    return max(WORD, 5 + math.ceil(-math.log2(width) - math.log2(share)) + 1)


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """A law over the points 0, …, K − 1 with weights ``mantissas[k]``·2^``exponents[k]``.

    ``mantissas`` lie in [2^(bits−1), 2^bits), and no exponent is above 0.
    """

    bits: int
    mantissas: tuple[int, ...]
    exponents: tuple[int, ...]

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The weights as exact numbers (for points of very small weight they take many digits)."""
        return tuple(Fraction(m, 2**-e) for m, e in zip(self.mantissas, self.exponents, strict=True))

    def word(self, point: int, index: int) -> int:
        """Return the ``index``-th 64 bits of a point's probability of acceptance, weight/2^bits < 1."""
        behind = self.bits - self.exponents[point] - WORD * (index + 1)  # bits of the expansion behind this word
        mantissa = self.mantissas[point]
        shifted = mantissa >> behind if behind >= 0 else mantissa << -behind
        return int(shifted & (2**WORD - 1))


def exact_law(log_weights: Sequence[Fraction], bits: int = WORD) -> ExactLaw:
    """Return the law with these log weights (any constant may be added to all of them), each to within `weight_error`.

    log w = (q + f) ln 2 with a whole q and f in [0, 1): the mantissa is 2^(bits−1)·2^f, cut to a whole number, a relative error
    of 2^(1−bits). q + f and 2^f are computed in decimal arithmetic, correctly rounded at every step, with so many digits that all
    other errors together stay below 2^−bits.
    """
    top = max(log_weights)
    largest = max(float(top - each) for each in log_weights)
    digits = math.ceil(bits * math.log10(2)) + len(str(math.ceil(largest))) + 6
    context = Context(prec=digits, Emax=10**9, Emin=-(10**9), traps=[])
    ln2 = context.ln(Decimal(2))
    mantissas, exponents = [], []
    for each in log_weights:
        below = each - top
        halvings = context.divide(context.divide(Decimal(below.numerator), Decimal(below.denominator)), ln2)
        q = int(halvings.to_integral_value(ROUND_FLOOR))
        power = context.exp(context.multiply(context.subtract(halvings, Decimal(q)), ln2))
        mantissa = int(context.multiply(power, Decimal(2 ** (bits - 1))))
        mantissas.append(min(max(mantissa, 2 ** (bits - 1)), 2**bits - 1))
        exponents.append(q)
    return ExactLaw(bits, tuple(mantissas), tuple(exponents))
