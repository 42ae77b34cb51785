"""The squeeze decides as the data would: its bounds, its decisions draw by draw, and when it is built."""

from dataclasses import replace

import numpy as np
import pytest

from gibbsafe.data import Blocks
from gibbsafe.errors import GibbsafeError
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss
from gibbsafe.samplers import GibbsPosterior
from gibbsafe.samplers.newton import Mode, find_mode
from gibbsafe.samplers.shell import fourth_moment as fourth
from gibbsafe.samplers.shell import proposals, squeeze
from gibbsafe.samplers.shell import sample as shell
from gibbsafe.samplers.shell import sums as moments

from ...audit.loading import load

audit = load("shell_acceptance")


def squeezes_of(posterior, frame):
    taylor, third = moments.taylor(posterior, frame), moments.cubic(posterior, frame)
    sums = fourth.fourth_moments(posterior, frame)
    return [squeeze.build_squeeze(posterior, frame, taylor, third, which) for which in (None, sums)]


def problem(loss, n=2000, p=4, beta=0.5, seed=0):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, p)) / 3
    targets = None if loss.margin else rows @ np.ones(p) + generator.standard_t(3, n)
    return GibbsPosterior(Blocks(rows, targets), loss, beta, 0.1, 0.0)


LOSSES = [LogisticLoss(), SoftHingeLoss(0.4), SoftPinballLoss(0.3, 0.6), PseudoHuberLoss(0.7)]


@pytest.mark.parametrize("seed", range(40))
def test_the_potential_lies_between_the_bounds(seed):
    """Random problems, at modes and away from them, along random directions and those of records, near and far."""
    generator = np.random.default_rng(300 + seed)
    posterior = audit.random_posterior(generator, 2000, 8)
    mode = find_mode(posterior)
    if seed % 2:
        centre = mode.centre + generator.standard_normal(posterior.dimension) / np.sqrt(np.diagonal(mode.hessian))
        mode = Mode(centre, *posterior.value_gradient_hessian(centre), mode.passes)
    frame = moments.Frame.at(mode, posterior)
    directions = generator.standard_normal((200, posterior.dimension))
    records = posterior.data.rows[generator.integers(0, posterior.data.n_rows, 200)].astype(float) @ frame.scale
    directions = np.concatenate([directions, records + 1e-6 * directions, -records - 1e-6 * directions])
    points = directions / np.linalg.norm(directions, axis=1, keepdims=True) * 10 ** generator.uniform(-2, 2, (600, 1))
    rise = posterior.values(frame.thetas(points)) - frame.value
    for bounds in squeezes_of(posterior, frame):
        if bounds is None:
            assert moments.taylor(posterior, frame).rounding.curvature > squeeze.LARGEST_ROUNDING
            continue
        known = shell.KnownSums(1.0, 1.0, frame, bounds.taylor)
        margin = 2 * shell.ShellEnvelope(posterior, known, None, 0, 0.0).margin(np.linalg.norm(points, axis=1))
        low, high = bounds.rises(points)
        assert not (low - margin > rise).any()
        assert not (high + margin < rise).any()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_sharp_bounds_close_in_as_the_fifth_power(loss):
    posterior = problem(loss, 5000)
    frame = moments.Frame.at(find_mode(posterior), posterior)
    _, sharp = squeezes_of(posterior, frame)
    direction = np.random.default_rng(1).standard_normal((50, 4))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    low, high = sharp.rises(2 * direction)
    closer = sharp.rises(direction)
    assert (high - low < 0.1).all()
    error = sharp.sums[0].error + sharp.sums[1].error
    assert (closer[1] - closer[0] <= (high - low) / 20 + error).all()


def draws_with_and_without(monkeypatch, posterior, envelope, draws, seed):
    found = []
    for candidate in (envelope, replace(envelope, squeeze=None)):
        monkeypatch.setattr(shell, "prepare", lambda *_, candidate=candidate: candidate)
        generator = np.random.default_rng(seed)
        found.append((shell.sample(posterior, draws, generator)[0], generator.random()))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_draws_are_bit_for_bit_those_without_a_squeeze(monkeypatch, seed):
    """Random problems and certificates, unconverged modes, all losses; the generator is left in the same state too."""
    generator = np.random.default_rng(400 + seed)
    while True:
        posterior = audit.random_posterior(generator, 2000, 6)
        envelope = audit.random_envelope(posterior, generator)
        if envelope.squeeze is None:
            continue
        mixture = proposals.build_mixture(envelope.known, 0.3)
        predicted = 0.5 * posterior.dimension * np.log(2 * np.pi) - mixture.log_mass(generator)
        if predicted > -5:  # else a draw takes thousands of evaluations
            break
    envelope = replace(envelope, mixture=mixture, log_acceptance=predicted)
    (first, state), (second, other) = draws_with_and_without(monkeypatch, posterior, envelope, 300, seed)
    assert (first == second).all()
    assert state == other


