"""The posterior of a table of counts: whole numbers around the true ones, e^{−β|z − k|} in every cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.protocols import ExactCurve, ExactPosterior

__all__ = ["CountsPosterior"]


@dataclass(frozen=True, eq=False)
class CountsPosterior(ExactPosterior, ExactCurve):
    """Mass ∝ exp(−β Σ_c |z_c − k_c|) on whole numbers z, k the counts of the data: independent cells, one law moved by k."""

    counts: Floats
    inverse_temperature: float

    @property
    def support(self) -> tuple[Floats, Floats]:
        """All whole numbers: a bound on the counts would make the normaliser depend on the data."""
        return np.full(len(self.counts), -math.inf), np.full(len(self.counts), math.inf)

    @property
    def outlook(self) -> tuple[Floats, Floats]:
        """From 0, a few standard deviations of the noise."""
        return np.zeros(len(self.counts)), np.full(len(self.counts), 1 + 1 / self.inverse_temperature)

    def values(self, thetas: Floats) -> Floats:
        """Return β Σ |z − k|, which is also defined between whole numbers."""
        return np.asarray(self.inverse_temperature * np.abs(np.asarray(thetas) - self.counts).sum(axis=1))

    def hockey_stick(self, other: Self, epsilon: float) -> float:
        """Return Σ(p − e^ε q)₊: the log ratio is β times a sum of whole numbers over the cells that differ."""
        masses, least = np.ones(1), 0
        for shift in np.abs(self.counts - other.counts)[self.counts != other.counts].astype(int).tolist():
            masses, least = np.convolve(masses, _steps(shift, self.inverse_temperature)), least - shift
        log_ratio = self.inverse_temperature * (least + np.arange(len(masses)))
        return float((masses * np.maximum(-np.expm1(np.minimum(epsilon - log_ratio, 0.0)), 0.0)).sum())


def _steps(shift: int, beta: float) -> Floats:
    """Return the masses of |e − s| − |e| = −s, …, s for noise e with mass ∝ e^{−β|e|} and s = ``shift``."""
    q = math.exp(-beta)
    masses = np.zeros(2 * shift + 1)
    masses[-1] = 1 / (1 + q)  # e ≤ 0
    masses[0] = q**shift / (1 + q)  # e ≥ s
    between = np.arange(1, shift)
    masses[2 * (shift - between)] = -math.expm1(-beta) / (1 + q) * q**between
    return masses
