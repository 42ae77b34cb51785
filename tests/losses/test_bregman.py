"""Bregman differences against sixty-digit arithmetic, from tiny steps to huge ones."""

import mpmath as mp
import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.losses.bregman import QUICK_ROUNDING, ROUNDING, bregman, quick_bregman
from gibbsafe.losses.kinked import HingeLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.own import OwnLoss
from gibbsafe.losses.soft_step import SoftHingeLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.losses.weighted import WeightedLoss

from .formulas import WRITTEN

#: Losses of one's own have no proved difference, and no proximal sampler.
LOSSES = [*(loss for loss in WRITTEN if not isinstance(loss, OwnLoss)), SoftHingeLoss(0.01), SquaredLoss(10.0)]


def exact(loss, u, step, y):
    """Return f(u + a) − f(u) − f′(u)a from the definitions; a loss without an entry is squared, or that of its class."""
    u, step, y = mp.mpf(u), mp.mpf(step), mp.mpf(y)
    if isinstance(loss, SquaredLoss):
        return step * step / 2
    formula = next(each.formula for each in WRITTEN.values() if type(each.loss) is type(loss))
    with mp.workdps(150):
        slope = mp.diff(lambda x: formula(loss, x, y), u)
    return formula(loss, u + step, y) - formula(loss, u, y) - slope * step


def points(number=600, seed=3):
    generator = np.random.default_rng(seed)
    u, step, y = generator.standard_normal((3, number))
    u *= 10 ** generator.uniform(-3, 1.7, number)
    step *= 10 ** generator.uniform(-9, 2.5, number)
    y *= 10 ** generator.uniform(-2, 2, number)
    return u, step, y


def inside(loss, y):
    """Targets that the loss has."""
    return np.clip(y, WRITTEN[loss].lowest, WRITTEN[loss].highest) if loss in WRITTEN else y


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_against_sixty_digits(loss):
    """Errors stay below ROUNDING units of ½·smoothness·a², and of the quick form below QUICK_ROUNDING·|a|."""
    u, step, y = points()
    y = inside(loss, y)
    targets = None if loss.margin else y
    precise = bregman(loss, u, step, targets)
    with np.errstate(over="ignore", invalid="ignore"):
        quick = quick_bregman(loss, u, step, targets)
    assert (precise >= 0).all()
    with mp.workdps(60):
        for k in range(len(u)):
            truth = exact(loss, u[k], step[k], y[k])
            assert abs(truth - precise[k]) <= ROUNDING * 2.0**-53 * 0.5 * loss.smoothness * mp.mpf(step[k]) ** 2
            if np.isfinite(quick[k]) and not isinstance(loss, SquaredLoss):
                assert abs(truth - quick[k]) <= QUICK_ROUNDING * max(1, loss.lipschitz) * abs(mp.mpf(step[k]))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_bounds_that_the_sampler_relies_on(loss):
    """0 ≤ D ≤ ½·smoothness·a², chains side by side, and huge arguments without a warning."""
    u, step, y = points(seed=4)
    targets = None if loss.margin else inside(loss, y)
    single = bregman(loss, u, step, targets)
    assert (single <= 0.5 * loss.smoothness * step**2 * (1 + 1e-13)).all()
    both = bregman(loss, np.column_stack([u, u]), np.column_stack([step, step]), targets)
    assert np.array_equal(both, np.column_stack([single, single]))
    with np.errstate(over="ignore", invalid="ignore"):
        quick, along = quick_bregman(loss, u[:, None], np.column_stack([step, step]), targets), np.abs(step)[:, None]
    known = np.isfinite(quick)
    room = QUICK_ROUNDING * max(1.0, loss.lipschitz) * along + ROUNDING * 2.0**-53 * loss.smoothness * along**2
    assert (np.abs(quick - both) <= room)[known].all()
    huge = np.array([1e300, -1e300, 1e300, 0.0, 700.0])
    moves = np.array([1.0, 1.0, -1e150, 1e150, -1500.0])
    assert not np.isnan(bregman(loss, huge, moves, None if loss.margin else np.zeros(5))).any()


def test_weights_multiply():
    u, step, _ = points(5)
    weights = np.arange(1.0, 6.0)
    assert np.array_equal(
        bregman(WeightedLoss(LogisticLoss()), u, step, weights[:, None]), weights * bregman(LogisticLoss(), u, step)
    )
    both = bregman(WeightedLoss(SquaredLoss(1.0)), u, step, np.column_stack([weights, u]))
    assert np.array_equal(both, weights * 0.5 * step**2)


def test_kinked_losses_have_none():
    with pytest.raises(gs.PremiseError, match="needs a smooth loss"):
        bregman(HingeLoss(), np.zeros(1), np.zeros(1))
