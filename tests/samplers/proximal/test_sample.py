"""Proximal draws against exact laws: of the k-th iterate on a mesh, of the posterior by quadrature, of independent marginals.

Kolmogorov-Smirnov statistics are compared with the asymptotic quantile of false-alarm rate 1e-4 per test; about 90 statistics
make 0.9 % over the file, and the seeds are fixed.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

import gibbsafe as gs
from gibbsafe.data import Blocks
from gibbsafe.data.census import Unit
from gibbsafe.data.compression import merge_identical
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.spool import Spool
from gibbsafe.data.stream import encode_records
from gibbsafe.losses.bregman import bregman
from gibbsafe.losses.kinked import HingeLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.samplers import GibbsPosterior
from gibbsafe.samplers.proximal import sample as proximal
from gibbsafe.samplers.proximal.judge import Judge
from gibbsafe.samplers.proximal.rounds import Geometry, Rounds
from gibbsafe.samplers.proximal.schedule import EXTRA, cheapest_nats, rounding_bound, rounds_for_folds, rounds_for_slack, step_for
from gibbsafe.samplers.proximal.thinning import random_access
from gibbsafe.samplers.shell import sample as shell
from gibbsafe.samplers.work import PublicPosterior

from ...audit.loading import load
from ..hostile import KINDS, case
from ..test_exactness import CRITICAL, grid_around, ks, posterior_of, weighted_cdf

audit = load("proximal")
DRAWS = 2000
SLACK = 1e-6


@pytest.fixture(autouse=True)
def rounds_only(monkeypatch):
    """Rounds are what this file is about: exact draws in their place are tested in test_proximal_shell.py."""
    monkeypatch.setattr(proximal, "quick_envelope", lambda *arguments: None)
    monkeypatch.setattr(proximal, "is_long", lambda *arguments: False)


def draw(posterior, seed=22, draws=DRAWS, **schedule):
    return proximal.sample(posterior, draws, np.random.default_rng(seed), None, **schedule)


def line_cdf(posterior, reach=40.0, ball=None):
    """Return a grid and the distribution function on it."""
    if ball is None:
        (grid,) = grid_around(posterior, 20_001, reach)
    else:
        grid = np.linspace(-ball, ball, 20_001)
    potential = np.concatenate([posterior.values(part[:, None]) for part in np.array_split(grid, 20)])
    density = np.exp(potential.min() - potential)
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return grid, cumulative / cumulative[-1]


ONE = [
    (LogisticLoss(), 200, 0.5, 3.0, "noisy"),
    (LogisticLoss(), 1, 10.0, 0.5, "noisy"),
    (LogisticLoss(), 0, 1.0, 2.0, "noisy"),
    (LogisticLoss(), 30, 10.0, 2.0, "separable"),
    (SoftHingeLoss(0.01), 40, 1.0, 20.0, "noisy"),
    (PseudoHuberLoss(0.2), 25, 4.0, 2.0, "noisy"),
    (SoftPinballLoss(0.8, 0.1), 25, 2.0, 5.0, "noisy"),
    (SquaredLoss(10.0), 25, 1.0, 2.0, "noisy"),
]


@pytest.mark.parametrize("case", ONE, ids=str)
@pytest.mark.parametrize("route", ["public", "slack"])
def test_one_dimension_against_quadrature(case, route):
    loss, n, beta, precision, kind = case
    posterior = posterior_of(loss, n, 1, beta, precision, 21, kind)
    grid, cumulative = line_cdf(posterior)
    if route == "slack":
        draws, _ = draw(posterior, slack=SLACK)
    else:
        step = step_for(Geometry.of(posterior).curvature, 2.0)
        draws, _ = draw(posterior, step=step, steps=rounds_for_folds(step, 14.0))
    assert draws.shape == (DRAWS, 1)
    assert ks(draws[:, 0], grid, cumulative) < CRITICAL


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ball", [None, 0.8])
def test_the_law_of_every_iterate(rounds, weighted, ball):
    """Far from converged: draws against the exact law of the k-th iterate, which shares no code with the sampler."""
    generator = np.random.default_rng(7)
    rows, precision, beta, step = generator.uniform(-1, 1, (12, 1)), 2.5, 3.0, 0.15
    weights = np.tile([1.0, 3.0], 6) if weighted else np.ones(12)
    centre = 0.3
    data = Blocks(rows, None, weights if weighted else None)
    posterior = GibbsPosterior(data, LogisticLoss(), beta, precision, centre, ball)
    scale = math.sqrt(precision)

    def potential(x):
        theta = np.asarray(x) / scale
        losses = sum(w * np.logaddexp(0, -z * theta) for w, z in zip(weights, rows[:, 0], strict=True))
        return beta * losses + 0.5 * precision * (theta - centre) ** 2

    interval = None if ball is None else (-ball * scale, ball * scale)
    pair = audit.Neighbours(potential, potential, 1.0, step, rounds, centre * scale, interval=interval)
    mesh = audit._mesh(*(interval or (-9.0, 9.0)), 0.1, ())
    density = audit.propagate(potential, pair, centre * scale, mesh)
    grid = np.linspace(*(interval or (-9.0, 9.0)), 3001)
    heights = density(grid)
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (heights[1:] + heights[:-1]))])
    draws, _ = draw(posterior, draws=10_000, step=step, steps=rounds)
    assert ks(draws[:, 0] * scale, grid, cumulative / cumulative[-1]) < CRITICAL


TWO = [
    (LogisticLoss(), 300, 0.3, [2.0, 5.0], "noisy", None),
    (LogisticLoss(), 60, 5.0, [3.0, 30.0], "separable", None),
    (LogisticLoss(), 100, 1.0, [2.0, 2.0], "collinear", None),
    (SoftHingeLoss(0.2), 50, 1.0, [2.0, 20.0], "noisy", None),
    (PseudoHuberLoss(0.3), 40, 2.0, [2.0, 5.0], "noisy", None),
    (SoftPinballLoss(0.2, 0.3), 40, 1.0, [3.0, 1.0], "noisy", None),
    (SquaredLoss(10.0), 30, 1.0, [2.0, 2.0], "noisy", 1.2),
    (SquaredLoss(10.0), 30, 1.0, [2.0, 6.0], "noisy", 0.7),
    (LogisticLoss(), 100, 1.0, [2.0, 2.0], "noisy", 0.5),
]


@pytest.mark.parametrize("case", TWO, ids=str)
def test_two_dimensions_against_quadrature(case):
    loss, n, beta, precision, kind, ball = case
    free = posterior_of(loss, n, 2, beta, np.array(precision), 31, kind)
    posterior = GibbsPosterior(free.data, loss, beta, free.prior_precision, free.prior_centre, ball)
    axes = grid_around(free, 401, 14.0) if ball is None else [np.linspace(-ball, ball, 501)] * 2
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    potential = np.concatenate([posterior.values(part) for part in np.array_split(mesh, 100)])
    density = np.exp(potential.min() - potential)
    if ball is not None:
        density[np.square(mesh).sum(axis=1) > ball**2] = 0
    draws, _ = draw(posterior, draws=DRAWS if ball is None else 1000, slack=1e-4)
    for axis in range(2):
        marginal = density.reshape(len(axes[0]), -1).sum(axis=1 - axis)
        cumulative = np.concatenate([[0], np.cumsum(0.5 * (marginal[1:] + marginal[:-1]))])
        assert ks(draws[:, axis], axes[axis], cumulative / cumulative[-1]) < CRITICAL
    assert ks(posterior.values(draws), *weighted_cdf(potential, density)) < CRITICAL
    assert ball is None or (np.linalg.norm(draws, axis=1) <= ball * (1 + 1e-12)).all()


def test_thinning_and_passes_are_one_law():
    """The same posterior by records looked up, by a pass, and merged: each against quadrature."""
    base = posterior_of(LogisticLoss(), 60, 1, 0.2, 1.0, 3)
    rows = np.repeat(base.data.rows, 10, axis=0)
    merged = GibbsPosterior(Blocks(base.data.rows, None, np.full(60, 10.0)), LogisticLoss(), 0.2, 1.0, 0.5)
    plain = GibbsPosterior(Blocks(rows), LogisticLoss(), 0.2, 1.0, 0.5)
    grid, cumulative = line_cdf(plain)
    for posterior, how in ((plain, "thinned"), (merged, "whole")):
        draws, diagnostics = draw(posterior, slack=1e-4)
        assert how in diagnostics.certificates
        assert ks(draws[:, 0], grid, cumulative) < CRITICAL
    geometry = Geometry.of(merged)
    rounds = Rounds(merged, geometry, 0.05, None)
    rounds.judge.records = random_access(merged.data)  # merged records, looked up
    chains = rounds.start(np.full((DRAWS, 1), 0.5))
    generator = np.random.default_rng(9)
    for _ in range(rounds_for_folds(0.05, 10.0)):
        rounds.advance(chains, generator)
    assert ks(chains.points[:, 0], grid, cumulative) < CRITICAL


def test_records_in_a_file_are_looked_up_like_those_in_memory():
    """The same records are read, so the same draws come out; records that only stream are decided by passes."""
    base = posterior_of(LogisticLoss(), 500, 1, 0.05, 1.0, 3)
    spool = Spool(memory=1)
    spool.add(base.data)
    posterior = GibbsPosterior(spool.finish(), LogisticLoss(), 0.05, 1.0, 0.5)
    wanted = np.array([3, 0, 499, 3])
    np.testing.assert_array_equal(random_access(posterior.data).take(wanted)[0], base.data.rows[wanted])
    draws, diagnostics = draw(posterior, draws=3, slack=1e-4)
    np.testing.assert_array_equal(draws, draw(replace(posterior, data=base.data), draws=3, slack=1e-4)[0])

    class Streamed:
        n_rows, width, reduce = base.data.n_rows, base.data.width, staticmethod(base.data.reduce)
        has_targets, weights = base.data.has_targets, None

    streamed = replace(posterior, data=Streamed())
    assert random_access(streamed.data) is None
    draws, diagnostics = draw(streamed, draws=1500, slack=1e-4)
    assert "whole" in diagnostics.certificates
    assert ks(draws[:, 0], *line_cdf(base)) < CRITICAL


@pytest.mark.parametrize("chains", [1, 3])
def test_few_chains_are_drawn_alike(chains):
    """One chain has a path of its own (several proposals at a time): its law against quadrature."""
    posterior = posterior_of(LogisticLoss(), 20, 1, 0.5, 3.0, 5)
    grid, cumulative = line_cdf(posterior)
    generator = np.random.default_rng(6)
    parts = [proximal.sample(posterior, chains, generator, slack=1e-4)[0] for _ in range(1500 // chains)]
    assert ks(np.concatenate(parts)[:, 0], grid, cumulative) < CRITICAL


def test_one_hot_against_exact_marginals():
    """Forty levels without an intercept: parameters are independent, each marginal a one-dimensional integral."""
    generator = np.random.default_rng(8)
    levels, n, beta, precision = 40, 4000, 0.1, 1.0
    labels = np.where(generator.random(n) < 0.3, 1.0, -1.0)
    level = generator.integers(0, levels, n) ** 2 // levels
    rows = np.zeros((n, levels))
    rows[np.arange(n), level] = labels
    different, counts = np.unique(rows, axis=0, return_counts=True)
    posterior = GibbsPosterior(Blocks(different, None, counts.astype(float)), LogisticLoss(), beta, precision, 0.0)
    draws, _ = draw(posterior, draws=400, slack=1e-4)
    grid = np.linspace(-9, 9, 4001)
    for j in range(0, levels, 8):
        plus, minus = (float((rows[:, j] == sign).sum()) for sign in (1, -1))
        potential = beta * (plus * np.logaddexp(0, -grid) + minus * np.logaddexp(0, grid)) + 0.5 * precision * grid**2
        density = np.exp(potential.min() - potential)
        cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        assert ks(draws[:, j], grid, cumulative / cumulative[-1]) < CRITICAL


@pytest.mark.parametrize("kind", ["noisy", "separable"])
def test_eight_dimensions_against_the_shell_sampler(kind):
    posterior = posterior_of(LogisticLoss(), 300, 8, 0.5, 1.0, 11, kind)
    ours, _ = draw(posterior, draws=800, slack=1e-4)
    theirs, _ = shell.sample(posterior, 2000, np.random.default_rng(12))
    for j in range(8):
        assert ks_2samp(ours[:, j], theirs[:, j]).pvalue > 1e-4
    assert ks_2samp(posterior.values(ours), posterior.values(theirs)).pvalue > 1e-4


# -- work ----------------------------------------------------------------------------------------------------------


def hostile(kind):
    generator = np.random.default_rng(13)
    n, p = 400, 12
    rows = generator.standard_normal((n, p))
    if kind == "identical":
        rows[:] = rows[0]
    elif kind == "heavy":
        rows = generator.standard_cauchy((n, p))
    elif kind == "one leverage row":
        rows[1:] *= 1e-3
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    labels = np.ones(n) if kind == "one label" else generator.choice([-1.0, 1.0], n)
    return rows * labels[:, None]


@pytest.mark.parametrize("kind", ["iso", "identical", "heavy", "one leverage row", "one label"])
@pytest.mark.parametrize("nats", [1.0, 3.0])
def test_proposals_stay_below_their_bound(kind, nats):
    """Mean proposals per round of 40 chains; the bound is on the expectation, allowed four standard errors."""
    posterior = GibbsPosterior(Blocks(hostile(kind)), LogisticLoss(), 2.0, 0.5, 0.0)
    bound = PublicPosterior(3, 2.0, 1 / 0.5, 0.25, 1.0, 400).curvature
    assert Geometry.of(posterior).curvature <= bound * (1 + 1e-6)
    step, rounds, chains = step_for(bound, nats), 40, 40
    _, diagnostics = draw(posterior, draws=chains, step=step, steps=rounds)
    mean = diagnostics.proposals / (rounds * chains)
    limit = math.exp(0.5 * Geometry.of(posterior).curvature * step / (1 + step) + EXTRA)
    assert mean <= limit * (1 + 4 / math.sqrt(rounds * chains))
    assert diagnostics.passes <= 4 * rounds


@pytest.mark.parametrize("n", [0, 1, 40, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_data_and_their_neighbours(kind, n):
    """No exception, no non-finite draw, proposals below twice the bound of their expectation (50 rounds in all)."""
    made = case(kind, n, seed=2)
    model, stage = made.plan.model, made.plan.stages[0]
    prior = np.array(stage.prior_precision), np.array(stage.prior_centre)
    for data in (made.data, made.neighbour):
        blocks = merge_identical(encode_records(model, data, EncodingOptions(), unit=Unit(1, None)))
        posterior = GibbsPosterior(blocks, model.loss, stage.inverse_temperature, *prior, model.ball)
        curvature = Geometry.of(posterior).curvature
        draws, diagnostics = draw(posterior, draws=2, step=step_for(curvature, 1.0), steps=25)
        assert np.isfinite(draws).all()
        assert diagnostics.accepted == 50
        assert diagnostics.proposals <= 2 * 50 * math.exp(min(1.0, 0.5 * curvature) + EXTRA)


@pytest.mark.parametrize("precision", [1e-10, 1e10])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_extreme_priors(precision, n):
    """Inner draws stay cheap and finite however flat or sharp the prior is."""
    posterior = posterior_of(LogisticLoss(), n, 3, 1.0, precision, 15)
    curvature = Geometry.of(posterior).curvature
    draws, diagnostics = draw(posterior, draws=5, step=step_for(curvature, 1.0), steps=20)
    assert np.isfinite(draws).all()
    assert diagnostics.proposals <= 20 * 5 * 6
    if n == 0:
        spread = draw(posterior, draws=2000, slack=1e-6)[0].std(axis=0) * math.sqrt(precision)
        assert spread == pytest.approx(np.ones(3), rel=0.1)


@pytest.mark.parametrize(
    ("loss", "records"),
    [(LogisticLoss(), 1), (LogisticLoss(), 400), (SoftHingeLoss(1e-3), 1), (SoftHingeLoss(0.5), 400)],
    ids=str,
)
def test_long_steps_are_judged_by_the_precise_difference(loss, records):
    """Where the quick sum overflows it decides nothing: it once counted as a rejection, which cut the support at the records."""
    posterior = GibbsPosterior(Blocks(np.ones((records, 1))), loss, 1.0 / records, 1e-8, 0.0)
    judge = Judge(posterior, np.array([1e-8]), 1e8, 1e-12 if records > 1 else 1e12)
    generator = np.random.default_rng(1)
    for at in (5.0, -5.0, 705.0, 740.0):
        steps = np.array([-800.0, -715.0, -709.0, 900.0, 2000.0, -2000.0])[:, None]
        exact = bregman(loss, np.full(6, at), steps[:, 0])
        for shift in (0.5, 2.0):
            patience = shift * exact
            if judge.records is None:
                accepted = judge.accept(np.array([[at]]), steps, patience, generator)
                np.testing.assert_array_equal(accepted, exact <= patience)
            else:  # by thinning: a step that costs next to nothing is accepted, one that costs hundreds of nats is not
                accepted = judge.accept(np.array([[at]]), steps, np.ones(6), generator)
                assert accepted[exact < 1e-9].all()
                assert not accepted[exact > 100].any()


def test_a_wide_prior_does_not_cut_the_draws_at_the_records():
    """One record, a prior of deviation 1e4: P(|θ₀| < 709) is 0.0565 whether it lies along θ₀ or θ₁ (false alarm 1e-5)."""
    model = gs.models.LogisticRegression(dimension=3, intercept=False)
    plan = gs.plan(model, gs.Budget(0.01, 1e-6), n=1, adjacency="replace-one", prior=1e-8, draws=1)
    stage, shares = plan.stages[0], []
    for record in np.eye(3)[:2]:
        posterior = model.posterior(Blocks(record[None]), stage, np.zeros(3))
        draws, _ = draw(posterior, draws=6000, step=stage.step, steps=stage.steps)
        shares.append(float((np.abs(draws[:, 0]) < 709).mean()))
    assert abs(shares[0] - shares[1]) < 4.4 * math.sqrt(2 * 0.0565 * 0.9435 / 6000)


def test_far_responses_leave_no_trace():
    loss = PseudoHuberLoss(1.0)
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3))
    posterior = GibbsPosterior(Blocks(rows, np.tile([1e300, -1e300], 25)), loss, 1.0, 1.0, 0.0)
    draws, _ = draw(posterior, draws=3, slack=1e-3)
    assert np.isfinite(draws).all()


# -- schedules, inputs ---------------------------------------------------------------------------------------------


def test_schedules():
    step = step_for(1000.0, cheapest_nats(10_000, 20))
    rounds = rounds_for_folds(step, 3.0)
    assert rounds * math.log1p(step) >= 3.0 > (rounds - 1) * math.log1p(step)
    assert 0.5 * 1000.0 * step / (1 + step) == pytest.approx(cheapest_nats(10_000, 20))
    assert rounds_for_folds(step_for(0.0, 1.0), 3.0) == 1
    assert rounds_for_slack(step_for(0.0, 1.0), 1e-9, distance=math.sqrt(5)) <= 4


@pytest.mark.parametrize("slack", [1e-3, 1e-9])
@pytest.mark.parametrize("step", [1e-3, 0.3, 50.0])
def test_rounds_for_slack_is_theorem_b(step, slack):
    k, distance = rounds_for_slack(step, slack, distance=9.0), 9.0

    def bound(rounds):
        return (1 + step) ** (1 - rounds) * distance / math.sqrt(2 * math.pi * step)

    assert bound(k) <= slack * (1 + 1e-9)
    assert k == 1 or bound(k - 1) > slack * (1 - 1e-9)


def test_theorem_b_on_gaussians():
    """No data: the chain is Gaussian, and its total variation from the prior is known; the bound holds from any start."""
    for step in (0.05, 0.7, 5.0):
        for offset in (0.0, 2.0):
            for rounds in (1, 2, 5, 20):
                c = 1 / (1 + step)
                mean, deviation = offset * c**rounds, math.sqrt(1 - c ** (2 * rounds))
                grid = np.linspace(-12, 12, 60_001)
                law = np.exp(-(((grid - mean) / deviation) ** 2) / 2) / deviation
                tv = 0.5 * np.abs(law - np.exp(-(grid**2) / 2)).sum() * (grid[1] - grid[0]) / math.sqrt(2 * math.pi)
                assert tv <= c ** (rounds - 1) * (1 + offset) / math.sqrt(2 * math.pi * step)


def test_inputs_are_checked():
    posterior = posterior_of(LogisticLoss(), 5, 2, 1.0, 1.0, 1)
    for schedule in ({}, {"step": 0.1}, {"steps": 3}, {"step": 0.1, "steps": 3, "slack": 0.1}):
        with pytest.raises(gs.ParameterError, match="give step and steps, or slack"):
            draw(posterior, draws=1, **schedule)
    with pytest.raises(gs.ParameterError, match="slack"):
        draw(posterior, draws=1, slack=1.0)
    kinked = GibbsPosterior(Blocks(np.ones((2, 1))), HingeLoss(), 1.0, 1.0, 0.0)
    with pytest.raises(gs.PremiseError, match="not smooth"):
        draw(kinked, draws=1, slack=0.1)


def test_progress_is_reported_and_seeds_repeat():
    posterior, seen = posterior_of(LogisticLoss(), 50, 2, 1.0, 1.0, 1), []
    first, diagnostics = proximal.sample(posterior, 2, np.random.default_rng(3), lambda *a: seen.append(a), step=0.1, steps=7)
    again, _ = draw(posterior, seed=3, draws=2, step=0.1, steps=7)
    assert np.array_equal(first, again)
    assert seen[-1][:2] == (2, 2)
    assert diagnostics.accepted == 14
    assert diagnostics.proposals >= 14


def test_a_public_schedule_ignores_the_data():
    """Route A: the same rounds whatever the data, and the start is the prior's centre, inside the ball."""
    for kind in ("iso", "identical"):
        posterior = GibbsPosterior(Blocks(hostile(kind)), LogisticLoss(), 1.0, 1.0, 3.0, 1.0)
        _, diagnostics = draw(posterior, draws=2, step=1e-9, steps=3)
        assert diagnostics.accepted == 6
        assert np.linalg.norm(diagnostics.mode) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "p", "off"), [(30_000, 60, 0.005), (1_000_000, 20, 0.8)])
def test_gradients_in_single_precision_are_covered_by_no_slack(n, p, off):
    """docs/samplers.md, *Gradients stay in double precision*: each record off by 2⁻²⁴ of its slope, sums exact."""
    model = gs.models.LogisticRegression(dimension=p - 1, radius=math.sqrt(p - 1))
    plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", sampler="proximal")
    stage = plan.stages[0]
    public = plan.request().public_posterior(stage)
    shrunk, pull = stage.step / (1 + stage.step), stage.inverse_temperature * n * math.sqrt(public.reach)
    assert stage.steps * 0.4 * math.sqrt(shrunk) * 2.0**-24 * pull == pytest.approx(off, rel=0.1)
    bound = rounding_bound(
        stage.step, stage.steps, nats=public.tangent_nats(stage.step), parameters=p, terms=8192 + n // 8192, force=pull
    )
    assert 2.0**29 * bound > 1
