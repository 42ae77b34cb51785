"""Exact draws of whole-number noise with mass ∝ e^{−β|e|}: random bits against whole-number weights, no floating point.

The noise is a difference of two independent geometric numbers g, P(g) ∝ e^{−βg}. Written as g = Σ_{j<J} b_j 2ʲ + 2ᴶh, the bits
b_j are independent with odds e^{−β2ʲ} : 1, and h counts how often an event of probability e^{−β2ᴶ} happens before it first fails.
J is such that β2ᴶ ≥ 1, so h is small. Each of these is a law over two points, drawn exactly
(`gibbsafe.samplers.trimmed.discrete`).

**What is rounded** are the logarithms of weights, by at most `weight_error` each. From g to g + s all bits may flip and h changes
by s/2ᴶ + 1 at most: the log ratio of two masses is off by at most 2(J + 2 + s/2ᴶ)·2·`weight_error`, below a share 2⁻⁵² of βs with
the bits that `needed_bits` is asked for; sums over pairs (g, g′) keep ratios. Theorem `fixed-normaliser` has room for that share.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.counts import CountsPosterior
from gibbsafe.posteriors.exact_law import ExactLaw, exact_law, needed_bits
from gibbsafe.samplers.closed_form import draw_exactly
from gibbsafe.samplers.trimmed.discrete import draw_positions

__all__ = ["draw_noise"]

#: Inverse temperatures above this are drawn as this, which is noisier: no draw of either is ever seen to differ from 0.
COLDEST = 2.0**40
#: Up to this many bits below the last part, numbers stay below 2⁶³ for certain.
SHORT = 40


def draw_noise(inverse_temperature: float, count: int, generator: np.random.Generator) -> Any:
    """Return independent whole numbers with mass ∝ e^{−β|e|}.

    >>> draw_noise(0.5, 5, np.random.default_rng(0)).tolist()
    [1, 6, 1, 1, -1]
    """
    both = _geometric(min(inverse_temperature, COLDEST), 2 * count, generator)
    return both[:count] - both[count:]


def _geometric(beta: float, count: int, generator: np.random.Generator) -> Any:
    """Return independent whole numbers g ≥ 0 with mass ∝ e^{−βg}."""
    bits = max(0, math.ceil(-math.log2(beta)))
    rate, width = Fraction(beta), needed_bits(beta, 2.0**-52 / (8 * (bits + 2)))
    total = np.zeros(count, dtype=np.int64 if bits <= SHORT else object)
    for j in range(bits):
        law = exact_law([Fraction(0), -rate * 2**j], width)
        total += draw_positions(law, count, generator).astype(total.dtype) * 2**j
    last, going = _before_failure(rate * 2**bits, width), np.arange(count)
    while going.size:
        going = going[draw_positions(last, len(going), generator) == 1]
        total[going] += 2**bits
    return total


def _before_failure(rate: Fraction, width: int) -> ExactLaw:
    """Return the law with weights 1 − e^{−x} (stop) and e^{−x} (go on), x = ``rate`` ≥ 1."""
    digits = math.ceil(width * math.log10(2)) + 30
    if float(rate) > digits * math.log(10):  # log(1 − e^{−x}) is 0 to all these digits
        return exact_law([Fraction(0), -rate], width)
    context = Context(prec=digits + 10)
    x = context.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    stop = context.ln(context.subtract(Decimal(1), context.exp(-x)))
    return exact_law([Fraction(stop), -rate], width)


@draw_exactly.register
def _(posterior: CountsPosterior, count: int, generator: np.random.Generator) -> Floats:
    """Move noise by the counts, in whole numbers."""
    cells = len(posterior.counts)
    noise = draw_noise(posterior.inverse_temperature, count * cells, generator).reshape(count, cells)
    return np.asarray(noise + posterior.counts.astype(np.int64), dtype=np.float64)
