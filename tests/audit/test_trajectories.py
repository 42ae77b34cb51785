"""Attacks on released trajectories: close to the claim, never above it; planted bugs are above it, or are found otherwise."""

from dataclasses import replace

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.audit.mechanisms import mechanism_of
from gibbsafe.audit.trajectories import claim_of_steps, walk_ratio
from gibbsafe.posteriors import clipped, coordinates
from gibbsafe.samplers import trajectory

from ..own_gaussian import DATA, NEIGHBOUR, N, gaussian

#: How much of the claim every attack must show; seeds are fixed, the bounds hold with confidence 99 %.
REACHED = 0.7
HONEST = clipped.clip_gradients


def plan_of(epsilon=20.0, steps=6, chains=1, adjacency="replace-one", **options):
    model = gaussian(steps=steps, chains=chains, information=(1e-3, 1e-3), **options)
    return gs.plan(model, gs.Budget(epsilon, 1e-6), n=N, adjacency=adjacency)


def attack(plan, pair=(DATA, NEIGHBOUR), runs=600, steps=None):
    """Return a lower confidence bound on μ from the answers' own log-likelihood ratio."""
    with np.errstate(all="ignore"):
        return gs.audit.estimate_lower_bound(
            mechanism_of(plan, np.random.default_rng(0)),
            *pair,
            draws=runs,
            delta=1e-6,
            confidence=0.99,
            score=walk_ratio(plan, *pair, steps),
            vectorised=True,
            progress=False,
        ).mu


@pytest.mark.parametrize("chains", [1, 3])
def test_a_whole_trajectory_comes_close_to_its_claim_and_not_above(chains):
    plan = plan_of(chains=chains)
    assert REACHED * plan.guarantee.mu <= attack(plan) <= plan.guarantee.mu


def test_one_step_comes_close_to_its_claim():
    plan = plan_of(steps=2)
    claim = claim_of_steps(plan, 1).mu
    assert REACHED * claim <= attack(plan, runs=1500, steps=1) <= claim


def test_under_add_remove_as_well():
    plan = plan_of(adjacency="add-remove")
    removed = (DATA[0][1:],)
    assert REACHED * plan.guarantee.mu <= attack(plan, (DATA, removed)) <= plan.guarantee.mu


def test_wrong_sensitivity_is_caught():
    """Noise for G = C where a replaced record moves a score by 2C."""
    honest = plan_of(8.0)
    (stage,) = honest.stages
    cold = replace(honest, stages=(replace(stage, inverse_temperature=4 * stage.inverse_temperature),))
    assert attack(cold, runs=300) > honest.guarantee.mu


def test_a_clip_skipped_for_what_is_no_number_is_caught(monkeypatch):
    """A record whose gradient is not finite leaves it in the sum: every answer after it is no number either."""

    def skipped(gradients, bound):
        found = HONEST(gradients, bound)
        return np.where(np.isfinite(gradients).all(axis=-1, keepdims=True), found, gradients)

    def gradient(parameters, records):
        off = records["x"] - parameters["mean"]
        return {"mean": np.where(np.abs(records["x"]) > 49, np.inf, off)}

    plan = plan_of(8.0, gradient=gradient)
    assert attack(plan, (DATA, (np.zeros((N, 2)),)), runs=100) <= plan.guarantee.mu
    for room in (clipped, coordinates):
        monkeypatch.setattr(room, "clip_gradients", skipped)
    outputs = [mechanism_of(plan, np.random.default_rng(0))(each, 5) for each in (DATA, (np.zeros((N, 2)),))]
    assert np.isfinite(outputs[0]).all() != np.isfinite(outputs[1]).all()
    assert gs.audit.refute(gaussian(gradient=gradient), effort=20).refuted is False  # the code itself is pure
    monkeypatch.setattr("gibbsafe.audit.own_likelihoods.clip_gradients", skipped)
    assert gs.audit.refute(gaussian(gradient=gradient), effort=20).refuted


def test_randomness_that_is_not_ours_is_caught(monkeypatch):
    """Noise from a key that everybody knows, as JAX's default one: it can be taken off again."""

    def known(posterior, pull, stage, generator, progress=None):
        return trajectory.walk(posterior, pull, stage, np.random.default_rng(0), progress)

    plan = plan_of(2.0)
    monkeypatch.setattr("gibbsafe.release.draw.walk", known)
    first, second = (plan.release(DATA, progress=False).walk for _ in range(2))
    assert np.array_equal(first, second)
    monkeypatch.undo()
    assert not np.array_equal(plan.release(DATA, progress=False).walk, first)


def test_neighbours_run_the_same_mechanism():
    plan = plan_of(2.0, steps=4)
    assert gs.audit.same_mechanism(plan).difference is None


def test_a_whole_audit_runs():
    found = gs.audit.audit_plan(plan_of(8.0, steps=4), draws=200, effort=20, progress=False)
    assert not found.refuted
