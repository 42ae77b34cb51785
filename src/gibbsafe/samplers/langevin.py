"""Certified Langevin: private at every step, converged or not.

θ ← Proj_K[θ − h∇U(θ) + √(2h) ξ], a fixed number of steps of a fixed size from a start that does not depend on the data; only the
last iterate is released. Its privacy is proved for these steps as they are (`theorems.langevin_last_iterate`), so how close they
come to the posterior is a matter of utility. All chains move together: one matrix product each way per row block and step.

Nothing is decided by what the data show: no early stop, no step-size adaptation, no acceptance.
"""

from __future__ import annotations

import math
import time

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import Floats
from gibbsafe.posteriors.protocols import SmoothPosterior
from gibbsafe.progress import Progress
from gibbsafe.samplers.diagnostics import Diagnostics

__all__ = ["sample"]

SECONDS_BETWEEN_REPORTS = 0.2


def sample(
    posterior: SmoothPosterior,
    draws: int,
    generator: np.random.Generator,
    progress: Progress | None = None,
    *,
    step: float,
    steps: int,
) -> tuple[Floats, Diagnostics]:
    """Last iterates (draws, p) of independent chains from the prior's centre, and diagnostics for the curator only.

    Guarantees: every chain makes exactly ``steps`` steps of size ``step`` with the full gradient, whatever the data.
    """
    _validate.count("draws", draws)
    _validate.count("steps", steps)
    h = _validate.positive("step", step)
    started = reported = time.perf_counter()
    thetas = project(np.tile(posterior.prior_centre, (draws, 1)), posterior.ball)
    noise = math.sqrt(2 * h)
    for k in range(1, steps + 1):
        moved = thetas - h * posterior.gradients(thetas)
        thetas = project(moved + noise * generator.standard_normal(moved.shape), posterior.ball)
        now = time.perf_counter()
        if progress is not None and (now - reported > SECONDS_BETWEEN_REPORTS or k == steps):
            progress(k * draws // steps, draws, k * draws, now - started)
            reported = now
    diagnostics = Diagnostics(
        mode=np.full(posterior.dimension, math.nan),
        proposals=draws * steps,
        evaluated=draws * steps,
        accepted=draws,
        mode_passes=0,
        certificates=("langevin",),
        setup_seconds=0.0,
        sampling_seconds=time.perf_counter() - started,
        log_acceptance=0.0,
    )
    return thetas, diagnostics


def project(thetas: Floats, radius: float | None) -> Floats:
    """Return the nearest points of the ball of this radius around 0 (all of space for None)."""
    if radius is None:
        return thetas
    norms = np.linalg.norm(thetas, axis=1, keepdims=True)
    return np.asarray(thetas * np.minimum(1.0, radius / np.maximum(norms, radius)))
