"""The attacker's view of a guarantee: how much better than guessing the best membership attacker does."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Guarantee

__all__ = ["AttackView", "attack_view", "true_positive_rates"]


#: Rates of false alarms at which the best attacker's successes are stated.
FALSE_ALARMS = (0.001, 0.01, 0.1)


@dataclass(frozen=True)
class AttackView:
    """Upper bounds for an attacker who knows everything but whether one record is in the data.

    Attributes:
        advantage: true-positive minus false-positive rate.
        right_guesses: share of right guesses when membership is a fair coin: ½(1 + advantage), ½ for pure guessing.
        true_positive_rates: pairs (false-positive rate, largest true-positive rate).
    """

    advantage: float
    right_guesses: float
    true_positive_rates: tuple[tuple[float, float], ...]

    def to_dict(self) -> JSON:
        """Return plain data."""
        rates = [{"false_positive_rate": false, "true_positive_rate": true} for false, true in self.true_positive_rates]
        return {"advantage": self.advantage, "right_guesses": self.right_guesses, "true_positive_rates": rates}


@lru_cache(maxsize=32)
def attack_view(guarantee: Guarantee) -> AttackView:
    """Return what the best attacker gains under a guarantee.

    >>> from gibbsafe.privacy import GaussianDP
    >>> round(attack_view(GaussianDP(0.5)).right_guesses, 4)
    0.5987
    """
    advantage = guarantee.advantage()
    rates = true_positive_rates(guarantee, np.array(FALSE_ALARMS)).tolist()
    return AttackView(advantage, min(1.0, (1 + advantage) / 2), tuple(zip(FALSE_ALARMS, rates, strict=True)))


def true_positive_rates(guarantee: Guarantee, false_positive_rates: Floats) -> Floats:
    """Return upper bounds on the best attacker's true-positive rate at many false-positive rates at once.

    Every ε gives the line δ(ε) + e^ε α and its mirror image; the least over a grid of ε is returned. Where the guarantee implies
    μ-GDP, Φ(Φ⁻¹(α) + μ) is a bound as well.
    """
    alphas = np.asarray(false_positive_rates, dtype=np.float64)
    epsilons = np.append(0.0, 10.0 ** np.arange(-6, 2.01, 0.05))
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in epsilons])
    lines = deltas[:, None] + np.exp(epsilons)[:, None] * alphas
    mirrored = 1 - np.exp(-epsilons)[:, None] * np.maximum(0.0, 1 - deltas[:, None] - alphas)
    best = np.minimum(lines, mirrored).min(axis=0)
    with contextlib.suppress(PremiseError):
        best = np.minimum(best, [guarantee.gaussian().true_positive_rate(float(alpha)) for alpha in alphas])
    return np.asarray(np.minimum(1.0, best * (1 + 2.0**-48)))
