"""The posterior of the true parameter as analysts meet it: draws, mean, intervals, and who decided what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import open_probability
from gibbsafe.population.result import Intervals
from gibbsafe.queries.query import FREE

__all__ = ["Population", "against", "decided"]

#: Shares from which on a parameter is said to be decided by the data, or partly so.
DECIDED, PARTLY = 0.9, 0.5
#: A parameter contradicts the prior when so many of its draws are farther out than so many typical parameters.
SURE, FAR, FAR_OWN = 0.95, 6.0, 3.0


def decided(draws: Floats, prior: Floats) -> Floats:
    """Return per parameter how much the data decided: 1 − (width of the posterior / width of the prior)², widths of 90 %."""
    widths = [np.subtract(*np.quantile(each, [0.95, 0.05], axis=0)) for each in (draws, prior)]
    return np.asarray(np.clip(1 - (widths[0] / np.maximum(widths[1], 1e-300)) ** 2, 0.0, 1.0))


def against(scaled: Floats, unit: float, own: Floats | None = None) -> tuple[bool, ...]:
    """Return which parameters lie where priors did not expect them: most draws (scaled units) beyond twice D's share.

    Those with a prior of their own: beyond `FAR_OWN` of its deviations.
    """
    reach = np.full(scaled.shape[1], FAR * unit)
    if own is not None:
        reach = np.where(own > 0, FAR_OWN / np.sqrt(np.where(own > 0, own, 1.0)), reach)
    return tuple(bool(each) for each in (np.abs(scaled) > reach).mean(axis=0) > SURE)


@dataclass(frozen=True, eq=False)
class Population:
    """Draws of the true parameter given everything released, in the user's units. Free: post-processing.

    Attributes:
        names: the parameters.
        draws: (draws, parameters).
        decided_by_data: per parameter, from 0 (the prior's word) to 1 (the data's).
        assumptions: what has to be true, in plain words.
        against_prior: per parameter, whether answers place it where the prior did not expect it; answers are followed.
    """

    names: tuple[str, ...]
    draws: Floats
    decided_by_data: Floats
    assumptions: tuple[str, ...]
    against_prior: tuple[bool, ...] = ()
    cost: str = FREE

    @property
    def mean(self) -> Floats:
        """The mean of the draws."""
        return np.asarray(self.draws.mean(axis=0))

    @property
    def sd(self) -> Floats:
        """The standard deviation of the draws."""
        return np.asarray(self.draws.std(axis=0, ddof=1))

    @property
    def positive(self) -> Floats:
        """The probability that each parameter is above 0."""
        return np.asarray((self.draws > 0).mean(axis=0))

    def interval(self, level: float = 0.9) -> Intervals:
        """Return the central interval of every parameter, widened where need be to hold the mean of the draws."""
        share = open_probability("level", level)
        lower, upper = np.quantile(self.draws, [(1 - share) / 2, (1 + share) / 2], axis=0)
        mean = self.mean
        parts = {"sd": self.sd, "decided_by_data": self.decided_by_data}
        return Intervals(
            share, self.names, np.minimum(lower, mean), np.maximum(upper, mean), parts, False, (*self.assumptions, *self.words())
        )

    def words(self) -> tuple[str, ...]:
        """Return which parameters the data say little about, or place against the prior; empty where they decide all."""
        little = [name for name, share in zip(self.names, self.decided_by_data, strict=True) if share < PARTLY]
        partly = [name for name, share in zip(self.names, self.decided_by_data, strict=True) if PARTLY <= share < DECIDED]
        lines = [("the data say little about", little), ("data and prior both speak of", partly)]
        lines.append(("the prior expected smaller values, and the data are followed, for", self._against()))
        return tuple(f"{words} {', '.join(listed)}" for words, listed in lines if listed)

    def _against(self) -> list[str]:
        return [name for name, against in zip(self.names, self.against_prior, strict=False) if against]

    def summary(self, level: float = 0.9) -> str:
        """Return a table: mean, standard deviation, interval, probability of a positive effect, share decided by the data."""
        found = self.interval(level)
        rows = [("parameter", "mean", "sd", f"{100 * found.level:g} % interval", "P(> 0)", "decided by data")]
        for k, name in enumerate(self.names):
            interval = f"{found.lower[k]:.4g} to {found.upper[k]:.4g}"
            share = f"{self.decided_by_data[k]:.0%}"
            rows.append((name, f"{self.mean[k]:.4g}", f"{self.sd[k]:.3g}", interval, f"{self.positive[k]:.3f}", share))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        table = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*table, *self.words(), *(f"assumes: {line}" for line in self.assumptions), f"cost: {self.cost}"])

    def to_dict(self) -> JSON:
        """Return mean, standard deviation, probabilities and shares as plain data."""
        return {
            "parameters": list(self.names),
            "mean": self.mean.tolist(),
            "sd": self.sd.tolist(),
            "positive": self.positive.tolist(),
            "decided_by_data": self.decided_by_data.tolist(),
            "against_prior": self._against(),
            "assumptions": list(self.assumptions),
            "cost": self.cost,
        }

    def __str__(self) -> str:
        return self.summary()
