"""Bounds and levels of tables: charges, refusals, and where they go."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import gibbsafe as gs
from gibbsafe.privacy import Adjacency
from gibbsafe.ranges.selection import BITS, probabilities, share_of

BUDGET = gs.Budget(0.5)


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    return {"income": random.lognormal(10, 1, 3000), "ward": random.choice(["a", "b"], 3000).tolist(), "age": list(range(3000))}


@pytest.fixture
def account(tmp_path):
    return gs.ledger.open_account(f"sqlite:///{tmp_path / 'ledger.db'}", "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one")


def ask(data, column="income", limits=(-1e9, 1e9), budget=BUDGET, **options):
    return gs.private_bounds(data, column, limits, budget, **options)


def test_the_charge_comes_with_the_bounds(table, account):
    found = ask(table, ledger=account)
    entry = account.entries()[1]
    assert (entry["kind"], entry["state"], entry["mechanism"]) == ("spend", "spent", "private bounds of column income")
    assert found.charge.startswith("1 of account clinic, ledger ")
    assert entry["hash"] in found.charge
    column = found.to_column(transform="signed-log")
    assert column.charge == found.charge
    assert column.bounds == found.bounds
    with pytest.raises(gs.BudgetError, match="was charged as entry 1"):
        ask(table, ledger=account)
    assert len(account.entries()) == 2


def test_an_exhausted_budget_refuses(table, account):
    with pytest.raises(gs.BudgetError, match="is left; plan a smaller release"):
        ask(table, ledger=account, budget=gs.Budget(20.0))
    assert len(account.entries()) == 1


def test_seeded_bounds_are_refused_by_an_account(table, account):
    with pytest.raises(gs.BudgetError, match="seeded"):
        ask(table, ledger=account, generator=np.random.default_rng(0))


def test_the_account_says_which_adjacency(table, tmp_path):
    place = f"sqlite:///{tmp_path / 'other.db'}"
    gs.ledger.open_account(place, "clinic", gs.Budget(1.0), adjacency="add-remove")
    assert ask(table, ledger=f"{place}#clinic").adjacency == Adjacency.ADD_REMOVE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": (10, -10)}, "range = .*low < high"),
        ({"limits": (0, np.inf)}, "range = .*finite"),
        ({"limits": 7}, "range = 7"),
        ({"quantiles": (0.0, 0.5)}, r"quantile = 0.0: must be in \(0, 1\)"),
        ({"quantiles": (0.9, 0.1)}, "increasing"),
        ({"quantiles": ()}, "quantiles"),
        ({"column": "ward"}, "column 'ward': holds string, .* levels instead"),
        ({"column": "nothing"}, "'nothing': found 0 times"),
        ({"budget": 1.0}, "a gibbsafe.Budget"),
        ({"per_decade": 7}, "per_decade"),
    ],
)
def test_bad_requests_are_one_line_and_cost_nothing(table, account, options, message):
    with pytest.raises(gs.GibbsafeError, match=message) as refusal:
        ask(table, ledger=account, **options)
    assert "\n" not in str(refusal.value)
    assert len(account.entries()) == 1


def test_kinds_of_tables_agree(table, tmp_path):
    columns = {"income": table["income"]}
    csv.write_csv(pa.table(columns), tmp_path / "t.csv")
    found = [
        ask(data, generator=np.random.default_rng(3)).values
        for data in (columns, pa.table(columns), tmp_path / "t.csv", table["income"])
    ]
    assert len(set(found)) == 1


# -- levels ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.05, 1e-9), (5.0, 0.01)])
def test_every_step_of_a_count_is_within_the_claim(epsilon, delta):
    """Both inequalities of (ε, δ)-DP for both outcomes, in 60 digits, with the numbers that coins are thrown with."""
    mpmath.mp.dps = 60
    listed = [mpmath.mpf(each) / 2**BITS for each in probabilities(Fraction(epsilon), Fraction(delta))]
    growth = mpmath.exp(mpmath.mpf(epsilon))
    for less, more in pairwise(listed):
        for p, q in ((less, more), (more, less), (1 - less, 1 - more), (1 - more, 1 - less)):
            assert p <= growth * q + mpmath.mpf(delta)
    assert listed[1] <= delta
    assert listed[1] > 0.999 * delta
    best = [0.0]
    while best[-1] < 1:  # no rule at this price releases more: the recursion, rounded, against itself in 60 digits
        before = mpmath.mpf(best[-1])
        best.append(min(growth * before + delta, 1 - (1 - before - delta) / growth, mpmath.mpf(1)))
    assert abs(len(best) - len(listed)) <= 1


def test_a_replaced_record_moves_two_counts():
    assert share_of(gs.Budget(1.0, 1e-6), Adjacency.REPLACE_ONE) == (Fraction(1, 2), Fraction(1e-6) / 2)
    assert share_of(gs.Budget(1.0, 1e-6), Adjacency.ADD_REMOVE) == (1, Fraction(1e-6))


def test_common_levels_are_released_and_rare_ones_are_not():
    wards = ["a"] * 300 + ["b"] * 300 + ["mine alone"] + [None, ""] * 5
    found = gs.private_levels({"ward": wards}, "ward", gs.Budget(0.5, 1e-6), generator=np.random.default_rng(0))
    assert found.levels == ("a", "b")
    column = found.to_column()
    assert column.levels == ("a", "b", "other")
    assert column.codes(["mine alone", "b", None]).tolist() == [2, 1, 2]


def test_levels_are_drawn_as_often_as_their_count_says():
    """500 selections of a value with 12 records: within 4.5 standard errors of its probability (1 false alarm in 100,000)."""
    budget, random = gs.Budget(0.5, 1e-3), np.random.default_rng(1)
    chance = probabilities(*share_of(budget, Adjacency.ADD_REMOVE))[12] / 2**BITS
    assert 0.1 < chance < 0.9
    table = pa.table({"w": ["x"] * 12})
    kept = Counter(gs.private_levels(table, "w", budget, adjacency="add-remove", generator=random).levels for _ in range(500))[
        ("x",)
    ]
    assert abs(kept / 500 - chance) < 4.5 * (chance * (1 - chance) / 500) ** 0.5


def test_levels_of_whole_numbers_have_a_catch_all_of_their_kind():
    found = gs.private_levels({"w": [1] * 400 + [2] * 400}, "w", gs.Budget(0.5, 1e-6), generator=np.random.default_rng(0))
    assert (found.levels, found.other) == ((1, 2), -1)
    assert found.to_column().codes([2, 7]).tolist() == [1, 2]


def test_nothing_common_is_an_empty_list():
    found = gs.private_levels({"w": pa.array([], pa.string())}, "w", gs.Budget(0.5, 1e-6), adjacency="add-remove")
    assert found.levels == ()
    assert found.to_column().levels == ("other",)


@pytest.mark.parametrize(
    ("column", "budget", "message"),
    [("ward", gs.Budget(1.0), "delta = 0.0: must be above 0"), ("income", gs.Budget(1.0, 1e-6), "ask for its bounds instead")],
)
def test_levels_refuse_in_one_line(table, column, budget, message):
    with pytest.raises(gs.GibbsafeError, match=message):
        gs.private_levels(table, column, budget)
