"""Declared constants against numerical search; derivatives against mpmath; hostile arguments."""

import math

import mpmath as mp
import numpy as np
import pytest

from gibbsafe.errors import ParameterError
from gibbsafe.losses.base import psi, psi_slope
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftHingeLoss, SoftPinballLoss

from ..examples import GIBBS
from .formulas import WRITTEN

LOSSES = list(WRITTEN)


def formula(loss, u, y):
    return WRITTEN[loss].formula(loss, u, y)


def arguments(loss, u):
    return (u, None) if loss.margin else (u, np.full(len(u), WRITTEN[loss].y))


def targets(loss, number, seed):
    """Random targets of the loss."""
    written = WRITTEN[loss]
    return None if loss.margin else np.clip(np.random.default_rng(seed).standard_normal(number), written.lowest, written.highest)


def test_the_losses_of_all_models_are_written_down():
    smooth = {type(model.loss) for model in GIBBS.values() if 0 < model.loss.self_concordance < math.inf}
    assert smooth <= {type(loss) for loss in LOSSES}, "a loss has an entry in tests/losses/formulas.py"


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_values_and_derivatives_match_mpmath(loss):
    u = np.array([-30.0, -4.0, -1.1, -0.2, 0.0, 0.3, 0.9, 2.5, 7.0, 40.0])
    u, y = arguments(loss, u)
    with mp.workdps(60):
        for order, method in enumerate((loss.value, loss.slope, loss.curvature, loss.third, loss.fourth)):
            exact = [float(mp.diff(lambda x: formula(loss, x, mp.mpf(WRITTEN[loss].y)), mp.mpf(x), order)) for x in u]
            np.testing.assert_allclose(method(u, y), exact, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_of_the_residual_are_of_the_residual(loss):
    """Moving response and predictor together changes the value by a term of the response alone, or it is not declared."""
    rng = np.random.default_rng(7)
    u, v, a = rng.standard_normal((3, 200))
    y = targets(loss, 200, 8)
    if loss.margin:
        assert not loss.of_residual
        return
    moved, still = (loss.value(u + b, y + b) - loss.value(v + b, y + b) for b in (np.abs(a), np.zeros(200)))
    if WRITTEN[loss].packed:
        assert not loss.of_residual
    else:
        assert np.allclose(moved, still, rtol=1e-9, atol=1e-9) == loss.of_residual


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("shape", [(1,), (63,), (64,), (1000,), (200, 3), (0,), (0, 3)])
def test_totals_are_column_sums(loss, shape):
    u = 5 * np.random.default_rng(3).standard_normal(shape)
    y = targets(loss, shape[0], 4)
    total, slope = loss.total_and_slope(u, y)
    np.testing.assert_allclose(total, loss.value(u, y).sum(axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(loss.total(u, y), total, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(slope, loss.slope(u, y), rtol=1e-12, atol=1e-15)
    single = loss.total(u.astype(np.float32), None if y is None else y.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, total, rtol=1e-4, atol=1e-6 * max(1, len(u)))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_declared_constants_hold_and_are_attained(loss):
    written = WRITTEN[loss]
    u = np.concatenate([np.linspace(-60, 60, 200_001) * written.width, [written.bend]])
    y = None if loss.margin else np.full(len(u), written.steepest)
    curvature = loss.curvature(u, y)
    for declared, found in (
        (loss.lipschitz, np.abs(loss.slope(u, y)).max()),
        (loss.smoothness, curvature.max()),
        (loss.self_concordance, (np.abs(loss.third(u, y)) / curvature).max()),
    ):
        assert found <= declared * (1 + 1e-12)
        assert found >= 0.99 * declared  # a looser constant would cost privacy or speed for nothing


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_quartic_deficit_holds_and_is_attained(loss):
    width, middle = WRITTEN[loss].width, WRITTEN[loss].bend
    u = middle + width * np.linspace(-15, 15, 601)[:, None]
    x = width * np.concatenate([np.linspace(-40, 40, 1601), np.geomspace(1e-3, 1, 50), -np.geomspace(1e-3, 1, 50)])[None]
    flat = (u + x).ravel()
    _, y = arguments(loss, u[:, 0])
    start, third = loss.curvature(u[:, 0], y)[:, None], loss.third(u[:, 0], y)[:, None]
    end = loss.curvature(*arguments(loss, flat)).reshape(601, -1)
    floor = start + third * x - 0.5 * loss.quartic_deficit * start * x**2
    assert (end - floor >= -1e-12 * loss.smoothness).all()
    needed = np.where(np.abs(x) > 1e-2 * width, 2 * (start + third * x - end) / np.where(x == 0, 1, x) ** 2 / start, 0)
    assert needed.max() >= 0.99 * loss.quartic_deficit


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fourth_and_fifth_derivatives_are_within_their_ratios_and_attain_them(loss):
    """The fifth by central differences of the fourth, on a grid that holds the maximisers."""
    width, middle = WRITTEN[loss].width, WRITTEN[loss].bend
    u, y = arguments(loss, middle + width * np.linspace(-20, 20, 400_001))
    curvature, fourth = loss.curvature(u, y), loss.fourth(u, y)
    assert (fourth <= loss.quartic_excess * curvature * (1 + 1e-12)).all()
    assert (fourth >= -loss.quartic_deficit * curvature * (1 + 1e-12)).all()
    assert (fourth / curvature).max() >= 0.99 * loss.quartic_excess
    step = 1e-4 * width
    fifth = (loss.fourth(u + step, y) - loss.fourth(u - step, y)) / (2 * step)
    ratio = np.abs(fifth) / curvature
    assert ratio.max() <= loss.quintic_ratio * (1 + 1e-5)
    assert ratio.max() >= 0.99 * loss.quintic_ratio


def test_the_quintic_ratio_of_the_pseudo_huber_loss_is_its_maximum_rounded_up():
    with mp.workdps(40):
        for sign in (1, -1):
            t = (9 + sign * mp.sqrt(65)) / 8
            assert 15 * mp.sqrt(t) * abs(3 - 4 * t) / (1 + t) ** 3 <= PseudoHuberLoss(1.0).quintic_ratio


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_taylor_remainders_are_within_the_bounds_of_the_squeeze(loss):
    """Of the third and of the fourth order, at steps of both signs, in mpmath."""
    width, middle = WRITTEN[loss].width, WRITTEN[loss].bend
    with mp.workdps(40):
        for b in (-8.0, -2.0, -0.6, 0.0, 0.35, 1.2, 5.0):
            u = mp.mpf(middle + width * b)
            d = [mp.diff(lambda x: formula(loss, x, mp.mpf(WRITTEN[loss].y)), u, order) for order in range(5)]
            for share in (-12.0, -3.0, -0.7, -0.1, 0.1, 0.7, 3.0, 12.0):
                a = mp.mpf(share * width)
                third = formula(loss, u + a, mp.mpf(WRITTEN[loss].y)) - sum(d[k] * a**k / mp.factorial(k) for k in range(4))
                fourth = third - d[4] * a**4 / 24
                growth = [1 + mp.expm1(loss.self_concordance * abs(a)) / (m + 1) for m in (4, 5)]
                assert -loss.quartic_deficit / 24 * d[2] * a**4 <= third <= loss.quartic_excess / 24 * growth[0] * d[2] * a**4
                assert abs(fourth) <= loss.quintic_ratio / 120 * growth[1] * d[2] * abs(a) ** 5


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curvature_losses_bound_every_step_within_reach(loss):
    generator = np.random.default_rng(5)
    u = 4 * generator.standard_normal(400)
    y = targets(loss, 400, 6)
    reaches = np.outer(np.geomspace(1e-3, 50, 9), np.ones(400))
    bounds = loss.curvature_losses(reaches, u, y)
    for reach, bound in zip(reaches, bounds, strict=True):
        for share in (-1.0, -0.7, -0.1, 0.1, 0.5, 1.0):
            a = share * reach
            rise = loss.value(u + a, y) - loss.value(u, y) - loss.slope(u, y) * a
            loss_of_curvature = 0.5 * loss.curvature(u, y) - rise / a**2
            assert (loss_of_curvature <= bound + 1e-14 / a**2 * (1 + np.abs(loss.value(u + a, y)))).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_huge_arguments_neither_warn_nor_give_nan(loss):
    u = np.array([-1e300, -1e155, -800.0, 800.0, 1e155, 1e300, 1e-300, -0.0])
    for target in (0.0, WRITTEN[loss].highest, WRITTEN[loss].lowest):
        y = None if loss.margin else np.full(len(u), target)
        for method in (loss.value, loss.slope, loss.curvature, loss.third, loss.fourth):
            assert not np.isnan(method(u, y)).any()
        assert (np.abs(loss.slope(u, y)) <= loss.lipschitz).all()
        assert (loss.value(u, y) >= 0).all() or not WRITTEN[loss].bounded_below
        assert (loss.curvature(u, y) >= 0).all()


def test_psi_matches_its_definition():
    r = np.concatenate([[0.0], np.geomspace(1e-8, 1e6, 60), [0.25, 0.5]])
    with mp.workdps(60):
        exact = [float(mp.mpf(1) / 2 - (mp.exp(-x) + x - 1) / x**2) if x else 0.0 for x in map(mp.mpf, r)]
        slopes = [float(2 * (mp.exp(-x) + x - 1) / x**3 - (1 - mp.exp(-x)) / x**2) if x else 1 / 6 for x in map(mp.mpf, r)]
    np.testing.assert_allclose(psi(r), exact, rtol=1e-13)
    np.testing.assert_allclose(psi_slope(r), slopes, rtol=1e-12)


@pytest.mark.parametrize("make", [SoftHingeLoss, PseudoHuberLoss, lambda w: SoftPinballLoss(0.5, w)])
@pytest.mark.parametrize("width", [0.0, -1.0, float("nan"), float("inf")])
def test_widths_must_be_positive(make, width):
    with pytest.raises(ParameterError, match="width"):
        make(width)


def test_quantiles_must_be_inside_the_unit_interval():
    with pytest.raises(ParameterError, match="quantile"):
        SoftPinballLoss(1.0, 0.5)
