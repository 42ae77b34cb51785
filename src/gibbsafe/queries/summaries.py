"""Means, covariances, quantiles and credible intervals of the released posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gibbsafe._validate import open_probability
from gibbsafe.queries.query import Answer, ErrorBound, Query, Sample
from gibbsafe.theorems import Kind

__all__ = ["Covariance", "CredibleInterval", "Mean", "Quantile", "covariance", "credible_interval", "mean", "quantile"]

Names = str | Sequence[str] | None


@dataclass(frozen=True)
class Mean(Query):
    """The mean of each parameter: the response that minimises average squared distance."""

    parameters: Names = None

    @property
    def title(self) -> str:
        """The question in words."""
        return "posterior mean"

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return one mean per parameter."""
        names, columns = sample.select(self.parameters)
        return Answer(self.title, columns.mean(axis=0), sample.draws, names)


@dataclass(frozen=True)
class Covariance(Query):
    """The covariance matrix of the parameters (denominator N − 1)."""

    parameters: Names = None

    @property
    def title(self) -> str:
        """The question in words."""
        return "posterior covariance"

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return the matrix, rows and columns in the parameters' order."""
        sample.need_spread("covariance")
        names, columns = sample.select(self.parameters)
        return Answer(self.title, np.atleast_2d(np.cov(columns, rowvar=False)), sample.draws, names)


def _level_error(sample: Sample, failure: float, questions: int) -> ErrorBound:
    """Return the Dvoretzky–Kiefer–Wolfowitz bound: every level of one parameter at once is as near as one average.

    Interpolating between draws moves the level by at most another 1/N.
    """
    one = ErrorBound.of_average(sample.draws, failure, questions, "level of each quantile off by")
    return replace(one, bound=one.bound + 1 / sample.draws, reference="Dvoretzky, Kiefer, Wolfowitz; Massart")


@dataclass(frozen=True)
class Quantile(Query):
    """A quantile of each parameter: the response that minimises average pinball loss."""

    level: float
    parameters: Names = None

    def __post_init__(self) -> None:
        open_probability("level", self.level)

    @property
    def title(self) -> str:
        """The question in words."""
        return f"posterior {self.level:g}-quantile"

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return one quantile per parameter; its level is near the one asked for, by `ErrorBound`."""
        sample.need_spread("quantile")
        names, columns = sample.select(self.parameters)
        value = np.quantile(columns, self.level, axis=0)
        return Answer(self.title, value, sample.draws, names, _level_error(sample, failure, questions * len(names)))


@dataclass(frozen=True)
class CredibleInterval(Query):
    """The central interval of each parameter that holds a share of the draws, and their mean.

    Of released draws it describes the tempered posterior, which is wider than the data's uncertainty and pulled to the prior:
    for statements about the true parameter ask ``of="population"``, or use `Release.interval`.
    """

    level: float = 0.9
    parameters: Names = None

    def __post_init__(self) -> None:
        open_probability("level", self.level)

    @property
    def title(self) -> str:
        """The question in words."""
        return f"central {100 * self.level:g} %"

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return (low, high) per parameter."""
        sample.need_spread("credible_interval")
        names, columns = sample.select(self.parameters)
        tails = (1 - self.level) / 2
        lower, upper = np.quantile(columns, [tails, 1 - tails], axis=0)
        mean = columns.mean(axis=0)
        ends = np.column_stack([np.minimum(lower, mean), np.maximum(upper, mean)])
        question = f"{self.title} ({_whose(sample)})"
        return Answer(question, ends, sample.draws, names, _level_error(sample, failure, questions * len(names)))


def _whose(sample: Sample) -> str:
    """Say what the draws behind an interval are draws of."""
    if sample.of == "population":
        return "true parameter"
    if sample.model.kind is Kind.OWN:
        return "a chain's draws, not proved to be the posterior's"
    return "tempered posterior; for the true parameter see interval"


def mean(parameters: Names = None, *, of: str | None = None) -> Mean:
    """Ask for the posterior mean of all parameters, or of the named ones."""
    return Mean(parameters, of=of)


def covariance(parameters: Names = None, *, of: str | None = None) -> Covariance:
    """Ask for the posterior covariance matrix."""
    return Covariance(parameters, of=of)


def quantile(level: float, parameters: Names = None, *, of: str | None = None) -> Quantile:
    """Ask for a posterior quantile of each parameter."""
    return Quantile(level, parameters, of=of)


def credible_interval(level: float = 0.9, parameters: Names = None, *, of: str | None = None) -> CredibleInterval:
    """Ask for the central interval that holds a share ``level`` of the draws, and their mean."""
    return CredibleInterval(level, parameters, of=of)
