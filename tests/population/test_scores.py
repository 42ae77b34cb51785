"""The posterior of the true parameter from a transcript: covers, says who decided, and comes whatever was answered.

Coverage is counted over parameters and releases with fixed seeds. The four parameters of a release count as about three
independent ones: of 36 such at a true coverage of 0.9, fewer than 0.7 are covered with probability
6e-4, and of 24 fewer than 0.65 with 3e-4.
"""

import numpy as np
import pytest
from scipy.special import expit

import gibbsafe as gs
from gibbsafe.population import chains, scores
from gibbsafe.population.scores import scaled_draws
from gibbsafe.release.transcripts import path_of
from gibbsafe.samplers import transcript_fit

from ..samplers import wild

N = 4000
TRUTH = np.array([1.5, -1.0, 0.0, 0.5])


def release(seed, *, epsilon=1.0, kind="logistic", **options):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 3))
    mean = X @ TRUTH[:3] + TRUTH[3]
    if kind == "logistic":
        model, y = gs.models.LogisticRegression(dimension=3, bounds=((-1, 1),) * 3), (rng.random(N) < expit(mean)).astype(int)
    else:
        model, y = gs.models.PseudoHuberRegression(dimension=3, bounds=((-1, 1),) * 3), mean + rng.standard_t(4, N)
    plan = gs.plan(model, gs.Budget(epsilon, 1e-6), n=N, adjacency="replace-one", purpose="estimate", **options)
    return plan.release((X, y), generator=rng, progress=False)


@pytest.fixture(scope="module")
def one():
    return release(0)


@pytest.mark.parametrize(("kind", "runs", "least"), [("logistic", 12, 0.7), ("pseudo-Huber", 8, 0.65)])
def test_intervals_cover(kind, runs, least):
    held = [release(seed, kind=kind).population(256).interval(0.9).covers(TRUTH) for seed in range(runs)]
    assert np.mean(held) >= least


def test_the_same_draws_every_time_unless_a_generator_is_passed(one):
    first, again = one.population(100), one.population(100)
    np.testing.assert_array_equal(first.draws, again.draws)
    other = one.population(100, np.random.default_rng(9))
    assert not np.array_equal(first.draws, other.draws)
    assert first.draws.shape == (100, 4)
    assert one.population() is one.population()


def test_more_budget_is_narrower_and_intervals_hold_their_mean(one):
    rich = release(0, epsilon=10.0)
    assert (rich.population().sd < one.population().sd).all()
    for made in (one, rich):
        for level in (0.01, 0.5, 0.9, 0.99):
            assert made.interval(level).covers(made.population().mean).all()
    np.testing.assert_allclose(one.population().positive, (one.population().draws > 0).mean(axis=0))


def test_without_a_share_for_uncertainty_there_is_still_a_posterior(one):
    bare = release(0, uncertainty=0)
    assert np.isfinite(bare.population(128).draws).all()
    assert bare.answers.last is None


def test_decided_by_data_is_between_0_and_1_and_falls_with_the_budget(one):
    poor = release(0, epsilon=0.001)
    for made in (one, poor):
        assert ((made.population().decided_by_data >= 0) & (made.population().decided_by_data <= 1)).all()
    assert (one.population().decided_by_data > 0.9).all()
    assert (poor.population().decided_by_data < 0.5).all()
    assert poor.population().words()
    assert one.population().words() == ()


def test_the_mean_of_draws_is_near_the_released_point(one):
    distance = np.abs(one.population().mean - one.draws[0]) / one.population().sd
    assert distance.max() < 0.7


def test_no_transcript_makes_it_fail(monkeypatch):
    """Twenty-five transcripts of random plans of every model: finite draws of the right shape, without a warning."""
    monkeypatch.setattr(transcript_fit, "ROWS", 32)
    monkeypatch.setattr(scores, "ROWS", 32)
    monkeypatch.setattr(scores, "DESIGNS", 2)
    monkeypatch.setattr(scores, "CHAINS", 2)
    monkeypatch.setattr(chains, "BURN", 3)
    rng, pool = np.random.default_rng(12), list(wild.models())
    for turn in range(25):
        plan = wild.plan_of(pool[rng.integers(len(pool))], rng)
        answers, path = wild.transcript(plan, wild.KINDS[turn % len(wild.KINDS)], rng)
        found = scaled_draws(plan.public_of_scores(), answers, path, 20, np.random.default_rng(0))
        assert found.shape == (20, plan.model.parameters)
        assert np.isfinite(found).all(), plan


def test_a_fit_that_does_not_come_out_is_refused_in_one_line(one, monkeypatch):
    def singular(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(scores, "fit_of", singular)
    with pytest.raises(gs.PremiseError, match="no parameter near the declared scale explains"):
        one.population(draws=8)


def test_a_file_gives_the_same_posterior(one, tmp_path):
    one.save(tmp_path / "r.json")
    again = gs.Release.load(tmp_path / "r.json")
    np.testing.assert_array_equal(again.population(64).draws, one.population(64).draws)
    assert len(path_of(again.plan, again.answers).points) == len(again.answers.scores)
