"""The auditor catches mechanisms that are broken on purpose, each within its default effort."""

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.models.linear.logistic_regression import LogisticRegression
from gibbsafe.models.linear.soft_hinge import SoftHinge

from .broken import BROKEN


@pytest.mark.parametrize("broken", BROKEN, ids=lambda function: function.__name__)
def test_a_broken_mechanism_is_refuted(broken):
    assert broken()


def test_a_wrong_gradient_is_refuted():
    from gibbsafe.losses.logistic import LogisticLoss

    class Wrong(LogisticLoss):
        def slope(self, u, y=None):
            return 0.9 * super().slope(u, y)

    class Model(LogisticRegression):
        name = "WrongGradient"
        loss = Wrong()

    found = gs.audit.refute(Model(dimension=1)).counterexample
    assert found.constant in ("gradient", "derivatives")


@pytest.mark.parametrize(("constant", "attribute"), [("smoothness", "smoothness"), ("self_concordance", "self_concordance")])
def test_constants_of_the_loss_that_are_too_small_are_refuted(constant, attribute):
    right = SoftHinge(dimension=1, width=0.3)
    wrong = type("Loss", (type(right.loss),), {attribute: property(lambda self: 0.8 * getattr(right.loss, attribute))})(0.3)
    model = type("Understated", (SoftHinge,), {"name": "Understated", "loss": property(lambda self: wrong)})
    found = gs.audit.refute(model(dimension=1, width=0.3)).counterexample
    assert found.constant == constant
    assert found.found > found.declared


def test_a_range_that_is_too_small_is_refuted_at_the_records_that_have_it():
    from dataclasses import replace

    class Narrow(gs.models.BetaBernoulli):
        name = "Narrow"

        def constants(self, prior_precision, **asked):
            right = super().constants(prior_precision, **asked)
            return replace(right, difference_range=right.difference_range / 2)

    found = gs.audit.refute(Narrow(trim=(0.2, 0.8))).counterexample
    assert found.constant == "difference_range"
    assert {int(np.asarray(record)[0]) for record in found.records} == {0, 1}
