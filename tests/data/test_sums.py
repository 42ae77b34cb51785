"""Sums over records: the same bits for any number of workers, and block functions that could be sent elsewhere."""

import os
import pickle
import threading
from contextlib import suppress

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.data import Blocks, spool, sums
from gibbsafe.data import blocks as blocks_module
from gibbsafe.data.blocks import beside_of
from gibbsafe.data.sums import Largest, add_in_tree, available_workers, in_order, shared, sum_of_blocks, working
from gibbsafe.errors import ParameterError
from gibbsafe.samplers import SAMPLERS

from ..examples import EXAMPLES, records

#: Bytes of the largest block function, pickled: of a few thousand parameters' points and matrices more, of records none.
LARGEST = 8192


def moments(rows, beside):
    return rows.T @ rows, rows.sum(axis=0), Largest(np.abs(rows).max(axis=0, initial=0.0)), float(len(rows))


@pytest.fixture
def short_chunks(monkeypatch):
    """Chunks of 64 rows, so that small data have many."""
    monkeypatch.setattr(sums, "CHUNK_ROWS", 64)


def spilled(rows):
    kept = spool.Spool(1)
    for part in np.array_split(rows, 3):
        kept.add(Blocks(part))
    return kept.finish()


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 1000, 64 * 15, 64 * 31 + 1])
@pytest.mark.parametrize("block_rows", [7, 16, 200])
@pytest.mark.parametrize("make", [Blocks, spilled])
def test_sums_are_the_same_bit_by_bit_for_any_number_of_workers(rows, block_rows, make):
    data = make(np.random.default_rng(rows).standard_normal((rows, 3)))
    answers = []
    for workers in (1, 2, 4):
        with working(workers):
            gram, total, largest, count = data.reduce(moments, block_rows)
        answers.append((gram.tobytes(), total.tobytes(), largest.values.tobytes(), count))
    assert len(set(answers)) == 1
    assert answers[0][-1] == rows


@pytest.mark.usefixtures("short_chunks")
def test_whoever_holds_an_aligned_run_of_chunks_may_add_them_by_itself():
    rows = np.random.default_rng(3).standard_normal((64 * 11 + 5, 2))
    whole = Blocks(rows).reduce(moments, 16)
    parts = [sum_of_blocks(moments, rows[first : first + 64], None, 16) for first in range(0, len(rows), 64)]
    runs = [add_in_tree(parts[0:8]), add_in_tree(parts[8:12])]
    np.testing.assert_array_equal(add_in_tree(runs)[0], whole[0])
    np.testing.assert_array_equal(add_in_tree(parts)[0], whole[0])
    assert whole[0] is not parts[0][0]


def test_the_tree_adds_neighbours_first():
    class Pair(str):
        def __add__(self, other):
            return Pair(f"({self}{other})")

    assert add_in_tree((Pair(k),) for k in "abcdefg") == ("(((ab)(cd))((ef)g))",)


def test_workers_see_the_numpy_errors_that_the_caller_chose():
    with working(2), np.errstate(over="ignore"):
        assert next(in_order(np.exp, np.full((4, 1), 1e9)))[0] == np.inf
    with working(2), np.errstate(over="raise"), pytest.raises(FloatingPointError):
        list(in_order(np.exp, np.full((4, 1), 1e9)))


def test_work_is_shared_and_only_a_few_results_wait():
    seen, most = set(), []

    def task(item):
        seen.add(threading.current_thread().name)
        return item

    with working(2):
        for place, item in enumerate(in_order(task, iter(range(50)))):
            most.append(place - item)
    assert not any(most)
    assert all(name.startswith("gibbsafe") for name in seen)
    assert list(in_order(task, range(3))) == [0, 1, 2]  # nobody works beside us here


class Doubled:
    """Takes many chunks at once, as a compiled function does."""

    calls = 0

    def __call__(self, rows, beside):
        return (2 * rows.sum(axis=0),)

    def of_chunks(self, rows, beside, block_rows, chunk_rows):
        Doubled.calls += 1
        parts = [rows[k : k + chunk_rows] for k in range(0, max(len(rows), 1), chunk_rows)]
        return np.array([sum_of_blocks(self, part, None, block_rows)[0] for part in parts])


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("rows", [0, 5, 64 * 31 + 1, 64 * 200])
def test_a_function_of_many_chunks_adds_along_the_same_tree(rows):
    data = np.random.default_rng(rows).standard_normal((rows, 3))
    expected = Blocks(data).reduce(lambda block, _: (2 * block.sum(axis=0),), 16)[0]
    for workers in (1, 2, 3):
        for make in (Blocks, spilled):
            with working(workers):
                assert make(data).reduce(Doubled(), 16)[0].tobytes() == expected.tobytes()
    assert Doubled.calls


