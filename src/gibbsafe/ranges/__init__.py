"""Bounds and levels that are not public, released at a price before a study declares them."""

from gibbsafe.ranges.bounds import PrivateBounds, private_bounds
from gibbsafe.ranges.levels import PrivateLevels, private_levels

__all__ = ["PrivateBounds", "PrivateLevels", "private_bounds", "private_levels"]
