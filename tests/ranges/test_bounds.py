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
from gibbsafe.domains import Column
from gibbsafe.privacy import Adjacency
from gibbsafe.ranges.columns import OneColumn, count_values
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


@pytest.mark.parametrize("other", ["", None, 3.5, ["a"]])
def test_the_catch_all_is_a_level(table, other):
    with pytest.raises(gs.ParameterError, match=r"other = .*: must be a level"):
        gs.private_levels(table, "ward", gs.Budget(1.0, 1e-6), other=other)


# -- persons, the untrusted, and odd columns ------------------------------------------------------------------------------


def test_a_person_counts_once_per_value_and_so_many_rows_at_most():
    """One person has a thousand rows of one ward, and three of others: they add at most one to each of two counts."""
    one = OneColumn({"w": ["a"] * 1000 + ["b", "c", "d"], "who": [7] * 1003}, "w", None, 2, "who")
    assert count_values(one) == Counter({"a": 1})
    spread = OneColumn({"w": ["a", "b", "c", "a"], "who": [1, 1, 1, 2]}, "w", None, 2, "who")
    assert count_values(spread) == Counter({"a": 2, "b": 1})
    assert share_of(gs.Budget(1.0, 1e-6), Adjacency.REPLACE_ONE, 3) == (Fraction(1, 6), Fraction(1e-6) / 6)