CORNERS = {
    "no rows": (np.empty((0, 3)), 1.0, 0.1),
    "one row": (np.array([[0.6, -0.8]]), 10.0, 1e-3),
    "zero rows": (np.zeros((100, 3)), 1.0, 0.1),
    "constant columns": (np.ones((100, 2)) / 2, 1.0, 0.1),
    "more columns than rows": (np.random.default_rng(3).standard_normal((5, 20)) / 5, 1.0, 0.01),
    "mixed precision": (np.random.default_rng(4).standard_normal((200, 3)) / 4, 1.0, np.array([1e-4, 1.0, 1e6])),
    "infinite temperature": (np.random.default_rng(5).standard_normal((200, 3)) / 4, 0.0, 2.0),
    "huge reach": (np.array([[1e3, 0.0], [1e-3, 1e-3]]), 1e-6, 1e-6),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners_are_drawn_alike_with_and_without(monkeypatch, name):
    rows, beta, precision = CORNERS[name]
    posterior = GibbsPosterior(Blocks(rows), LogisticLoss(), beta, precision, 0.0)
    envelope = shell.prepare(posterior, 100, np.random.default_rng(6))
    frame = envelope.known.frame
    for bounds in squeezes_of(posterior, frame):
        candidate = replace(envelope, squeeze=bounds)
        (first, _), (second, _) = draws_with_and_without(monkeypatch, posterior, candidate, 200, 7)
        assert (first == second).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_most_proposals_are_decided_without_the_data(monkeypatch, loss):
    posterior = problem(loss, 20_000)
    seen = []
    evaluate = shell.ShellEnvelope.log_acceptance_of
    monkeypatch.setattr(shell.ShellEnvelope, "log_acceptance_of", lambda self, batch: seen.append(batch) or evaluate(self, batch))
    _, diagnostics = shell.sample(posterior, 5000, np.random.default_rng(8))
    assert diagnostics.accepted >= 5000
    assert sum(len(batch.index) for batch in seen) < 0.1 * 5000


def test_few_draws_build_no_squeeze_and_more_build_sharper_ones():
    posterior = problem(LogisticLoss(), 30_000, 10, 0.05)
    kinds = []
    for draws in (1, 100, 100_000):
        built = shell.prepare(posterior, draws, np.random.default_rng(9)).squeeze
        kinds.append(None if built is None else built.sums is not None)
    assert kinds[0] is None
    assert kinds[-1] is True


def test_no_squeeze_where_the_curvature_is_inaccurate():
    posterior = problem(LogisticLoss())
    frame = moments.Frame.at(find_mode(posterior), posterior)
    assert all(bounds is not None for bounds in squeezes_of(posterior, frame))
    taylor, third = moments.taylor(posterior, frame), moments.cubic(posterior, frame)
    blurred = replace(taylor, rounding=replace(taylor.rounding, curvature=0.25))
    assert squeeze.build_squeeze(posterior, frame, blurred, third) is None
    choice = {"proposals": 1e9, "evaluation": 1.0, "prices": (0.0, 0.0)}
    assert squeeze.choose(posterior.loss, frame, taylor, **choice).sharp
    assert squeeze.choose(posterior.loss, frame, blurred, **choice) is None


def test_fourth_moments_are_their_sums():
    posterior = problem(PseudoHuberLoss(0.7), 500, 3)
    frame = moments.Frame.at(find_mode(posterior), posterior)
    rows, y = posterior.data.rows, posterior.data.targets
    loss, u, white = posterior.loss, rows @ frame.centre, rows @ frame.scale
    v = np.random.default_rng(10).standard_normal((20, 3))
    products = moments.pairs_of(np.ascontiguousarray(v.T)) * moments.svec_scale(3)[:, None]
    powers = posterior.inverse_temperature * (white @ v.T) ** 4
    curvature, bend = loss.curvature(u, y), loss.fourth(u, y)
    for moment, weights in zip(fourth.fourth_moments(posterior, frame), (curvature, bend), strict=True):
        found = np.einsum("ji,jk,ki->i", products, moment.matrix, products)
        assert (np.abs(found - weights @ powers) <= moment.error * np.square(v).sum(axis=1) ** 2).all()


def test_the_squeeze_catches_a_wrong_envelope():
    posterior = problem(LogisticLoss(), 20_000)
    envelope = shell.prepare(posterior, 5000, np.random.default_rng(11))
    batch = envelope.mixture.propose(2000, np.random.default_rng(12))
    with pytest.raises(GibbsafeError, match="envelope is wrong"):
        envelope.squeezed(replace(batch, log_envelope=batch.log_envelope - 3.0))
