"""Ordinal regression: the cumulative logit model of declared, ordered levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import fail, positive, real
from gibbsafe.domains.column import Column
from gibbsafe.losses.cumulative import CumulativeLoss
from gibbsafe.models.base import register
from gibbsafe.models.linear.joint import JointModel
from gibbsafe.models.units import Units

__all__ = ["OrdinalRegression", "ThresholdUnits"]

#: The distance that thresholds keep unless one is declared: this, or half of the least distance of those they start from.
USUAL_GAP = 0.5
#: The least gap, and how far from 0 a guess may be: what the rounding of scores is bounded by; beyond it a level is one in 5e8.
LEAST_GAP, FARTHEST = 0.05, 20.0


@dataclass(frozen=True, eq=False)
class ThresholdUnits(Units):
    """Coefficients by a factor each, then thresholds: start_k + unit·θ_k, and what the features' offset adds to all of them."""

    start: tuple[float, ...] = ()
    unit: float = 1.0

    @property
    def _features(self) -> int:
        return len(np.atleast_1d(self.scale))

    def _offset(self, coefficients: Floats) -> Floats:
        return np.asarray(coefficients @ (np.zeros(self._features) if self.offset is None else self.offset))[:, None]

    def to_original(self, scaled: Floats) -> Floats:
        """Return draws (rows) in the user's units."""
        draws = np.array(np.atleast_2d(scaled), dtype=np.float64)
        coefficients = draws[:, : self._features] * self.scale
        thresholds = np.array(self.start) + self.unit * draws[:, self._features :] + self._offset(coefficients)
        return np.column_stack([coefficients, thresholds])

    def from_original(self, original: Floats) -> Floats:
        """Return the inverse of `to_original`."""
        draws = np.array(np.atleast_2d(original), dtype=np.float64)
        coefficients = draws[:, : self._features]
        thresholds = draws[:, self._features :] - self._offset(coefficients) - np.array(self.start)
        return np.column_stack([coefficients / self.scale, thresholds / self.unit])

    def reach(self, draws: Floats) -> Floats:
        """Return, term by term, how large the sums in `from_original` grow."""
        size = np.abs(draws)
        coefficients = size[:, : self._features]
        offset = np.zeros(self._features) if self.offset is None else np.abs(self.offset)
        thresholds = size[:, self._features :] + (coefficients @ offset)[:, None] + np.abs(np.array(self.start))
        return np.column_stack([coefficients / self.scale, thresholds / self.unit])

    def _factors(self) -> Floats:
        return np.concatenate([np.atleast_1d(self.scale), np.full(len(self.start), self.unit)])

    def precision_to_original(self, scaled: Floats) -> Floats:
        """Return prior precisions in the user's units; a threshold's is that at the offset."""
        return np.asarray(scaled / self._factors() ** 2)

    def precision_from_original(self, original: Floats) -> Floats:
        """Return the inverse of `precision_to_original`."""
        return np.asarray(original / (1 / self._factors() ** 2))


@register
@dataclass(frozen=True, kw_only=True)
class OrdinalRegression(JointModel):
    """One of K ≥ 3 declared ``levels`` in their order: P(level > k) = σ(xᵀθ − τ_k), one θ and K − 1 thresholds τ.

    Parameters are the coefficients θ, then the thresholds. A positive coefficient means higher levels. ``thresholds`` is a public
    guess of where they lie for a record in the middle of its bounds (default: all levels equally likely), in increasing order;
    they are estimated, and the guess is where the prior has its centre. ``gap`` is the least distance that two thresholds are
    said to keep (default: half of the guess's least, at most 0.5); the loss is the likelihood where they do, and goes on as a
    convex function where they do not, so that scores are bounded (`gibbsafe.losses.cumulative`). The smaller the gap, the noisier
    thresholds are; coefficients hardly. A level that is not declared is refused, or read as the first. There is no intercept
    beside the thresholds. See `JointModel` for how it is drawn, and `LinearModel` for the rest.

    >>> model = OrdinalRegression(dimension=1, levels=("never", "sometimes", "often"))
    >>> model.parameter_names, tuple(round(x, 3) for x in model.thresholds), round(model.gap, 3)
    (('x0', 'never|sometimes', 'sometimes|often'), (-0.693, 0.693), 0.5)
    """

    name = "OrdinalRegression"
    levels: tuple[object, ...]
    thresholds: tuple[float, ...] | None = None
    gap: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.intercept:
            fail("intercept", self.intercept, "left out: thresholds stand in its place")
        levels = self._check_outcomes("levels", self.levels, "use LogisticRegression for two")
        object.__setattr__(self, "levels", levels)
        thresholds = self._check_thresholds(len(levels))
        object.__setattr__(self, "thresholds", thresholds)
        least = float(np.diff(thresholds).min())
        object.__setattr__(self, "gap", min(USUAL_GAP, least / 2) if self.gap is None else positive("gap", self.gap))
        assert self.gap is not None
        if not LEAST_GAP <= self.gap <= least * (1 + 1e-9):
            limits = f"from {LEAST_GAP:g} to the least distance of the thresholds ({least:g})"
            fail("gap", self.gap, limits, "declare thresholds farther apart, or merge levels")

    def _check_thresholds(self, levels: int) -> tuple[float, ...]:
        if self.thresholds is None:
            return tuple(math.log(k / (levels - k)) for k in range(1, levels))
        if not isinstance(self.thresholds, tuple | list) or len(self.thresholds) != levels - 1:
            fail("thresholds", self.thresholds, f"{levels - 1} numbers, one between each two levels")
        listed = tuple(real("thresholds", each) for each in self.thresholds)
        if any(after <= before for before, after in pairwise(listed)):
            fail("thresholds", list(listed), "in increasing order")
        if max(-listed[0], listed[-1]) > FARTHEST:
            fail("thresholds", list(listed), f"between {-FARTHEST:g} and {FARTHEST:g}")
        return listed

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        return {"levels": cls._levels_of(target, instead="for two use LogisticRegression")}

    @property
    def outcomes(self) -> tuple[object, ...]:
        """The levels, from the lowest up."""
        return self.levels

    @property
    def loss(self) -> CumulativeLoss:
        """Cumulative logistic loss."""
        assert self.thresholds is not None
        assert self.gap is not None
        return CumulativeLoss(self.thresholds, self.gap, self.domain.radius, self.row_scale)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Features in order, then the thresholds, each named by the levels on its two sides."""
        between = (f"{low}|{high}" for low, high in pairwise(self.levels))
        return (*self._named_features(), *between)

    def _of_parameters(self, of_features: Floats) -> Floats:
        return np.append(of_features, np.zeros(len(self.levels) - 1))

    @property
    def units(self) -> ThresholdUnits:
        """The joint scaling, and the affine map of the bounds, which moves all thresholds."""
        assert self.thresholds is not None
        scale = np.broadcast_to(np.asarray(self.domain.scale * self.row_scale), (self.dimension,))
        offset = np.broadcast_to(np.asarray(self.domain.offset), (self.dimension,))
        return ThresholdUnits(scale, offset, start=self.thresholds, unit=self.loss.step * self.row_scale)

    def chances(self, rows: Floats, draws: Floats) -> Floats:
        """Return differences of the cumulative probabilities; thresholds that noise put out of order are sorted."""
        return np.asarray(self.loss.chances(self.loss.predicted(rows, draws)))

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        assert self.thresholds is not None
        return self._declaration(levels=list(self.levels), thresholds=list(self.thresholds), gap=self.gap)
