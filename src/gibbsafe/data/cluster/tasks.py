"""What workers of a cluster run: pure functions of what they are given. A refusal comes back as a value, so that no log of a
worker quotes a record, and passes through whatever would have used the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Values
from gibbsafe._version import __version__
from gibbsafe.data import sums
from gibbsafe.data.blocks import Blocks
from gibbsafe.data.census import Census, Unit, distinct_persons, person_key, rank_among_same
from gibbsafe.data.compression import Distinct, different_rows, sampled_hashes
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.directories import comparable
from gibbsafe.data.options import Encoder, EncodingOptions
from gibbsafe.data.stream import count_rows, encode_records
from gibbsafe.data.sums import CHUNK_ROWS, BlockFunction, RowFunction, aligned_runs, alone
from gibbsafe.errors import DomainError, GibbsafeError, guarded, showing_values
from gibbsafe.losses.kernels import is_compiled

__all__ = [
    "Asked", "Encoded", "Failure", "Form", "Order", "apply_cap", "attempt", "beside_run", "count", "cut", "different", "encode",
    "fingerprint", "form", "join", "persons_before", "rows_of", "sample", "split_persons", "sum_of_run",
]  # fmt: skip

#: 16-byte hashes of identifiers, as two numbers each.
Keys: TypeAlias = npt.NDArray[np.uint64]
#: Different persons, and how many records each has.
Counted: TypeAlias = tuple[Keys, npt.NDArray[np.int64]]


@cache
def fingerprint() -> str:
    """Say what decides the bits of a sum: the versions of this library and of NumPy, and whether its loops are compiled."""
    return f"gibbsafe {__version__}, NumPy {np.__version__}, {'compiled' if is_compiled() else 'plain'} loops"


@dataclass(frozen=True)
class Failure:
    """A refusal on its way to whoever asked."""

    kind: str
    words: str

    def error(self) -> GibbsafeError:
        """Return it as what is raised."""
        return DomainError(self.words) if self.kind == "DomainError" else GibbsafeError(self.words)


@dataclass(frozen=True)
class Order:
    """What every task is told: who asks, what to say where something fails, and whether values may be shown."""

    asker: str
    failure: str
    shown: bool = False


def attempt(order: Order, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what the function returns, or a `Failure`: its refusal, one that was handed in, or that of a foreign worker."""
    for each in arguments:
        if isinstance(each, Failure):
            return each
    if order.asker != fingerprint():
        return Failure("GibbsafeError", f"cluster: a worker has {fingerprint()}, not {order.asker}; install the same on all")
    try:
        with showing_values(order.shown), alone:
            return guarded(lambda: function(*arguments), order.failure)
    except GibbsafeError as error:
        return Failure(type(error).__name__, str(error))
    except MemoryError:
        return Failure("GibbsafeError", "cluster: a worker has not memory enough for a partition; make partitions smaller")
    except Exception as error:  # values may be shown, so these words may
        return Failure("GibbsafeError", f"{order.failure} ({type(error).__name__}: {' '.join(str(error).split())[:240]})")


# -- records --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """How the records of a partition are read: by which model, with which options, whose they are, and what is declared."""

    model: Encoder
    options: EncodingOptions
    of_persons: bool = False
    persons: str | None = None
    declared: DeclaredTable | None = None

    def records(self, loaded: Any) -> Any:
        """Return a partition as the model reads it; a text would be taken for a file's name."""
        if isinstance(loaded, str | Path):
            raise DomainError("a text, where a table or an array was expected")
        return loaded if self.declared is None else replace(self.declared, source=loaded)

    @property
    def compared(self) -> Mapping[str, str]:
        """Columns whose types must be the same in all partitions, and as what they are declared."""
        return self.declared.wanted if self.declared is not None else {} if self.persons is None else {self.persons: "text"}


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded records, hashes of whose they are where persons are capped (zeros for nobody), and the types of their columns."""

    rows: Values
    targets: Floats | None
    keys: Keys | None = None
    types: dict[str, str] = field(default_factory=dict)

    def __sizeof__(self) -> int:  # what the memory manager of a worker goes by
        return 200 + sum(each.nbytes for each in (self.rows, self.targets, self.keys) if each is not None)


@dataclass(frozen=True)
class Form:
    """What is said of a partition's encoded records: nothing of any one of them."""

    rows: int
    width: int
    dtype: str
    has_targets: bool
    types: dict[str, str]


