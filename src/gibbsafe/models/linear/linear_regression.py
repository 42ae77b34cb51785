"""Linear regression with squared loss on a parameter ball."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import fail, positive
from gibbsafe.domains.column import Column
from gibbsafe.domains.interval import Interval
from gibbsafe.losses.base import Loss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, Predicts, PredictsOutcomes, Simulates
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.linear.regressor import read_response
from gibbsafe.models.units import Units
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants

__all__ = ["LinearRegression", "squared_loss_difference"]


def squared_loss_difference(radius: float, largest: float, parameters: int) -> float:
    """Return sup |∇(ℓ(θ; x, y) − ℓ(θ; x′, y′))| for ℓ = ½(y − xᵀθ)², |x| ≤ 1, |y| ≤ Y, |θ| ≤ B in d parameters.

    d ≥ 2: 2√(1−s²)(Bs + Y) at s = (√(Y² + 8B²) − Y)/(4B): mirrored rows at the angle arccos s to ±θ. d = 1: B + Y + Y²/(4B) if
    Y ≤ 2B, else 2Y.

    >>> squared_loss_difference(1.0, 1.0, 2), squared_loss_difference(1.0, 1.0, 1)
    (2.598076211353316, 2.25)
    """
    B, Y = radius, largest
    if parameters == 1:
        return B + Y + Y * (Y / (4 * B)) if Y <= 2 * B else 2 * Y
    ratio = Y / B
    s = 2 / (ratio + math.sqrt(ratio**2 + 8))
    return 2 * math.sqrt(1 - s**2) * (B * s + Y)


@register
@dataclass(frozen=True, kw_only=True)
class LinearRegression(LinearModel, IsLikelihood, Predicts, PredictsOutcomes, Simulates):
    """A bounded numeric response with squared loss ½(y − xᵀθ)² on the ball |θ| ≤ B: Lipschitz only because all are bounded.

    Args:
        response_bounds: (low, high) of the response, public; responses are clipped to them.
        parameter_radius: B, in scaled units: rows, intercept included, have norm at most 1, and the response, in its own units,
            is measured from the middle of its bounds (from 0 without an intercept), so that |y| ≤ Y. Default √d·Y: rows that
            spread evenly have predictors of standard deviation |θ|/√d, which need not exceed Y. The price grows like B.

    On rows of norm at most 1 the gradient (xᵀθ − y)x is at most B + Y (addition or removal), and that of a difference at most
    `squared_loss_difference` (replacement). The loss is flat in every direction that rows miss, so only the prior's precision
    counts as strong convexity. Draws come from proximal rounds on the ball, or by name from certified Langevin steps projected
    onto it; replace-one only. For unbounded responses use `PseudoHuberRegression`.

    >>> model = LinearRegression(dimension=3, response_bounds=(0, 10))
    >>> model.ball, model.loss.lipschitz
    (10.0, 15.0)
    """

    name = "LinearRegression"
    simulates_responses = True
    response_bounds: tuple[float, float]
    parameter_radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.response_bounds, tuple | list) or len(self.response_bounds) != 2:
            fail("response_bounds", self.response_bounds, "a (low, high) pair")
        interval = Interval(*self.response_bounds)
        object.__setattr__(self, "response_bounds", (interval.low, interval.high))
        default = math.sqrt(self.parameters) * self.largest_response
        radius = default if self.parameter_radius is None else self.parameter_radius
        object.__setattr__(self, "parameter_radius", positive("parameter_radius", radius))

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        interval = target.interval
        return {**super()._of_target(target), "response_bounds": (interval.low, interval.high)}

    @property
    def loss(self) -> Loss:
        """Half the squared residual, at most B + Y in size."""
        return SquaredLoss(self.ball + self.largest_response)

    @property
    def response_centre(self) -> float:
        """What responses are measured from: the middle of the bounds, or 0 without an intercept to carry it."""
        low, high = self.response_bounds
        return low / 2 + high / 2 if self.intercept else 0.0

    @property
    def largest_response(self) -> float:
        """Y: the largest distance of a response from the centre."""
        return max(abs(bound - self.response_centre) for bound in self.response_bounds)

    @property
    def ball(self) -> float:
        """B."""
        assert self.parameter_radius is not None
        return self.parameter_radius

    @property
    def parameter_scale(self) -> float:
        """What makes the default prior radius the ball's."""
        return self.ball / (3 * math.sqrt(self.parameters))

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return constants of all parameters as one block: gradients depend on the parameter's norm."""
        common = super().constants(prior_precision, adjacency=adjacency, n=n, rows_per_person=rows_per_person)
        difference = squared_loss_difference(self.ball, self.largest_response, self.parameters)
        return replace(
            common,
            lipschitz=(rows_per_person * self.loss.lipschitz,),
            difference_lipschitz=(rows_per_person * difference,),
            prior_precision=(float(prior_precision.min()),),
        )

    @property
    def units(self) -> Units:
        """The joint scaling; the intercept also carries the response's centre."""
        return replace(super().units, centre=self.response_centre)

    @property
    def largest_dispersion(self) -> float:
        """The variance of responses at the ends of their bounds, where the loss declares 1."""
        return self.largest_response**2

    def follows(self, dispersion: float | None) -> str:
        """Return that responses are linear, with a variance of the user's or that of their bounds."""
        stated = "at most that of the response's bounds" if dispersion is None else f"at most {dispersion:g}"
        return f"responses are linear in the features with independent errors of variance {stated}"

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        middle = self.response_bounds[0] / 2 + self.response_bounds[1] / 2
        column = read_response(response, middle if on_invalid == "replace" else None)
        return Interval(*self.response_bounds).clip(column) - self.response_centre

    def _extreme_responses(self) -> tuple[object, ...]:
        return self.response_bounds

    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the response, measured from 0 again."""
        return predictors + self.response_centre

    def predict(self, features: object, draws: Floats) -> Floats:
        """Return the predictor of each row in the user's units, averaged over draws."""
        mean = self.from_original(draws).mean(axis=0)
        return self.expected_outcomes(np.asarray(self.encode_features(features) @ mean))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return a synthetic response for each row: the squared loss declares unit variance; clipped to the declared bounds."""
        responses = self.predict(features, np.atleast_2d(draw)) + generator.standard_normal(rows)
        return Interval(*self.response_bounds).clip(responses)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(response_bounds=list(self.response_bounds), parameter_radius=self.parameter_radius)
