"""Identical records merged: exactly which, in which order, and when it is not done. The oracle is a dictionary of bytes."""

from collections import Counter

import numpy as np
import pytest

from gibbsafe.data import Blocks, compression
from gibbsafe.data.blocks import beside_of, weights_of
from gibbsafe.data.compression import merge_identical
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.spool import Spool
from gibbsafe.errors import DomainError
from gibbsafe.models import LogisticRegression


def contents(rows, targets, weights=None):
    """How often each record stands there, by its bytes."""
    counts = Counter()
    for k, row in enumerate(rows):
        counts[row.tobytes() + (b"" if targets is None else targets[k].tobytes())] += 1 if weights is None else int(weights[k])
    return counts


def coarse(n, dtype=np.float64, targets=True, seed=0):
    """Records of few values, zeros of both signs among them."""
    generator = np.random.default_rng(seed)
    rows = (generator.integers(-1, 2, (n, 3)) / 3 * generator.choice([-1, 1], (n, 1))).astype(dtype)
    return rows, generator.integers(0, 2, n) * 1e9 if targets else None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("targets", [False, True])
@pytest.mark.parametrize("n", [256, 3000, 20_000])
def test_the_same_records_counted(n, targets, dtype):
    rows, y = coarse(2 * n, dtype, targets)
    merged = merge_identical(Blocks(rows, y))
    assert contents(merged.rows, merged.targets, merged.weights) == contents(rows, y)
    assert len(set(contents(merged.rows, merged.targets))) == len(merged.rows)
    assert merged.n_rows == 2 * n
    assert merged.rows.dtype == dtype


@pytest.mark.parametrize("targets", [False, True])
def test_any_permutation_gives_the_same_blocks_bit_for_bit(targets):
    rows, y = coarse(10_000, targets=targets)
    first = merge_identical(Blocks(rows, y))
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(rows))
        again = merge_identical(Blocks(rows[order], None if y is None else y[order]))
        assert first.rows.tobytes() == again.rows.tobytes()
        assert first.weights.tobytes() == again.weights.tobytes()
        assert y is None or first.targets.tobytes() == again.targets.tobytes()


def test_the_decision_is_the_same_in_any_order_near_the_limit():
    """A quarter of different records, the rest copies of one: sorted, reversed and shuffled they are decided alike."""
    generator = np.random.default_rng(3)
    for distinct in np.linspace(9_000, 11_000, 21).astype(int):
        rows = np.vstack([generator.standard_normal((distinct, 2)), np.full((40_000 - distinct, 2), 0.5)])
        orders = [np.arange(40_000), np.arange(40_000)[::-1], generator.permutation(40_000)]
        decisions = {merge_identical(Blocks(rows[order])).weights is None for order in orders}
        assert len(decisions) == 1


@pytest.mark.parametrize("n", [0, 1, 255])
def test_few_records_stay_as_they_are(n):
    blocks = Blocks(np.ones((n, 2)))
    assert merge_identical(blocks) is blocks


def test_different_records_stay_as_they_are():
    generator = np.random.default_rng(1)
    for rows in (generator.standard_normal((5000, 3)), np.column_stack([np.ones((50_000, 5)), generator.random(50_000)])):
        blocks = Blocks(rows)
        assert merge_identical(blocks) is blocks
    blocks = Blocks(np.ones((5000, 1)), generator.random(5000))
    assert merge_identical(blocks) is blocks


def test_one_different_record_is_kept_apart():
    rows = np.full((100_000, 4), 0.25)
    rows[77_777, 3] = np.nextafter(0.25, 1)
    assert sorted(merge_identical(Blocks(rows)).weights) == [1, 99_999]
    signs = np.zeros((1000, 1))
    signs[500:] = -0.0
    assert len(merge_identical(Blocks(signs)).rows) == 2


def test_a_collision_of_hashes_merges_nothing_wrong(monkeypatch):
    monkeypatch.setattr(compression, "_odd_constants", lambda count: np.zeros(count, dtype=np.uint64))
    rows, y = coarse(5000)
    merged = merge_identical(Blocks(rows, y))
    assert contents(merged.rows, merged.targets, merged.weights) == contents(rows, y)
    again = merge_identical(Blocks(rows[::-1], y[::-1]))
    assert merged.rows.tobytes() == again.rows.tobytes()


