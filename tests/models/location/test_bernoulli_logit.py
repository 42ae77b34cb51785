"""Bernoulli with a logit-normal prior: Minami et al. 2016, Example 17, with the true difference constant."""

import numpy as np
import pytest

import gibbsafe as gs

BernoulliLogit = gs.models.BernoulliLogit


def test_the_true_difference_constant_doubles_the_temperature_of_example_17():
    """ε = 0.1, δ = 1e-3, prior precision 1: 0.057457 by the exact profile (theory §2), 0.02598 by Corollary 8.

    One logistic feature in place of a constant could have both signs: its constant is 1.0516340.
    """
    budget = gs.Budget(0.1, 1e-3)
    plan = gs.plan(BernoulliLogit(), budget, n=100, adjacency="replace-one", prior=1.0)
    assert plan.guarantee.mu == pytest.approx(plan.inverse_temperature, rel=1e-12)
    feature = gs.plan(
        gs.models.LogisticRegression(dimension=1, intercept=False), budget, n=100, adjacency="replace-one", prior=1.0
    )
    assert plan.inverse_temperature == pytest.approx(0.057456747613, rel=1e-9)
    assert plan.inverse_temperature == pytest.approx(1.0516340 * feature.inverse_temperature, rel=1e-9)


def test_two_outcomes_differ_by_a_line():
    theta = np.linspace(-40, 40, 101)
    loss = BernoulliLogit().loss
    np.testing.assert_allclose(loss.value(theta) - loss.value(-theta), -theta, atol=1e-12)


def test_probabilities_and_labels():
    rng = np.random.default_rng(1)
    outcomes = np.where(rng.random(4000) < 0.7, "yes", "no")
    model = BernoulliLogit(labels=("no", "yes"))
    made = gs.plan(model, gs.Budget(3.0, 1e-6), n=4000, adjacency="replace-one", draws=3).release(outcomes, generator=rng)
    np.testing.assert_allclose(model.probability(made.draws), 0.7, atol=0.05)
    with pytest.raises(gs.DomainError, match="declared labels"):
        made.plan.release(np.arange(4000))


def test_tables_and_people():
    pa = pytest.importorskip("pyarrow")
    outcomes, people = np.arange(40) % 2, np.arange(40) // 4
    plan = gs.plan(BernoulliLogit(target="out"), gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one", rows_per_person=2)
    table = pa.table({"who": people, "out": outcomes})
    one = plan.release(table, persons="who", generator=np.random.default_rng(2)).draws
    two = plan.release(outcomes, persons=people, generator=np.random.default_rng(2)).draws
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("labels", [(0, 0), (0,), 1, (0, 1, 2)])
def test_bad_labels(labels):
    with pytest.raises(gs.ParameterError, match="labels"):
        BernoulliLogit(labels=labels)
