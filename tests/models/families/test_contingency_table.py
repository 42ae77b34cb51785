"""Tables of counts: the law of their noise, the price of a record, and intervals that cover whatever the records are.

Counts of covered truths are compared with what the level allows at a false-alarm rate of 1e-4 per test; seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import gibbsafe as gs
from gibbsafe.population.counting import noise_sum, share_interval
from gibbsafe.posteriors.counts import CountsPosterior
from gibbsafe.samplers.trimmed.discrete_laplace import draw_noise

from ...examples import ADD, REPLACE
from ..plans import planned, posterior_of

BOTH = pytest.mark.parametrize("adjacency", [REPLACE, ADD])
WARDS = gs.models.ContingencyTable(categories={"ward": ("A", "B", "C"), "died": ("no", "yes")})
COUNTS = np.array([50, 3, 20, 0, 7, 7])


def rows_of(counts, model=WARDS):
    cells = list(itertools.product(*model.categories.values()))
    return np.array([cell for cell, times in zip(cells, counts, strict=True) for _ in range(times)], dtype=object)


def released(seed, adjacency=REPLACE, epsilon=1.0, **options):
    plan = gs.plan(WARDS, gs.Budget(epsilon), n=int(COUNTS.sum()), adjacency=adjacency, **options)
    return plan.release(rows_of(COUNTS), generator=np.random.default_rng(seed), progress=False)


# -- noise --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.05, 0.5, 1.0, 3.0])
def test_the_noise_has_its_law(beta):
    """Chi-squared over the places with at least five expected draws of 40,000; false alarm 1e-4 each."""
    noise = draw_noise(beta, 40_000, np.random.default_rng(1))
    reach = int(math.log(40_000 / 5 * math.tanh(beta / 2)) / beta)
    places = np.arange(-reach, reach + 1)
    expected = 40_000 * math.tanh(beta / 2) * np.exp(-beta * np.abs(places))
    seen = np.array([(noise == place).sum() for place in places])
    rest = 40_000 - seen.sum(), 40_000 - expected.sum()
    assert chisquare(np.append(seen, rest[0]), np.append(expected, rest[1])).pvalue > 1e-4


@pytest.mark.parametrize("beta", [2.0**-70, 1e-12, 1e300])
def test_noise_at_extreme_temperatures(beta):
    """Its mean size is 1/β for small β (within five standard errors); from 2⁴⁰ on there is none."""
    noise = np.abs(draw_noise(beta, 4000, np.random.default_rng(2)).astype(float))
    assert noise.mean() * beta == pytest.approx(1.0, abs=5 / math.sqrt(4000)) if beta < 1 else (noise == 0).all()


def test_masses_of_sums_are_those_of_convolutions():
    q, places = math.exp(-0.3), np.arange(-400, 401)
    one = (1 - q) / (1 + q) * q ** np.abs(places)
    law, expected = noise_sum(0.3, 3), np.convolve(np.convolve(one, one), one)
    middle = len(expected) // 2
    np.testing.assert_allclose(law.masses, expected[middle - law.reach : middle + law.reach + 1], atol=1e-12)
    for level in (0.5, 0.9, 0.999):
        q = int(law.quantile(level))
        inside = [expected[middle - end : middle + end + 1].sum() for end in (q, q - 1)]
        assert inside[1] < level <= inside[0]


def test_wide_laws_are_kept_in_coarser_units_and_err_to_the_long_side():
    law = noise_sum(1e-7, 4)
    assert law.unit > 1
    assert law.quantile(0.9) == pytest.approx(law.blur + 1e7 * noise_sum(1e-3, 4).quantile(0.9) / 1e3, rel=0.01)
    assert law.masses.sum() == pytest.approx(1.0, abs=1e-9)


# -- privacy ------------------------------------------------------------------------------------------------------------


def exact_delta(first, second, beta, epsilon, reach=90):
    """δ(ε) of two tables of two noisy counts by enumeration."""
    places = np.arange(-reach, reach + 1)
    one, top = (lambda k: math.tanh(beta / 2) * np.exp(-beta * np.abs(places - k))), math.exp(epsilon)
    laws = [np.multiply.outer(one(pair[0]), one(pair[1])) for pair in (first, second)]
    return float(np.maximum(laws[0] - top * laws[1], 0).sum())


@pytest.mark.parametrize(("first", "second"), [([3, 1], [2, 2]), ([3, 1], [3, 2]), ([0, 4], [3, 1])], ids=str)
def test_curves_are_those_of_enumeration(first, second):
    for epsilon in (0.0, 0.3, 1.0):
        pair = [CountsPosterior(np.array(counts, dtype=float), 0.4) for counts in (first, second)]
        assert pair[0].hockey_stick(pair[1], epsilon) == pytest.approx(exact_delta(first, second, 0.4, epsilon), abs=1e-9)


@BOTH
@pytest.mark.parametrize("rows", [1, 3])
def test_the_claim_holds_and_is_attained(adjacency, rows):
    """Just below the claim neighbours still differ, at the claim they do not: it is exact, both adjacencies, several rows."""
    plan = planned(WARDS, adjacency, n=20, budget=gs.Budget(1.0), rows_per_person=rows)
    claim = plan.guarantee.epsilon(0.0)
    counts = np.array([5, 0, 4, 4, 4, 3])
    moved = counts - [rows, 0, 0, 0, 0, 0] + ([0, rows, 0, 0, 0, 0] if adjacency == REPLACE else 0)
    first, second = (posterior_of(plan, rows_of(each)) for each in (counts, moved))
    for one, other in ((first, second), (second, first)):
        assert one.hockey_stick(other, claim) == 0.0
        assert one.hockey_stick(other, claim * (1 - 1e-3)) > 0


def test_a_normaliser_that_depends_on_the_data_is_not_priced_by_this_theorem():
    constants = gs.theorems.Constants(sensitivity=1.0)
    with pytest.raises(gs.PremiseError, match="fixed_normaliser: not declared"):
        gs.theorems.get("fixed-normaliser").guarantee(constants, inverse_temperature=1.0, adjacency=REPLACE)
    one, other = (
        gs.theorems.get(name).guarantee({"sensitivity": 1.5, "fixed_normaliser": True}, inverse_temperature=0.2, adjacency=ADD)
        for name in ("fixed-normaliser", "exponential-mechanism")
    )
    assert 2 * one.epsilon(0.0) == pytest.approx(other.epsilon(0.0))


# -- what a release says --------------------------------------------------------------------------------------------------


def least(level, times):
    """The fewest covered truths that a coverage of ``level`` leaves a chance of 1e-4."""
    return binom.ppf(1e-4, times, level)


@BOTH
def test_intervals_cover(adjacency):
    """200 releases: cells, a margin, a share given a ward, and a ratio."""
    covered, times, random = np.zeros(4), 200, np.random.default_rng(2)
    died = COUNTS.reshape(3, 2)
    plan = gs.plan(WARDS, gs.Budget(1.0), n=87, adjacency=adjacency)
    for each in range(times):
        made = plan.release(rows_of(COUNTS), generator=random, progress=False)
        table = made.table(0.8)
        covered += [
            made.interval(0.8).covers(COUNTS)[each % 6],
            table.margin("died")["yes"].covers(died[:, 1].sum()),
            table.ratio({"ward": "A", "died": "yes"}, {"ward": "A", "died": "no"}).covers(3 / 50),
            table.ratio({"ward": "A"}, {"ward": "C"}).covers(53 / 14),
        ]
    assert (covered >= least(0.8, times)).all(), covered
    assert (covered[[0, 2, 3]] < times).all(), "wider than they need be"


@pytest.mark.parametrize(("a", "b", "cells"), [(5, 95, (1, 1)), (0, 30, (1, 3)), (40, 2, (4, 1))], ids=str)
def test_tests_of_shares_keep_their_level(a, b, cells):
    rng, covered, times = np.random.default_rng(3), 0, 150
    laws = tuple(noise_sum(0.5, m) for m in cells)
    for _ in range(times):
        found = tuple(true + draw_noise(0.5, m, rng).sum() for true, m in zip((a, b), cells, strict=True))
        low, high = share_interval(found, laws, 0.9)
        covered += low <= a / (a + b) <= high
    assert covered >= least(0.9, times)


def test_a_public_number_of_records_is_used():
    made = released(4)
    table = made.table()
    assert table.count() == gs.population.count_table(made, 0.9).count()
    assert (table.count().lower, table.count().upper) == (87.0, 87.0)
    most, rest = table.count(ward=["A", "B"]), table.count(ward="C")
    assert most.value + rest.value == 87
    private = released(4, ADD).table()
    assert private.count().upper > private.count().lower


def test_several_draws_are_averaged():
    one, many = released(5, draws=1).table(), released(5, draws=40).table()
    assert many.count(ward="A", died="no").covers(50)
    assert one.draws, many.draws == (1, 40)
    assert many.level == 0.9


def test_tables_read_well():
    made = released(6, epsilon=50.0)
    table = made.table()
    assert str(table.margin("ward")).splitlines()[1] == "  ward=A  53 (53 to 53)"
    assert table.margin("ward").to_dict()["rows"][0] == {"ward": "A", "value": 53.0, "lower": 53.0, "upper": 53.0}
    assert dict(table.shares("died", given="ward"))[("C", "yes")].value == pytest.approx(0.5)
    assert table.ratio({"died": "yes"}, {"died": "no", "ward": "B"}).value == pytest.approx(0.5)
    assert len(table.margin("ward", "died")) == 6
    assert "whole number" in WARDS.outside(np.array([[0.5, 0, 0, 0, 0, 0]]), 0.0)


def test_one_column_is_read_from_a_plain_array():
    model = gs.models.ContingencyTable(categories={"colour": ("red", "blue")})
    made = gs.plan(model, gs.Budget(30.0), n=3, adjacency=REPLACE).release(np.array(["red", "blue", "red"]))
    assert made.draws.tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda table: table.count(bed="A"), "of declared columns"),
        (lambda table: table.count(ward="D"), "of its declared categories"),
        (lambda table: table.margin(), "one or more of ward, died"),
        (lambda table: table.margin("ward", "ward"), "named once"),
        (lambda table: table.shares("bed"), "one of ward, died"),
        (lambda table: table.ratio({"ward": "A"}, {"died": "no"}), "of other cells than first"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_declared_is_refused(ask, message):
    with pytest.raises(gs.ParameterError, match=message) as refusal:
        ask(released(7).table())
    assert "\n" not in str(refusal.value)


def test_other_refusals():
    made = released(8)
    for options in ({"radius": 1.0}, {"dispersion": 2.0}):
        with pytest.raises(gs.ParameterError, match="the noise of ContingencyTable is known"):
            made.interval(0.9, **options)
    other = gs.plan(gs.models.Categorical(states=2, smallest_probability=0.1), gs.Budget(1.0), n=4, adjacency=REPLACE)
    with pytest.raises(gs.GibbsafeError, match="does not count records"):
        other.release(np.array([0, 1, 1, 0])).table()
    with pytest.raises(gs.ParameterError, match="1,000,000"):
        gs.models.ContingencyTable(categories={f"x{k}": 10 for k in range(7)})
    with pytest.raises(gs.ParameterError, match="one column or more"):
        gs.models.ContingencyTable(categories={})


def test_synthetic_rows_of_a_table_without_counts_are_even():
    rows = WARDS.simulate(-np.ones(6), 600, np.random.default_rng(9))
    assert len({tuple(row) for row in rows}) == 6
