"""Public bounds: what records may look like, declared in advance and never inferred from data.

Values inside the machine's numbers but outside the bounds are clipped; NaN, infinities, unknown labels and levels are outside
the declared domain and refused, or replaced by a declared public value. Clipping happens after conversion to the storage type
and to a radius a little inside the declared one, so that no rounding can carry a row out of it.
"""

from gibbsafe.domains.ball import Ball, clip_rows
from gibbsafe.domains.box import Box
from gibbsafe.domains.column import Column
from gibbsafe.domains.encoding import Design
from gibbsafe.domains.interval import Interval
from gibbsafe.domains.labels import Categories, Labels

__all__ = ["Ball", "Box", "Categories", "Column", "Design", "Interval", "Labels", "clip_rows"]
