"""Rounding: the examples that once crashed, hostile data of every kind, and computed rises against exact ones.

Seeds and sizes of the first part are chosen so that each example failed with margins that scaled with |U(t)|, with the share of
the data's curvature, or with the radius of the last shell.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpf

from gibbsafe.data import Blocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.losses.centred import CentredPseudoHuberLoss, CentredSoftPinballLoss
from gibbsafe.losses.kinked import HingeLoss, PinballLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.soft_step import SoftHingeLoss
from gibbsafe.models import GaussianPrior, LogisticRegression, SoftQuantileRegression
from gibbsafe.planning import plan
from gibbsafe.privacy import Budget
from gibbsafe.samplers import GibbsPosterior, inverse_cdf
from gibbsafe.samplers.newton import find_mode
from gibbsafe.samplers.shell import fourth_moment as fourth
from gibbsafe.samplers.shell import sample as shell
from gibbsafe.samplers.shell import sums as moments
from gibbsafe.samplers.shell.envelope import KnownSums, bounds_on_shell
from gibbsafe.samplers.shell.mode import Recentred, recentre

# -- what once crashed, or never ended ---------------------------------------------------------------------------------


class TooManyProposalsError(Exception):
    pass


def patience(limit):
    def progress(accepted, draws, proposals, seconds):
        if proposals > limit:
            raise TooManyProposalsError

    return progress


def draw(posterior, seed=0, draws=1, sampler=shell, limit=200_000):
    values, diagnostics = sampler.sample(posterior, draws, np.random.default_rng(seed), patience(limit))
    assert np.isfinite(values).all()
    assert diagnostics.log_acceptance <= 0
    return values


def planned_posterior(made, data):
    stage = made.stages[-1]
    records = made.model.encode(data, EncodingOptions())
    return made.model.posterior(records, stage, np.array(stage.prior_centre))


@pytest.mark.parametrize("seed", [0, 4])
def test_mirrored_responses_and_a_far_prior_centre(seed):
    """Terms of both signs: |U(t)| is small while the terms' sizes add up to 1e9."""
    model = SoftQuantileRegression(dimension=5, bounds=[(0, 1)] * 5)
    prior = GaussianPrior(1.0, (0, 0, 0, 0, 0, 1e5))
    made = plan(model, Budget(1.0, 1e-6), n=100_000, adjacency="replace-one", sampler="shell", prior=prior)
    half = np.random.default_rng(0).random((50_000, 5))
    draw(planned_posterior(made, (np.concatenate([half, half]), np.repeat([1e9, -1e9], 50_000))), seed)


def test_saturated_losses_at_a_large_inverse_temperature():
    """The sum of log(1 + e^{−|u|}) errs by a rounding of 1 per record, however small it is itself."""
    model = LogisticRegression(dimension=3, radius=1.0)
    prior = GaussianPrior(1e12, (0, 0, 0, 14))
    made = plan(model, Budget(10.0, 1e-6), n=60_000, adjacency="replace-one", sampler="shell", prior=prior)
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (60_000, 3))
    draw(planned_posterior(made, (rows, np.ones(60_000))))


def test_saturated_losses_in_one_dimension():
    posterior = GibbsPosterior(Blocks(np.ones((20_000, 1))), LogisticLoss(), 1e5, 1e9, 14.0)
    draw(posterior, 4, sampler=inverse_cdf)


def one_row_repeated(p, condition):
    rows, precision, n = np.tile(np.ones(p) / np.sqrt(p), (3000, 1)), 1e-10, 3000
    rows = np.append(rows, np.ones((n, 1)), axis=1) / math.sqrt(2)
    return GibbsPosterior(Blocks(rows, np.zeros(n)), CentredPseudoHuberLoss(10.0), condition * precision / n, precision, 0.0)


@pytest.mark.parametrize(("p", "condition", "seed"), [(12, 7.7e9, 26), (12, 1e11, 5), (4, 1e12, 1), (4, 1e12, 3)])
def test_eigenvalues_near_the_prior_precision_err_by_roundings_of_the_largest(p, condition, seed):
    draw(one_row_repeated(p, condition), seed)


ROWS = np.random.default_rng(0).standard_normal((3000, 4)) / 4


