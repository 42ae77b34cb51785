"""The whole table, and its entries under each adjacency."""

from __future__ import annotations

import pytest

from .cases import ADD, REPLACE
from .convex_line import ONE_DIMENSION
from .convex_plane import TWO_DIMENSIONS
from .families import FAMILIES

LINE = ONE_DIMENSION + FAMILIES
CASES = LINE + TWO_DIMENSIONS
BY_NAME = {entry.name: entry for entry in CASES}
SWEEP = [
    pytest.param(entry, adjacency, id=f"{entry.name} | {adjacency}")
    for entry in CASES
    for adjacency in (REPLACE, ADD)
    if entry.expected(adjacency)
]