def test_persons_are_charged_to_an_account_of_persons(tmp_path):
    place = f"sqlite:///{tmp_path / 'ledger.db'}"
    persons = gs.ledger.open_account(place, "clinic", gs.Budget(1.0, 1e-6), adjacency="replace-one", unit="person")
    table = {"x": np.arange(40.0), "who": np.arange(40) // 2}
    with pytest.raises(gs.BudgetError, match="counts by person"):
        ask(table, "x", (0, 100), ledger=persons)
    assert len(persons.entries()) == 1
    found = ask(table, "x", (0, 100), ledger=persons, rows_per_person=2, persons="who")
    assert found.rows_per_person == found.to_dict()["rows_per_person"] == 2
    assert len(persons.entries()) == 2
    with pytest.raises(gs.DomainError, match="pass an identifier per row"):
        ask(table, "x", (0, 100), rows_per_person=2)
    with pytest.raises(gs.DomainError, match="not one identifier per row"):
        ask(table, "x", (0, 100), rows_per_person=2, persons=[1, 2])


class Watched:
    """A table that notes how many entries an account had when its first record was read."""

    def __init__(self, table, account):
        self.table, self.account, self.before = table, account, None

    def batches(self, on_invalid):
        if self.before is None:
            self.before = len(self.account.entries())
        yield from self.table.to_batches()


def test_the_untrusted_are_charged_before_a_record_is_read(account):
    table = Watched(pa.table({"x": [1.0, 2.0]}), account)
    ask(table, "x", (0, 10), gs.Budget(0.1), ledger=account, untrusted=True)
    assert table.before == 2
    table = Watched(pa.table({"x": ["a", "b"]}), account)
    with pytest.raises(gs.DomainError, match="holds string"):
        ask(table, "x", (0, 20), gs.Budget(0.1), ledger=account, untrusted=True)
    assert len(account.entries()) == 3  # charged: a refusal shows nothing for free
    table = Watched(pa.table({"x": [1.0, 2.0]}), account)
    ask(table, "x", (0, 30), gs.Budget(0.1), ledger=account)
    assert table.before == 3  # a trusted question that is refused costs nothing
    with pytest.raises(gs.ParameterError, match="an account to charge"):
        ask(table, "x", (0, 30), untrusted=True)


@pytest.mark.parametrize("raw", [[None] * 3, [10**400, -(10**400)], [2**70, 1], [1, 2.5, None], [np.inf, -np.inf, np.nan]])
def test_numbers_of_any_size_are_released(raw):
    for values in (raw, np.array(raw, dtype=object)):
        assert ask({"x": values}, "x", (-10, 10), adjacency="add-remove", generator=np.random.default_rng(0)).bounds


@pytest.mark.parametrize("raw", [[True, False], [b"a"], [[1], [2]], [1, "a"], np.array([1 + 2j]), np.zeros((3, 2)), 3])
def test_what_is_no_number_is_one_line_and_shows_nothing(raw):
    for on_invalid in ("error", "replace"):
        with pytest.raises(gs.DomainError) as refusal:
            ask({"x": raw}, "x", (-10, 10), on_invalid=on_invalid)
        assert "\n" not in str(refusal.value)


def test_bounds_of_dates_are_days_since_an_origin():
    days = np.datetime64("2020-01-01") + np.arange(1000).astype("timedelta64[D]")
    texts = [str(day) for day in days]
    seeded = {"limits": (0, 5000), "origin": "2020-01-01", "budget": gs.Budget(5.0)}
    found = [ask({"since": raw}, "since", generator=np.random.default_rng(0), **seeded) for raw in (days, texts)]
    assert found[0].values == found[1].values
    assert 0 <= found[0].bounds[0] < 100
    assert 900 < found[0].bounds[1] < 1100
    assert found[0].to_column(origin="2020-01-01").values(["2020-06-01"]).tolist() == [152.0]
    with pytest.raises(gs.DomainError, match="name an origin"):
        ask({"since": days}, "since")
    with pytest.raises(gs.ParameterError, match="a date like"):
        ask({"since": days}, "since", origin="yesterday")


def test_levels_are_texts_whole_numbers_or_truth_values():
    random, budget = np.random.default_rng(0), gs.Budget(9.0, 1e-3)
    broken = pa.Array.from_buffers(pa.string(), 1, [None, *map(pa.py_buffer, (np.array([0, 1], np.int32).tobytes(), b"\xff"))])
    assert gs.private_levels({"w": pa.concat_arrays([broken] * 30)}, "w", budget, generator=random).levels == ("�",)
    assert gs.private_levels({"w": [True] * 30}, "w", budget, generator=random).to_column().levels == (True, -1)
    categories = pa.array(["a"] * 30 + [None]).dictionary_encode()
    assert gs.private_levels({"w": categories}, "w", budget, generator=random).levels == ("a",)
    for raw in ([1.5], np.array(["2020-01-01"], dtype="datetime64[D]"), [b"a"], [[1]]):
        with pytest.raises(gs.DomainError, match="no text or whole number"):
            gs.private_levels({"w": raw}, "w", budget)


def test_a_range_without_digits_and_an_epsilon_without_tables_are_refused():
    with pytest.raises(gs.ParameterError, match="at least 1e-300 wide"):
        ask({"x": [1.0]}, "x", (0, 5e-324))
    with pytest.raises(gs.ParameterError, match="larger: fewer than 20,000 records"):
        gs.private_levels({"w": ["a"]}, "w", gs.Budget(1e-6, 1e-9))


# -- charges that a plan names --------------------------------------------------------------------------------------------


def priced(column, account, **model):
    chosen = gs.models.PseudoHuberRegression(dimension=1, columns=(column,), target="income", **model)
    plan = gs.plan(chosen, gs.Budget(0.1, 1e-7), n=3000, adjacency="replace-one", purpose="estimate")
    return account.charge(plan)


def test_an_account_looks_up_its_own_charges(table, account):
    found = ask(table, "age", ledger=account, budget=gs.Budget(0.1))
    good, *wrong = (
        found.charge,
        found.charge.replace("1 of", "2 of"),  # no such entry
        found.charge[:-1] + ("0" if found.charge[-1] != "0" else "1"),  # another hash
    )
    age = {"name": "age", "bounds": found.bounds}
    for charge in wrong:
        with pytest.raises(gs.BudgetError, match="paid for no bounds of age"):
            priced(Column(**age, charge=charge), account)
    with pytest.raises(gs.BudgetError, match="paid for no bounds of years"):
        priced(Column("years", bounds=found.bounds, charge=good), account)
    with pytest.raises(gs.BudgetError, match="paid for no bounds of income"):
        priced(Column(**age), account, target_charge=good)
    assert len(account.entries()) == 2
    priced(Column(**age, charge=good), account)
    assert len(account.entries()) == 3
