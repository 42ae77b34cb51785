"""Identical records, merged into one row with a weight.

Encoded rows of categories, of truths and of coarse numbers repeat: 30,000 records of a category with 59 levels and a binary label
are at most 118 different rows, and a pass over them takes 1/50 of the time or less. Only rows that are the same bit by bit (their
targets too) are merged, so every sum over records is the same sum, its equal terms written as a product.

The result does not depend on the order of the records: whether rows are merged, and the order of the merged ones, are functions
of which rows there are and how often. Whether it is done changes how long passes take, and roundings; no more.

Rows are hashed. How many different ones there are is estimated on the hashes below a threshold, which are those of the same rows
in any order. More records can only add to them, so the look ends as soon as there are too many: with nothing but different
records after little more than a quarter of them, at the price of about one gradient. A row is merged only after it was compared.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Values
from gibbsafe.data.blocks import Blocks, RowBlocks

__all__ = ["merge_identical"]

Hashes: TypeAlias = npt.NDArray[np.uint64]

#: Fewer records than this are not worth the look, and more than this share of different ones not the merging.
FEWEST = 256
LARGEST_SHARE = 0.25
#: Records whose hashes estimate how many different ones there are.
SAMPLED = 8192
#: Rows hashed at a time: they stay in cache.
ROWS = 4096
FOLD = np.uint64(32)
MIX = np.uint64(0x9E3779B97F4A7C15)


def merge_identical(records: RowBlocks) -> RowBlocks:
    """Return the records with identical ones merged into weighted rows where that pays; otherwise as they are.

    Guarantees: any permutation of the records gives the same weighted rows, bit for bit. Records in a file beyond the memory
    limit, and records merged before, are returned as they are.

    >>> merged = merge_identical(Blocks(np.repeat([[0.5, 1.0], [0.25, 1.0]], [300, 700], axis=0)))
    >>> sorted(zip(merged.rows[:, 0].tolist(), merged.weights.tolist()))
    [(0.25, 700.0), (0.5, 300.0)]
    """
    if not isinstance(records, Blocks) or records.weights is not None or records.rows.dtype.kind != "f":
        return records
    if records.n_rows < FEWEST:
        return records
    hashes = _hashes_if_few(records)
    if hashes is None:
        return records
    different = np.unique(hashes)
    if len(different) > LARGEST_SHARE * records.n_rows:
        return records
    inverse = np.searchsorted(different, hashes)
    first = np.empty(len(different), dtype=np.intp)
    first[inverse] = np.arange(records.n_rows)  # the last of each, but they are all alike
    if not _alike(records, first, inverse):
        first, inverse = _by_content(records)
        if len(first) > LARGEST_SHARE * records.n_rows:
            return records
    weights = np.bincount(inverse, minlength=len(first)).astype(np.float64)
    return Blocks(records.rows[first], None if records.targets is None else records.targets[first], weights)


def _hashes_if_few(records: Blocks) -> Hashes | None:
    """Return a hash of every record, or None once more than few of those seen so far are different, by estimate."""
    constants = _odd_constants(records.width + 1)
    sampled = min(SAMPLED, records.n_rows)
    threshold = np.uint64(min(sampled / records.n_rows * 2.0**64, 2.0**64 - 2048))
    hashes = np.empty(records.n_rows, dtype=np.uint64)
    seen = np.empty(0, dtype=np.uint64)
    fresh: list[Hashes] = []
    for start in range(0, records.n_rows, ROWS):
        part = slice(start, start + ROWS)
        block = _mixed(_bits(records.rows[part])) @ constants[:-1]
        if records.targets is not None:
            block += _mixed(_bits(records.targets[part])) * constants[-1]
        hashes[part] = block
        block = _mixed(block) * MIX
        fresh.append(block[block <= threshold])
        if len(seen) + sum(map(len, fresh)) > LARGEST_SHARE * sampled:
            seen, fresh = np.unique(np.concatenate([seen, *fresh])), []
            if len(seen) > LARGEST_SHARE * sampled:
                return None
    return hashes


def _odd_constants(count: int) -> Hashes:
    """Return fixed odd numbers, so that a hash is the same on every machine."""
    return np.random.Generator(np.random.PCG64(0)).integers(0, 2**63, count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _bits(values: Values) -> Values:
    return values.view(np.uint64 if values.dtype == np.float64 else np.uint32)


def _mixed(bits: Values) -> Hashes:
    """Return the numbers with their upper half folded into the lower one, which in a short number is 0."""
    wide: Hashes = bits.astype(np.uint64, copy=False)
    return np.asarray(wide ^ (wide >> FOLD))


def _alike(records: Blocks, first: npt.NDArray[np.intp], inverse: npt.NDArray[np.intp]) -> bool:
    """Whether every record is the same, bit by bit, as the one it would be merged into."""
    columns = [_bits(records.rows)] + ([] if records.targets is None else [_bits(records.targets)])
    kept = [bits[first] for bits in columns]
    for start in range(0, len(inverse), ROWS):
        part = slice(start, start + ROWS)
        if not all(np.array_equal(bits[part], few[inverse[part]]) for bits, few in zip(columns, kept, strict=True)):
            return False
    return True


def _by_content(records: Blocks) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return an index of each different record, and which one each record is: sorted by content, where two hashes collided."""
    bits = _bits(records.rows).astype(np.uint64)
    if records.targets is not None:
        bits = np.column_stack([bits, _bits(records.targets)])
    _, first, inverse = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)
