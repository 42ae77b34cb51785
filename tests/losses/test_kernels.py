"""The compiled loops against mpmath, and against NumPy and SciPy, which stand in for them where nothing was compiled."""

import math
from functools import reduce

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gibbsafe.losses import kernels
from gibbsafe.losses.calibrated import CalibratedScore

compiled = pytest.mark.skipif(
    not kernels.is_compiled(), reason="gibbsafe.losses._kernels was not built: no C compiler at installation"
)

HIGHEST = math.log(np.finfo(float).max)


@pytest.fixture(params=[pytest.param(True, marks=compiled), False], ids=["compiled", "numpy"])
def either(request, monkeypatch):
    """Both ways of doing the work."""
    if not request.param:
        monkeypatch.setattr(kernels, "_COMPILED", False)


def points(seed):
    generator = np.random.default_rng(seed)
    near_ties = (np.arange(-40, 40) + 0.5) * math.log(2)
    spread = [generator.uniform(-707, 709, 3000), generator.normal(size=3000), near_ties, [0.0, -0.0, 1e-300, -1e-17, HIGHEST]]
    return np.concatenate(spread)


def units(found, truth):
    """Largest error in units in the last place."""
    return max(abs(mpmath.mpf(a) - b) / math.ulp(float(b)) for a, b in zip(found.tolist(), truth, strict=True))


@pytest.mark.usefixtures("either")
def test_exponentials_and_slopes_are_right_to_a_few_units_in_the_last_place():
    x = points(1)
    with mpmath.workprec(150):
        powers = [mpmath.exp(mpmath.mpf(value)) for value in x.tolist()]
        assert units(kernels.exp(x), powers) < 2
        inside = np.abs(x) < 700
        slopes = [-1 / (1 + power) for power, keep in zip(powers, inside, strict=True) if keep]
        assert units(kernels.logistic_slope(x[inside]), slopes) < 3


