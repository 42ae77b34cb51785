"""Pseudo-Huber regression: no bound on the response, no overflow either."""

import mpmath as mp
import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.losses.centred import CentredPseudoHuberLoss, CentredSoftPinballLoss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftPinballLoss

Huber = gs.models.PseudoHuberRegression


def exact_shift(loss, u, y):
    """f(u, y) − f(0, y) in 400 digits."""

    def value(x):
        if isinstance(loss, PseudoHuberLoss):
            return mp.sqrt(1 + (x / loss.width) ** 2) * loss.width**2
        return loss.quantile * x + loss.width * mp.log(1 + mp.exp(-x / loss.width)) if x > -1e3 else (loss.quantile - 1) * x

    return float(value(mp.mpf(y) - mp.mpf(u)) - value(mp.mpf(y)))


@pytest.mark.parametrize(
    "loss", [CentredPseudoHuberLoss(0.7), CentredSoftPinballLoss(0.2, 0.3), CentredSoftPinballLoss(0.9, 2.0)]
)
def test_centred_values_are_exact_however_large_the_response(loss):
    for y in (0.0, 0.4, -3.0, 1e3, -1e6, 1e15, -1e24):
        u = np.array([-200.0, -3.0, -1e-3, 0.0, 0.4, 5.0, 1e3])
        with mp.workdps(400):
            expected = [exact_shift(loss, v, y) for v in u]
        scale = loss.lipschitz * np.abs(u) + loss.self_concordance**-1
        targets = np.full(len(u), y)
        assert np.abs(loss.value(u, targets) - expected).max(initial=0) <= 1e-15 * 50 * scale.max()
        assert (np.abs(loss.value(u, targets) - expected) <= 1e-14 * scale).all()
        single = loss.value(u.astype(np.float32), targets.astype(np.float32))
        assert single.dtype == np.float32
        # The worst case that the samplers' single-precision bound allows for: 8 units of Lip·|u| and of 1/κ.
        assert (np.abs(single - expected) <= 16 * 2.0**-24 * scale).all()


@pytest.mark.parametrize(
    ("centred", "plain"),
    [(CentredPseudoHuberLoss(0.7), PseudoHuberLoss(0.7)), (CentredSoftPinballLoss(0.2, 0.3), SoftPinballLoss(0.2, 0.3))],
)
@pytest.mark.parametrize("shape", [(0,), (65,), (65, 3)])
def test_centred_losses_differ_by_a_constant_only(centred, plain, shape):
    rng = np.random.default_rng(1)
    u, y = 3 * rng.normal(size=shape), 3 * rng.normal(size=shape[0])
    expected = plain.value(u, y) - plain.value(np.zeros(shape), y)
    np.testing.assert_allclose(centred.value(u, y), expected, atol=1e-13)
    total, slope = centred.total_and_slope(u, y)
    np.testing.assert_allclose(total, expected.sum(axis=0), atol=1e-11)
    np.testing.assert_array_equal(slope, plain.slope(u, y))
    assert centred.total(u.astype(np.float32), y.astype(np.float32)).dtype == np.float32


def test_far_responses_count_by_their_side_only():
    """Responses of 1e12 and 1e300 have the same slope: the release is the same, in law and draw for draw."""
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-0.5, 0.5, (50, 1)), rng.normal(size=50)
    plan = gs.plan(Huber(dimension=1, intercept=False), gs.Budget(5.0, 1e-3), n=50, adjacency="replace-one", draws=5)
    draws = []
    for far in (1e12, 1e300):
        y[:10] = far
        draws.append(plan.release((X, y), generator=np.random.default_rng(3)).draws)
    np.testing.assert_allclose(draws[0], draws[1], rtol=1e-9)


def test_heavy_tails_do_not_move_the_line():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (20_000, 2)) / np.sqrt(2)
    y = X @ [2.0, -1.0] + 0.5 + rng.standard_t(2, 20_000)
    y[:50] = 1e6
    plan = gs.plan(Huber(dimension=2, width=1.0), gs.Budget(3.0, 1e-6), n=20_000, adjacency="replace-one", purpose="estimate")
    made = plan.release((X, y), generator=rng)
    np.testing.assert_allclose(made.draws[0], [2.0, -1.0, 0.5], atol=0.25)


@pytest.mark.parametrize("width", [0, -1.0, float("nan"), True])
def test_a_width_must_be_positive(width):
    with pytest.raises(gs.ParameterError, match="width"):
        Huber(dimension=2, width=width)


def test_langevin_needs_a_public_number_of_records():
    with pytest.raises(gs.PremiseError, match="use replace-one"):
        gs.plan(Huber(dimension=2), gs.Budget(1.0, 1e-6), n=100, adjacency="add-remove", sampler="langevin")
