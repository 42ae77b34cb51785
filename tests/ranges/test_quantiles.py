"""Private quantiles: exact curves at their claim, an audit, accuracy, and release whatever the data hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.privacy import Adjacency, BoundedRange
from gibbsafe.ranges.candidates import round_numbers
from gibbsafe.ranges.quantiles import Ranks, draw_quantile, price_of_each, price_of_row, quantile_law, slopes

REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
POINTS = tuple(float(k) for k in range(-3, 9))


def law_of(values, quantile, price, adjacency, candidates=POINTS):
    return quantile_law(Ranks.of([np.array(values, dtype=float)], candidates), quantile, price, adjacency)


def masses(law):
    weights = law.weights
    return [weight / sum(weights) for weight in weights]


def log_range(one, other):
    """The exact range of the log ratio of two laws, in floating point at the end alone."""
    ratios = [float(Fraction(a) / Fraction(b)) for a, b in zip(one, other, strict=True)]
    return math.log(max(ratios)) - math.log(min(ratios))


def exact_delta(one, other, epsilon):
    factor = Fraction(math.exp(epsilon))
    return max(float(sum(max(a - factor * b, 0) for a, b in zip(p, q, strict=True))) for p, q in ((one, other), (other, one)))


def written_down(values, quantile, price, adjacency):
    """The law once more, from the definition of the loss, record by record in floating point."""
    values, q = np.clip(values, POINTS[0], POINTS[-1]), quantile
    share = (1 - q) ** (1 / 3) / ((1 - q) ** (1 / 3) + q ** (1 / 3))
    a, b = share, 1 - share
    unit = a + b if adjacency == REPLACE else max(q * a, (1 - q) * b) + max((1 - q) * a, q * b)
    target = q * len(values)
    loss = np.array([a * max(target - sum(values <= v), 0) + b * max(sum(values < v) - target, 0) for v in POINTS]) * price / unit
    weights = np.exp(-(loss - loss.min()))
    return weights / weights.sum()


VALUES = st.lists(st.sampled_from([-9.0, -3.0, 0.0, 0.5, 2.0, 2.0, 5.0, 8.0, 20.0]), max_size=7)
QUANTILES = st.sampled_from([0.01, 0.25, 0.5, 0.9, 0.99])


@settings(max_examples=30, deadline=None, derandomize=True)
@given(values=VALUES, value=st.sampled_from(POINTS), quantile=QUANTILES, price=st.sampled_from([0.1, 1.0, 3.0]))
def test_exact_curves_of_neighbours_are_within_the_claim(values, value, quantile, price):
    pairs = [(ADD, values, [*values, value])]
    if values:
        pairs.append((REPLACE, values, [value, *values[1:]]))
        pairs.append((REPLACE, values, values[1:]))  # a record whose entry is missing in the neighbour
    for adjacency, data, neighbour in pairs:
        one, other = (masses(law_of(each, quantile, price, adjacency)) for each in (data, neighbour))
        assert log_range(one, other) <= price * (1 + 1e-12)
        for epsilon in (0.0, price / 4, price / 2):
            assert exact_delta(one, other, epsilon) <= BoundedRange(price).delta(epsilon) * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_the_claim_is_reached_and_a_tenth_more_slope_breaks_it(adjacency):
    price, quantile = 1.0, 0.5
    data = [-3.0] + [2.0] * 99
    neighbour = [8.0] + [2.0] * 99 if adjacency == REPLACE else [*data, 8.0]
    one, other = (masses(law_of(each, quantile, price, adjacency)) for each in (data, neighbour))
    assert 0.99 * price < log_range(one, other) <= price
    one, other = (masses(law_of(each, quantile, 1.1 * price, adjacency)) for each in (data, neighbour))  # a broken twin
    assert log_range(one, other) > price


def test_the_law_is_what_the_definition_says():
    for values in ([], [2.0], [0.0, 0.0, 5.0, 20.0], [2.0] * 30):
        for adjacency in (REPLACE, ADD):
            for quantile in (0.01, 0.5, 0.99):
                found = np.array([float(mass) for mass in masses(law_of(values, quantile, 1.0, adjacency))])
                np.testing.assert_allclose(found, written_down(values, quantile, 1.0, adjacency), rtol=1e-12)


def test_slopes_have_the_range_that_is_priced():
    for quantile in (0.01, 0.3, 0.99):
        below, above = slopes(quantile, 0.1, REPLACE)
        assert Fraction(0.1) * (1 - Fraction(1, 2**40)) < below + above < Fraction(0.1)
        more_below, more_above = slopes(quantile, 0.1, ADD)
        assert more_below >= below  # adding a record moves ranks less than replacing one
        assert more_above >= above


def test_several_quantiles_are_one_composition():
    each, whole = price_of_each(gs.Budget(0.2), 2, REPLACE)
    assert each == pytest.approx(0.1, rel=1e-9)
    assert whole.epsilon(0.0) <= 0.2
    many, together = price_of_each(gs.Budget(1.0, 1e-6), 50, REPLACE)
    assert many > 1 / 50  # by zCDP, not by adding up
    assert gs.Budget(1.0, 1e-6).admits(together)


def test_an_audit_does_not_refute_it_and_refutes_a_broken_twin():
    """8,000 runs on each of two neighbours; false alarms at most 1 in 100."""
    data, neighbour, price = [0.0] * 3 + [8.0] * 3, [0.0] * 2 + [8.0] * 4, 2.0
    random = np.random.default_rng(0)

    def mechanism(scale):
        laws = {len(set(d)) + sum(d): law_of(d, 0.5, scale * price, REPLACE) for d in (data, neighbour)}
        return lambda d, runs: draw_quantile(laws[len(set(d)) + sum(d)], POINTS, random, runs)[:, None]

    options = {"draws": 8_000, "confidence": 0.99, "score": lambda x: -x[:, 0], "vectorised": True, "progress": False}
    claim = BoundedRange(price)
    assert not gs.audit.estimate_lower_bound(mechanism(1), data, neighbour, **options).refutes(claim)
    assert gs.audit.estimate_lower_bound(mechanism(6), data, neighbour, **options).refutes(claim)


RECORDS = 10_000


def made_up():
    random = np.random.default_rng(5)
    return {
        "normal": random.normal(0, 1, RECORDS),
        "lognormal": random.lognormal(10, 1, RECORDS),
        "integer": random.poisson(3, RECORDS).astype(float),
        "tied": np.where(random.random(RECORDS) < 0.9, 0.0, random.integers(1, 5, RECORDS)),
    }


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
@pytest.mark.parametrize("name", sorted(made_up()))
def test_quantiles_are_near_at_a_small_price(name, adjacency):
    """ε = 0.2 for both, a range of 10⁹: the median of 200 releases is within 2 % of the ranks."""
    values = made_up()[name]
    candidates = round_numbers(-5e8, 5e8, 90)
    each, _ = price_of_each(gs.Budget(0.2), 2, adjacency)
    ranks = Ranks.of([values], candidates)
    for quantile in (0.01, 0.99):
        drawn = draw_quantile(quantile_law(ranks, quantile, each, adjacency), candidates, np.random.default_rng(1), 200)
        released = np.median(drawn)
        assert np.mean(values < released) - 0.02 <= quantile <= np.mean(values <= released) + 0.02
        assert abs(released) <= 2 * np.abs(values).max()


@pytest.mark.parametrize("values", [[], [3.0], [7.0] * 500, [1e12] * 500, [-1e300, 1e300], [math.inf, -math.inf], [math.nan] * 3])
def test_whatever_the_data_hold_is_released(values):
    bounds = gs.private_bounds(
        {"x": np.array(values, dtype=float)}, "x", (-1e9, 1e9), gs.Budget(1.0), adjacency="add-remove",
        generator=np.random.default_rng(0),
    )  # fmt: skip
    assert -1e9 <= bounds.bounds[0] < bounds.bounds[1] <= 1e9


def test_pieces_count_like_the_whole():
    values = np.random.default_rng(0).normal(0, 3, 1000)
    whole, pieces = Ranks.of([values], POINTS), Ranks.of(np.array_split(values, 7), POINTS)
    assert (whole.below == pieces.below).all()
    assert (whole.at_or_below == pieces.at_or_below).all()
    assert whole.n == pieces.n == 1000


@settings(max_examples=25, deadline=None, derandomize=True)
@given(values=VALUES, gone=st.lists(st.sampled_from(POINTS), max_size=3), came=st.lists(st.sampled_from(POINTS), max_size=3))
def test_exact_curves_of_persons_with_several_rows_are_within_the_claim(values, gone, came):
    """A person with up to three rows is replaced by one with up to three others, or comes with them."""
    for adjacency, data in ((REPLACE, [*values, *gone]), (ADD, values)):
        for quantile in (0.01, 0.5):
            pair = (masses(law_of(each, quantile, price_of_row(2.0, 3), adjacency)) for each in (data, [*values, *came]))
            assert log_range(*pair) <= 2.0


def test_a_person_with_rows_far_apart_reaches_the_claim():
    data, row = [2.0] * 99, price_of_row(1.0, 3)
    one, other = (masses(law_of([*data, *[end] * 3], 0.5, row, REPLACE)) for end in (-3.0, 8.0))
    assert 0.9 < log_range(one, other) <= 1.0
    assert log_range(*(masses(law_of([*data, *[end] * 3], 0.5, 1.0, REPLACE)) for end in (-3.0, 8.0))) > 1.0  # a broken twin
