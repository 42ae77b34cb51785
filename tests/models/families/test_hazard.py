"""The hazard of a trimmed gamma prior that families of rates state as c: never above the exact one, at any size of its shapes."""

import numpy as np
import pytest

import gibbsafe as gs

from ...oracles.family_cases import exact_hazard


#: Sizes at which the logarithms of density and mass are 1e8 and more, where their difference lost all its digits; and plain ones.
@pytest.mark.parametrize(
    ("shape", "rate", "low", "high"),
    [
        (966917028.5726774, 644267745.1516551, 460058.22720220475, 470344.6014333224),
        (711425.3784254271, 948864630.8954145, 499364.1926073432, 1813744.7150034874),
        (1777.9367846157695, 696364474.063451, 964060.581961692, 538393036.3565056),
        (1.0, 2.0, 0.5, 3.0),
        (7.5, 2.0, 2.5, 30.0),
        (30.0, 1e-2, 2500.0, 3200.0),
    ],
)
def test_the_stated_rate_is_a_lower_bound_and_close(shape, rate, low, high):
    family = gs.models.ExponentialRate(trim=(low, high), bound=1.0, shape=shape, rate=rate)
    stated = family.constants(np.empty(0), adjacency=gs.Adjacency.ADD_REMOVE, n=None, rows_per_person=1).stochastic_rate
    exact = exact_hazard(shape, rate, low, high)
    assert float(stated / exact) <= 1
    assert float(stated / exact) >= 1 - 1e-6
