"""Stated work: monotone in what makes work, finite where a schedule exists, and never below what was counted."""

import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.samplers.proximal.schedule import mode_passes
from gibbsafe.samplers.work import PublicPosterior, proximal_schedule, proximal_work, shell_work, slack_work


def public(rows=10_000, parameters=20, **changes):
    fields = {"inverse_temperature": 0.06, "reach": 4.0, "smoothness": 0.25, "self_concordance": 1.0} | changes
    return PublicPosterior(parameters, rows=rows, **fields)


def stated(posterior, draws=1):
    return proximal_work(posterior, draws, *proximal_schedule(posterior, draws, 3.0))


def test_work_grows_with_what_makes_it():
    assert stated(public(1000)).seconds < stated(public(10_000)).seconds < stated(public(100_000)).seconds
    assert stated(public(reach=4.0)).seconds < stated(public(reach=40.0)).seconds
    assert stated(public(), 8).seconds > stated(public()).seconds
    assert shell_work(public(reach=0.01), 1).seconds < shell_work(public(reach=1.0), 1).seconds
    assert slack_work(public(), 1, 1e-9).rounds > slack_work(public(), 1, 1e-3).rounds


def test_a_number_of_records_that_nobody_says_leaves_passes_only():
    work = stated(public(None))
    assert work.seconds is None
    assert math.isfinite(work.passes)
    assert slack_work(public(None), 1, 1e-9).passes == math.inf
    assert (shell_work(public(None), 1) + work).seconds is None


def test_a_schedule_makes_its_e_folds():
    for rows in (1, 1000, 10**6, None):
        for parameters in (2, 20, 300):
            step, rounds = proximal_schedule(public(rows, parameters), 1, 3.0)
            assert rounds * math.log1p(step) >= 3.0 * (1 - 1e-9)


@pytest.mark.parametrize("d", [2, 20, 60])
@pytest.mark.parametrize("kind", ["even", "one-hot", "separable"])
def test_passes_and_proposals_stay_below_what_the_plan_states(kind, d):
    """Proposals a round are below e^nats + 4 standard errors of a geometric number; passes within 4 a round, one as a rule."""
    rng = np.random.default_rng(d)
    X = np.eye(d)[rng.integers(d, size=2000)] if kind == "one-hot" else rng.normal(size=(2000, d)) / math.sqrt(d)
    y = (X[:, 0] > 0).astype(int) if kind == "separable" else rng.integers(2, size=2000)
    model = gs.models.LogisticRegression(dimension=d)
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=2000, adjacency="replace-one", sampler="proximal")
    (seen,) = plan.release((X, y), generator=rng).curator_diagnostics.values
    rounds, nats = plan.stages[0].steps, public_of(plan).tangent_nats(plan.stages[0].step)
    assert seen.passes <= 4 * plan.work.passes
    assert seen.proposals <= rounds * math.exp(nats + 0.1) * (1 + 4 / math.sqrt(rounds)) or "shell" in seen.certificates


def test_the_way_to_the_mode_is_part_of_what_is_stated():
    """Few rounds: the mode's passes are few too, and none where rounds are drawn by the shell sampler, which finds its own."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (3000, 3)) / math.sqrt(3), (rng.random(3000) < 0.3).astype(int)
    centre = (300.0, -200.0, 50.0, 400.0)
    options = {"n": 3000, "adjacency": "replace-one", "sampler": "proximal", "theorem": "proximal-last-iterate"}
    ways = set()
    for epsilon, prior in ((10.0, gs.models.GaussianPrior(1.0, centre)), (0.1, gs.models.GaussianPrior(0.01, centre))):
        plan = gs.plan(gs.models.LogisticRegression(dimension=3, radius=1.0), gs.Budget(epsilon, 1e-6), prior=prior, **options)
        (seen,) = plan.release((X, y), generator=rng, progress=False).curator_diagnostics.values
        ways.add("shell" in seen.certificates)
        assert seen.mode_passes <= (0 if "shell" in seen.certificates else mode_passes(plan.stages[0].steps) + 3)
    assert ways == {True, False}


def test_reading_and_encoding_are_part_of_what_is_stated():
    model = gs.models.LogisticRegression(dimension=19)
    plan = gs.plan(model, gs.Budget(0.1, 1e-6), n=10**6, adjacency="replace-one", prior=1e6, sampler="proximal")
    assert plan.work.seconds > 0.5  # a round or two, but a million rows to clip, scale and compare


def public_of(plan):
    return plan.request().public_posterior(plan.stages[0])
