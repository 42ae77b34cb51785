"""Honest uncertainty: intervals for the true parameter from the released draws and public numbers alone."""

from gibbsafe.intervals.family import family_intervals
from gibbsafe.intervals.gibbs import gibbs_intervals
from gibbsafe.intervals.result import Intervals, intervals

__all__ = ["Intervals", "family_intervals", "gibbs_intervals", "intervals"]
