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

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Values
from gibbsafe.data.blocks import Blocks, RowBlocks

__all__ = [
    "LARGEST_SHARE",
    "Distinct",
    "Mergeable",
    "different_rows",
    "merge_identical",
    "merged_rows",
    "sampled_hashes",
    "sampling",
]

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


@runtime_checkable
class Mergeable(Protocol):
    """Records elsewhere, whose holders merge those that are the same."""

    def merged(self) -> RowBlocks:
        """Return what `merge_identical` would of the same records here."""


def merge_identical(records: RowBlocks) -> RowBlocks:
    """Return the records with identical ones merged into weighted rows where that pays; otherwise as they are.

    Guarantees: any permutation of the records gives the same weighted rows, bit for bit. Records in a file beyond the memory
    limit, and records merged before, are returned as they are.

    >>> merged = merge_identical(Blocks(np.repeat([[0.5, 1.0], [0.25, 1.0]], [300, 700], axis=0)))
    >>> sorted(zip(merged.rows[:, 0].tolist(), merged.weights.tolist()))
    [(0.25, 700.0), (0.5, 300.0)]
    """
    if isinstance(records, Mergeable):
        return records.merged()
    if (
        not isinstance(records, Blocks)
        or records.weights is not None
        or records.rows.dtype.kind != "f"
        or records.n_rows < FEWEST
    ):
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
    threshold, most = sampling(records.n_rows)
    hashes = np.empty(records.n_rows, dtype=np.uint64)
    seen = np.empty(0, dtype=np.uint64)
    fresh: list[Hashes] = []
    for start in range(0, records.n_rows, ROWS):
        part = slice(start, start + ROWS)
        hashes[part] = _hashes_of(records.rows[part], None if records.targets is None else records.targets[part])
        fresh.append(_below(hashes[part], threshold))
        if len(seen) + sum(map(len, fresh)) > most:
            seen, fresh = np.unique(np.concatenate([seen, *fresh])), []
            if len(seen) > most:
                return None
    return hashes


def sampling(n_rows: int) -> tuple[np.uint64, float]:
    """Return the threshold below which hashes are a sample, and how many different ones of it are few."""
    sampled = min(SAMPLED, n_rows)
    return np.uint64(min(sampled / n_rows * 2.0**64, 2.0**64 - 2048)), LARGEST_SHARE * sampled


def _hashes_of(rows: Values, targets: Values | None) -> Hashes:
    constants = _odd_constants(rows.shape[1] + 1)
    hashes = _mixed(_bits(rows)) @ constants[:-1]
    if targets is not None:
        hashes += _mixed(_bits(targets)) * constants[-1]
    return np.asarray(hashes)


def _below(hashes: Hashes, threshold: np.uint64) -> Hashes:
    again = _mixed(hashes) * MIX
    return np.asarray(again[again <= threshold])


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


# -- records in several places: each says which different rows it has -------------------------------------------------------


#: Hashes in their order, the rows and targets that have them, and how many records each stands for.
Distinct: TypeAlias = tuple[Hashes, Values, Values | None, npt.NDArray[np.int64]]


def sampled_hashes(threshold: np.uint64, most: float, rows: Values, targets: Values | None) -> Hashes:
    """Return the different hashes of a sample of some rows, of too many the first that are too many."""
    found = [_below(_hashes_of(*part), threshold) for part in _pieces(rows, targets)]
    return np.unique(np.concatenate(found))[: int(most) + 1]


def different_rows(rows: Values, targets: Values | None) -> Distinct | None:
    """Return the different ones of some rows and how often each is there; None if two that differ have one hash."""
    hashes = np.concatenate([_hashes_of(*part) for part in _pieces(rows, targets)])
    return merged_rows([(hashes, rows, targets, np.ones(len(rows), dtype=np.int64))])


def merged_rows(parts: list[Distinct]) -> Distinct | None:
    """Return the different rows of several places, as `different_rows`."""
    hashes, rows, counts = (np.concatenate([part[k] for part in parts]) for k in (0, 1, 3))
    beside = [part[2] for part in parts if part[2] is not None]
    targets = np.concatenate(beside) if beside else None
    different, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    if not _alike(Blocks(rows, targets), first, inverse):
        return None
    weights = np.bincount(inverse, counts, minlength=len(first)).astype(np.int64)
    return different, rows[first], None if targets is None else targets[first], weights


def _pieces(rows: Values, targets: Values | None) -> list[tuple[Values, Values | None]]:
    starts = range(0, max(len(rows), 1), ROWS)
    return [(rows[k : k + ROWS], None if targets is None else targets[k : k + ROWS]) for k in starts]
