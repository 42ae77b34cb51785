"""Which rule makes a release's intervals."""

from __future__ import annotations

from gibbsafe._validate import fail, open_probability, positive
from gibbsafe.errors import PremiseError
from gibbsafe.population.family import family_intervals
from gibbsafe.population.gibbs import gibbs_intervals
from gibbsafe.population.result import Intervals
from gibbsafe.release import Release
from gibbsafe.theorems import Kind

__all__ = ["intervals"]


def intervals(release: Release, level: float, *, radius: float | None = None, dispersion: float | None = None) -> Intervals:
    """Return intervals for every parameter of a release; see `Release.interval`."""
    share = open_probability("level", level)
    factor = None if dispersion is None else positive("dispersion", dispersion)
    model = release.plan.model
    if model.kind is Kind.GIBBS:
        reach = release.plan.prior_radius if radius is None else positive("radius", radius)
        assert reach is not None
        return gibbs_intervals(release, share, reach, factor)
    if model.kind is not Kind.FAMILY:
        raise PremiseError(
            f"{model.name}: intervals are known for models with a chosen or a declared prior, not for {model.kind}"
        )
    if radius is not None:
        fail("radius", radius, f"left out: the prior of {model.name} is part of its declaration")
    return family_intervals(release, share, factor)
