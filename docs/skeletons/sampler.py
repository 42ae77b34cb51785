"""Skeleton of a sampler: here rejection from the prior moved by a tangent, exact for convex losses, and slow for many records.

Copy it to a file of src/gibbsafe/samplers; CONTRIBUTING.md names the rest. The proof stands in the file's head:

Let F = βΣf, convex, c the prior's centre and g = ∇F(c). Then F(θ) ≥ F(c) + gᵀ(θ − c), so e^{−F}·prior lies below a constant times
the normal of the prior's precision m with mean c − g/m. A draw θ from that, accepted with probability
exp(F(c) + gᵀ(θ − c) − F(θ)) ≤ 1, has the posterior's density, exactly and for every data set. It runs until it accepts: nothing
is decided by what the data show. (A sampler of the library would also bound what rounding does: docs/samplers.md.)
"""

from __future__ import annotations

import time

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import Floats
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.progress import Progress
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.registry import Sampler

#: Proposals that are judged together.
TOGETHER = 256


def sample(
    posterior: GibbsPosterior, draws: int, generator: np.random.Generator, progress: Progress | None = None
) -> tuple[Floats, Diagnostics]:
    """Independent exact draws (draws, p), and diagnostics for the curator only."""
    _validate.count("draws", draws)
    started, kept, proposals, largest = time.perf_counter(), np.empty((0, posterior.dimension)), 0, -np.inf
    centre, precision = posterior.prior_centre, posterior.prior_precision
    height, slope = float(posterior.values(centre[None])[0]), posterior.gradient(centre)  # the prior adds nothing at its centre
    while len(kept) < draws:
        steps = generator.standard_normal((TOGETHER, posterior.dimension)) / np.sqrt(precision) - slope / precision
        thetas = centre + steps
        logs = height + steps @ slope - (posterior.values(thetas) - posterior.prior_values(thetas))
        kept = np.concatenate([kept, thetas[np.log(generator.random(TOGETHER)) < logs]])
        proposals, largest = proposals + TOGETHER, max(largest, float(logs.max()))
        if progress is not None:
            progress(min(len(kept), draws), draws, proposals, time.perf_counter() - started)
    diagnostics = Diagnostics(
        mode=None,
        proposals=proposals,
        evaluated=proposals,
        accepted=len(kept),
        mode_passes=0,
        certificates=("a tangent at the prior's centre",),
        setup_seconds=0.0,
        sampling_seconds=time.perf_counter() - started,
        log_acceptance=largest,
    )
    return kept[:draws], diagnostics


#: The entry of `SAMPLERS`: what the certificate says, which posteriors it draws from, and when it applies.
TANGENT_REJECTION = Sampler(
    name="tangent-rejection",
    posterior=GibbsPosterior,
    function=sample,
    proved=(
        "draws are independent and exactly distributed as the posterior, for every data set: rejection from the prior moved by a "
        "tangent, above the density by convexity, run until it accepts"
    ),
    condition="a convex loss",
    applies=lambda shape: not shape.constrained,
)