def test_numbers_beside_rows_in_a_file_are_those_beside_rows_in_memory():
    rows = np.random.default_rng(1).standard_normal((70_000, 2))
    here, there = (make(rows).with_beside(lambda block, _: block[:, 1] ** 2) for make in (Blocks, spilled))
    np.testing.assert_array_equal(there.targets, rows[:, 1] ** 2)
    assert here.reduce(lambda block, beside: (beside @ block,))[0].tobytes() == (
        there.reduce(lambda block, beside: (beside @ block,))[0].tobytes()
    )


def test_a_failing_helper_is_heard_and_nobody_goes_on():
    seen = []

    def task(item):
        seen.append(item)
        if item == 3:
            raise ValueError(item)
        return item

    with working(2), pytest.raises(ValueError, match="3"):
        shared(task, range(10_000))
    assert len(seen) < 10_000
    with working(2):
        assert shared(str, range(100)) == [str(k) for k in range(100)]


def test_a_failing_worker_is_heard():
    def task(item):
        raise ValueError(item)

    with working(2), pytest.raises(ValueError, match="0"):
        list(in_order(task, range(4)))


def test_each_row_keeps_its_place():
    data = Blocks(np.arange(100_000.0)[:, None], weights=np.full(100_000, 2.0))
    with working(3):
        np.testing.assert_array_equal(data.each_row(lambda rows, beside: rows[:, 0] * beside[:, 0]), 2 * np.arange(100_000.0))
    assert beside_of(None, data.weights).shape == (100_000, 1)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two"])
def test_numbers_of_workers_that_are_none_are_refused(workers):
    with pytest.raises(ParameterError, match="workers"), working(workers):
        pass


def test_the_environment_may_name_the_number_of_workers(monkeypatch):
    monkeypatch.setenv("GIBBSAFE_WORKERS", "3")
    assert available_workers() == 3
    monkeypatch.setenv("GIBBSAFE_WORKERS", "many")
    with pytest.raises(ParameterError, match="GIBBSAFE_WORKERS"):
        available_workers()
    monkeypatch.delenv("GIBBSAFE_WORKERS")
    assert 1 <= available_workers() <= (os.cpu_count() or 1)


# -- block functions of every model and sampler ----------------------------------------------------------------------------


ROWS = 200


def plans_of(example):
    """One plan for each way of drawing that a model has."""
    for way in [{"sampler": name} for name in SAMPLERS] + [{"purpose": "estimate"}]:
        for delta in (1e-6, 0.0):
            with suppress(gs.GibbsafeError):
                yield gs.plan(example.model, gs.Budget(2.0, delta), n=ROWS, adjacency=example.adjacencies[0], **way)
                break


@pytest.mark.parametrize("name", EXAMPLES)
def test_block_functions_can_be_sent_elsewhere_and_hold_no_records(monkeypatch, name):
    sizes = []

    def seen(function, chunk, rows, block_rows):
        sizes.append(len(pickle.dumps(function)))
        return whole(pickle.loads(pickle.dumps(function)), chunk, rows, block_rows)

    whole = sums.sum_of_chunks
    for module in (blocks_module, spool):
        monkeypatch.setattr(module, "sum_of_chunks", seen)
    example = EXAMPLES[name]
    data = records(example.model, ROWS)
    for plan in plans_of(example):
        plan.release(data, generator=np.random.default_rng(0), progress=False, workers=1)
    assert sizes
    assert max(sizes) < LARGEST


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("name", EXAMPLES)
def test_releases_are_the_same_for_any_number_of_workers(name):
    example = EXAMPLES[name]
    data = records(example.model, ROWS)
    for plan in plans_of(example):
        draws = [plan.release(data, generator=np.random.default_rng(0), progress=False, workers=w).draws for w in (1, 3)]
        np.testing.assert_array_equal(*draws)
