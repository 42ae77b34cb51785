"""The attacker's view of a guarantee: how much better than guessing the best membership attacker does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gibbsafe.privacy import Guarantee

__all__ = ["AttackView", "attack_view"]

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        rates = [{"false_positive_rate": false, "true_positive_rate": true} for false, true in self.true_positive_rates]
        return {"advantage": self.advantage, "right_guesses": self.right_guesses, "true_positive_rates": rates}


def attack_view(guarantee: Guarantee) -> AttackView:
    """Return what the best attacker gains under a guarantee.

    >>> from gibbsafe.privacy import GaussianDP
    >>> round(attack_view(GaussianDP(0.5)).right_guesses, 4)
    0.5987
    """
    advantage = guarantee.advantage()
    rates = tuple((rate, guarantee.true_positive_rate(rate)) for rate in FALSE_ALARMS)
    return AttackView(advantage, min(1.0, (1 + advantage) / 2), rates)
