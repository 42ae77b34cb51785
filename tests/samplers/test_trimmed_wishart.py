"""Exact draws of 2 × 2 precision matrices: eigenvalues against quadrature, entries against a rotation, tries bounded.

With W of eigenvalues w₁, w₂ the eigenvalues l ≥ m of A have the density (lm)^k (l − m) e^{−(w₁+w₂)(l+m)/4} I₀((w₁−w₂)(l−m)/4)
between the trim points: the angle integrates to a Bessel function, which the sampler knows nothing of.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ive
from scipy.stats import chisquare, kstest

from gibbsafe.samplers.log_concave import nodes
from gibbsafe.samplers.trimmed_wishart import draw_precisions

from .counting import CountingGenerator

FALSE_ALARM = 1e-4
CASES = [
    (0.0, (0.0, 0.0), (0.5, 2.0)),
    (3.0, (2.0, 9.0), (0.5, 2.0)),
    (40.0, (1.0, 1.0), (0.5, 2.0)),
    (40.0, (400.0, 500.0), (0.5, 2.0)),
    (40.0, (1.0, 500.0), (0.5, 2.0)),
    (400.0, (700.0, 820.0), (0.9, 1.3)),
    (5.0, (9.0, 11.0), (1.0, 1.01)),
]


def largest_eigenvalue_masses(power, weights, trim, edges):
    """Probabilities of the larger eigenvalue's bins."""
    low, high = trim
    points, measure = nodes(np.unique(np.concatenate([edges, np.linspace(low, high, 31)])))
    large, small = points[:, None], points[None, :]
    gap = large - small
    difference = abs(weights[0] - weights[1]) / 4
    with np.errstate(divide="ignore", invalid="ignore"):
        log_density = power * np.log(large * small) + np.log(gap) - sum(weights) * (large + small) / 4
        log_density = log_density + np.log(ive(0, difference * gap)) + difference * gap
    log_density = np.where(gap > 0, log_density, -np.inf)
    mass = np.exp(log_density - log_density.max()) @ measure * measure
    return np.histogram(points, edges, weights=mass)[0] / mass.sum()


@pytest.mark.parametrize(("power", "weights", "trim"), CASES)
def test_eigenvalues_follow_their_law(power, weights, trim):
    angle = 0.7
    axes = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    scale = axes @ np.diag(weights) @ axes.T
    trial = np.linalg.eigvalsh(draw_precisions(power, scale, trim, 5000, np.random.default_rng(1)))
    edges = np.array([trim[0], *np.quantile(trial[:, 1], np.linspace(0, 1, 16)[1:-1]), trim[1]])
    draws = draw_precisions(power, scale, trim, 5000, np.random.default_rng(2))
    eigenvalues = np.linalg.eigvalsh(draws)
    room = 1e-12 * trim[1]
    assert eigenvalues.min() >= trim[0] - room
    assert eigenvalues.max() <= trim[1] + room
    # Gauss points near the diagonal, where the integrand has a kink, leave a relative error of about 1e-4.
    expected = largest_eigenvalue_masses(power, weights, trim, edges)
    assert chisquare(np.histogram(eigenvalues[:, 1], edges)[0], expected * len(draws)).pvalue > FALSE_ALARM


def test_flipping_an_axis_changes_nothing():
    """With W diagonal the off-diagonal entry is symmetric around 0, and swapping equal weights swaps the diagonal's law."""
    draws = draw_precisions(20.0, np.diag([30.0, 30.0]), (0.4, 3.0), 4000, np.random.default_rng(3))
    assert kstest(draws[:, 0, 1], -draws[:, 0, 1]).pvalue > FALSE_ALARM
    assert kstest(draws[:2000, 0, 0], draws[2000:, 1, 1]).pvalue > FALSE_ALARM


def test_hostile_numbers_are_drawn_without_a_warning():
    for power, trim in itertools.product((0.0, 0.5, 1e9), ((0.5, 2.0), (1e-6, 1e6), (1.0, 1 + 1e-9))):
        for weights in itertools.combinations_with_replacement((0.0, 5e-324, 1e3, 1e15), 2):
            draws = draw_precisions(power, np.diag(weights), trim, 10, np.random.default_rng(5))
            assert np.isfinite(draws).all()


def test_tries_are_bounded_for_every_scale_power_and_trim():
    """At least a quarter accepted, over posteriors piled up at either end, at both, or in the middle."""
    for power, trim in itertools.product((0.0, 3.0, 1e3, 1e6), ((1e-3, 10.0), (0.5, 2.0), (1.0, 1 + 1e-6))):
        unit = 2 * (power + 1) / math.sqrt(trim[0] * trim[1])
        for first, second in itertools.combinations_with_replacement((0.0, 0.3, 0.999, 1.001, 2.0, 1e4), 2):
            generator = CountingGenerator(np.random.default_rng(4))
            draw_precisions(power, np.diag([first * unit, second * unit]), trim, 200, generator)
            # Each proposal judges itself once, and its two diagonal entries at most three times each.
            assert 200 / generator.judged > 0.25 / 7
