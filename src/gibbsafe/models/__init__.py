"""Models: loss, prior and declared constants, one family per file. Adding a model is adding a file and a line here."""

from gibbsafe.models.bernoulli_logit import BernoulliLogit
from gibbsafe.models.gaussian_mean import GaussianMean
from gibbsafe.models.kinked import Hinge, QuantileRegression
from gibbsafe.models.linear_regression import LinearRegression
from gibbsafe.models.logistic_regression import LogisticRegression
from gibbsafe.models.model import MODELS, GibbsModel, Model, model_from_dict
from gibbsafe.models.prior import GaussianPrior
from gibbsafe.models.pseudo_huber_regression import PseudoHuberRegression
from gibbsafe.models.soft_hinge import SoftHinge
from gibbsafe.models.soft_quantile_regression import SoftQuantileRegression

__all__ = [
    "MODELS",
    "BernoulliLogit",
    "GaussianMean",
    "GaussianPrior",
    "GibbsModel",
    "Hinge",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "PseudoHuberRegression",
    "QuantileRegression",
    "SoftHinge",
    "SoftQuantileRegression",
    "model_from_dict",
]
