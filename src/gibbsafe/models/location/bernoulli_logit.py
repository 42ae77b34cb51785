"""A proportion on the logit scale: Bernoulli data with a logit-normal prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_response
from gibbsafe.domains.column import Column, no_features
from gibbsafe.domains.labels import Labels, check_labels
from gibbsafe.domains.row_shape import RowShape
from gibbsafe.losses.base import Loss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.models.base import GibbsModel, register
from gibbsafe.models.capabilities import BoundedScores, HasCorners, IsLikelihood, ReadsColumns, Simulates, StatesRows
from gibbsafe.models.linear.classifier import labels_of
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants

__all__ = ["BernoulliLogit"]


@register
@dataclass(frozen=True, kw_only=True)
class BernoulliLogit(GibbsModel, IsLikelihood, BoundedScores, HasCorners, ReadsColumns, Simulates, StatesRows):
    """Outcomes y = ±1 with loss log(1 + e^{−yθ}) and a normal prior on the logit θ (Minami et al. 2016, Example 17).

    ``labels=(a, b)`` are declared; θ is the logit of the share of b. Two different outcomes differ by exactly θ in loss, since
    log(1 + e^{−θ}) − log(1 + e^{θ}) = −θ: the difference constant under replacement is 1, half of the 2L that the example uses,
    and equally 1 under addition or removal. Data: one column of labels, or a table with the column ``target``.

    >>> model = BernoulliLogit()
    >>> model.probability(np.array([[0.0], [2.0]])).round(3)
    array([0.5  , 0.881])
    """

    name = "BernoulliLogit"
    labels: tuple[object, object] = (0, 1)
    target: str = "y"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", check_labels(self.labels))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The logit."""
        return ("logit",)

    @property
    def loss(self) -> Loss:
        """Logistic loss of the margin yθ."""
        return LogisticLoss()

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return the constants; the difference of two records is linear in θ with slope 0 or ±1."""
        precision, public = float(prior_precision[0]), adjacency == Adjacency.REPLACE_ONE and n is not None
        return Constants(
            lipschitz=(float(rows_per_person),),
            difference_lipschitz=(float(rows_per_person),),
            convex=True,
            smoothness=self.loss.smoothness,
            prior_precision=precision,
            prior_smoothness=precision,
            n=n if public else None,
            maximum_n=n * rows_per_person if public and n is not None and rows_per_person > 1 else None,
            dimension=1,
        )

    @property
    def largest_score(self) -> float:
        """1: a row is ±1, and the logistic loss 1-Lipschitz."""
        return self.loss.lipschitz

    @property
    def row_shape(self) -> RowShape:
        """A constant 1, but for the label's sign."""
        return RowShape.of_constant(1.0)

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> GibbsPosterior:
        """Return the posterior of one stage on encoded records."""
        return self._gibbs_posterior(data, stage, centre)

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return outcomes as rows ±1."""
        outcomes = read_response(data, self.target)
        signs = Labels(*self.labels).encode(outcomes, options.on_invalid)
        return Blocks(signs[:, None].astype(options.storage))

    def corners(self) -> list[object]:
        """Return one outcome of each label."""
        return [np.array([label]) for label in self.labels]

    def probability(self, draws: Floats) -> Floats:
        """Return the share of the positive label that each draw stands for."""
        return np.asarray(expit(np.asarray(draws)[:, 0]))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic labels."""
        return Labels(*self.labels).decode(generator.random(rows) < expit(draw[0]))

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the model of a study's target column; it reads no features."""
        no_features(features, cls.name)
        labels = labels_of(target, cls.name)
        assert target is not None
        return cls(target=target.name, labels=labels, **options)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return {"name": self.name, "labels": list(self.labels), "target": self.target}
