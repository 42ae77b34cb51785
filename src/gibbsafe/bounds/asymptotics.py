"""How wide tempered posteriors are for many records (Minami et al. 2016, Theorem 16)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gibbsafe._validate import count, fail, positive

__all__ = ["draw_variance", "posterior_variance"]

Matrix = npt.NDArray[np.float64]


def _inverse_information(information: npt.ArrayLike) -> Matrix:
    matrix = np.atleast_2d(np.asarray(information, dtype=np.float64))
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and np.isfinite(matrix).all()
    if not square or not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix).min() <= 0:
        fail("information", information, "a symmetric positive definite matrix")
    return np.asarray(np.linalg.inv(matrix))


def posterior_variance(information: npt.ArrayLike, *, n: int, inverse_temperature: float) -> Matrix:
    """Return (nβI₀)⁻¹, the limiting covariance of the posterior around the maximum-likelihood estimate.

    ``information`` is I₀ = +E∇²ℓ of one record (erratum E13: the paper has its sign wrong, and centres (C.3) at the truth).
    """
    return _inverse_information(information) / (count("n", n) * positive("inverse_temperature", inverse_temperature))


def draw_variance(information: npt.ArrayLike, *, n: int, inverse_temperature: float, draws: int = 1) -> Matrix:
    """Return (1 + 1/(βN)) I₀⁻¹/n, the limiting covariance of the mean of N draws around the true parameter.

    The estimate varies by I₀⁻¹/n, and the draws by (nβI₀)⁻¹/N around it.

    >>> float(draw_variance(4.0, n=100, inverse_temperature=0.5)[0, 0])
    0.0075
    """
    noise = 1 + 1 / (positive("inverse_temperature", inverse_temperature) * count("draws", draws))
    return noise * _inverse_information(information) / count("n", n)
