"""Discrete laws drawn by whole numbers: the law that is realised, number by number, against exact arithmetic."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import stats

import gibbsafe as gs
from gibbsafe.audit.plans import posteriors_of
from gibbsafe.models.families.finite_family import FiniteFamily
from gibbsafe.posteriors.exact_law import ExactLaw, exact_law, needed_bits, weight_error
from gibbsafe.samplers import draw_exactly
from gibbsafe.samplers.trimmed import discrete

TINY = 1e-300
FAMILIES = {
    "coins": FiniteFamily.bernoulli(0.1),
    "extreme": FiniteFamily(points=(1.0, 2.0, 3.0), likelihood=((TINY, 1 - TINY), (0.5, 0.5), (1 - 2.0**-53, 2.0**-53))),
    "subnormal": FiniteFamily(points=(0.0, 1.0), likelihood=((5e-324, 1.0), (1.0, 5e-324)), prior=(1e-300, 1.0)),
    "nearly alike": FiniteFamily(points=(0.0, 1.0), likelihood=((TINY, 1 - TINY), (TINY * (1 + 1e-12), 1 - TINY))),
    "three outcomes": FiniteFamily(points=(0.0, 1.0), likelihood=((0.2, 0.3, 0.5), (0.6, 0.3, 0.1)), outcomes=("a", "b", "c")),
}


def planned(family, adjacency="replace-one", epsilon=1.0, **options):
    return gs.plan(family, gs.Budget(epsilon, 0.0), n=6, adjacency=adjacency, **options)


def data_sets(family, rows):
    """Return every multiset of outcomes, as data sets."""
    labels = family.outcomes
    counts = [[]] if rows == 0 else None
    if counts is None:
        counts = [
            [labels[0]] * a + [labels[1]] * b + ([labels[2]] * (rows - a - b) if len(labels) == 3 else [])
            for a in range(rows + 1)
            for b in range(rows + 1 - a)
            if len(labels) == 3 or a + b == rows
        ]
    return [np.array(each, dtype=np.array(labels).dtype) for each in counts]


def largest_log_ratio(first, second):
    """Return max_θ ln P(θ)/Q(θ) of two exact laws, from whole numbers, with 60 digits."""
    p, q = first.weights, second.weights
    ratios = [(a / sum(p)) / (b / sum(q)) for a, b in zip(p, q, strict=True)]
    with mpmath.workdps(60):
        return max(mpmath.log(mpmath.mpf(max(r, 1 / r).numerator) / max(r, 1 / r).denominator) for r in ratios)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("adjacency", "rows"), [("replace-one", 6), ("add-remove", 3)])
@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 20.0])
def test_no_realised_law_exceeds_the_claim_without_delta(name, adjacency, rows, epsilon):
    plan = planned(FAMILIES[name], adjacency, epsilon)
    claim = plan.guarantee.epsilon(0.0)
    assert claim <= epsilon
    sizes = (rows,) if adjacency == "replace-one" else (rows, rows + 1)
    sets = [each for size in sizes for each in data_sets(plan.model, size)]
    laws = [posterior.law for posterior in posteriors_of(plan, *sets)]
    for one, law in zip(sets, laws, strict=True):
        for other, second in zip(sets, laws, strict=True):
            left, right = list(one), list(other)
            for value in list(left):
                if value in right:
                    left.remove(value)
                    right.remove(value)
            changed = (len(left), len(right))
            if changed == (1, 1) if adjacency == "replace-one" else sorted(changed) == [0, 1]:
                assert largest_log_ratio(law, second) <= claim


@pytest.mark.parametrize("bits", [64, 90, 300])
def test_weights_are_as_near_as_they_say(bits):
    rng = np.random.default_rng(0)
    logs = [
        Fraction(x) for x in (0.0, -1e-30, -5e-324, math.log(2), *(-rng.exponential(size=20) * 10.0 ** rng.integers(-3, 9, 20)))
    ]
    law = exact_law(logs, bits)
    with mpmath.workdps(200):
        top = max(logs)
        for log, m, e in zip(logs, law.mantissas, law.exponents, strict=True):
            assert 2 ** (bits - 1) <= m < 2**bits
            assert e <= 0
            asked = mpmath.mpf((log - top).numerator) / (log - top).denominator
            got = mpmath.log(m) + (e - (bits - 1)) * mpmath.log(2)
            assert abs(got - asked) <= weight_error(bits)


def test_rounding_of_weights_is_below_the_share_it_is_priced_at():
    for width in (1e-300, 1e-9, 1.0, 700.0):
        assert 4 * weight_error(needed_bits(width)) <= width * 2.0**-52


class Scripted:
    """Random numbers as they stand on a list: first a proposal, then words of the uniform number."""

    def __init__(self, proposal, words):
        self.proposal, self.words = proposal, list(words)

    def integers(self, low, high=None, size=None, dtype=None):
        if high is None:
            return np.full(size, self.proposal)
        return np.array([self.words.pop(0) for _ in range(size)], dtype=np.uint64)


def accepts(law, point, words):
    first_words = np.array([law.word(k, 0) for k in range(len(law.mantissas))], dtype=np.uint64)
    return bool(discrete._accepted(law, first_words, np.array([point]), Scripted(point, words))[0])


@pytest.mark.parametrize("exponent", [0, -1, -63, -64, -65, -1000, -100_000])
def test_a_proposal_is_accepted_exactly_below_its_weight(exponent):
    """The uniform number with the weight's own digits is not below it, the one a last digit smaller is."""
    law = ExactLaw(70, (2**69, 2**69 + 12_345), (0, exponent))
    digits = -(-(70 - exponent) // 64)
    probability = Fraction(law.mantissas[1], 2 ** (70 - exponent))
    as_words = lambda x: [(x >> 64 * (digits - 1 - k)) % 2**64 for k in range(digits)]  # noqa: E731
    limit = int(probability * 2 ** (64 * digits))
    assert limit == probability * 2 ** (64 * digits)
    assert not accepts(law, 1, as_words(limit))
    assert accepts(law, 1, as_words(limit - 1))
    assert not accepts(law, 1, as_words(limit + 1))


def test_a_weight_below_every_double_is_a_weight():
    """Inverting sums of doubles gives a mass below 2⁻⁵³ to its neighbour; here it is kept: the example that failed."""
    family = FAMILIES["coins"]
    plan = planned(family, inverse_temperature=0.01)
    cold = FiniteFamily.bernoulli(0.1, prior=(1e-40,) + (1.0,) * 8)
    (posterior,) = posteriors_of(planned(cold), np.array([0, 0, 1, 1, 1, 1]))
    assert Fraction(1, 10**43) < posterior.law.weights[0] / sum(posterior.law.weights) < Fraction(1, 10**40)
    (posterior,) = posteriors_of(plan, np.array([0, 0, 1, 1, 1, 1]))
    realised = posterior.law.weights
    np.testing.assert_allclose([float(w / sum(realised)) for w in realised], posterior.probabilities, rtol=1e-12)


def test_draws_follow_the_law():
    """Chi-square over nine points, 20,000 draws; one fixed seed, false alarm 1e-4."""
    (posterior,) = posteriors_of(planned(FAMILIES["coins"], epsilon=6.0), np.array([0, 0, 1, 1, 1, 1]))
    draws = draw_exactly(posterior, 20_000, np.random.default_rng(5))[:, 0]
    seen = [(draws == point).sum() for point in posterior.points]
    assert stats.chisquare(seen, posterior.probabilities * len(draws)).pvalue > 1e-4
    again = draw_exactly(posterior, 20_000, np.random.default_rng(5))[:, 0]
    assert (draws == again).all()
    assert draw_exactly(posterior, 0, np.random.default_rng(1)).shape == (0, 1)


def test_impossible_outcomes_are_refused():
    with pytest.raises(gs.ParameterError, match="impossible outcomes"):
        FiniteFamily(points=(0.0, 1.0), likelihood=((0.0, 1.0), (0.5, 0.5)))


def test_more_bits_come_nearer():
    logs = [Fraction(0), Fraction(-1, 3)]
    shares = [law.weights[1] / law.weights[0] for law in (exact_law(logs, bits) for bits in (64, 128, 256))]
    with mpmath.workdps(100):
        errors = [abs(mpmath.mpf(s.numerator) / s.denominator - mpmath.exp(mpmath.mpf(-1) / 3)) for s in shares]
    assert all(later < earlier for earlier, later in pairwise(errors))
