"""Records of a cluster's partitions become runs of chunks on its workers: encoded, capped by person, cut where chunks begin."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np

from gibbsafe.data.census import Unit
from gibbsafe.data.cluster.blocks import ClusterBlocks
from gibbsafe.data.cluster.crews import Crew
from gibbsafe.data.cluster.tables import ClusterTable
from gibbsafe.data.cluster.tasks import Form, apply_cap, cut, encode, form, join, persons_before, split_persons
from gibbsafe.data.options import Encoder, EncodingOptions
from gibbsafe.data.spool import room_in_memory
from gibbsafe.data.sums import CHUNK_ROWS
from gibbsafe.errors import DomainError

__all__ = ["encode_on_cluster"]

FAILED = "data: cannot be read"
#: Share of a worker's memory that a run may take, and bytes where it has no limit: a task of a pass has its whole run in memory.
RUN_SHARE, RUN_BYTES = 1 / 8, 2**30
#: Most buckets that hashes of persons are shuffled into.
MOST_BUCKETS = 16


def encode_on_cluster(
    model: Encoder,
    table: ClusterTable,
    options: EncodingOptions,
    *,
    unit: Unit,
    persons: object = None,
    memory: int | None = None,
    advance: object = None,
) -> ClusterBlocks:
    """Return encoded records that workers keep; every row is counted, and capped by person, as that of any other table.

    Those that a file's rows would stay in ``memory`` with are merged as such rows are (`merge_identical`).
    """
    crew = table.crew
    asked = table.asked(model, options, persons, unit.of_persons)
    calls = [(asked, *each) for each in table.partitions(persons if unit.of_persons else None)]
    encoded = crew.compute(FAILED, encode, calls)
    forms: list[Form] = crew.results([crew.submit(FAILED, form, each) for each in encoded])
    _compare([call[1] for call in calls], forms)
    if unit.of_persons:
        encoded, found = _capped(crew, encoded, unit.rows_per_person)
        unit.check(found)
        forms = crew.results([crew.submit(FAILED, form, each) for each in encoded])
    else:
        unit.check(sum(each.rows for each in forms))
    blocks = _runs(crew, encoded, forms)
    return replace(blocks, in_room=blocks.nbytes <= room_in_memory(memory))


def _compare(names: list[str], forms: list[Form]) -> None:
    """Refuse partitions whose columns are of other types than those before: 1 and '1' would be two persons, or two levels."""
    known: dict[str, tuple[str, str]] = {}
    for name, each in zip(names, forms, strict=True):
        for column, kind in each.types.items():
            before, where = known.setdefault(column, (kind, name))
            if before != kind:
                found = f"of type {kind}, but of {before} in {where.rstrip(': ') or 'another file'}"
                raise DomainError(f"{name}column {column!r} is {found}; make all partitions of one type")


def _capped(crew: Crew, encoded: list[Any], cap: int) -> tuple[list[Any], int]:
    """Return the first ``cap`` records of every person, and how many persons there are.

    Hashes of identifiers and counts are shuffled, each to the bucket of its hash, which says how many records of a person lie
    before each partition. Records stay where they are, and in their order.
    """
    buckets = min(MOST_BUCKETS, len(crew.threads))
    split = [crew.submit(FAILED, split_persons, buckets, each) for each in encoded]
    ranked = [
        crew.submit(FAILED, persons_before, *(crew.submit(FAILED, getitem, each, b) for each in split)) for b in range(buckets)
    ]
    persons = crew.results([crew.submit(FAILED, getitem, each, 0) for each in ranked])
    before = [crew.submit(FAILED, getitem, each, 1) for each in ranked]
    kept = [
        crew.submit(FAILED, apply_cap, cap, each, *(crew.submit(FAILED, getitem, every, k) for every in before))
        for k, each in enumerate(encoded)
    ]
    return kept, sum(persons)


def _runs(crew: Crew, encoded: list[Any], forms: list[Form]) -> ClusterBlocks:
    """Have records cut where chunks of the whole table begin, and runs of chunks put together, as many on each worker."""
    rows, shape = sum(each.rows for each in forms), forms[0]
    dtype = np.dtype(shape.dtype)
    bounds = _bounds(rows, shape.width * dtype.itemsize + 8, sum(crew.threads.values()), run_bytes(crew))
    workers = [address for address, threads in crew.threads.items() for _ in range(threads)]
    ends = np.cumsum([each.rows for each in forms])
    runs = []
    for k, (first, stop) in enumerate(bounds):
        parts = [
            crew.submit(FAILED, cut, max(first - end + each.rows, 0), min(stop - end + each.rows, each.rows), each.rows, part)
            for each, end, part in zip(forms, ends.tolist(), encoded, strict=True)
            if end - each.rows < stop and end > first
        ] or [crew.submit(FAILED, cut, 0, 0, shape.rows, encoded[0])]
        runs.append(crew.submit(FAILED, join, *parts, worker=workers[k * len(workers) // len(bounds)]))
    crew.results([crew.submit(FAILED, form, run) for run in runs])
    firsts = tuple(first // CHUNK_ROWS for first, _ in bounds)
    return ClusterBlocks(crew, tuple(runs), firsts, rows, shape.width, dtype, shape.has_targets)


def run_bytes(crew: Crew) -> int:
    """Return the most bytes of a run: few runs are few tasks for the scheduler, small ones can be spilled."""
    return max(2**26, int(RUN_SHARE * crew.memory)) if crew.memory else RUN_BYTES


def _bounds(rows: int, row_bytes: int, threads: int, most: int) -> list[tuple[int, int]]:
    """Return first and last record of every run: whole chunks, as even as can be, at least one run for every thread."""
    chunks = max(1, -(-rows // CHUNK_ROWS))
    runs = min(chunks, threads * max(1, -(-rows * row_bytes // (threads * most))))
    cuts = [k * chunks // runs for k in range(runs + 1)]
    return [(first * CHUNK_ROWS, min(rows, stop * CHUNK_ROWS)) for first, stop in pairwise(cuts)]
