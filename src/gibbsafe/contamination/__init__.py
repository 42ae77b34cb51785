"""Huber contamination for private posteriors of unbounded data: models, sampling, and ε estimated by simulation.

What is estimated here is *random* differential privacy: for most data sets of a model. For a worst-case guarantee on unbounded
data see `gibbsafe.models.WelschLocation`.
"""

from gibbsafe.contamination.assumptions import efficiency_loss, fisher_information, prior_mass_far, prior_mass_near
from gibbsafe.contamination.densities import (
    Asserted,
    Cauchy,
    CentredAtTruth,
    Density,
    Envelope,
    Normal,
    StudentT,
    Truncated,
    UniformLabels,
)
from gibbsafe.contamination.estimate import estimate_epsilon, estimate_from_dict
from gibbsafe.contamination.models import (
    CauchyRegression,
    ContaminatedModel,
    LinearRegression,
    LogisticRegression,
    NormalMean,
    QuantileRegression,
    Records,
    default_rate,
)
from gibbsafe.contamination.repeats import epsilon_of
from gibbsafe.contamination.sampling import PosteriorDraws, sample_posterior
from gibbsafe.contamination.trimmed import TrimmedMean
from gibbsafe.contamination.tuning import Curve, choose_n, choose_rate, epsilon_curve

__all__ = [
    "Asserted",
    "Cauchy",
    "CauchyRegression",
    "CentredAtTruth",
    "ContaminatedModel",
    "Curve",
    "Density",
    "Envelope",
    "LinearRegression",
    "LogisticRegression",
    "Normal",
    "NormalMean",
    "PosteriorDraws",
    "QuantileRegression",
    "Records",
    "StudentT",
    "TrimmedMean",
    "Truncated",
    "UniformLabels",
    "choose_n",
    "choose_rate",
    "default_rate",
    "efficiency_loss",
    "epsilon_curve",
    "epsilon_of",
    "estimate_epsilon",
    "estimate_from_dict",
    "fisher_information",
    "prior_mass_far",
    "prior_mass_near",
    "sample_posterior",
]
