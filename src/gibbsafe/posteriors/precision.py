"""The posterior of a precision matrix with eigenvalues between trim points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.protocols import ExactPosterior

__all__ = ["PrecisionPosterior", "packed", "unpacked"]


@dataclass(frozen=True, eq=False)
class PrecisionPosterior(ExactPosterior):
    """Density ∝ |A|^power e^{−tr(scale·A)/2} on c₁I ≤ A ≤ c₂I, over all such matrices or over diagonal ones.

    Parameters are the upper triangle of A row by row, or its diagonal.
    """

    power: float
    scale: Floats
    trim: tuple[float, float]
    diagonal: bool

    def _matrices(self, thetas: Floats) -> Floats:
        return unpacked(np.asarray(thetas, dtype=np.float64), len(self.scale), self.diagonal)

    @property
    def support(self) -> tuple[Floats, Floats]:
        """Diagonal entries between the trim points, the others at most half their distance."""
        low, high = self.trim
        corner = np.array([np.full_like(self.scale, end) for end in (-(high - low) / 2, (high - low) / 2)])
        corner[:, np.arange(len(self.scale)), np.arange(len(self.scale))] = [[low], [high]]
        return tuple(packed(corner, self.diagonal))

    def values(self, thetas: Floats) -> Floats:
        """Return ½ tr(scale·A) − power·log|A|; infinite where an eigenvalue leaves the trim."""
        matrices = self._matrices(thetas)
        eigenvalues = np.linalg.eigvalsh(matrices)
        room = 1e-12 * self.trim[1]
        inside = ((eigenvalues >= self.trim[0] - room) & (eigenvalues <= self.trim[1] + room)).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = 0.5 * np.einsum("ij,kji->k", self.scale, matrices) - self.power * np.log(eigenvalues).sum(axis=1)
        return np.where(inside, value, math.inf)


def packed(matrices: Floats, diagonal: bool) -> Floats:
    """Return the parameters of symmetric matrices (k, d, d): their diagonals, or their upper triangles row by row."""
    size = matrices.shape[-1]
    rows = (np.arange(size), np.arange(size)) if diagonal else np.triu_indices(size)
    return np.asarray(matrices[:, rows[0], rows[1]])


def unpacked(thetas: Floats, size: int, diagonal: bool) -> Floats:
    """Return the inverse of `packed`."""
    matrices = np.zeros((len(thetas), size, size))
    rows, columns = (np.arange(size), np.arange(size)) if diagonal else np.triu_indices(size)
    matrices[:, rows, columns] = thetas
    matrices[:, columns, rows] = thetas
    return matrices
