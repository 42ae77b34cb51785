"""Trimmed gammas and betas: masses against 30-digit arithmetic, draws by chi-square, tries bounded whatever the trim.

Chi-square tests have a false-alarm rate of 1e-4 each, seeds are fixed.
"""

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from gibbsafe.posteriors.log_concave import LogConcave
from gibbsafe.posteriors.trimmed import TrimmedBeta, TrimmedGamma, log_beta_mass, log_gamma_mass
from gibbsafe.samplers.trimmed.log_concave import draw
from gibbsafe.samplers.trimmed.values import draw_beta, draw_values

from ..counting import CountingGenerator

FALSE_ALARM = 1e-4
#: (shape, rate, low, high): the untrimmed mass inside is 1, 1e-12 and 1e-435 in the first three.
GAMMAS = [
    (3.0, 2.0, 0.2, 2.0),
    (50.0, 50.0, 2.14, 2.5),
    (0.5, 1e6, 1e-3, 1.0),
    (1e6, 1e6, 1.1, 2.0),
    (1e-3, 1.0, 1e-6, 10.0),
    (1e4 + 0.5, 3e3, 1.0, 1.0000001),
    (50.0, 1e-3, 0.1, 0.2),
]
BETAS = [
    (30.0, 70.0, 0.3, 0.9),
    (30.0, 70.0, 0.66, 0.7),
    (2.5, 1e6, 1e-3, 0.999),
    (1e5, 2e5, 0.9, 0.95),
    (0.5, 0.5, 1e-6, 1 - 1e-6),
    (0.01, 1e3, 1e-4, 0.999),
    (1e6, 1e6, 0.49999, 0.50001),
]


def exact_gamma_mass(shape, rate, low, high):
    with mp.workdps(40):
        shape, rate, low, high = map(mp.mpf, (shape, rate, low, high))
        return mp.gammainc(shape, rate * low, rate * high) / rate**shape


def exact_beta_mass(a, b, low, high):
    with mp.workdps(90):
        a, b, low, high = map(mp.mpf, (a, b, low, high))
        return mp.betainc(a, b, low, high)


def cumulated(law, case, cuts):
    """Distribution function at the cuts by the trapezium rule on half a million points of log θ or logit θ."""
    first, second, low, high = case
    to_line = np.log if law is TrimmedGamma else lambda x: np.log(x) - np.log1p(-x)

    def log_density(u):
        return first * u - (second * np.exp(u) if law is TrimmedGamma else (first + second) * np.logaddexp(0, u))

    rough = np.linspace(to_line(low), to_line(high), 20_001)
    near = np.flatnonzero(log_density(rough) > log_density(rough).max() - 60)
    line = np.linspace(rough[max(near[0] - 1, 0)], rough[min(near[-1] + 1, len(rough) - 1)], 500_001)
    density = np.exp(log_density(line) - log_density(line).max())
    total = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    return np.interp(to_line(np.asarray(cuts)), line, total / total[-1])


@pytest.mark.parametrize("case", GAMMAS)
def test_gamma_masses(case):
    expected = mp.log(exact_gamma_mass(*case))
    assert log_gamma_mass(*case) == pytest.approx(float(expected), rel=1e-13, abs=1e-12)


@pytest.mark.parametrize(
    "case", [(30.0, 70.0, 0.3, 0.9), (30.0, 70.0, 0.66, 0.7), (0.5, 0.5, 1e-6, 1 - 1e-6), (2.5, 900.0, 0.1, 0.5)]
)
def test_beta_masses(case):
    expected = mp.log(exact_beta_mass(*case))
    assert log_beta_mass(*case) == pytest.approx(float(expected), rel=1e-13, abs=1e-12)


SHAPES = st.floats(1e-3, 1e6)


@given(SHAPES, SHAPES, st.floats(-6, 2), st.floats(1e-3, 3), st.floats(0.01, 0.99))
@settings(max_examples=60)
def test_masses_of_parts_add_up(first, second, start, width, share):
    """Gammas on a trim given by its logarithms, betas by its logits."""
    ends = np.array([start, start + share * width, start + width])
    for law, points in ((log_gamma_mass, np.exp(ends)), (log_beta_mass, 1 / (1 + np.exp(-ends)))):
        low, middle, high = points.tolist()
        parts = np.logaddexp(law(first, second, low, middle), law(first, second, middle, high))
        whole = law(first, second, low, high)
        assert parts == pytest.approx(whole, rel=1e-12, abs=1e-9)


