"""The law of Lipschitz constants: certified between grid points, exact for finite families."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.assumptions import LipschitzLaw


def exponential_mass(rate, low, high):
    total = -math.expm1(-rate * (high - low))

    def mass_below(bound):
        return 0.0 if bound <= low else min(1.0, -math.expm1(-rate * (min(bound, high) - low)) / total)

    return mass_below


def holds(mass_below, pair, points):
    """Whether Assumption 2 holds at all these L, some between the grid's points."""
    return all(mass_below(L) >= pair.lower_bound(L) - 1e-12 for L in points)


@pytest.mark.parametrize(("rate", "low", "high"), [(1.0, 0.2, 2.0), (20.0, 0.1, 0.2), (0.01, 1.0, 5.0)])
def test_constants_of_a_trimmed_exponential_prior_hold_everywhere(rate, low, high):
    mass_below = exponential_mass(rate, low, high)
    law = LipschitzLaw.continuous(mass_below, high)
    points = np.random.default_rng(0).uniform(low, high, 4000)
    for pair in (law.best(), law.steepest()):
        assert holds(mass_below, pair, points)
    steepest = law.steepest()
    assert steepest.rate >= 0.97 * rate  # Lemma 19 has c = λ, L₀ = c₁; trimming only helps
    assert steepest.floor == pytest.approx(low, abs=1e-3 * (high - low))
    assert law.best().expected_lipschitz <= steepest.expected_lipschitz


def test_the_mean_is_bounded_and_nearly_reached():
    rate, low, high = 2.0, 0.5, 3.0
    law = LipschitzLaw.continuous(exponential_mass(rate, low, high), high)
    exact = low + 1 / rate - (high - low) / math.expm1(rate * (high - low))
    assert exact <= law.mean <= exact * 1.01
    assert law.mean <= law.best().expected_lipschitz  # (12), corrected: E8


weights = st.lists(st.tuples(st.floats(0.01, 5), st.floats(0.05, 1)), min_size=1, max_size=8)


@given(weights)
def test_finite_laws_are_exact(pairs):
    lipschitz = np.array([pair[0] for pair in pairs])
    prior = np.array([pair[1] for pair in pairs])
    prior /= prior.sum()
    law = LipschitzLaw.finite(lipschitz, prior)
    points = np.concatenate([np.linspace(0, 6, 200), lipschitz, np.nextafter(lipschitz, 0)])
    for constants in (law.best(), law.steepest()):
        assert holds(law.mass_below, constants, points)
    assert law.mean == pytest.approx(float(lipschitz @ prior))
    assert law.mean <= law.best().expected_lipschitz * (1 + 1e-9)
    assert law.best().expected_lipschitz <= law.largest * (1 + 1e-9)


@given(weights, st.floats(0.01, 50))
def test_no_other_rate_beats_the_best(pairs, rate):
    lipschitz = np.array([pair[0] for pair in pairs])
    prior = np.array([pair[1] for pair in pairs])
    law = LipschitzLaw.finite(lipschitz, prior / prior.sum())
    assert law.best().expected_lipschitz <= (law.floor_for(rate) + 1 / rate) * (1 + 1e-6)


def test_steepest_bound_touches_the_mass():
    """Δ = 0.2: masses ½ and ½ at ln 1.5 and ln 4, so c = ln 2/(ln 4 − ln 1.5); nothing larger holds."""
    law = LipschitzLaw.finite([math.log(4), math.log(1.5)], [0.5, 0.5])
    pair = law.steepest()
    assert pair.floor == math.log(1.5)
    assert pair.rate == pytest.approx(math.log(2) / (math.log(4) - math.log(1.5)), rel=1e-9)
    assert law.rate_for(pair.floor) == pair.rate
    assert not holds(law.mass_below, type(pair)(pair.rate * 1.01, pair.floor), [math.nextafter(math.log(4), 0)])


def test_unbounded_laws_need_a_tail():
    with pytest.raises(gs.PremiseError, match="rate of the tail"):
        LipschitzLaw.continuous(lambda L: -math.expm1(-L), math.inf)
    law = LipschitzLaw.continuous(lambda L: -math.expm1(-L), math.inf, last=20.0, tail_rate=1.0)
    assert holds(lambda L: -math.expm1(-L), law.best(), np.geomspace(1e-3, 300, 2000))
    with pytest.raises(gs.ParameterError, match="rate of the tail"):
        law.floor_for(1.5)


@pytest.mark.parametrize(
    ("lipschitz", "prior"), [([1.0], [0.5]), ([1.0, 2.0], [1.0]), ([math.inf, 1.0], [0.5, 0.5]), ([-1.0, 1.0], [0.5, 0.5])]
)
def test_bad_finite_laws_are_refused(lipschitz, prior):
    with pytest.raises(gs.ParameterError, match="prior"):
        LipschitzLaw.finite(lipschitz, prior)
