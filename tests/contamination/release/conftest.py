"""One small estimated plan, made once."""

import numpy as np
import pytest

import gibbsafe as gs


@pytest.fixture(scope="session")
def budget():
    return gs.EstimatedBudget(2.0, 1e-2, failure=0.3, confidence=0.7)


@pytest.fixture(scope="session")
def model():
    return gs.contamination.ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0, rate=0.4)


@pytest.fixture(scope="session")
def plan(model, budget):
    return gs.plan(model, budget, n=120, truth=30.0, repeats=8)


@pytest.fixture(scope="session")
def records():
    return 30 + 8 * np.random.default_rng(0).standard_normal(120)
