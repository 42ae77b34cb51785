"""Models: loss, prior and declared constants, one family per file. Adding a model is adding a file and a line here."""

from gibbsafe.models.logistic_regression import LogisticRegression
from gibbsafe.models.model import MODELS, Model, model_from_dict
from gibbsafe.models.prior import GaussianPrior

__all__ = ["MODELS", "GaussianPrior", "LogisticRegression", "Model", "model_from_dict"]
