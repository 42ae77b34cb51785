"""Coverage by repeated sampling, without the certificate that a release would compute each time."""

from dataclasses import replace

import numpy as np
import pytest

from gibbsafe.data.options import EncodingOptions
from gibbsafe.samplers import SAMPLERS


def _releases(plan, data, runs):
    sampler, stage, model = SAMPLERS[plan.sampler], plan.stages[-1], plan.model
    first = plan.release(data(np.random.default_rng([0, 1])), generator=np.random.default_rng([0, 2]), progress=False)
    yield first
    centre = np.zeros(model.parameters) if stage.prior_centre is None else np.array(stage.prior_centre)
    for run in range(1, runs):
        blocks = model.encode(data(np.random.default_rng([run, 1])), EncodingOptions())
        posterior = model.posterior(blocks, stage, centre)
        draws, _ = sampler.function(posterior, stage.draws, np.random.default_rng([run, 2]), None, **sampler.options(stage))
        yield replace(first, draws=model.to_original(draws))


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
