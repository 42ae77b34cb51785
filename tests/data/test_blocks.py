import numpy as np
import pytest

from gibbsafe.data import Blocks
from gibbsafe.errors import DomainError, ParameterError


def sums(rows, targets):
    return rows.sum(axis=0), rows.T @ rows, float(len(rows)), None if targets is None else float(targets.sum())


@pytest.mark.parametrize("block_rows", [1, 7, 100, 1000])
def test_reduce_sums_over_blocks(block_rows):
    rows = np.random.default_rng(0).standard_normal((100, 3))
    blocks = Blocks(rows, np.arange(100.0))
    total, gram, count, targets = blocks.reduce(sums, block_rows)
    np.testing.assert_allclose(total, rows.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(gram, rows.T @ rows, rtol=1e-12)
    assert (count, targets) == (100.0, 4950.0)


def test_reduce_is_reproducible_bit_for_bit():
    blocks = Blocks(np.random.default_rng(1).standard_normal((1000, 5)))
    first, second = (blocks.reduce(lambda z, y: (z.T @ z,), 64)[0] for _ in range(2))
    assert (first == second).all()


def test_single_precision_is_widened_before_the_function_sees_it():
    rows = np.random.default_rng(2).standard_normal((50, 4)).astype(np.float32)
    seen = []
    (gram,) = Blocks(rows).reduce(lambda z, y: (seen.append(z.dtype) or z.T @ z,), 16)
    assert set(seen) == {np.dtype(np.float64)}
    np.testing.assert_allclose(gram, rows.astype(float).T @ rows.astype(float), rtol=1e-14)


def test_double_precision_is_not_copied():
    rows = np.zeros((10, 2))
    shared = []
    Blocks(rows).reduce(lambda z, y: (float(bool(shared.append(np.shares_memory(z, rows)))),), 4)
    assert all(shared)


def test_no_rows_keep_their_shape():
    total, gram, count, _ = Blocks(np.empty((0, 3)), np.empty(0)).reduce(sums)
    assert (total == np.zeros(3)).all()
    assert (gram == np.zeros((3, 3))).all()
    assert count == 0.0


def test_the_functions_own_arrays_are_left_alone():
    kept = np.ones(2)
    (total,) = Blocks(np.zeros((10, 1))).reduce(lambda z, y: (kept,), 5)
    assert (total == 2).all()
    assert (kept == 1).all()


@pytest.mark.parametrize(
    ("rows", "targets", "message"),
    [
        (np.zeros(3), None, "2-D"),
        (np.zeros((3, 2), dtype=int), None, "float64 or float32"),
        (np.zeros((3, 0)), None, "one column"),
        (np.zeros((3, 2)), np.zeros(4), r"shape \(3,\)"),
    ],
)
def test_wrong_forms_are_refused(rows, targets, message):
    with pytest.raises(DomainError, match=message):
        Blocks(rows, targets)


def test_block_rows_must_be_positive():
    with pytest.raises(ParameterError, match="block_rows"):
        Blocks(np.zeros((3, 2))).reduce(sums, 0)


def test_rows_are_made_contiguous():
    assert Blocks(np.zeros((4, 6))[:, ::2]).rows.flags.c_contiguous
