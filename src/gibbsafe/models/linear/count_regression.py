"""Regression of counts: negative binomial with a known dispersion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import count, fail, positive
from gibbsafe.domains.column import Column
from gibbsafe.losses.base import Loss
from gibbsafe.losses.exposed import LARGEST_COUNT, ExposedCountLoss, packed
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, Predicts, PredictsOutcomes, Simulates
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.linear.regressor import admitted, read_response

__all__ = ["CountRegression"]

#: Predictors beyond this are moved there before they are exponentiated: e^700 is a number.
LARGEST_PREDICTOR = 700.0
#: Means above this are simulated as this: no count of the cap's size is so large.
LARGEST_MEAN = 1e12


@register
@dataclass(frozen=True, kw_only=True)
class CountRegression(LinearModel, IsLikelihood, Predicts, PredictsOutcomes, Simulates):
    """Counts y in 0..``cap``, negative binomial with mean e^{xᵀθ} and size ``dispersion`` r (variance μ + μ²/r), both public.

    The loss is max(cap, r)-Lipschitz and (cap + r)/4-smooth in xᵀθ, with |f‴| ≤ f″ (`gibbsafe.losses.negative_binomial`). Every
    unit of the cap costs privacy: choose it near the largest count that matters. Counts above it are clipped; what is negative,
    fractional or missing is refused, or read as 0. A large r is nearly a Poisson likelihood, and costs as a cap of that size.

    ``exposure`` names a second column, of numbers above 0: the mean is then E·e^{xᵀθ}, as of counts over different times or
    areas. Records are ``(X, y)`` with y of two columns, counts and exposures, or a table. No constant depends on exposures; those
    beyond e^±28 are moved there. Predictions are per unit of exposure. See `LinearModel` for the rest.

    >>> model = CountRegression(dimension=2, cap=20, dispersion=4.0)
    >>> model.loss.lipschitz, model.loss.smoothness
    (20, 6.0)
    """

    name = "CountRegression"
    simulates_responses = True
    cap: int
    dispersion: float = 1.0
    exposure: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cap", count("cap", self.cap))
        object.__setattr__(self, "dispersion", positive("dispersion", self.dispersion))
        if self.exposure is not None:
            self._check_companion("exposure", self.exposure)
            if self.cap > LARGEST_COUNT:
                fail("cap", self.cap, f"at most {LARGEST_COUNT:,} with an exposure")

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        return {**super()._of_target(target), "cap": math.floor(target.interval.high)}

    @property
    def companion(self) -> Column | None:
        """The exposures."""
        return None if self.exposure is None else Column(self.exposure)

    @property
    def loss(self) -> Loss:
        """Negative binomial loss of the log mean."""
        plain = NegativeBinomialLoss(self.cap, self.dispersion)
        return plain if self.exposure is None else ExposedCountLoss(plain)

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        replacement = 0.0 if on_invalid == "replace" else None
        counted, exposed = response if isinstance(response, tuple) else (response, None)
        counts = read_response(counted, replacement)
        whole = (counts >= 0) & (counts == np.floor(counts))
        counts = np.minimum(
            admitted(counts, whole, replacement, f"{self.target}: a count is not a whole number from 0 on"), self.cap
        )
        if exposed is None:
            return counts
        exposures = read_response(exposed, None if replacement is None else 1.0)
        refusal = f"{self.exposure}: an exposure is not above 0"
        return packed(counts, admitted(exposures, exposures > 0, None if replacement is None else 1.0, refusal))

    def _extreme_responses(self) -> tuple[object, ...]:
        ends = 0.0, float(self.cap)
        return ends if self.exposure is None else tuple((end, exposure) for end in ends for exposure in (0.1, 10.0))

    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the mean count, per unit of exposure."""
        return np.asarray(np.exp(np.minimum(predictors, LARGEST_PREDICTOR)))

    def predict(self, features: object, draws: Floats) -> Floats:
        """Return the mean count of each row, per unit of exposure, averaged over draws in the user's units."""
        predictors = self.encode_features(features) @ self.from_original(draws).T
        return np.asarray(self.expected_outcomes(predictors).mean(axis=1))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return a synthetic count for each row of features, at most the cap; with an exposure, over a unit of it, beside 1."""
        means = np.minimum(self.predict(features, np.atleast_2d(draw)), LARGEST_MEAN)
        counts = generator.negative_binomial(self.dispersion, self.dispersion / (self.dispersion + means), rows)
        kept = np.minimum(counts, self.cap).astype(np.float64)
        return kept if self.exposure is None else np.column_stack([kept, np.ones(rows)])

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        more: JSON = {} if self.exposure is None else {"exposure": self.exposure}
        return self._declaration(cap=self.cap, dispersion=self.dispersion, **more)
