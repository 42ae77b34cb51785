"""Soft hinge: a smoothed margin loss with the hinge loss as its limit."""

import numpy as np
import pytest

import gibbsafe as gs

SoftHinge = gs.models.SoftHinge


def test_constants_are_those_of_the_loss():
    model = SoftHinge(dimension=3, radius=2.0, width=0.1)
    relation = gs.privacy.Adjacency
    for adjacency, factor in ((relation.REPLACE_ONE, 2.0), (relation.ADD_REMOVE, 1.0)):
        constants = model.constants(np.ones(4), adjacency=adjacency, n=10, rows_per_person=1)
        assert constants.gap(adjacency) == pytest.approx(factor, rel=1e-12)
    assert constants.smoothness == pytest.approx(2.5)


def test_narrow_widths_approach_the_hinge_loss():
    u = np.linspace(-3, 5, 101)
    for width in (0.5, 0.01):
        gap = SoftHinge(dimension=1, width=width).loss.value(u) - np.maximum(0, 1 - u)
        assert gap.min() > -1e-15
        assert gap.max() == pytest.approx(width * np.log(2), rel=0.05)


def test_predictions_are_declared_labels():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (400, 2))
    y = np.where(X[:, 0] > 0.1, "in", "out")
    model = SoftHinge(dimension=2, labels=("out", "in"), width=0.2)
    made = gs.plan(model, gs.Budget(50.0, 1e-3), n=400, adjacency="replace-one").release((X, y), generator=rng)
    assert (made.predict(X) == y).mean() > 0.85
    with pytest.raises(gs.GibbsafeError, match="predict_proba: not defined"):
        made.predict_proba(X)


@pytest.mark.parametrize("width", [0, -1.0, float("nan"), float("inf"), "wide"])
def test_a_width_must_be_positive(width):
    with pytest.raises(gs.ParameterError, match="width"):
        SoftHinge(dimension=2, width=width)
