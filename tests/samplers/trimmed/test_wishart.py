"""Exact draws of precision matrices: eigenvalues and conditionals of single entries against quadrature, tries bounded.

With two columns and W of eigenvalues w₁, w₂ the eigenvalues l ≥ m of A have the density
(lm)^k (l − m) e^{−(w₁+w₂)(l+m)/4} I₀((w₁−w₂)(l−m)/4) between the trim points: the angle integrates to a Bessel function, which
the sampler knows nothing of. With three columns, each entry given all others has a density in closed form on an interval, and
these conditionals determine the law.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ive
from scipy.stats import chisquare, kstest

import gibbsafe as gs
from gibbsafe.posteriors.log_concave import nodes
from gibbsafe.samplers.trimmed import wishart as trimmed_wishart
from gibbsafe.samplers.trimmed.wishart import draw_precisions

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


def conditional(draws, scale, power, trim, i, j):
    """Probability integral transforms of entry (i, j) given all others, by Schur complements and quadrature.

    The determinant of a matrix M is linear in a diagonal entry t, ∝ t − q, and ∝ r² − (t − m)² in another one.
    """
    size = draws.shape[1]
    rest = [k for k in range(size) if k not in (i, j)] if i != j else [k for k in range(size) if k != i]

    def schur(matrices, a, b):
        if not rest:
            return np.zeros(len(matrices))
        block = matrices[:, rest][:, :, rest]
        return np.einsum("ki,kij,kj->k", matrices[:, a, rest], np.linalg.inv(block), matrices[:, b, rest])

    unit = np.eye(size)
    above, below = draws - trim[0] * unit, trim[1] * unit - draws
    if i == j:
        low, high = trim[0] + schur(above, i, i), trim[1] - schur(below, i, i)
        base = schur(draws, i, i)

        def log_density(t):
            return power * np.log(t - base[:, None]) - 0.5 * scale[i, i] * t
    else:
        centres = [schur(m, i, j) for m in (above, -below, draws)]
        reaches = [np.sqrt((m[:, i, i] - schur(m, i, i)) * (m[:, j, j] - schur(m, j, j))) for m in (above, below, draws)]
        centres[1] = -schur(below, i, j)
        low = np.maximum(centres[0] - reaches[0], centres[1] - reaches[1])
        high = np.minimum(centres[0] + reaches[0], centres[1] + reaches[1])

        def log_density(t):
            return power * np.log(reaches[2][:, None] ** 2 - (t - centres[2][:, None]) ** 2) - scale[i, j] * t

    value = draws[:, i, j]
    edges = np.linspace(low, high, 9, axis=1)
    whole, weights = nodes(edges)
    part, part_weights = nodes(np.linspace(low, value, 9, axis=1))
    top = log_density(whole).max(axis=1, keepdims=True)
    mass = [(np.exp(log_density(t) - top) * w).sum(axis=1) for t, w in ((whole, weights), (part, part_weights))]
    return mass[1] / mass[0]


@pytest.mark.parametrize(
    ("power", "weights", "trim"),
    [
        (0.0, (0.0, 0.0, 0.0), (0.5, 2.0)),
        (4.0, (3.0, 9.0, 20.0), (0.5, 2.0)),
        (60.0, (1.0, 2.0, 100.0), (0.5, 2.0)),
        (60.0, (500.0, 600.0, 3.0), (0.5, 2.0)),
        (60.0, (400.0, 500.0, 600.0), (0.5, 2.0)),
        (90.0, (150.0, 180.0, 200.0), (0.9, 1.2)),
    ],
)
def test_three_columns_by_their_conditionals(power, weights, trim):
    axes = np.linalg.qr(np.random.default_rng(6).normal(size=(3, 3)))[0]
    scale = axes @ np.diag(weights) @ axes.T
    draws = draw_precisions(power, scale, trim, 2500, np.random.default_rng(7))
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        transforms = conditional(draws, scale, power, trim, i, j)
        assert kstest(transforms, "uniform").pvalue > FALSE_ALARM, (i, j)


def test_four_columns_are_refused():
    with pytest.raises(gs.GibbsafeError, match="up to 3"):
        draw_precisions(1.0, np.eye(4), (0.5, 2.0), 1, np.random.default_rng(0))


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


def acceptance(power, weights, trim, count, monkeypatch):
    made, original = [], trimmed_wishart._correlations

    def counted(size, control, batch, generator):
        made.append(batch)
        return original(size, control, batch, generator)

    monkeypatch.setattr(trimmed_wishart, "_correlations", counted)
    draw_precisions(power, np.diag(weights), trim, count, np.random.default_rng(4))
    monkeypatch.undo()
    return count / sum(made)


def test_tries_are_bounded_for_every_scale_power_and_trim(monkeypatch):
    """Two columns: a quarter accepted, over posteriors piled up at either end, at both, or in between. Three: 0.1/√k."""
    for power, trim in itertools.product((0.0, 3.0, 1e3, 1e6), ((1e-3, 10.0), (0.5, 2.0), (1.0, 1 + 1e-6))):
        unit = 2 * (power + 1) / math.sqrt(trim[0] * trim[1])
        for weights in itertools.combinations_with_replacement((0.0, 0.3, 0.999, 2.0, 1e4), 2):
            assert acceptance(power, np.array(weights) * unit, trim, 100, monkeypatch) > 0.25
        ends = 0.0, unit, 4 * (power + 1) / trim[0]
        for weights in itertools.combinations_with_replacement(ends, 3):
            assert acceptance(power, np.array(weights), trim, 10, monkeypatch) > 0.1 / math.sqrt(power + 1)
