"""A release at a glance: what command line and report show of each parameter, and what a release cannot say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import choice, open_probability
from gibbsafe.errors import PremiseError
from gibbsafe.population.choice import intervals
from gibbsafe.population.result import Intervals
from gibbsafe.release import Release
from gibbsafe.theorems import Kind

__all__ = ["Overview", "overview"]


@dataclass(frozen=True, eq=False)
class Overview:
    """Each parameter's mean and spread, and where there are any its interval, chance of being positive and who decided it.

    Attributes:
        of: ``"population"``, the true parameter, or ``"draws"``, the released ones.
        names: the parameters.
        draws: (draws, parameters), those that are shown.
        intervals: of the true parameter, or the central ones of the draws; None where draws are too few for any.
        decided_by_data: per parameter, from 0 to 1; None where that is not known.
        notes: what a reader should know, in plain sentences.
        sampled: whether the draws are many, and draws of what ``of`` says; where not, their spread says nothing of it.
    """

    of: str
    names: tuple[str, ...]
    draws: Floats
    intervals: Intervals | None
    decided_by_data: Floats | None
    notes: tuple[str, ...]
    sampled: bool = True

    @property
    def mean(self) -> Floats:
        """The mean of the draws, inside its interval."""
        return np.asarray(self.draws.mean(axis=0))

    @property
    def sd(self) -> Floats | None:
        """The standard deviation of the draws, denominator N − 1; None where it says nothing."""
        return None if not self.sampled else np.asarray(self.draws.std(axis=0, ddof=1))

    @property
    def positive(self) -> Floats | None:
        """The share of draws above 0; None where it says nothing."""
        return None if not self.sampled else np.asarray((self.draws > 0).mean(axis=0))

    def to_dict(self) -> JSON:
        """Return plain data, one mapping from parameter to number each."""

        def named(values: Floats | None) -> JSON | None:
            return None if values is None else dict(zip(self.names, values.tolist(), strict=True))

        return {
            "of": self.of,
            "draws": len(self.draws),
            "mean": named(self.mean),
            "sd": named(self.sd),
            "intervals": None if self.intervals is None else self.intervals.to_dict(),
            "positive": named(self.positive),
            "decided_by_data": named(self.decided_by_data),
            "notes": list(self.notes),
        }


def overview(release: Release, level: float = 0.9, of: str | None = None) -> Overview:
    """Return what a release says of every parameter.

    By default it is about the true parameter, of everything that can say something of it; of draws that cannot, the draws
    themselves, with what would have to be planned. ``of="population"`` refuses these, ``of="draws"`` shows draws as they are.
    """
    share = open_probability("level", level)
    if of is not None:
        choice("of", of, ("population", "draws"))
    if of != "draws":
        try:
            return _of_truth(release, share)
        except PremiseError as error:
            if of == "population":
                raise
            return _of_draws(release, share, (f"no interval for the true parameter: {error}",))
    return _of_draws(release, share, ())


def _of_truth(release: Release, level: float) -> Overview:
    if release.plan.model.kind is Kind.GIBBS:
        found = release.population()
        return Overview("population", found.names, found.draws, found.interval(level), found.decided_by_data, found.words())
    known = intervals(release, level)
    return Overview("population", known.names, release.draws, known, None, (), sampled=False)


def _of_draws(release: Release, level: float, notes: tuple[str, ...]) -> Overview:
    draws, found = release.draws, None
    if enough := len(draws) * (1 - level) / 2 > 1 - 1e-9:  # a draw beyond either end
        lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        mean = draws.mean(axis=0)
        tempered = ("they describe the released posterior, which is wider than the data's uncertainty and pulled to the prior",)
        ends = np.minimum(lower, mean), np.maximum(upper, mean)
        found = Intervals(level, release.parameters, *ends, {}, False, tempered)
    return Overview("draws", release.parameters, draws, found, None, notes, sampled=enough)
