"""Coverage by repeated sampling, without the certificate that a release would compute each time."""

from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs


def _releases(plan, data, runs):
    first = plan.release(data(np.random.default_rng([0, 1])), generator=np.random.default_rng([0, 2]), progress=False)
    yield first
    for run in range(1, runs):
        release = gs.audit.mechanism_of(plan, np.random.default_rng([run, 2]))
        drawn = release(data(np.random.default_rng([run, 1])), 1).reshape(-1, plan.model.parameters)
        yield replace(first, draws=plan.model.to_original(drawn))


@pytest.fixture
def releases():
    """Return a function of a one-stage plan, a function from a generator to data, and a number of runs."""
    return _releases


@pytest.fixture
def coverage():
    """Return a function that counts how often the intervals of such releases hold the truth, parameters together."""

    def count(plan, data, truth, runs, level=0.9, **options):
        return np.mean([release.interval(level, **options).covers(truth) for release in _releases(plan, data, runs)])

    return count
