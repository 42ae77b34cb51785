"""The next item is made while this one is used: same items, same errors, and nothing left running."""

import threading
import time

import pytest

from gibbsafe.data.prefetch import prefetched
from gibbsafe.errors import DomainError, showing_values


def numbers(made, count, fail_at=None):
    try:
        for k in range(count):
            if k == fail_at:
                raise DomainError("broken", private=f"at {k}")
            made.append(k)
            yield k
    finally:
        made.append("closed")


def test_items_come_in_order_and_one_ahead():
    made = []
    items = prefetched(numbers(made, 5))
    assert next(items) == 0
    deadline = time.monotonic() + 10
    while made != [0, 1] and time.monotonic() < deadline:
        time.sleep(0.001)
    assert made == [0, 1]
    assert list(items) == [1, 2, 3, 4]
    assert made[-1] == "closed"


def test_errors_are_raised_where_their_items_would_come_and_show_what_they_may():
    made = []
    with pytest.raises(DomainError, match=r"^broken$"):
        list(prefetched(numbers(made, 5, fail_at=3)))
    assert made == [0, 1, 2, "closed"]
    with showing_values(), pytest.raises(DomainError, match="at 3"):
        list(prefetched(numbers([], 5, fail_at=3)))


def test_whoever_stops_early_leaves_nothing_running():
    made, before = [], threading.active_count()
    items = prefetched(numbers(made, 100))
    next(items)
    items.close()
    assert made[-1] == "closed"
    assert len(made) <= 4
    assert threading.active_count() == before
