"""The next batch is read from disk while this one is encoded."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar, cast

__all__ = ["prefetched"]

Item = TypeVar("Item")


def prefetched(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield the items in their order; each is made by a thread while whoever asked works on the one before.

    What making one raises is raised here. Whoever stops early waits for the one in the making, and closes the rest.

    >>> list(prefetched(k * k for k in range(4)))
    [0, 1, 4, 9]
    """
    context, end = copy_context(), object()  # refusals show values in a thread if they do here

    def following() -> Item | object:
        return context.run(lambda: next(items, end))

    with ThreadPoolExecutor(1, "gibbsafe-reading") as thread:
        coming = thread.submit(following)
        try:
            while (item := coming.result()) is not end:
                coming = thread.submit(following)
                yield cast(Item, item)
        finally:
            coming.exception()
            items.close()
