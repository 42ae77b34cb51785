"""Samplers whose draws carry a proof, by name.

A sampler is chosen in the plan, from public quantities: `Sampler.applies` sees the number of parameters and the loss, never data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe.errors import PremiseError
from gibbsafe.models.losses import Loss
from gibbsafe.samplers import inverse_cdf, shell
from gibbsafe.samplers.diagnostics import Diagnostics, Progress
from gibbsafe.samplers.posterior import GibbsPosterior

__all__ = ["SAMPLERS", "Diagnostics", "GibbsPosterior", "Progress", "Sampler", "choose_sampler"]

SampleFunction: TypeAlias = Callable[
    [GibbsPosterior, int, np.random.Generator, Progress | None], tuple[npt.NDArray[np.float64], Diagnostics]
]


@dataclass(frozen=True)
class Sampler:
    """A sampler: ``function(posterior, draws, generator, progress)``, what is proved of it, and when it applies."""

    name: str
    function: SampleFunction
    proved: str
    condition: str
    applies: Callable[[int, Loss], bool]


#: In the order of preference.
SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler(
            name="inverse-cdf",
            function=inverse_cdf.sample,
            proved=(
                "draws are independent and exactly distributed as the one-dimensional posterior, for every data set: inversion "
                "of an envelope of tangents, above the density by convexity, and rejection, run until it accepts"
            ),
            condition="one parameter",
            applies=lambda dimension, loss: dimension == 1,
        ),
        Sampler(
            name="shell",
            function=shell.sample,
            proved=(
                "draws are independent and exactly distributed as the posterior, for every data set: rejection from an envelope "
                "that lies above the density everywhere, by |f‴| ≤ κf″ and convexity, run until it accepts"
            ),
            condition="a loss with |f‴| ≤ κf″ for a finite κ",
            applies=lambda dimension, loss: 0 < loss.self_concordance < math.inf,
        ),
    )
}


def choose_sampler(name: str, dimension: int, loss: Loss) -> str:
    """Name of the sampler to use: the one asked for, or for ``"auto"`` the first that applies. Public quantities only.

    >>> from gibbsafe.models.losses import LogisticLoss
    >>> choose_sampler("auto", 1, LogisticLoss()), choose_sampler("auto", 20, LogisticLoss())
    ('inverse-cdf', 'shell')
    """
    wanted = _validate.choice("sampler", name, ("auto", *SAMPLERS))
    for sampler in SAMPLERS.values() if wanted == "auto" else (SAMPLERS[wanted],):
        if sampler.applies(dimension, loss):
            return sampler.name
    needed = " or ".join(f"{s.name}: {s.condition}" for s in SAMPLERS.values() if wanted in ("auto", s.name))
    raise PremiseError(f"sampler = {name!r}: no exact sampler for {dimension} parameters of this loss ({needed})")