@pytest.mark.parametrize("precision", [1e-12, 1e-18, 1e-24])
def test_a_tiny_prior_precision_is_drawn_from_where_the_data_say_enough(precision):
    for posterior in (
        GibbsPosterior(Blocks(ROWS), LogisticLoss(), 0.2, precision, 0.0),
        GibbsPosterior(Blocks(ROWS, ROWS @ np.ones(4)), CentredPseudoHuberLoss(1.0), 0.2, precision, 0.0),
    ):
        draw(posterior, draws=3)
        envelope = shell.prepare(posterior, 1, np.random.default_rng(1))
        assert envelope.headroom < 0.1
        assert envelope.log_acceptance > -5


@pytest.mark.parametrize(("precision", "nats"), [(1e-10, 20), (1e-16, 35)])
def test_headroom_and_the_gradient_left_over_do_not_grow_with_the_radius(precision, nats):
    """Once 9,999 and 1e16 nats of headroom, which no prediction counted, and 14,968 nats for the gradient left over at 1e-10."""
    envelope = shell.prepare(GibbsPosterior(Blocks(ROWS[:3]), LogisticLoss(), 0.2, precision, 0.0), 1, np.random.default_rng(1))
    assert envelope.headroom < 0.1
    assert envelope.log_acceptance > -nats


@pytest.mark.parametrize("loss", [CentredPseudoHuberLoss(1.0), CentredSoftPinballLoss(0.3, 0.5)], ids=repr)
def test_a_mode_that_responses_push_far_away_is_drawn_from(loss):
    """At 1e15 from the prior's centre, where U is 1e18 and its roundings hundreds of nats."""
    draw(GibbsPosterior(Blocks(ROWS, np.full(3000, 1e24)), loss, 0.2, 1e-13, 0.0), draws=3)
    draw(GibbsPosterior(Blocks(ROWS[:, :1], np.full(3000, 1e24)), loss, 0.2, 1e-13, 0.0), draws=3, sampler=inverse_cdf)


@pytest.mark.parametrize("size", [1e-50, 1e-54, 1e-60, 1e-107, 1e-160, 1e-310])
def test_every_bound_is_finite_where_sums_are_subnormal(size):
    posterior = GibbsPosterior(Blocks(ROWS * size), SoftHingeLoss(0.5), 0.2, 1.0, 0.0)
    frame = moments.Frame.at(find_mode(posterior), posterior)
    certified = fourth.certified_fourth_moment(posterior, frame)
    loss, taylor, third = posterior.loss, moments.taylor(posterior, frame), moments.cubic(posterior, frame)
    known = KnownSums(loss.self_concordance, loss.quartic_deficit, frame, taylor, cubic=third, fourth=certified)
    for lo, hi in [(0.0, 0.5), (2.0, 2.3), (10.0, 12.0)]:
        bounds = list(bounds_on_shell(known, lo, hi))
        assert len(bounds) >= 4
        for bound in bounds:
            assert np.isfinite([bound.constant, *bound.linear, *bound.precision.ravel(), bound.least_rise()]).all()
    draw(posterior, draws=5)


# -- hostile data ------------------------------------------------------------------------------------------------------


def rows_of(kind, n, p, generator):
    rows = generator.standard_normal((n, p))
    if kind == "identical":
        rows[:] = rows[:1]
    elif kind == "collinear":
        rows[:] = rows[:, :1]
    elif kind == "nearly collinear":
        rows = rows[:, :1] + 1e-8 * rows
    elif kind == "one-hot":
        rows = np.eye(p)[generator.integers(0, p, n)]
    elif kind == "clipped":
        rows = np.clip(rows * 1e300, -1.0, 1.0)
    elif kind == "subnormal":
        rows *= 5e-324 ** generator.random((n, 1))
    elif kind == "leverage":
        rows[1:] *= 1e-6
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))


KINDS = ("plain", "identical", "collinear", "nearly collinear", "one-hot", "clipped", "subnormal", "leverage")
SMOOTH = (LogisticLoss(), SoftHingeLoss(0.3), CentredPseudoHuberLoss(0.5), CentredSoftPinballLoss(0.7, 0.4))


