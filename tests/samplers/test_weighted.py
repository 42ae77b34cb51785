"""Every pass over merged records against the same pass over the records themselves, and draws against quadrature.

Kolmogorov-Smirnov statistics have a false-alarm rate of 1e-4 each, 11 of them: 0.1 % over the file, and the seeds are fixed.
"""

import dataclasses

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.data import Blocks
from gibbsafe.data.compression import merge_identical
from gibbsafe.losses.centred import CentredPseudoHuberLoss, CentredSoftPinballLoss
from gibbsafe.losses.kinked import HingeLoss, PinballLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.models import LogisticRegression
from gibbsafe.samplers import SAMPLERS, GibbsPosterior
from gibbsafe.samplers.newton import find_mode
from gibbsafe.samplers.shell import fourth_moment as fourth
from gibbsafe.samplers.shell import sample as shell
from gibbsafe.samplers.shell import screen
from gibbsafe.samplers.shell import sums as moments

from .test_exactness import CRITICAL, DRAWS, grid_around, ks

SMOOTH = [
    LogisticLoss(),
    SoftHingeLoss(0.4),
    PseudoHuberLoss(0.7),
    SoftPinballLoss(0.3, 0.5),
    CentredPseudoHuberLoss(0.7),
    CentredSoftPinballLoss(0.3, 0.5),
]
KINKED = [HingeLoss(), PinballLoss(0.3), SquaredLoss(5.0)]


