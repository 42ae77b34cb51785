"""Exact draws from a posterior whose distribution is known.

The conjugate cases: a normal posterior with a public precision, and the families of `gibbsafe.models.families`, whose draws stand
in `gibbsafe.samplers.trimmed` and register here by the type of the posterior.
"""

from __future__ import annotations

import time
from functools import singledispatch

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.posteriors.protocols import ExactPosterior, Posterior
from gibbsafe.progress import Progress
from gibbsafe.samplers.diagnostics import Diagnostics

__all__ = ["can_draw", "draw_exactly", "sample"]


@singledispatch
def draw_exactly(posterior: Posterior, count: int, generator: np.random.Generator) -> Floats:
    """Return independent exact draws, (count, p), by what is registered for the posterior's type."""
    raise PremiseError(f"{type(posterior).__name__}: no exact draw is registered for posteriors of this type")


@draw_exactly.register
def _(posterior: NormalPosterior, count: int, generator: np.random.Generator) -> Floats:
    normals = generator.standard_normal((count, len(posterior.mean)))
    return np.asarray(posterior.mean + normals / np.sqrt(posterior.precision))


def can_draw(posterior: object) -> bool:
    """Whether `draw_exactly` knows how to draw from such a posterior."""
    return draw_exactly.dispatch(type(posterior)) is not draw_exactly.dispatch(object)


def sample(
    posterior: ExactPosterior, draws: int, generator: np.random.Generator, progress: Progress | None = None
) -> tuple[Floats, Diagnostics]:
    """Independent exact draws (draws, p), and diagnostics for the curator only."""
    _validate.count("draws", draws)
    started = time.perf_counter()
    thetas = draw_exactly(posterior, draws, generator)
    seconds = time.perf_counter() - started
    if progress is not None:
        progress(draws, draws, draws, seconds)
    diagnostics = Diagnostics(
        mode=posterior.mean if isinstance(posterior, NormalPosterior) else None,
        proposals=draws,
        evaluated=draws,
        accepted=draws,
        mode_passes=1,
        certificates=("closed form",),
        setup_seconds=0.0,
        sampling_seconds=seconds,
        log_acceptance=0.0,
    )
    return thetas, diagnostics
