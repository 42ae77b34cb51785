"""Which rule makes a release's posterior of the true parameter, and its intervals."""

from __future__ import annotations

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import count, fail, open_probability, positive
from gibbsafe.errors import PremiseError
from gibbsafe.models.capabilities import CountsRecords
from gibbsafe.population.chains import prior_draws
from gibbsafe.population.counts import count_intervals
from gibbsafe.population.draws import from_draws
from gibbsafe.population.family import family_intervals
from gibbsafe.population.gibbs import gibbs_intervals
from gibbsafe.population.posterior import Population, against, decided
from gibbsafe.population.result import Intervals
from gibbsafe.population.scores import scaled_draws
from gibbsafe.population.walks import from_walk
from gibbsafe.release import Release
from gibbsafe.release.transcripts import path_of
from gibbsafe.samplers.transcript_fit import unseen_share
from gibbsafe.theorems import Kind

__all__ = ["intervals", "population"]

#: The seed of a posterior for which no generator is given.
SEED = 2_026


def population(release: Release, draws: int = 1000, generator: np.random.Generator | None = None) -> Population:
    """Return the posterior of the true parameter; see `Release.population`."""
    wanted = count("draws", draws)
    plan, random = release.plan, np.random.default_rng(SEED) if generator is None else generator
    if plan.model.kind is Kind.OWN:
        return from_walk(release, wanted, random)
    if plan.model.kind is not Kind.GIBBS:
        raise PremiseError(f"population: of models with a chosen prior; {plan.model.name} declares its own, so ask interval()")
    if release.answers is None:
        return from_draws(release, wanted, random)
    public = plan.public_of_scores()
    if not public.fits:
        raise PremiseError(
            f"population: the law of {plan.model.name}'s slopes is not known as it is declared; plan posterior draws "
            "(docs/uncertainty.md)"
        )
    scaled = scaled_draws(public, release.answers, path_of(plan, release.answers), wanted, random)
    draws_of, prior = (plan.model.to_original(each) for each in (scaled, prior_draws(scaled, public.unit, public.own)))
    shares = decided(draws_of, prior) * (1 - unseen_share(public, release.answers))
    return _made(release, draws_of, shares, against(scaled, public.unit, public.own))


def _made(release: Release, draws: Floats, shares: Floats, far: tuple[bool, ...]) -> Population:
    plan = release.plan
    rows = "rows are like those that the noisy second moment and the declaration describe"
    lines = [f"records are independent and follow {plan.model.name}'s law, or nearly so; {rows}"]
    if plan.rows_per_person > 1:
        lines.append("rows of one person are as good as independent")
    return Population(plan.model.parameter_names, draws, shares, tuple(lines), far)


def intervals(release: Release, level: float, *, radius: float | None = None, dispersion: float | None = None) -> Intervals:
    """Return intervals for every parameter of a release; see `Release.interval`."""
    share = open_probability("level", level)
    factor = None if dispersion is None else positive("dispersion", dispersion)
    model = release.plan.model
    if model.kind is Kind.GIBBS:
        if radius is not None or factor is not None:
            if release.answers is not None:
                name = "dispersion" if radius is None else "radius"
                fail(name, radius or factor, "left out: scores tell how far the fit is")
            reach = release.plan.prior_radius if radius is None else positive("radius", radius)
            assert reach is not None
            return gibbs_intervals(release, share, reach, factor)
        return population(release).interval(share)
    if model.kind is Kind.OWN and radius is None and factor is None:
        return population(release).interval(share)
    if model.kind is not Kind.FAMILY:
        raise PremiseError(
            f"{model.name}: intervals are known for models with a chosen or a declared prior, not for {model.kind}"
        )
    if isinstance(model, CountsRecords):
        if radius is not None or factor is not None:
            fail("dispersion" if radius is None else "radius", radius or factor, f"left out: the noise of {model.name} is known")
        return count_intervals(release, share)
    if radius is not None:
        fail("radius", radius, f"left out: the prior of {model.name} is part of its declaration")
    return family_intervals(release, share, factor)
