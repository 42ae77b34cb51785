"""Samplers whose draws carry a proof, by name.

A sampler is chosen in the plan, from public quantities: `Sampler.applies` sees the model, never data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe.posteriors.stage import Stage
from gibbsafe.samplers import closed_form, inverse_cdf, langevin
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.proximal import sample as proximal
from gibbsafe.samplers.shell import sample as shell

__all__ = ["SAMPLERS", "SampleFunction", "Sampler"]

SampleFunction: TypeAlias = Callable[..., tuple[npt.NDArray[np.float64], Diagnostics]]


@dataclass(frozen=True)
class Sampler:
    """A sampler: ``function(posterior, draws, generator, progress, **options)``, what is proved of it, when it applies."""

    name: str
    function: SampleFunction
    proved: str
    condition: str
    applies: Callable[[Any], bool]  # to a model that names this sampler
    options: Callable[[Stage], dict[str, Any]] = lambda stage: {}
    proved_within_slack: str = ""  # instead, where a stage states a slack


#: In the order of preference.
SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler(
            name="closed-form",
            function=closed_form.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior, for every data set: its distribution is "
                "known in closed form"
            ),
            condition="a posterior in closed form",
            applies=lambda model: not model.trimmed,
        ),
        Sampler(
            name="trimmed",
            function=closed_form.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior on the trimmed parameters, for every data set: "
                "a closed form is inverted between the trim points, or proposals are rejected until one is accepted"
            ),
            condition="a prior trimmed to a public set",
            applies=lambda model: model.trimmed,
        ),
        Sampler(
            name="inverse-cdf",
            function=inverse_cdf.sample,
            proved=(
                "draws are independent and exactly distributed as the one-dimensional posterior, for every data set: inversion "
                "of an envelope of tangents, above the density by convexity, and rejection, run until it accepts"
            ),
            condition="one parameter",
            applies=lambda model: model.parameters == 1 and model.ball is None,
        ),
        Sampler(
            name="shell",
            function=shell.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior, for every data set: rejection from an envelope "
                "that lies above the density everywhere, by |f‴| ≤ κf″ and convexity, run until it accepts"
            ),
            condition="a loss with |f‴| ≤ κf″ for a finite κ",
            applies=lambda model: model.ball is None and 0 < model.loss.self_concordance < math.inf,
        ),
        Sampler(
            name="proximal",
            function=proximal.sample,
            proved=(
                "each draw is the last of a fixed number of proximal rounds of a fixed size from a public start, every round an "
                "exact draw for every data set; its privacy is proved for these rounds, converged or not"
            ),
            proved_within_slack=(
                "each draw is within the stated total variation of the posterior, for every data set: exact by the shell sampler "
                "or, by a contraction proved for every data set, the last of exact proximal rounds from the mode"
            ),
            condition="a smooth convex loss",
            applies=lambda model: 0 < model.loss.smoothness < math.inf,
            options=lambda stage: {"step": stage.step, "steps": stage.steps, "slack": stage.slack},
        ),
        Sampler(
            name="langevin",
            function=langevin.sample,
            proved=(
                "each draw is the last of a fixed number of projected Langevin steps from a public start; its privacy is proved "
                "for these steps, converged or not, and how close it comes to the posterior is a matter of utility"
            ),
            condition="a smooth convex loss, and a public number of records",
            applies=lambda model: model.loss.smoothness < math.inf,
            options=lambda stage: {"step": stage.step, "steps": stage.steps},
        ),
    )
}
