"""Honest uncertainty: intervals for the true parameter from the released draws and public numbers alone."""

from gibbsafe.population.choice import intervals
from gibbsafe.population.family import family_intervals
from gibbsafe.population.gibbs import gibbs_intervals
from gibbsafe.population.result import Intervals

__all__ = ["Intervals", "family_intervals", "gibbs_intervals", "intervals"]
