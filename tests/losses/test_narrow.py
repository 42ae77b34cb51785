"""Narrower pseudo-Huber scores with the bound of a wider one."""

import numpy as np
import pytest

from gibbsafe.losses.narrow import NarrowPseudoHuberLoss, loss_of_scores
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.weighted import WeightedLoss


@pytest.mark.parametrize("bound", [1.0, 0.1, 3.7, 1e-3, 7e5])
@pytest.mark.parametrize("share", [0.25, 0.3, 0.7, 0.999, 1.0])
def test_slopes_stay_within_the_bound_to_the_last_digit(bound, share):
    loss = NarrowPseudoHuberLoss(share * bound, bound)
    far = np.concatenate([np.logspace(-3, 300, 4000), [0.0, 1e308]])
    for y in (far, -far):
        slopes = loss.slope(np.zeros(len(far)), y)
        assert np.abs(slopes).max() <= bound
        assert np.abs(slopes).max() > bound * (1 - 1e-14)


def test_the_own_loss_stays_where_no_width_is_named_and_merged_records_keep_their_counts():
    own = PseudoHuberLoss(2.0)
    assert loss_of_scores(own, None) is own
    assert loss_of_scores(WeightedLoss(own), 0.5) == WeightedLoss(NarrowPseudoHuberLoss(0.5, 2.0))
