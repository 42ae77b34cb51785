"""Models: loss, prior and declared constants, one family per file. Adding a model is adding a file and a line here."""

from gibbsafe.models.bayesian_network import BayesianNetwork
from gibbsafe.models.bernoulli_logit import BernoulliLogit
from gibbsafe.models.beta_bernoulli import BetaBernoulli
from gibbsafe.models.categorical import Categorical
from gibbsafe.models.exponential_rate import ExponentialRate
from gibbsafe.models.finite_family import FiniteFamily
from gibbsafe.models.gaussian_mean import GaussianMean
from gibbsafe.models.kinked import Hinge, QuantileRegression
from gibbsafe.models.laplace_scale import LaplaceScale
from gibbsafe.models.linear_regression import LinearRegression
from gibbsafe.models.logistic_regression import LogisticRegression
from gibbsafe.models.markov_chain import MarkovChain
from gibbsafe.models.model import MODELS, GibbsModel, Model, model_from_dict
from gibbsafe.models.multivariate_normal_precision import MultivariateNormalPrecision
from gibbsafe.models.normal_precision import NormalPrecision
from gibbsafe.models.prior import GaussianPrior
from gibbsafe.models.pseudo_huber_regression import PseudoHuberRegression
from gibbsafe.models.soft_hinge import SoftHinge
from gibbsafe.models.soft_quantile_regression import SoftQuantileRegression
from gibbsafe.models.welsch_location import WelschLocation

__all__ = [
    "MODELS",
    "BayesianNetwork",
    "BernoulliLogit",
    "BetaBernoulli",
    "Categorical",
    "ExponentialRate",
    "FiniteFamily",
    "GaussianMean",
    "GaussianPrior",
    "GibbsModel",
    "Hinge",
    "LaplaceScale",
    "LinearRegression",
    "LogisticRegression",
    "MarkovChain",
    "Model",
    "MultivariateNormalPrecision",
    "NormalPrecision",
    "PseudoHuberRegression",
    "QuantileRegression",
    "SoftHinge",
    "SoftQuantileRegression",
    "WelschLocation",
    "model_from_dict",
]
