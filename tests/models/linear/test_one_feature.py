"""The difference constant of logistic regression with one feature and no intercept, against mpmath and a search."""

import mpmath
import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.models.linear.logistic_regression import ONE_FEATURE
from gibbsafe.privacy import Adjacency


def test_the_constant_is_the_supremum_rounded_up():
    with mpmath.workdps(30):
        kappa = mpmath.lambertw(mpmath.e**-1)
        peak = mpmath.findroot(lambda x: x**2 * mpmath.sech(x / 2) ** 2 / 4 - kappa, 4.1)
        supremum = (1 / (1 + mpmath.e**-peak) + kappa / peak).real
    assert 1.05163398 < supremum <= ONE_FEATURE < supremum * (1 + 1e-7)


def test_no_pair_of_records_exceeds_it():
    theta = np.concatenate([-np.geomspace(1e-3, 1e3, 400), np.geomspace(1e-3, 1e3, 400)])
    v = np.linspace(-1, 1, 401)
    slope = v[:, None] / (1 + np.exp(np.clip(v[:, None] * theta, -700, 700)))
    found = float((slope.max(axis=0) - slope.min(axis=0)).max())
    assert 1.0516 < found <= ONE_FEATURE


@pytest.mark.parametrize("rows", [1, 3])
def test_only_replace_one_and_only_this_case_gain(rows):
    def gaps(adjacency, **declaration):
        model = gs.models.LogisticRegression(**declaration)
        constants = model.constants(np.ones(model.parameters), adjacency=adjacency, n=10, rows_per_person=rows)
        return constants.gap(adjacency)

    alone = {"dimension": 1, "intercept": False, "radius": 2.5}
    assert gaps(Adjacency.REPLACE_ONE, **alone) == pytest.approx(rows * ONE_FEATURE)
    assert gaps(Adjacency.ADD_REMOVE, **alone) == pytest.approx(rows)
    for wider in ({"dimension": 1}, {"dimension": 2, "intercept": False}):
        assert gaps(Adjacency.REPLACE_ONE, **wider) == pytest.approx(2 * rows)


def test_beta_grows_by_what_the_constant_gains():
    budget = gs.Budget(1.0, 1e-6)
    made = gs.plan(gs.models.LogisticRegression(dimension=1, intercept=False), budget, n=100, adjacency="replace-one", prior=1.0)
    assert made.inverse_temperature == pytest.approx(0.23670438066343571 / ONE_FEATURE, rel=1e-9)
    assert not gs.audit.refute(made.model).refuted