class _Identified(Census):
    """Keeps every row, and a hash of whose it is."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(Unit(), asked.options.on_invalid)
        self._on_invalid, self.keys = asked.options.on_invalid, [np.empty((0, 2), dtype=np.uint64)]

    def admit(self, block: Blocks, rows: int, persons: Values | None) -> Blocks:
        if persons is not None:
            if persons.shape != (rows,):
                raise DomainError("persons: not one identifier per row")
            names, codes, missing = distinct_persons(persons)
            if missing.any() and self._on_invalid != "replace":
                raise DomainError("persons: a row has no identifier; every row needs one")
            hashes = b"".join(bytes(16) if absent else person_key(name) for name, absent in zip(names, missing, strict=True))
            self.keys.append(np.frombuffer(hashes, dtype=np.uint64).reshape(-1, 2)[codes])
        return super().admit(block, rows, None)


def count(asked: Asked, name: str, loaded: Any, persons: Any = None) -> int:
    """Return how many records a partition has; none is encoded."""
    return count_rows(asked.records(loaded)) or 0


def encode(asked: Asked, name: str, loaded: Any, persons: Any = None) -> Encoded:
    """Return a partition's records, encoded as those of any table; a refusal names the partition."""
    census = _Identified(asked)
    told = asked.persons if persons is None else persons
    try:
        types = _types_of(loaded, asked.compared)
        blocks = encode_records(
            asked.model, asked.records(loaded), asked.options, unit=Unit(), persons=told, memory=2**60, census=census
        )
    except DomainError as error:
        raise DomainError(f"{name}{error}") from None
    assert isinstance(blocks, Blocks)
    keys = np.concatenate(census.keys) if asked.of_persons else None
    if keys is not None and len(keys) != blocks.n_rows:
        raise DomainError(f"{name}persons: rows_per_person is declared, so pass an identifier per row (persons=...)")
    return Encoded(blocks.rows, blocks.targets, keys, types)


def _types_of(loaded: Any, compared: Mapping[str, str]) -> dict[str, str]:
    """Return the types of some columns, as entries compare; missing columns and columns of nothing have none."""
    import pyarrow as pa

    if hasattr(loaded, "iloc") and hasattr(loaded, "columns"):
        present = [name for name in compared if list(loaded.columns).count(name) == 1]
        schema = pa.Schema.from_pandas(loaded[present].iloc[:1000], preserve_index=False)
    elif hasattr(loaded, "batches"):
        batches = loaded.batches()
        schema = next(batches).schema
        batches.close()
    else:
        return {}
    types = {name: comparable(schema.field(name).type, kind) for name, kind in compared.items() if name in schema.names}
    return {name: str(kind) for name, kind in types.items() if not pa.types.is_null(kind)}


def form(encoded: Encoded) -> Form:
    """Return what the encoded records look like."""
    rows, width = encoded.rows.shape
    return Form(rows, width, encoded.rows.dtype.str, encoded.targets is not None, encoded.types)


# -- persons: hashes of identifiers are shuffled, records stay where they are ------------------------------------------------


def split_persons(buckets: int, encoded: Encoded) -> tuple[Counted, ...]:
    """Return the different persons of a partition and how often each is there, apart by their hashes."""
    assert encoded.keys is not None
    keys, counts = np.unique(encoded.keys[encoded.keys.any(axis=1)], axis=0, return_counts=True)
    bucket = keys[:, 0] % np.uint64(buckets)
    return tuple((keys[bucket == k], counts[bucket == k]) for k in range(buckets))


