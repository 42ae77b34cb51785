"""Every loss as its docstring writes it, in mpmath: one entry per loss, and whatever is tested of one is tested of all."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import CentredPseudoHuberLoss, CentredSoftPinballLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.narrow import NarrowPseudoHuberLoss
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss


@dataclass(frozen=True)
class Written:
    """A loss beside its formula f(loss, u, y); ``bend`` is where its curvature is largest at the target ``y``.

    ``lowest`` and ``highest`` are the ends of the targets; the loss's constants are attained at ``steepest``. ``bounded_below``
    says whether it is at least 0.
    """

    loss: Loss
    formula: Callable
    bend: float = 0.0
    y: float = 0.3
    lowest: float = -1e300
    highest: float = 1e300
    steepest: float = 0.3
    bounded_below: bool = True

    @property
    def width(self):
        return getattr(self.loss, "width", 1.0)


def logistic(loss, u, y):
    return mp.log1p(mp.exp(-u))


def soft_hinge(loss, u, y):
    return loss.width * mp.log1p(mp.exp((1 - u) / loss.width))


def pseudo_huber(loss, u, y):
    return loss.width**2 * (mp.sqrt(1 + ((y - u) / loss.width) ** 2) - 1)


def narrow_pseudo_huber(loss, u, y):
    return loss.bound / loss.width * pseudo_huber(loss, u, y)


def soft_pinball(loss, u, y):
    return loss.quantile * (y - u) + loss.width * mp.log1p(mp.exp((u - y) / loss.width))


def negative_binomial(loss, u, y):
    mean, size = mp.exp(u), mp.mpf(loss.dispersion)
    return size * mp.log1p(mean / size) + y * mp.log1p(size / mean)


def centred(formula):
    """The same, measured from its value at 0."""
    return lambda loss, u, y: formula(loss, u, y) - formula(loss, mp.mpf(0), y)


LISTED = [
    Written(LogisticLoss(), logistic),
    Written(SoftHingeLoss(0.5), soft_hinge, bend=1.0),
    Written(SoftHingeLoss(3.0), soft_hinge, bend=1.0),
    Written(PseudoHuberLoss(0.2), pseudo_huber, bend=0.3),
    Written(PseudoHuberLoss(2.0), pseudo_huber, bend=0.3),
    Written(NarrowPseudoHuberLoss(0.5, 2.0), narrow_pseudo_huber, bend=0.3),
    Written(SoftPinballLoss(0.1, 0.3), soft_pinball, bend=0.3),
    Written(SoftPinballLoss(0.7, 2.0), soft_pinball, bend=0.3),
    Written(CentredPseudoHuberLoss(2.0), centred(pseudo_huber), bend=0.3, bounded_below=False),
    Written(CentredSoftPinballLoss(0.7, 2.0), centred(soft_pinball), bend=0.3, bounded_below=False),
    Written(NegativeBinomialLoss(7, 1.0), negative_binomial, bend=0.0, y=3.0, lowest=0.0, highest=7.0, steepest=7.0),
    Written(NegativeBinomialLoss(20, 4.0), negative_binomial, bend=math.log(4.0), y=3.0, lowest=0.0, highest=20.0, steepest=20.0),
]
#: Every smooth loss by itself.
WRITTEN = {written.loss: written for written in LISTED}
