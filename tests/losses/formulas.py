"""Every loss as its docstring writes it, in mpmath: one entry per loss, and whatever is tested of one is tested of all."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import CentredPseudoHuberLoss, CentredSoftPinballLoss
from gibbsafe.losses.exposed import UNIT, ExposedCountLoss
from gibbsafe.losses.log_logistic import CENSORED, LogLogisticLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.narrow import NarrowPseudoHuberLoss
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss

from .log_cosh import log_cosh


@dataclass(frozen=True)
class Written:
    """A loss beside its formula f(loss, u, y); ``bend`` is where its curvature is largest at the target ``y``.

    ``lowest`` and ``highest`` are the ends of the targets; the loss's constants are attained at ``steepest``. ``bounded_below``
    says whether it is at least 0, ``packed`` whether responses hold more than a number, so that nobody may move them.
    """

    loss: Loss
    formula: Callable
    bend: float = 0.0
    y: float = 0.3
    lowest: float = -1e300
    highest: float = 1e300
    steepest: float = 0.3
    bounded_below: bool = True
    packed: bool = False

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


def exposed(loss, u, y):
    count = mp.floor(mp.mpf(y) / UNIT)
    return negative_binomial(loss.base, u + mp.mpf(y) - UNIT * count - UNIT / 2, count)


def log_logistic(loss, u, y):
    event = y < CENSORED / 2
    v = (u - (mp.mpf(y) if event else mp.mpf(y) - CENSORED)) / loss.scale
    return mp.log1p(mp.exp(-v)) + (mp.log1p(mp.exp(v)) if event else 0)


def log_cosh_formula(loss, u, y):
    return mp.log(mp.cosh(y - u))


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
    Written(
        ExposedCountLoss(NegativeBinomialLoss(7, 2.0)),
        exposed,
        bend=math.log(2.0) - 0.25,
        y=3 * UNIT + UNIT / 2 + 0.25,
        lowest=4.0,
        highest=7 * UNIT + 60,
        steepest=7 * UNIT + UNIT / 2 + 0.25,
        packed=True,
    ),
    Written(
        LogLogisticLoss(0.5), centred(log_logistic), bend=0.3, lowest=-745.0, highest=710.0, bounded_below=False, packed=True
    ),
    Written(
        LogLogisticLoss(2.0), centred(log_logistic), bend=0.3, lowest=-745.0, highest=710.0, bounded_below=False, packed=True
    ),
]
#: A loss of a user, declared as users do.
LISTED.append(Written(log_cosh(), log_cosh_formula, bend=0.3, packed=True))
#: Every smooth loss by itself.
WRITTEN = {written.loss: written for written in LISTED}
