"""Linear models of a response with several declared values, whose losses are functions of several linear predictors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats, Values
from gibbsafe._validate import fail
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.domains.column import Column
from gibbsafe.losses.joint import JointLoss
from gibbsafe.models.capabilities import IsLikelihood, Predicts, PredictsProbabilities, Simulates
from gibbsafe.models.families.states import check_states, encode_states, sample_states
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.posteriors.joint import JointPosterior
from gibbsafe.posteriors.stage import Stage

__all__ = ["JointModel"]

#: Numbers held at once when probabilities are averaged over draws: rows are taken in pieces.
AT_ONCE = 2**22


@dataclass(frozen=True, kw_only=True)
class JointModel(LinearModel, IsLikelihood, Predicts, PredictsProbabilities, Simulates):
    """One of at least three declared outcomes, by a loss of several predictors (`gibbsafe.losses.joint`).

    Posterior draws are certified Langevin steps, under replace-one; estimates are noisy scores, under both adjacencies.
    """

    simulates_responses = True

    @property
    @abstractmethod
    def outcomes(self) -> tuple[object, ...]:
        """The declared values of the response."""

    @property
    @abstractmethod
    def loss(self) -> JointLoss:
        """The loss of one record."""

    @abstractmethod
    def chances(self, rows: Floats, draws: Floats) -> Floats:
        """Return the probability (rows, draws, outcomes) of each outcome for encoded rows, by draws in scaled units."""

    @classmethod
    def _levels_of(cls, target: Column, *, instead: str) -> tuple[object, ...]:
        """Return the levels that a study's target column declares."""
        if target.levels is None or len(target.levels) < 3:
            fail("target", target.name, f"a column with levels = [...], at least three, for {cls.name}", instead)
        return target.levels

    def _check_outcomes(self, name: str, values: object, instead: str) -> tuple[object, ...]:
        """Return declared outcomes, three or more; two are another model's."""
        listed = check_states(name, values)
        if len(listed) < 3:
            fail(name, list(listed), "at least three", instead)
        return listed

    # -- what theorems and samplers ask -----------------------------------------------------------------------------

    @property
    def row_blocks(self) -> tuple[tuple[int, float], ...]:
        """All parameters together."""
        return ((self.parameters, 1.0),)

    def _block_precisions(self, prior_precision: Floats) -> list[float]:
        return [float(prior_precision.min())]

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> JointPosterior:
        """Return the posterior of one stage on encoded records."""
        return JointPosterior(data, self.loss, stage.inverse_temperature, np.array(stage.prior_precision), centre, self.ball)

    # -- records and predictions ----------------------------------------------------------------------------------------

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        return encode_states(response, self.outcomes, on_invalid, self.target, what="class").astype(np.float64)

    def _extreme_responses(self) -> tuple[object, ...]:
        return self.outcomes[0], self.outcomes[-1], self.outcomes[1]

    def predict_proba(self, features: object, draws: Floats) -> Floats:
        """Return the probability of each outcome per row, averaged over draws in the user's units."""
        rows, scaled = self.encode_features(features), self.from_original(draws)
        step = max(1, AT_ONCE // (len(scaled) * len(self.outcomes)))
        parts = [self.chances(rows[first : first + step], scaled).mean(axis=1) for first in range(0, len(rows), step)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.outcomes)))

    def predict(self, features: object, draws: Floats) -> Values:
        """Return the most probable outcome per row."""
        return self._decoded(self.predict_proba(features, draws).argmax(axis=1))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return a synthetic outcome for each row of features."""
        return self._decoded(sample_states(self.predict_proba(features, np.atleast_2d(draw)), generator))

    def _decoded(self, places: np.ndarray) -> Values:
        return np.asarray(np.array(self.outcomes)[places])