def both(loss, n=4000, p=3, beta=0.02, dtype=np.float64, seed=0):
    """A posterior on records of few values, and the same on merged records."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(-1, 2, (n, p)) / np.sqrt(p)
    rows[:, -1] = 0.5
    signal = rows @ np.linspace(2, -1, p) + generator.logistic(size=n)
    targets = None if loss.margin else np.round(signal)
    if loss.margin:
        rows = rows * np.where(signal > 0, 1.0, -1.0)[:, None]
    blocks = Blocks(rows.astype(dtype), targets)
    merged = merge_identical(blocks)
    assert merged.weights is not None
    return [GibbsPosterior(data, loss, beta, np.linspace(0.3, 0.6, p), np.linspace(-0.2, 0.2, p)) for data in (blocks, merged)]


def close(first, second, tolerance=1e-12):
    np.testing.assert_allclose(first, second, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(first).max(initial=0))))


def numbers_in(sums):
    """The arrays and numbers of a dataclass, those of dataclasses in it included; fewer rows are fewer roundings."""
    for value in (getattr(sums, field.name) for field in dataclasses.fields(sums) if field.name != "rounding"):
        yield from numbers_in(value) if dataclasses.is_dataclass(value) else [value]


@pytest.mark.parametrize("loss", SMOOTH + KINKED, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_pass_counts_the_records(loss, dtype):
    plain, merged = both(loss, dtype=dtype)
    thetas = np.random.default_rng(1).standard_normal((7, 3))
    for posterior in (plain, merged):
        assert posterior.data.n_rows == 4000
    assert plain.rows_per_pass == 4000
    assert merged.rows_per_pass < 400
    close(plain.values(thetas), merged.values(thetas))
    close(plain.values(thetas[:1]), merged.values(thetas[:1]))
    close(plain.gradients(thetas), merged.gradients(thetas))
    close(plain.gradient(thetas[0]), merged.gradient(thetas[0]))
    for first, second in zip(plain.value_and_gradient(thetas[0]), merged.value_and_gradient(thetas[0]), strict=True):
        close(first, second)
    for first, second in zip(plain.value_gradient_hessian(thetas[0]), merged.value_gradient_hessian(thetas[0]), strict=True):
        close(first, second)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_single_precision_stays_within_its_stated_error(loss):
    plain, merged = both(loss)
    thetas = 3 * np.random.default_rng(2).standard_normal((40, 3))
    exact = (plain.values(thetas) - plain.prior_values(thetas)) / plain.inverse_temperature
    rough = merged.rough_loss_totals(thetas)
    norms = float(np.linalg.norm(plain.data.rows, axis=1).sum())
    assert (np.abs(rough - exact) <= screen.rough_error(merged, rough, thetas, norms)).all()


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_the_envelopes_sums_count_the_records(loss):
    plain, merged = both(loss)
    frame = moments.Frame.at(find_mode(plain), plain)
    for make in (moments.taylor, moments.cubic, lambda *pair: moments.grams(*pair, (0.9, 4.0, 40.0))):
        for first, second in zip(numbers_in(make(plain, frame)), numbers_in(make(merged, frame)), strict=True):
            close(first, second, 1e-11)
    for first, second in zip(fourth.fourth_moments(plain, frame), fourth.fourth_moments(merged, frame), strict=True):
        assert np.linalg.norm(first.matrix - second.matrix, 2) <= first.error + second.error
        close(first.error, second.error, 1e-10)
    taylor = moments.taylor(plain, frame)
    close(fourth.attained_fourth_moment(plain, frame, taylor), fourth.attained_fourth_moment(merged, frame, taylor), 1e-9)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_the_screen_and_the_squeeze_bound_the_records_potential(loss):
    plain, merged = both(loss)
    frame = moments.Frame.at(find_mode(merged), merged)
    points = np.random.default_rng(4).standard_normal((200, 3)) * np.linspace(0.1, 3, 200)[:, None]
    rise = plain.values(frame.thetas(points)) - frame.value
    assert (screen.build_screen(merged, frame).least_rise(points) <= rise + 1e-9).all()
    envelope = shell.prepare(merged, 100_000, np.random.default_rng(5))
    if envelope.squeeze is not None:
        frame = envelope.known.frame
        low, high = envelope.squeeze.rises(points)
        thetas, mode = envelope.origin + frame.thetas(points), envelope.origin + frame.centre
        rise = plain.values(thetas) - plain.values(mode[None])
        assert (low <= rise + 1e-9).all()
        assert (high >= rise - 1e-9).all()


@pytest.mark.parametrize("loss", [*SMOOTH, HingeLoss(), PinballLoss(0.3)], ids=str)
def test_draws_from_merged_records_follow_the_records_posterior(loss):
    plain, merged = both(loss, n=600, p=1, beta=0.05)
    if np.isfinite(loss.smoothness):
        (grid,) = grid_around(plain, 20_001, 40.0)
    else:
        grid = np.linspace(-8, 8, 20_001)
    potential = np.concatenate([plain.values(part[:, None]) for part in np.array_split(grid, 50)])
    density = np.exp(potential.min() - potential)
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    for sampler in ("inverse-cdf", "shell") if loss == LogisticLoss() else ("inverse-cdf",):
        draws, diagnostics = SAMPLERS[sampler].function(merged, DRAWS, np.random.default_rng(22), None)
        assert diagnostics.log_acceptance <= 0
        assert ks(draws[:, 0], grid, cumulative / cumulative[-1]) < CRITICAL


@pytest.mark.parametrize("sampler", ["shell", "langevin"])
def test_a_release_merges_and_does_not_depend_on_the_order(sampler):
    generator = np.random.default_rng(0)
    features = np.eye(4)[generator.integers(0, 4, 3000)]
    labels = generator.random(3000) < 0.3
    theorem = {} if sampler == "shell" else {"theorem": "langevin-last-iterate"}
    model, budget = LogisticRegression(dimension=4, radius=1.0), gs.Budget(1.0, 1e-6)
    plan = gs.plan(model, budget, n=3000, adjacency="replace-one", sampler=sampler, **theorem)
    order = generator.permutation(3000)
    first, second = (
        plan.release(data, generator=np.random.default_rng(7)).draws
        for data in ((features, labels), (features[order], labels[order]))
    )
    assert np.array_equal(first, second)