def persons_before(*partitions: Counted) -> tuple[int, list[Counted]]:
    """Return how many persons a bucket has, and for every partition how many records of its persons lie before it."""
    keys, counts = (np.concatenate([each[k] for each in partitions]) for k in (0, 1))
    different, codes = np.unique(keys, axis=0, return_inverse=True)
    before, seen = np.empty_like(counts), np.zeros(len(different), dtype=np.int64)
    start, found = 0, []
    for each in partitions:  # a person is there once in each, so nothing is added twice
        part = slice(start, start + len(each[0]))
        here = codes.reshape(-1)[part]
        before[part] = seen[here]
        seen[here] += each[1]
        found.append((each[0], before[part]))
        start = part.stop
    return len(different), found


def apply_cap(cap: int, encoded: Encoded, *before: Counted) -> Encoded:
    """Return the first ``cap`` records of every person, counted over all partitions in their order."""
    assert encoded.keys is not None
    known, counts = (np.concatenate([each[k] for each in before]) for k in (0, 1))
    different, codes = np.unique(encoded.keys, axis=0, return_inverse=True)
    earlier = {key.tobytes(): int(number) for key, number in zip(known, counts, strict=True)}
    seen = np.array([earlier.get(key.tobytes(), 0) for key in different], dtype=np.int64)
    codes = codes.reshape(-1)
    kept = encoded.keys.any(axis=1) & (rank_among_same(codes) + seen[codes] < cap)
    return Encoded(encoded.rows[kept], None if encoded.targets is None else encoded.targets[kept], types=encoded.types)


# -- runs of chunks --------------------------------------------------------------------------------------------------------


def cut(first: int, stop: int, rows: int, encoded: Encoded) -> Encoded:
    """Return some records of a partition by themselves; another number of them than before is refused."""
    if rows != len(encoded.rows):
        raise GibbsafeError("data: a partition that was read again has other records than before; keep the source as it is")
    part = slice(first, stop)
    return Encoded(encoded.rows[part].copy(), None if encoded.targets is None else encoded.targets[part].copy())


def join(*parts: Encoded) -> Encoded:
    """Return the records of several parts as one run."""
    if len(parts) == 1:
        return parts[0]
    targets = [part.targets for part in parts if part.targets is not None]
    return Encoded(np.concatenate([part.rows for part in parts]), np.concatenate(targets) if targets else None)


def sum_of_run(
    function: BlockFunction, block_rows: int, first: int, run: Encoded, beside: Floats | None = None
) -> list[tuple[int, tuple[Any, ...]]]:
    """Return the sums over a run that begins with chunk ``first``: of the largest subtrees it holds, with their sizes.

    ``beside`` is what stands beside its rows in the place of targets.
    """

    def tree(start: int, size: int) -> tuple[Any, ...]:
        part = slice((start - first) * CHUNK_ROWS, (start - first + size) * CHUNK_ROWS)
        return sums.sum_of_run(function, run.rows[part], None if beside is None else beside[part], block_rows)

    beside = run.targets if beside is None else beside
    chunks = max(1, -(-len(run.rows) // CHUNK_ROWS))
    return [(size, tree(start, size)) for start, size in aligned_runs(first, first + chunks)]


def beside_run(function: RowFunction, run: Encoded) -> Floats:
    """Return what a function says of each row of a run."""
    return Blocks(run.rows, run.targets).each_row(function)


def sample(threshold: np.uint64, most: float, run: Encoded) -> Values:
    """Return hashes of a sample of a run's different rows."""
    return sampled_hashes(threshold, most, run.rows, run.targets)


def different(run: Encoded) -> Distinct | None:
    """Return a run's different rows, and how often each is there."""
    return different_rows(run.rows, run.targets)


def rows_of(places: npt.NDArray[np.int64], run: Encoded) -> tuple[Floats, Floats | None]:
    """Return records of a run by their places in it."""
    return run.rows[places].astype(np.float64, copy=False), None if run.targets is None else run.targets[places]
