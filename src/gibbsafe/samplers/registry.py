"""Samplers whose draws carry a proof, by name.

A sampler is chosen in the plan, from public quantities: `Sampler.applies` sees a `Shape`, never data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import PremiseError
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.protocols import ExactPosterior, Posterior, SmoothPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.progress import Progress
from gibbsafe.samplers import closed_form, inverse_cdf, langevin
from gibbsafe.samplers.diagnostics import Diagnostics
from gibbsafe.samplers.proximal import sample as proximal
from gibbsafe.samplers.shell import sample as shell

__all__ = ["SAMPLERS", "SampleFunction", "Sampler", "Shape"]

P = TypeVar("P", bound=Posterior)
P_contra = TypeVar("P_contra", bound=Posterior, contravariant=True)


class SampleFunction(Protocol[P_contra]):
    """Draws (draws, p) from posteriors of one type, and diagnostics for the curator only; options are those of its stage."""

    def __call__(
        self,
        posterior: P_contra,
        draws: int,
        generator: np.random.Generator,
        progress: Progress | None = None,
        /,
        *args: Any,
        **options: Any,
    ) -> tuple[Floats, Diagnostics]:
        """Return draws and diagnostics."""


@dataclass(frozen=True)
class Shape:
    """What is public about a model's posterior that samplers go by: its type, and a loss's constants where it has one."""

    posterior: type[Posterior]
    parameters: int
    constrained: bool
    smoothness: float = math.inf
    self_concordance: float = math.inf
    predictors: int = 1
    differences: bool = True


@dataclass(frozen=True)
class Sampler(Generic[P]):
    """A sampler: the posteriors it draws from, how one stage is drawn, what is proved of it, when it applies."""

    name: str
    posterior: type[P]
    function: SampleFunction[P]
    proved: str
    condition: str
    applies: Callable[[Shape], bool]  # to posteriors of its type
    options: Callable[[Stage], dict[str, float | None]] = lambda stage: {}
    proved_within_slack: str = ""  # instead, where a stage states a slack

    def draws_from(self, shape: Shape) -> bool:
        """Whether it draws from posteriors of this shape."""
        return issubclass(shape.posterior, self.posterior) and self.applies(shape)

    def draw(
        self, stage: Stage, posterior: Posterior, draws: int, generator: np.random.Generator, progress: Progress | None = None
    ) -> tuple[Floats, Diagnostics]:
        """Return draws of a stage's posterior; one of another type is refused."""
        if not isinstance(posterior, self.posterior):
            raise PremiseError(f"sampler {self.name}: draws from {self.posterior.__name__}, not {type(posterior).__name__}")
        return self.function(posterior, draws, generator, progress, **self.options(stage))


#: In the order of preference.
SAMPLERS: dict[str, Sampler[Any]] = {
    sampler.name: sampler
    for sampler in (
        Sampler(
            name="closed-form",
            posterior=ExactPosterior,
            function=closed_form.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior, for every data set: its distribution is "
                "known in closed form"
            ),
            condition="a posterior in closed form",
            applies=lambda shape: not shape.constrained,
        ),
        Sampler(
            name="trimmed",
            posterior=ExactPosterior,
            function=closed_form.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior on the trimmed parameters, for every data set: "
                "a closed form is inverted between the trim points, or proposals are rejected until one is accepted"
            ),
            condition="a prior trimmed to a public set",
            applies=lambda shape: shape.constrained,
        ),
        Sampler(
            name="inverse-cdf",
            posterior=GibbsPosterior,
            function=inverse_cdf.sample,
            proved=(
                "draws are independent and exactly distributed as the one-dimensional posterior, for every data set: inversion "
                "of an envelope of tangents, above the density by convexity, and rejection, run until it accepts"
            ),
            condition="one parameter",
            applies=lambda shape: shape.parameters == 1 and not shape.constrained,
        ),
        Sampler(
            name="shell",
            posterior=GibbsPosterior,
            function=shell.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior, for every data set: rejection from an envelope "
                "that lies above the density everywhere, by |f‴| ≤ κf″ and convexity, run until it accepts"
            ),
            condition="a loss with |f‴| ≤ κf″ for a finite κ",
            applies=lambda shape: not shape.constrained and 0 < shape.self_concordance < math.inf,
        ),
        Sampler(
            name="proximal",
            posterior=GibbsPosterior,
            function=proximal.sample,
            proved=(
                "each draw is the last of a fixed number of proximal rounds of a fixed size from a public start, every round an "
                "exact draw for every data set; its privacy is proved for these rounds, converged or not"
            ),
            proved_within_slack=(
                "each draw is within the stated total variation of the posterior, for every data set: exact by the shell sampler "
                "or, by a contraction proved for every data set, the last of exact proximal rounds from the mode"
            ),
            condition="a smooth convex loss of one linear predictor whose Bregman differences are known",
            applies=lambda shape: 0 < shape.smoothness < math.inf and shape.predictors == 1 and shape.differences,
            options=lambda stage: {"step": stage.step, "steps": stage.steps, "slack": stage.slack},
        ),
        Sampler(
            name="langevin",
            posterior=SmoothPosterior,
            function=langevin.sample,
            proved=(
                "each draw is the last of a fixed number of projected Langevin steps from a public start; its privacy is proved "
                "for these steps, converged or not, and how close it comes to the posterior is a matter of utility"
            ),
            condition="a smooth convex loss, and a public number of records",
            applies=lambda shape: shape.smoothness < math.inf,
            options=lambda stage: {"step": stage.step, "steps": stage.steps},
        ),
    )
}