def targets_of(loss, rows, generator):
    """Responses, labels folded into the rows: noise, all equal, mirrored, or far out on one side."""
    n, chance = len(rows), generator.random()
    signs = np.where(generator.random(n) < 0.5, 1.0, -1.0) if chance < 0.5 else np.ones(n)
    if loss.margin:
        return rows * signs[:, None], None
    far = 10 ** generator.uniform(0, 24)
    return rows, generator.standard_cauchy(n) if chance < 0.25 else signs * far


def hostile(generator, losses=SMOOTH, most=3000, p=None):
    """A posterior within the limits: condition to 1e10, and β Lip n R times the prior's deviation of at most 1e9."""
    n = int(generator.choice([0, 1, 2, 30, most]))
    p = int(generator.integers(1, 5)) if p is None else p
    loss = losses[generator.integers(len(losses))]
    rows, targets = targets_of(loss, rows_of(KINDS[generator.integers(len(KINDS))], n, p, generator), generator)
    beta = 10 ** generator.uniform(-6, 4)
    slope = beta * max(n, 1) * loss.lipschitz
    smallest = max(beta * max(n, 1) * min(loss.smoothness, 10.0) / 1e10, slope**2 / 1e18)
    precision = smallest * 10 ** generator.uniform(0, 12)
    farthest = 1e11 / slope  # rounding of a predictor: a public limit
    centre = 0.0 if generator.random() < 0.4 else generator.standard_normal(p) * 10 ** generator.uniform(-3, math.log10(farthest))
    return GibbsPosterior(Blocks(rows, targets), loss, beta, precision, centre)


def quick(posterior, seed):
    envelope = shell.prepare(posterior, 1, np.random.default_rng(seed))
    return envelope if envelope.log_acceptance > -7 else None  # else a draw takes thousands of evaluations


@pytest.mark.parametrize("block", range(10))
def test_hostile_data_are_drawn_from_with_little_headroom(block):
    """No exception, finite draws, no log acceptance above 0, less than a tenth of a nat of headroom."""
    drawn = 0
    for seed in range(1000 * block, 1000 * block + 10):
        posterior = hostile(np.random.default_rng(seed))
        envelope = quick(posterior, seed)
        if envelope is not None:
            drawn += 1
            assert envelope.headroom < 0.1
            draw(posterior, seed, draws=int(np.random.default_rng(seed).choice([1, 2, 200])), limit=math.inf)
    assert drawn >= 5


@pytest.mark.parametrize("block", range(6))
def test_hostile_data_are_drawn_from_in_one_dimension(block):
    losses = (*SMOOTH, HingeLoss(), PinballLoss(0.3))
    for seed in range(1000 * block, 1000 * block + 25):
        draw(hostile(np.random.default_rng(seed), losses, 300, p=1), seed, 20, inverse_cdf, limit=20_000)


@pytest.mark.parametrize("seed", range(12))
def test_every_shell_is_above_hostile_data(seed):
    """All shells and the tail proposed from equally often, with every certificate; the far ones as hard as the bulk."""
    generator = np.random.default_rng(20_000 + seed)
    for _ in range(5):
        envelope = shell.prepare(hostile(generator), 10_000, generator)
        mixture = envelope.mixture
        even = replace(mixture, log_weights=np.zeros_like(mixture.log_weights))
        batch = even.propose(2000, generator)
        exact = envelope.log_acceptance_of(batch)  # raises above 0
        assert np.isfinite(exact).all()
        if envelope.squeeze is not None:
            least, most = envelope.squeezed(batch)
            assert not (least > exact).any()
            assert not (most < exact).any()
        log_uniform = -generator.standard_exponential(exact.size)
        rejected = envelope.surely_rejected(batch, log_uniform)
        assert not (log_uniform[rejected] <= exact[rejected]).any()


# -- against exact arithmetic ------------------------------------------------------------------------------------------


def exact_loss(loss, u, y):
    """The loss in high precision: written anew, from its definition."""
    if isinstance(loss, LogisticLoss):
        return mp.log1p(mp.exp(-u)) if u > 0 else -u + mp.log1p(mp.exp(u))
    width = mpf(loss.width)
    if isinstance(loss, SoftHingeLoss):
        x = (1 - u) / width
        return width * (mp.log1p(mp.exp(-abs(x))) + max(x, 0))
    if isinstance(loss, CentredPseudoHuberLoss):
        return width**2 * (mp.sqrt(1 + ((y - u) / width) ** 2) - mp.sqrt(1 + (y / width) ** 2))
    quantile = mpf(loss.quantile)

    def soft(x):
        return max(quantile * x, (quantile - 1) * x) + width * mp.log1p(mp.exp(-abs(x) / width))

    return soft(y - u) - soft(y)