def test_simple_numbers_do_not_collide():
    """Powers of two have long runs of zero bits; the hash must not lose what is left."""
    rows = np.repeat(2.0 ** np.random.default_rng(5).integers(-8, 8, (2000, 12)), 8, axis=0)
    hashes = compression._hashes_if_few(Blocks(rows))
    assert len(np.unique(hashes)) == len(np.unique(rows, axis=0))


def test_codes_merged_records_and_files_are_left_alone():
    codes = Blocks(np.zeros((1000, 2), dtype=np.int8))
    assert merge_identical(codes) is codes
    merged = merge_identical(Blocks(np.ones((1000, 2))))
    assert merge_identical(merged) is merged
    spool = Spool(memory=64)
    spool.add(Blocks(np.ones((1000, 2))))
    spilled = spool.finish()
    assert merge_identical(spilled) is spilled


def test_one_category_of_59_levels():
    generator = np.random.default_rng(0)
    model = LogisticRegression(dimension=59, radius=1.0)
    features, labels = np.eye(59)[generator.integers(0, 59, 30_000)], generator.random(30_000) < 0.4
    options = EncodingOptions("error", "float64")
    merged = merge_identical(model.encode((features, labels), options))
    assert len(merged.rows) <= 118
    assert merged.n_rows == 30_000


@pytest.mark.parametrize("column", [0, -1])
def test_a_vain_attempt_ends_after_little_more_than_a_quarter_of_the_rows(column, monkeypatch):
    """At n = 1e6, p = 20 that takes 0.7 to 0.9 of a compiled gradient; rows are counted here, clocks of busy machines jump."""
    hashed, mixed = [], compression._mixed
    monkeypatch.setattr(compression, "_mixed", lambda bits: hashed.append(len(bits) * (bits.ndim == 2)) or mixed(bits))
    rows = np.ones((400_000, 20))
    rows[:, column] = np.random.default_rng(0).standard_normal(400_000)
    assert merge_identical(Blocks(rows)).weights is None
    assert sum(hashed) < 0.3 * len(rows)


def test_blocks_with_weights():
    blocks = Blocks(np.arange(6.0).reshape(3, 2), np.arange(3.0), np.array([2.0, 1.0, 5.0]))
    assert blocks.n_rows == 8
    (total,) = blocks.reduce(lambda rows, beside: (weights_of(beside) @ rows,), 2)
    assert total.tolist() == [22.0, 30.0]
    beside = beside_of(blocks.targets, blocks.weights)
    again = Blocks.from_beside(blocks.rows, beside)
    assert again.weights.tolist() == [2.0, 1.0, 5.0]
    assert again.targets.tolist() == [0.0, 1.0, 2.0]
    assert Blocks.from_beside(blocks.rows, blocks.targets).weights is None
    assert Blocks.from_beside(blocks.rows, beside[:, :1]).targets is None


@pytest.mark.parametrize("weights", [[1.0, 2.0], [0.0, 1.0, 1.0], [1.5, 1.0, 1.0], [-1.0, 1.0, 1.0], [np.nan, 1.0, 1.0]])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(DomainError, match="weights: must"):
        Blocks(np.ones((3, 1)), None, np.array(weights))


@pytest.mark.parametrize("kept", [0, -1], ids=["rows", "targets"])
def test_records_that_differ_only_where_the_hash_does_not_look_stay_apart(monkeypatch, kept):
    """All hashes see one column; merging must compare the others, rows and targets alike."""

    def seeing_one(count):
        constants = np.zeros(count, dtype=np.uint64)
        constants[kept] = 1
        return constants

    monkeypatch.setattr(compression, "_odd_constants", seeing_one)
    rows, y = coarse(5000)
    merged = merge_identical(Blocks(rows, y))
    assert contents(merged.rows, merged.targets, merged.weights) == contents(rows, y)
