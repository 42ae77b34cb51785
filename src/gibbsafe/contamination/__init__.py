"""Huber contamination for private posteriors of unbounded data: models, sampling, and ε estimated by simulation.

What is estimated here is *random* differential privacy: for most data sets of a model. For a worst-case guarantee on unbounded
data see `gibbsafe.models.WelschLocation`.
"""

from gibbsafe.contamination import theory
from gibbsafe.contamination.epsilon.assumptions import efficiency_loss, fisher_information, prior_mass_far, prior_mass_near
from gibbsafe.contamination.epsilon.estimate import estimate_epsilon, estimate_from_dict
from gibbsafe.contamination.epsilon.repeats import epsilon_of
from gibbsafe.contamination.epsilon.tuning import Curve, choose_n, choose_rate, confirmed_n, confirmed_rate, epsilon_curve
from gibbsafe.contamination.model.densities import (
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
from gibbsafe.contamination.model.likelihoods import AsymmetricLaplace, CauchyNoise, Likelihood, LogisticLabel, NormalNoise
from gibbsafe.contamination.model.models import ContaminatedModel, ContaminatedNormalMean, Records, default_rate
from gibbsafe.contamination.model.own import OwnModel
from gibbsafe.contamination.model.regressions import (
    ContaminatedCauchyRegression,
    ContaminatedLinearRegression,
    ContaminatedLogisticRegression,
    ContaminatedQuantileRegression,
)
from gibbsafe.contamination.posterior.sampling import PosteriorDraws, sample_posterior
from gibbsafe.contamination.posterior.trimmed import TrimmedMean
from gibbsafe.contamination.release.certificate import EstimatedCertificate
from gibbsafe.contamination.release.files import check_estimated, plan_from_dict
from gibbsafe.contamination.release.plans import EstimatedPlan, plan_estimated
from gibbsafe.contamination.release.releases import EstimatedRelease, release_estimated
from gibbsafe.contamination.release.tables import Table

#: Names of the first edition, kept for a version: the classes of `gibbsafe.models` are others.
CauchyRegression = ContaminatedCauchyRegression
LinearRegression = ContaminatedLinearRegression
LogisticRegression = ContaminatedLogisticRegression
NormalMean = ContaminatedNormalMean
QuantileRegression = ContaminatedQuantileRegression

__all__ = [
    "Asserted",
    "AsymmetricLaplace",
    "Cauchy",
    "CauchyNoise",
    "CauchyRegression",
    "CentredAtTruth",
    "ContaminatedCauchyRegression",
    "ContaminatedLinearRegression",
    "ContaminatedLogisticRegression",
    "ContaminatedModel",
    "ContaminatedNormalMean",
    "ContaminatedQuantileRegression",
    "Curve",
    "Density",
    "Envelope",
    "EstimatedCertificate",
    "EstimatedPlan",
    "EstimatedRelease",
    "Likelihood",
    "LinearRegression",
    "LogisticLabel",
    "LogisticRegression",
    "Normal",
    "NormalMean",
    "NormalNoise",
    "OwnModel",
    "PosteriorDraws",
    "QuantileRegression",
    "Records",
    "StudentT",
    "Table",
    "TrimmedMean",
    "Truncated",
    "UniformLabels",
    "check_estimated",
    "choose_n",
    "choose_rate",
    "confirmed_n",
    "confirmed_rate",
    "default_rate",
    "efficiency_loss",
    "epsilon_curve",
    "epsilon_of",
    "estimate_epsilon",
    "estimate_from_dict",
    "fisher_information",
    "plan_estimated",
    "plan_from_dict",
    "prior_mass_far",
    "prior_mass_near",
    "release_estimated",
    "sample_posterior",
    "theory",
]
