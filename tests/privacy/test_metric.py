"""Distances between data sets, by hand."""

import numpy as np
import pytest

from gibbsafe.privacy import Metric


def test_each_metric_measures_what_it_is_called():
    x, y = [1.0, 2.0, 3.0], [1.5, 2.0, 1.0]
    assert Metric.absolute().between(x, y) == pytest.approx(2.5)
    assert Metric.absolute().between(x, x) == 0
    assert Metric.hamming().between(x, y) == 2
    assert Metric.hamming().between(x, x) == 0
    assert Metric.induced("mean", np.mean).between(x, y) == pytest.approx(0.5)
