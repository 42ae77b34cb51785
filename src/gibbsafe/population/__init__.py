"""Honest uncertainty: the posterior of the true parameter from what was released and public numbers alone."""

from gibbsafe.population.choice import intervals, population
from gibbsafe.population.counts import CountTable, count_table
from gibbsafe.population.family import family_intervals
from gibbsafe.population.gibbs import gibbs_intervals
from gibbsafe.population.overviews import Overview, overview
from gibbsafe.population.posterior import Population
from gibbsafe.population.result import Intervals

__all__ = [
    "CountTable",
    "Intervals",
    "Overview",
    "Population",
    "count_table",
    "family_intervals",
    "gibbs_intervals",
    "intervals",
    "overview",
    "population",
]
