"""Plans of the robust estimators; their errors are measured in tests/benchmarks/test_scripts.py."""

import numpy as np

from gibbsafe.estimators import PrivateHuberRegressor


def test_the_plan_is_public_and_a_radius_of_ones_own_is_kept():
    random = np.random.default_rng(0)
    X, y = random.uniform(-1, 1, (3000, 5)), random.standard_t(2, 3000)
    plan = PrivateHuberRegressor(bounds=(-1, 1)).fit(X, y).plan_
    assert plan.mechanism == "noisy-scores"
    assert PrivateHuberRegressor(bounds=(-1, 1)).fit(X, -y).plan_ == plan
    own = PrivateHuberRegressor(bounds=(-1, 1), prior_radius=4.0).fit(X, y).plan_
    assert (own.prior_radius, own.mechanism) == (4.0, "stages")
