"""How far smoothed losses are from those with a kink: what the refusal of several parameters says."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.losses.kinked import HingeLoss, PinballLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss


@pytest.mark.parametrize("width", [0.05, 0.5, 3.0])
def test_smoothed_losses_are_within_the_gap(width):
    u, y = np.linspace(-40, 40, 80_001), np.zeros(80_001)
    gap = HingeLoss.smoothing_gap * width
    hinge = SoftHingeLoss(width).value(u) - HingeLoss().value(u)
    assert hinge.min() >= -1e-10
    assert 0.999 * gap <= hinge.max() <= gap + 1e-10
    for tau in (0.1, 0.5):
        pinball = SoftPinballLoss(quantile=tau, width=width).value(u, y) - PinballLoss(tau).value(u, y)
        assert np.abs(pinball).max() <= gap + 1e-10


@pytest.mark.parametrize(("model", "smooth"), [("Hinge", "SoftHinge"), ("QuantileRegression", "SoftQuantileRegression")])
def test_the_refusal_says_why_and_what_instead(model, smooth):
    with pytest.raises(
        gs.PremiseError, match=rf"the loss has a kink, where no envelope.*2\^\(βnh\).*use {smooth}, within 0.693·h"
    ):
        gs.plan(getattr(gs.models, model)(dimension=3), gs.Budget(1.0, 1e-6), n=100, adjacency="replace-one")
