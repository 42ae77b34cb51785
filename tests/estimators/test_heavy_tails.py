"""The default prior radius of the robust estimators; their errors are measured in tests/benchmarks/test_scripts.py."""

import numpy as np
import pytest

from gibbsafe.estimators import PrivateHuberRegressor


def test_default_prior_radius_is_public_and_shrinks_with_the_number_of_rows():
    random = np.random.default_rng(0)
    X, y = random.uniform(-1, 1, (30_000, 5)), random.standard_t(2, 30_000)
    few, many = (PrivateHuberRegressor(bounds=(-1, 1), draws=2).fit(X[:n], y[:n]).plan_ for n in (500, 30_000))
    assert few.prior_radius == pytest.approx(3 * np.sqrt(6))
    assert many.prior_radius < few.prior_radius
    other = PrivateHuberRegressor(bounds=(-1, 1), draws=2).fit(X, -y).plan_
    assert other == many
    assert PrivateHuberRegressor(bounds=(-1, 1), prior_radius=4.0).fit(X[:500], y[:500]).plan_.prior_radius == 4.0