def exact_rise(envelope, v):
    """U(t + Wv) − U(t) with the t, W, v and records that the sampler has, in 80 digits."""
    posterior, frame = envelope.posterior, envelope.known.frame
    p = posterior.dimension
    step = [mp.fdot(zip(map(mpf, frame.scale[j]), map(mpf, v), strict=True)) for j in range(p)]
    total = mpf(0)
    targets = posterior.data.targets
    for i, row in enumerate(posterior.data.rows):
        z = [mpf(x) for x in row.astype(float)]
        start, change = (mp.fdot(zip(z, x, strict=True)) for x in ([mpf(x) for x in frame.centre], step))
        y = None if targets is None else mpf(float(targets[i]))
        total += exact_loss(posterior.loss, start + change, y) - exact_loss(posterior.loss, start, y)
    pull = [mpf(float(t)) - mpf(float(c)) for t, c in zip(frame.centre, posterior.prior_centre, strict=True)]
    prior = sum(mpf(float(m)) * d * (b + d / 2) for m, d, b in zip(posterior.prior_precision, step, pull, strict=True))
    return mpf(posterior.inverse_temperature) * total + prior


@pytest.mark.parametrize("seed", range(24))
def test_a_computed_rise_errs_by_less_than_its_margin_and_the_envelope_is_above_the_exact_one(seed):
    generator = np.random.default_rng(30_000 + seed)
    with mp.workdps(80):
        for _ in range(3):
            posterior = hostile(generator, most=60)
            if seed % 2 and not posterior.loss.margin and posterior.data.n_rows:  # not yet recentred: larger sums, larger margins
                posterior = recentre(posterior, generator.standard_normal(posterior.dimension))
            envelope = shell.prepare(posterior, 10_000, generator)
            mixture = envelope.mixture
            batch = replace(mixture, log_weights=np.zeros_like(mixture.log_weights)).propose(40, generator).take(slice(4))
            computed, margin = envelope.rises(batch.points), envelope.margin(np.linalg.norm(batch.points, axis=1))
            for v, rise, room, height in zip(batch.points, computed, margin, batch.log_envelope, strict=True):
                exact = exact_rise(envelope, v)
                assert abs(mpf(float(rise)) - exact) <= mpf(float(room))
                assert -exact <= mpf(float(height))


# -- the posterior seen from its mode ------------------------------------------------------------------------------------


def test_recentring_moves_the_posterior_and_changes_nothing_else():
    generator = np.random.default_rng(3)
    rows, y, centre = generator.standard_normal((500, 3)), generator.standard_normal(500), np.array([1.0, -2.0, 0.5])
    weights = generator.integers(1, 4, 500).astype(float)
    thetas = generator.standard_normal((7, 3))
    for data in (Blocks(rows, y), Blocks(rows, y, weights)):
        given = GibbsPosterior(data, CentredPseudoHuberLoss(0.7), 0.3, 2.0, 0.4)
        moved = recentre(given, centre)
        streamed = replace(moved, data=Recentred(data, centre))
        for posterior in (moved, streamed):
            rises = given.values(centre + thetas) - given.values(centre[None])
            np.testing.assert_allclose(posterior.values(thetas) - posterior.values(np.zeros((1, 3))), rises, rtol=1e-10)
            assert posterior.data.n_rows == data.n_rows
            assert posterior.rows_per_pass == 500
        np.testing.assert_array_equal(streamed.values(thetas), moved.values(thetas))


def test_rises_of_the_prior_are_differences_of_its_values():
    generator = np.random.default_rng(4)
    posterior = GibbsPosterior(
        Blocks(np.empty((0, 3))), LogisticLoss(), 1.0, np.array([0.1, 2.0, 30.0]), np.array([1.0, -2.0, 3.0])
    )
    centre, steps = generator.standard_normal(3), generator.standard_normal((5, 3))
    expected = posterior.prior_values(centre + steps) - posterior.prior_values(centre[None])
    np.testing.assert_allclose(posterior.prior_rises(centre, steps), expected, rtol=1e-12)
