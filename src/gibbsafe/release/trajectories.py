"""The answers of a released trajectory as they stand in a file, and the draws that follow from them."""

from __future__ import annotations

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import CertificateError
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning import Plan
from gibbsafe.samplers.noisy_scores import on_grid
from gibbsafe.samplers.trajectory import noise_of, replay

__all__ = ["trajectory_from_list"]


def trajectory_from_list(content: object, plan: Plan, draws: Floats) -> Floats:
    """Return the answers, checked against the plan: their number, their grid, and that the draws follow from them.

    With a normal prior the trajectory is replayed from numbers alone; with one that is a function, where that function is there.
    """
    (stage,), model = plan.stages, plan.model
    assert isinstance(model, Custom)
    assert stage.chain is not None
    shape = (stage.steps, stage.chain.chains, model.form.size)
    try:
        scores = np.array(content, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise CertificateError(f"trajectory: not a table of numbers ({error})") from error
    if scores.shape != shape or not np.isfinite(scores).all():
        raise CertificateError(f"trajectory: of shape {scores.shape}, but the plan has steps, chains and parameters {shape}")
    if not np.array_equal(on_grid(scores, noise_of(stage)), scores):
        raise CertificateError("trajectory: an answer is not on the public grid of its noise")
    if model.prior.precision is not None or model.prior.function is not None:
        again = replay(model.pull, stage, scores).draws(stage.chain, model.coordinates)
        off = np.abs(np.round(again / plan.grid) * plan.grid - draws)
        if not (off <= 2 * plan.grid + 1e-9 * (1 + np.abs(draws))).all():
            raise CertificateError("draws: do not follow from the trajectory's answers")
    scores.flags.writeable = False
    return scores
