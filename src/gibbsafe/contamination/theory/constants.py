"""The constants of Wong and Shen (1995) that Hu et al. (2026) use, from the two numbers that choose them (proof of Lemma 8)."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["WONG_SHEN", "WongShen"]


@dataclass(frozen=True)
class WongShen:
    """k and e^{τ/2}, and what follows: c₀ and c of Lemma 16, c₁ and c₂ of Lemma 8.

    >>> round(WONG_SHEN.c0, 5), round(WONG_SHEN.c1, 6), f"{WONG_SHEN.c2:.6g}", f"{WONG_SHEN.c:.5g}"
    (3.73525, 0.083333, '0.00121239', '0.00012276')
    """

    k: float = 2 / 3
    root: float = 5.0

    @property
    def c0(self) -> float:
        """(e^{τ/2} − 1 − τ/2)/(1 − e^{−τ/2})²."""
        return (self.root - 1 - math.log(self.root)) / (1 - 1 / self.root) ** 2

    @property
    def c1(self) -> float:
        """2(1 − ϱ − k/2), ϱ = 2e^{−τ/2}/(1 − e^{−τ/2})²: 1/12."""
        loss = 2 / self.root / (1 - 1 / self.root) ** 2
        return 2 * (1 - loss - self.k / 2)

    @property
    def c2(self) -> float:
        """(1 − k)k²/(32c₀ + 4k)."""
        return (1 - self.k) * self.k**2 / (32 * self.c0 + 4 * self.k)

    @property
    def c(self) -> float:
        """√3 k^{5/2}/(2¹⁰e^{τ/2}): 2^{−7.5}3^{−2}/5, where the paper prints 3^{−1.5} (E28)."""
        return float(math.sqrt(3) * self.k**2.5 / (2**10 * self.root))

    def c5(self, alpha: float) -> float:
        """min{c₁α/8, c₂}: the rate of Theorem 4's failure probability."""
        return min(self.c1 * alpha / 8, self.c2)


#: k = 2/3 and e^{τ/2} = 5.
WONG_SHEN = WongShen()
