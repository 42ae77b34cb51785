"""Truncated Dirichlet distributions: exact draws in bounded time, states never seen among a million rows included.

In the pair (θ_i, θ_j) with sum s, given all others, θ_i/s has a Beta distribution on [e/s, 1 − e/s]. These conditionals determine
the whole distribution, so their probability integral transforms being uniform is a test in any dimension. Each Kolmogorov–Smirnov
or chi-square test has a false-alarm rate of 1e-4; seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import chisquare, kstest

from gibbsafe.posteriors.log_concave import nodes
from gibbsafe.posteriors.trimmed import TrimmedBeta
from gibbsafe.samplers.trimmed import dirichlet
from gibbsafe.samplers.trimmed.dirichlet import TrimmedDirichlet
from gibbsafe.samplers.trimmed.values import draw_values

from ..counting import CountingGenerator

FALSE_ALARM = 1e-4
CASES = [
    ((1.0, 1.0, 1.0), 0.05),
    ((0.5, 0.5, 0.5), 0.001),
    ((0.05, 0.3, 0.9), 0.01),
    ((40.0, 0.5, 3.0), 0.02),
    ((3.0, 2.0, 5.0, 1.0), 0.24),
    ((0.4, 30.0, 0.2, 7.0, 1.0, 2.5, 0.9, 11.0, 0.1, 1.5), 0.01),
]


def draw(concentrations, smallest, count, seed):
    law = TrimmedDirichlet(np.array([concentrations]), np.array([smallest]))
    generator = CountingGenerator(np.random.default_rng(seed))
    return law.draw(np.zeros(count, dtype=np.intp), generator)


def transforms(draws, concentrations, smallest, i, j):
    total = draws[:, i] + draws[:, j]
    low = smallest / total
    a, b = concentrations[i], concentrations[j]
    ends = betainc(a, b, low), betainc(a, b, 1 - low)
    return (betainc(a, b, draws[:, i] / total) - ends[0]) / (ends[1] - ends[0])


@pytest.mark.parametrize(("concentrations", "smallest"), CASES)
def test_conditionals_of_pairs(concentrations, smallest):
    draws = draw(concentrations, smallest, 4000, 1)
    assert (draws >= smallest).all()
    np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-15)
    for i, j in itertools.islice(itertools.combinations(range(len(concentrations)), 2), 12):
        assert kstest(transforms(draws, concentrations, smallest, i, j), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("rare", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("smallest", [1e-3, 1e-5])
def test_states_never_seen_among_a_million_rows(rare, smallest):
    """The untrimmed distribution has e⁻¹⁰⁰⁰ of its mass (for e = 1e-3) where both rare states have probability e or more."""
    draws = draw((1e6, rare, rare), smallest, 6000, 2)
    excess = (draws[:, 1:] - smallest) * 1e6
    edges = np.array([0, 0.05, 0.15, 0.3, 0.5, 0.75, 1, 1.4, 2, 3, 5, 80.0])
    points, weights = nodes(np.unique(np.concatenate([edges, np.linspace(0, 1, 5), np.linspace(1, 80, 30)])))
    x, y = points[:, None], points[None, :]
    log_density = (rare - 1) * (np.log(smallest + x / 1e6) + np.log(smallest + y / 1e6))
    log_density = log_density + (1e6 - 1) * np.log1p(-2 * smallest - (x + y) / 1e6)
    mass = np.exp(log_density - log_density.max()) @ weights * weights
    bins = np.histogram(points, edges, weights=mass)[0]
    observed = np.histogram(excess[:, 0], edges)[0]
    assert chisquare(observed, bins / bins.sum() * len(draws)).pvalue > FALSE_ALARM


def test_two_states_are_a_trimmed_beta():
    draws = draw((700.0, 0.3), 0.02, 4000, 3)[:, 1]
    beta = TrimmedBeta(0.3, 700.0, 0.02, 0.98)
    law = [TrimmedBeta(0.3, 700.0, 0.02, x).log_mass[0] - beta.log_mass[0] for x in np.sort(draws)[::8]]
    steps = (np.arange(len(law)) * 8 + 1) / len(draws)
    assert np.abs(np.exp(law) - steps).max() < 2.2 / math.sqrt(len(draws))


def hostile(states):
    rest = states - 1
    yield from ([1.0] * states, [2.0] * states, [0.5] * states, [0.01] * states, [0.99] * states, [1e6] * states)
    yield from ([1e6] + [0.5] * rest, [1e6] + [1.0] * rest, [1e6] + [2.5] * rest, [1.0] + [0.1] * rest, [3.0] + [0.01] * rest)
    yield from (
        [0.9] + [0.01] * rest,
        list(10 ** np.linspace(-2, 6, states)),
        [1e6] * (states // 2) + [0.5] * (states - states // 2),
    )


@pytest.mark.parametrize("states", [2, 3, 10, 20])
def test_proposals_are_bounded_for_every_concentration(states, monkeypatch):
    """Proved for concentrations from 1 on: 1/(e√(12S)) accepted. Seen for all: half of 1/√(2πS) at least."""
    for smallest, concentrations in itertools.product((1e-6, 0.1 / states, 0.999 / states), hostile(states)):
        law = TrimmedDirichlet(np.array([concentrations]), np.array([smallest]))
        made = []

        def counted(gammas, place, generator, made=made):
            made.append(len(place) // (states - 1))
            return draw_values(gammas, place, generator)

        monkeypatch.setattr(dirichlet, "draw_values", counted)
        law.draw(np.zeros(100, dtype=np.intp), np.random.default_rng(4))
        acceptance = 100 / sum(made)
        assert acceptance > 0.5 / math.sqrt(2 * math.pi * states) > 1 / (math.e * math.sqrt(12 * states)), (
            concentrations,
            smallest,
        )


def test_rows_are_drawn_from_their_own_distributions():
    shapes = np.array([[1e5, 1.0, 1.0], [1.0, 1e5, 1.0], [0.5, 0.5, 0.5], [1.0, 1e5, 1.0]])
    law = TrimmedDirichlet(shapes, np.array([0.01, 0.02, 0.1, 0.3]))
    draws = law.draw(np.array([0, 1, 2, 3, 0]), np.random.default_rng(5))
    np.testing.assert_allclose(draws[[0, 4], 0], 0.98, atol=1e-3)
    np.testing.assert_allclose(draws[1, 1], 0.96, atol=1e-3)
    np.testing.assert_allclose(draws[3, 1], 0.40, atol=1e-3)
    assert (draws[2] >= 0.1).all()
