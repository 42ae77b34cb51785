"""What follows from a model's kind: who sets the prior, how far rows reach, to which grid draws are rounded.

A kind that nobody planned for is refused; nothing falls back to the rule of another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.domains.row_shape import RowShape
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.models.capabilities import StatesRows
from gibbsafe.models.families.family import Family
from gibbsafe.models.own.custom import Custom
from gibbsafe.models.units import Units
from gibbsafe.posteriors.stage import Stage

__all__ = ["GibbsFacts", "default_radius", "describe_prior", "grid_of"]


def _unknown(model: Model) -> PremiseError:
    return PremiseError(f"{type(model).__name__}: of no kind that plans are made for; derive it from GibbsModel or Family")


@singledispatch
def default_radius(model: Model) -> float | None:
    """Return the prior radius of a plan that names none: D = 3√d in units of `parameter_scale`; None for a declared prior."""
    raise _unknown(model)


@default_radius.register
def _(model: GibbsModel) -> float:
    return 3 * math.sqrt(model.parameters) * model.parameter_scale


@default_radius.register
def _(model: Family) -> None:
    return None


@default_radius.register
def _(model: Custom) -> None:
    return None


@singledispatch
def grid_of(model: Model, stages: tuple[Stage, ...]) -> float:
    """Return the public rounding grid of the draws: a power of two, fine against noise and coarse against float error.

    It is below 2⁻³⁰ standard deviations of the tightest prior (scaled units), or 2⁻⁴⁰ of a family's `resolution`.
    """
    raise _unknown(model)


@grid_of.register
def _(model: GibbsModel, stages: tuple[Stage, ...]) -> float:
    return 2.0 ** math.floor(-30 - 0.5 * math.log2(max(max(stage.prior_precision) for stage in stages)))


@grid_of.register
def _(model: Family, stages: tuple[Stage, ...]) -> float:
    return 2.0 ** math.floor(math.log2(model.resolution) - 40)


@grid_of.register
def _(model: Custom, stages: tuple[Stage, ...]) -> float:
    """Below 2⁻³⁰ of the noise of the shortest step, of the parameter that moves least."""
    least = float(model.coordinates.reach.min())
    return 2.0 ** math.floor(-30 + math.log2(least) + 0.5 * math.log2(2 * min(stage.step or 1.0 for stage in stages)))


@singledispatch
def describe_prior(model: Model, stage: Stage) -> dict[str, object]:
    """Return the prior as a certificate states it: the normal one in the user's units, or the declared one."""
    raise _unknown(model)


@describe_prior.register
def _(model: GibbsModel, stage: Stage) -> dict[str, object]:
    precision = model.units.precision_to_original(np.array(stage.prior_precision))
    equal = np.allclose(precision, precision[0], rtol=1e-12)
    return {"family": "normal", "precision": precision[:1].tolist() if equal else precision.tolist()}


@describe_prior.register
def _(model: Family, stage: Stage) -> dict[str, object]:
    return {name: value for name, value in model.to_dict().items() if name in model.prior_fields}


@describe_prior.register
def _(model: Custom, stage: Stage) -> dict[str, object]:
    return dict(model.prior.to_dict())


@dataclass(frozen=True)
class GibbsFacts:
    """What rules take from a model with a chosen prior, read once for a plan."""

    loss: Loss
    ball: float | None
    row_blocks: tuple[tuple[int, float], ...]
    units: Units
    parameter_scale: float
    row_shape: RowShape | None
    own_precisions: Floats | None = None

    @classmethod
    def of(cls, model: Model) -> GibbsFacts:
        """Read them; a model whose prior is declared has none."""
        if not isinstance(model, GibbsModel):
            raise PremiseError(f"prior: that of {model.name} is part of its declaration")
        shape = model.row_shape if isinstance(model, StatesRows) else None
        return cls(model.loss, model.ball, model.row_blocks, model.units, model.parameter_scale, shape, model.own_precisions)

    def row_reach(self, prior_precision: Floats) -> float:
        """Return the largest Σ_j z_j²/m_j of an encoded row (scaled): how far rows reach in units of the prior."""
        if self.ball is not None:
            return 1 / float(prior_precision.min())
        ends = np.cumsum([columns for columns, _ in self.row_blocks])
        least = [float(block.min()) for block in np.split(prior_precision, ends[:-1])]
        return sum(length**2 / m for (_, length), m in zip(self.row_blocks, least, strict=True))
