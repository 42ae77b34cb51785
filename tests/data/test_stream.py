"""Records that need not fit in memory: the same numbers, bit for bit, however they are cut and wherever they are kept."""

import os
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gibbsafe as gs
from gibbsafe.data import Blocks
from gibbsafe.data.census import PersonCap
from gibbsafe.data.spool import SpilledBlocks, Spool
from gibbsafe.errors import GibbsafeError


def spooled(rows, targets, cuts, memory):
    spool = Spool(memory)
    edges = [0, *sorted(cuts), len(rows)]
    for start, stop in pairwise(edges):
        spool.add(Blocks(rows[start:stop], None if targets is None else targets[start:stop]))
    return spool.finish()


@given(
    st.integers(0, 300),
    st.lists(st.integers(0, 300), max_size=5),
    st.sampled_from([None, 8, 4096, 10**9]),
    st.booleans(),
    st.sampled_from(["float64", "float32"]),
    st.integers(1, 400),
)
def test_reductions_are_equal_bit_for_bit(n, cuts, memory, with_targets, storage, block_rows):
    generator = np.random.default_rng(n)
    rows = generator.standard_normal((n, 3)).astype(storage)
    targets = generator.standard_normal(n) if with_targets else None

    def sums(block, y):
        return block.T @ block, float(np.exp(block).sum()), 0.0 if y is None else float(y @ block[:, 0])

    expected = Blocks(rows, targets).reduce(sums, block_rows)
    kept = spooled(rows, targets, [min(cut, n) for cut in cuts], memory)
    assert (kept.n_rows, kept.width) == (n, 3)
    for a, b in zip(kept.reduce(sums, block_rows), expected, strict=True):
        assert np.array_equal(a, b)


def test_beyond_the_limit_rows_wait_in_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    kept = spooled(np.ones((1000, 4)), np.ones(1000), [300, 700], 1000)
    assert isinstance(kept, SpilledBlocks)
    assert not list(tmp_path.iterdir())
    assert kept.reduce(lambda rows, y: (float(rows.sum()), float(y.sum()))) == (4000.0, 1000.0)
    del kept
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == before


def test_records_of_a_file_are_looked_up_by_their_number():
    rows = np.random.default_rng(0).standard_normal((1000, 4))
    kept = spooled(rows, None, [300, 700], 1000)
    assert isinstance(kept, SpilledBlocks)
    np.testing.assert_array_equal(kept.take(np.array([999, 0, 500]))[0], rows[[999, 0, 500]])
    sums = [each.reduce(lambda block, y: (block.sum(axis=0),))[0] for each in (kept, Blocks(rows))]
    np.testing.assert_array_equal(*sums)


def test_a_full_disk_is_one_line(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gibbsafe.data.spool.os.write", full)
    with pytest.raises(GibbsafeError, match="No space left on device; set TMPDIR"):
        spooled(np.ones((1000, 4)), None, [], 1000)


MODELS = {
    "LogisticRegression": ({"dimension": 3, "bounds": ((0, 1),) * 3, "feature_names": ("a", "b", "c")}, {}),
    "PseudoHuberRegression": ({"dimension": 3, "bounds": ((0, 1),) * 3, "feature_names": ("a", "b", "c"), "target": "z"}, {}),
    "SoftHinge": ({"dimension": 3, "radius": 1.0, "feature_names": ("a", "b", "c")}, {"purpose": "estimate"}),
    "GaussianMean": ({"dimension": 3, "radius": 1.0, "feature_names": ("a", "b", "c")}, {}),
    "BernoulliLogit": ({}, {}),
    "WelschLocation": ({"dimension": 3, "bounds": (-5, 5), "feature_names": ("a", "b", "c")}, {}),
    "LogisticRegression, estimate": ({"dimension": 3, "feature_names": ("a", "b", "c")}, {"purpose": "estimate"}),
    "LinearRegression": (
        {"dimension": 3, "radius": 1.0, "feature_names": ("a", "b", "c"), "target": "z", "response_bounds": (-3, 3)},
        {},
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("storage", ["float64", "float32"])
def test_a_release_out_of_core_is_the_one_in_memory(name, storage):
    """A small table cut into many blocks, spilled after the first: the same draws for the same generator."""
    declaration, options = MODELS[name]
    generator = np.random.default_rng(0)
    n = 3000
    columns = {key: generator.uniform(0, 1, n) for key in "abc"}
    table = pa.table(columns | {"y": generator.integers(0, 2, n), "z": generator.standard_normal(n)})
    made = gs.plan(
        gs.models.MODELS[name.split(",")[0]](**declaration), gs.Budget(1.0, 1e-6), n=n, adjacency="replace-one", **options
    )
    whole = made.release(table.combine_chunks(), generator=np.random.default_rng(7), storage=storage)
    cut = pa.Table.from_batches(table.to_batches(max_chunksize=61))
    streamed = made.release(cut, generator=np.random.default_rng(7), storage=storage, memory=4096)
    assert (whole.draws == streamed.draws).all()
    assert whole.to_dict() == streamed.to_dict()


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 4), st.integers(1, 20))
def test_persons_are_capped_in_pieces_as_at_once(persons, cap, piece):
    listed = np.array(persons, dtype=object)
    counter = PersonCap(cap)
    kept = [counter.keep(listed[start : start + piece]) for start in range(0, len(listed), piece)]
    whole = np.concatenate(kept) if kept else np.zeros(0, bool)
    expected = [persons[:row].count(person) < cap for row, person in enumerate(persons)]
    assert whole.tolist() == expected
    assert counter.persons == len(set(persons))


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_rows_without_a_person_are_refused(missing):
    with pytest.raises(gs.DomainError, match="no identifier"):
        PersonCap(2).keep(np.array(["a", missing], dtype=object))