HOSTILE = (1e-8, 0.5, 3.7, 1e9, 1e13)


def test_hostile_numbers_are_drawn_without_a_warning():
    """Shapes and rates of any size, trims from 1e-300 to 1e300 and of width 1e-12: warnings are errors here."""
    generator, index = np.random.default_rng(6), np.zeros(20, dtype=np.intp)
    for shape, rate in itertools.product(HOSTILE, (0.0, 5e-324, 1e-9, 1e6, 1e300)):
        for low, high in ((1e-300, 1e300), (1.0, 1 + 1e-12), (1e-12, 1e-11)):
            draws = draw_values(TrimmedGamma(shape, rate, low, high), index, generator)
            assert ((draws >= low) & (draws <= high)).all()
    for a, b in itertools.product(HOSTILE, HOSTILE):
        for low, high in ((0.0, 1.0), (1e-300, 1 - 1e-16), (0.5, 0.5 + 1e-12), (1 - 1e-9, 1 - 1e-10)):
            law = TrimmedBeta(a, b, low, high)
            draws = draw_values(law, index, generator)
            assert ((draws >= low) & (draws <= high)).all()
            assert np.isfinite(law.log_mass).all()


def test_a_flat_gamma_is_uniform():
    assert log_gamma_mass(1.0, 0.0, 0.1, 0.5) == pytest.approx(np.log(0.4), abs=1e-14)


@pytest.mark.parametrize(("law", "case"), [(TrimmedGamma, case) for case in GAMMAS] + [(TrimmedBeta, case) for case in BETAS])
def test_draws_follow_the_trimmed_distribution(law, case):
    index = np.zeros(6000, dtype=np.intp)
    distribution = law(*case)
    low, high = case[2:]
    cuts = np.quantile(draw_values(distribution, index, np.random.default_rng(1)), np.linspace(0, 1, 21)[1:-1])
    shares = np.diff(cumulated(law, case, cuts), prepend=0, append=1)
    draws = draw_values(distribution, index, np.random.default_rng(2))
    assert ((draws >= low) & (draws <= high)).all()
    observed = np.histogram(draws, [low, *cuts, high])[0]
    assert chisquare(observed, shares * len(draws)).pvalue > FALSE_ALARM


def test_tries_are_bounded_for_every_shape_and_trim():
    """At least 0.35 of all proposals are accepted, in theory and here; 2,000 draws each, five standard errors below."""
    powers = 10.0 ** np.arange(-3, 10, 2)
    grid = [np.array(values) for values in zip(*itertools.product(powers, powers, powers, 1 + powers[:4]), strict=True)]
    shape, rate, low, ratio = grid
    law = TrimmedGamma(shape, rate, low, low * ratio)
    index = np.repeat(np.arange(len(shape)), 20)
    generator = CountingGenerator(np.random.default_rng(3))
    draw(law, index, generator)
    assert len(index) / generator.judged > 0.35
    for a, b, low, high in ((1e9, 1e-3, 0.1, 0.2), (1e-3, 1e9, 0.1, 0.2), (1e9, 1e9, 1e-9, 1 - 1e-9), (1e-3, 1e-3, 1e-12, 0.5)):
        generator = CountingGenerator(np.random.default_rng(4))
        draw_beta(a, b, low, high, 2000, generator)
        assert 2000 / generator.judged > 0.35 - 5 * 0.011


def test_a_cliff_is_stepped_over():
    """A density that is flat and then falls off at once: no drop between ½ and 2 exists, draws are exact all the same."""
    law = LogConcave(lambda x, _: -1e9 * np.maximum(x - 1, 0), np.array([0.0]), np.array([np.inf]), np.ones(1))
    draws = draw(law, np.zeros(4000, dtype=np.intp), np.random.default_rng(5))
    assert chisquare(np.histogram(draws, np.linspace(0, 1.001, 21))[0]).pvalue > FALSE_ALARM
    assert law.masses()[0] == pytest.approx(1.0, rel=1e-3)
