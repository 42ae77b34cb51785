"""Models: loss, prior and declared constants, one family per file. Adding a model is adding a file and a line here."""

from gibbsafe.losses.own import OwnLoss, own_loss
from gibbsafe.models.base import MODELS, GibbsModel, Model, model_from_dict
from gibbsafe.models.families.bayesian_network import BayesianNetwork
from gibbsafe.models.families.beta_bernoulli import BetaBernoulli
from gibbsafe.models.families.categorical import Categorical
from gibbsafe.models.families.contingency_table import ContingencyTable
from gibbsafe.models.families.exponential_rate import ExponentialRate
from gibbsafe.models.families.finite_family import FiniteFamily
from gibbsafe.models.families.laplace_scale import LaplaceScale
from gibbsafe.models.families.markov_chain import MarkovChain
from gibbsafe.models.families.multivariate_normal_precision import MultivariateNormalPrecision
from gibbsafe.models.families.normal_precision import NormalPrecision
from gibbsafe.models.linear.count_regression import CountRegression
from gibbsafe.models.linear.kinked import Hinge, QuantileRegression
from gibbsafe.models.linear.linear_regression import LinearRegression
from gibbsafe.models.linear.logistic_regression import LogisticRegression
from gibbsafe.models.linear.multinomial_regression import MultinomialRegression
from gibbsafe.models.linear.ordinal_regression import OrdinalRegression
from gibbsafe.models.linear.own_loss import OwnLossRegression
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.linear.pseudo_huber_regression import PseudoHuberRegression
from gibbsafe.models.linear.soft_hinge import SoftHinge
from gibbsafe.models.linear.soft_quantile_regression import SoftQuantileRegression
from gibbsafe.models.linear.survival_regression import SurvivalRegression
from gibbsafe.models.location.bernoulli_logit import BernoulliLogit
from gibbsafe.models.location.gaussian_mean import GaussianMean
from gibbsafe.models.location.welsch_location import WelschLocation
from gibbsafe.models.own.custom import Custom
from gibbsafe.models.own.numpyro_models import from_numpyro
from gibbsafe.models.prior import GaussianPrior

__all__ = [
    "MODELS",
    "BayesianNetwork",
    "BernoulliLogit",
    "BetaBernoulli",
    "Categorical",
    "ContingencyTable",
    "CountRegression",
    "Custom",
    "ExponentialRate",
    "FiniteFamily",
    "GaussianMean",
    "GaussianPrior",
    "GibbsModel",
    "Hinge",
    "LaplaceScale",
    "LinearModel",
    "LinearRegression",
    "LogisticRegression",
    "MarkovChain",
    "Model",
    "MultinomialRegression",
    "MultivariateNormalPrecision",
    "NormalPrecision",
    "OrdinalRegression",
    "OwnLoss",
    "OwnLossRegression",
    "PseudoHuberRegression",
    "QuantileRegression",
    "SoftHinge",
    "SoftQuantileRegression",
    "SurvivalRegression",
    "WelschLocation",
    "from_numpyro",
    "model_from_dict",
    "own_loss",
]
