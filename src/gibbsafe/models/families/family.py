"""Families: a likelihood whose prior is part of the declaration, so that the posterior has a closed form.

A family's prior keeps to parameters where the log-likelihood of one record varies little (Dimitrakakis et al. 2017): the
posterior itself is then private, by the range of the log-likelihood difference over the trimmed parameters, for any number of
records. The plan may temper the likelihood by β as for every other model.

To add a family, copy `beta_bernoulli.py`: declaration and checks, `constants`, `encode`, `posterior`, the capabilities it has; a
posterior that is an `ExactPosterior` and, where its curve has a closed form, an `ExactCurve`
(`gibbsafe.posteriors.protocols`); and its draws (`gibbsafe.samplers.trimmed`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypedDict

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import Floats
from gibbsafe._validate import fail, real
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.models.base import Model, posterior_type
from gibbsafe.models.capabilities import HasCorners, ReadsColumns, Simulates
from gibbsafe.posteriors.protocols import ExactPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Metric, MetricDP
from gibbsafe.samplers.registry import Shape
from gibbsafe.theorems import Constants, Kind
from gibbsafe.theorems.lipschitz_metric import LipschitzMetric

__all__ = ["Family", "Ranges", "block_ranges", "check_trim", "ranges"]


def check_trim(name: str, trim: object, low: float, high: float) -> tuple[float, float]:
    """Return trim points (a, b) with low ≤ a < b ≤ high; refuse reversed ones and what lies outside the support."""
    if not isinstance(trim, tuple | list) or len(trim) != 2:
        fail(name, trim, "a pair (a, b) with a < b")
    a, b = (real(name, end) for end in trim)
    if not low <= a < b <= high:
        fail(name, (a, b), f"a pair (a, b) with {low:g} ≤ a < b ≤ {high:g}")
    return a, b


class Ranges(TypedDict):
    """How far a loss difference, and a single loss, vary over the parameters: as `Constants` states it."""

    difference_range: float | tuple[float, ...]
    loss_range: float | tuple[float, ...]


def ranges(replace: float, single: float, rows_per_person: int) -> Ranges:
    """Return the range constants of one person, from those of a replaced record and of an added one.

    A person with up to k records may be replaced by one with fewer: up to k replacements, or removals for the rest.
    """
    pair = replace if rows_per_person == 1 else max(replace, single)
    return {"difference_range": up(pair * rows_per_person), "loss_range": up(single * rows_per_person)}


def block_ranges(widths: Sequence[float], rows_per_person: int) -> Ranges:
    """Return the same per independent block of parameters: 2w for a replaced record, w for an added one, times the rows.

    All rows of a person may vary the same block, so each block's range is multiplied.
    """
    if len(widths) == 1:
        return ranges(2 * widths[0], widths[0], rows_per_person)
    single = tuple(up(width * rows_per_person) for width in widths)
    return {"difference_range": tuple(2 * width for width in single), "loss_range": single}


class Family(Model, HasCorners, ReadsColumns, Simulates):
    """A likelihood or bounded loss with a declared prior; draws are in the user's units."""

    kind = Kind.FAMILY
    #: Whether parameters are finitely many, so that no posterior is ever nearly normal.
    finite: ClassVar[bool] = False
    #: Which fields of the declaration describe the prior.
    prior_fields: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> ExactPosterior:
        """Return the posterior on encoded records, tempered by the stage's β."""

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """The metric on records under which the paper states this family's privacy."""

    @property
    @abstractmethod
    def resolution(self) -> float:
        """The smallest public length that matters: the width of the trimmed parameters."""

    @property
    def trimmed(self) -> bool:
        """Whether parameters keep to a trimmed set: all do unless a family says otherwise."""
        return True

    @property
    def ends(self) -> tuple[float, float] | None:
        """Between which ends every parameter lies; None where that does not describe the support."""
        return None

    def _shape(self) -> Shape:
        return Shape(posterior_type(type(self)), self.parameters, self.trimmed)

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a draw lies outside the trim."""
        if self.ends is None:
            return None
        low, high = self.ends
        room = grid + 1e-12 * max(abs(low), abs(high))
        return "a draw is outside the trim" if (draws < low - room).any() or (draws > high + room).any() else None

    # -- the paper's metric --------------------------------------------------------------------------------------

    def metric_constants(self) -> Constants:
        """Return the constants that the paper's theorems use, for one record per person."""
        return self.constants(np.empty(0), adjacency=Adjacency.REPLACE_ONE, n=None, rows_per_person=1)

    def metric_guarantee(self, inverse_temperature: float = 1.0) -> MetricDP:
        """Return the claim 2βL per unit of the family's metric (Theorem 8.1)."""
        return LipschitzMetric().metric_guarantee(self.metric_constants(), self.metric, inverse_temperature)
