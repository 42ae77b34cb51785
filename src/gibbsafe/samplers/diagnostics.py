"""What a sampler tells the curator, and nobody else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from gibbsafe.errors import GibbsafeError

__all__ = ["Diagnostics"]


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Mode, counts and timings of one run. Every field depends on the data: never released, saved or pickled.

    ``proposals`` counts all proposals, ``evaluated`` those that were judged, most of them without the data; ``certificates``
    names the sums the envelope was built from; ``log_acceptance`` is the largest seen, which the envelope proves is at most 0;
    ``passes`` counts the gradient passes of a sampler that moves in rounds.
    """

    mode: npt.NDArray[np.float64] | None
    proposals: int
    evaluated: int
    accepted: int
    mode_passes: int
    certificates: tuple[str, ...]
    setup_seconds: float
    sampling_seconds: float
    log_acceptance: float = -math.inf
    passes: int = 0

    @property
    def acceptance(self) -> float:
        """Accepted draws per evaluated proposal."""
        return self.accepted / max(self.evaluated, 1)

    def __reduce__(self) -> NoReturn:
        raise GibbsafeError("Diagnostics: depend on the data and cannot be pickled or saved")
