"""Contaminated labels: a pair that nearly attains the claim."""

from __future__ import annotations

import numpy as np
import pytest

from gibbsafe.theorems import Constants, get

from .cases import (
    REPLACE,
)
from .table import BY_NAME


def test_contamination_bound_is_nearly_attained() -> None:
    """Steep features make the likelihood a step; with most prior mass on one side the log ratio fills the claimed range."""
    entry = BY_NAME["logistic, labels contaminated by a fair coin"]
    c = {"beta": 1.0, "m": 0.5, "p": 0.4217, "common": [], "x": 20.0, "other": -20.0}
    pair = entry.pair(c, REPLACE)
    theta = np.array([-3.0, 3.0])
    gap = np.ptp(pair.log_p(theta) - pair.log_q(theta))
    claim = get("contaminated-uniform").guarantee(Constants(**entry.constants(c)), inverse_temperature=1.0, adjacency=REPLACE)
    assert gap == pytest.approx(claim.epsilon(0.0), rel=1e-6)
    assert gap == pytest.approx(2.640, abs=1e-3)
    assert pair.delta(0.5) == pytest.approx(claim.delta(0.5), rel=0.25)