@pytest.mark.usefixtures("either")
def test_limits_are_answers_and_nan_stays():
    x = np.array([-np.inf, -1e300, -1000.0, 1000.0, 1e300, np.inf, np.nan])
    with np.errstate(over="ignore", under="ignore"):  # NumPy's own warn; the compiled ones never do
        np.testing.assert_array_equal(kernels.exp(x), [0, 0, 0, np.inf, np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(kernels.logistic_slope(x), [-1, -1, -1, 0, 0, 0, np.nan])


@compiled
def test_compiled_limits_raise_no_warning():
    x = np.array([-np.inf, -1000.0, -708.0, 709.0, HIGHEST, np.nextafter(HIGHEST, 800), 1000.0, np.inf, np.nan])
    with np.errstate(all="raise"):
        found = kernels.exp(x)
        kernels.logistic_slope(x)
        kernels.logistic_gradient(x[:, None], np.ones(1))
    assert found[4] == pytest.approx(np.finfo(float).max, rel=1e-12)
    assert found[5] == np.inf
    # A payload in the low bits of a NaN must not reach the exponent.
    odd_nan = np.array([0x7FF8000000000FFF], dtype=np.uint64).view(np.float64)
    assert np.isnan(kernels.exp(odd_nan))[0]


@pytest.mark.usefixtures("either")
def test_any_layout_and_both_precisions():
    x = np.random.default_rng(2).normal(size=(37, 11))
    for part in (x.T, x[::2, 1::3], x[::-1], x[:0], x[3:4, 0]):
        np.testing.assert_allclose(kernels.exp(part), np.exp(part), rtol=1e-15)
        np.testing.assert_allclose(kernels.logistic_slope(part), -1 / (1 + np.exp(part)), rtol=1e-15)
    own = x.copy()
    assert kernels.exp(own, out=own) is own
    np.testing.assert_allclose(own, np.exp(x), rtol=1e-15)
    single = x.astype(np.float32)
    assert kernels.exp(single).dtype == kernels.logistic_slope(single).dtype == np.float32


@compiled
@given(n=st.integers(0, 150), d=st.integers(1, 70), scale=st.sampled_from([0.1, 1.0, 100.0]), seed=st.integers(0, 2**32 - 1))
def test_gradient_is_the_sum_over_rows(n, d, scale, seed):
    generator = np.random.default_rng(seed)
    rows, theta = generator.normal(size=(n, d)) * scale, generator.normal(size=d)
    with np.errstate(over="ignore"):
        terms = -rows / (1 + np.exp(rows @ theta))[:, None]
    slack = 1e-14 * (d + n) * (np.abs(rows).sum() + 1) * (1 + np.abs(rows).max(initial=0) * np.abs(theta).sum())
    np.testing.assert_allclose(kernels.logistic_gradient(rows, theta), terms.sum(axis=0), rtol=0, atol=slack)
    np.testing.assert_array_equal(
        kernels.logistic_gradient(np.asfortranarray(rows), theta), kernels.logistic_gradient(rows, theta)
    )


@compiled
@pytest.mark.parametrize("shapes", [((3, 2), (3,)), ((3,), (3,)), ((3, 2), (2, 1))])
def test_gradient_refuses_shapes_that_do_not_fit(shapes):
    with pytest.raises(ValueError, match="shapes"):
        kernels.logistic_gradient(*map(np.ones, shapes))


@pytest.mark.usefixtures("either")
@given(
    n=st.integers(0, 70), width=st.sampled_from([0.01, 0.1, 3.0]), centre=st.sampled_from([-2.0, 1.0]), seed=st.integers(0, 99)
)
def test_gradient_of_a_shifted_and_narrowed_slope(n, width, centre, seed):
    generator = np.random.default_rng(seed)
    rows, theta = generator.normal(size=(n, 5)), generator.normal(size=5)
    slopes = kernels.logistic_slope((rows @ theta - centre) / width)
    found = kernels.logistic_gradient(rows, theta, centre, width)
    np.testing.assert_allclose(found, slopes @ rows, rtol=0, atol=1e-12 * (1 + n) / width)


@pytest.mark.usefixtures("either")
def test_gradient_at_zero():
    np.testing.assert_array_equal(kernels.logistic_gradient(np.arange(6.0).reshape(3, 2), np.zeros(2)), [-3.0, -4.5])


@compiled
@pytest.mark.parametrize("n", [0, 1, 31, 33, 1000])
@pytest.mark.parametrize("d", [1, 3, 8, 21])
def test_compiled_sums_of_chunks_are_those_of_their_blocks(n, d):
    rng = np.random.default_rng(n * d)
    rows, theta, counts = rng.normal(size=(n, d)), rng.normal(size=d), rng.uniform(size=n)
    single = rows.astype(np.float32)
    wide = single.astype(np.float64)
    for data, same in ((rows, rows), (single, wide)):
        found = kernels.logistic_sums(data, theta, 50, 150, 0.5, 2.0)
        blocks = [same[k : k + 50] for k in range(0, max(n, 1), 50)]
        terms = [kernels.logistic_gradient(block, theta, 0.5, 2.0) for block in blocks]
        assert found.shape == (max(1, -(-n // 150)), d)
        for k, total in enumerate(found):  # the same bits: rows of float32 are widened and nothing else
            np.testing.assert_array_equal(total, reduce(np.add, terms[3 * k : 3 * k + 3]))
        found = kernels.calibrated_sums(data, theta, counts, 50, 150, 0.6).sum(axis=0)
        np.testing.assert_allclose(found, CalibratedScore(0.6).slope(same @ theta) * counts @ same, rtol=0, atol=1e-13 * (n + 1))
    for block, chunk in ((2**63 - 1, 10), (2**63 - 1, 2**63 - 1), (10, 2**63 - 1)):
        total = kernels.logistic_sums(rows, theta, block, chunk).sum(axis=0)
        np.testing.assert_allclose(total, kernels.logistic_gradient(rows, theta), rtol=0, atol=1e-12 * (n + 1))
    with pytest.raises(ValueError, match="at least 1"):
        kernels.logistic_sums(rows, theta, 0, 5)
