"""Skeleton of a sampler: here rejection from the prior, exact for losses that are at least 0, and slow for many records.

Copy it to a file of src/gibbsafe/samplers; CONTRIBUTING.md names the rest. The proof stands in the file's head:

exp(−βΣf) ≤ 1 where every loss is at least 0, so a draw from the prior that is accepted with this probability has the density
exp(−βΣf)·prior, exactly and for every data set. It runs until it accepts: nothing is decided by what the data show.
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
    started, kept, proposals = time.perf_counter(), np.empty((0, posterior.dimension)), 0
    largest = -np.inf
    while len(kept) < draws:
        normals = generator.standard_normal((TOGETHER, posterior.dimension))
        thetas = posterior.prior_centre + normals / np.sqrt(posterior.prior_precision)
        logs = posterior.prior_values(thetas) - posterior.values(thetas)  # −βΣf
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
        certificates=("losses are at least 0",),
        setup_seconds=0.0,
        sampling_seconds=time.perf_counter() - started,
        log_acceptance=largest,
    )
    return kept[:draws], diagnostics


#: The entry of `SAMPLERS`: what the certificate says, and which models it draws from.
PRIOR_REJECTION = Sampler(
    name="prior-rejection",
    function=sample,
    proved=(
        "draws are independent and exactly distributed as the posterior, for every data set: rejection from the prior, above the "
        "density because every loss is at least 0, run until it accepts"
    ),
    condition="a margin loss, which is at least 0",
    applies=lambda model: model.ball is None and model.loss.margin,
)
