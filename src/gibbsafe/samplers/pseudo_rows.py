"""Rows that could be the data's, made of their noisy second moment and of what is declared: no record is seen.

What a score is expected to be at θ* depends on records only through the distribution of their rows. The transcript has their
second moment, with noise; the declaration has bounds, categories and the intercept. `second_moment` brings the noisy moment into
line with what is public and takes the noise out of its eigenvalues (Stein's correction: λ_k − t² Σ_j 1/(λ_k − λ_j), for symmetric
noise of scale t). `pseudo_rows` then draws rows with that moment: a Gaussian copula whose margins Φ(a + bg) run from a bell over
the uniform to two points as the variance takes up its bounds, one level per category, and a last linear map that makes the
moment exact. All of it is post-processing of answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from gibbsafe._types import Floats
from gibbsafe.domains.row_shape import RowShape

__all__ = ["Unseen", "normals", "pseudo_rows", "root_of", "second_moment", "structured", "symmetric"]

#: Eigenvalues of the moment are at least this share of their mean; rounds in which the copula's correlations are matched.
FLOOR, ROUNDS = 1e-3, 3


def symmetric(generator: np.random.Generator | np.random.RandomState, size: int) -> Floats:
    """Return symmetric noise, variance 1 on the diagonal and ½ beside it: isotropic in Frobenius norm."""
    square = generator.standard_normal((size, size))
    return np.asarray((square + square.T) / 2)


def normals(generator: np.random.Generator | np.random.RandomState, rows: int, features: int) -> Floats:
    """Return standard normal rows in pairs of opposite sign."""
    half = generator.standard_normal((rows // 2, features))
    return np.concatenate([half, -half])


def second_moment(noisy: Floats, scale: float, shape: RowShape, rows: float) -> Floats:
    """Return Σ zzᵀ without its noise as far as may be: public structure kept, eigenvalues shrunk."""
    known, free = structured(noisy, shape, rows)
    size = len(noisy)
    values, vectors = np.linalg.eigh(known)
    spread = scale * math.sqrt(2 * free / (size * (size + 1)))  # structure has taken its share of the noise
    apart = values[:, None] - values
    correction = (apart / (apart**2 + spread**2 / 2 + 1e-300)).sum(axis=1)
    kept = np.maximum.accumulate(values - spread**2 * correction)
    kept = np.maximum(kept, FLOOR * rows * _mean_square(shape) / size)
    return structured((vectors * kept) @ vectors.T, shape, rows)[0]


@dataclass(frozen=True)
class Unseen:
    """Directions of rows that the noisy moment does not tell apart: how many, and how uneven their eigenvalues are."""

    count: int
    unevenness: float  # standard deviation over mean

    @classmethod
    def of(cls, noisy: Floats, scale: float, shape: RowShape, rows: float) -> Unseen:
        """See by the eigenvalues of the features' correlations: their own variances are told by the diagonal.

        Noise t on variances of about v spreads u equal eigenvalues by a variance of about (t/v)²(u + 1)/2, within (t/v)√(2u). An
        eigenvalue farther than that from the mean of the rest is seen; the excess of the variance is the rest's own.
        """
        known, _ = structured(noisy, shape, rows)
        features = shape.features
        covariance = known[:features, :features].copy()
        if shape.constant is not None:
            mean = known[:features, -1] / (rows * shape.constant)
            covariance -= rows * np.outer(mean, mean)
        variance = np.maximum(np.diag(covariance), scale)
        values = np.linalg.eigvalsh(covariance / np.sqrt(np.outer(variance, variance)))
        noise = scale / float(np.exp(np.log(variance).mean()))
        count = features
        while count > 1 and values[count - 1] > values[: count - 1].mean() + noise * math.sqrt(2 * count):
            count -= 1
        rest = values[:count]
        excess = max(float(rest.var(ddof=1)) - noise**2 * (count + 1) / 2, 0.0) if count > 1 else noise**2
        return cls(count, math.sqrt(excess) / max(float(rest.mean()), FLOOR))

    def drawn(self, moment: Floats, generator: np.random.Generator) -> Floats:
        """Return the moment with the unseen eigenvalues multiplied by gamma factors of mean 1 and this unevenness."""
        shape = 1 / max(self.unevenness, 1e-3) ** 2
        values, vectors = np.linalg.eigh(moment)
        values[: self.count] *= np.maximum(generator.gamma(shape, 1 / shape, self.count), FLOOR)
        return np.asarray((vectors * values) @ vectors.T)

    def share(self, moment: Floats) -> Floats:
        """Return for each parameter how much of it lies in directions that were not seen, 0 to 1."""
        vectors = np.linalg.eigh(moment)[1][:, : self.count]
        return np.asarray((vectors**2).sum(axis=1) * self.unevenness**2 / (1 + self.unevenness**2))


def _mean_square(shape: RowShape) -> float:
    return min(1.0, shape.norm**2 + (shape.constant or 0.0) ** 2)


def structured(moment: Floats, shape: RowShape, rows: float) -> tuple[Floats, int]:
    """Return the moment with what is public put in, and how many of its entries are left free."""
    known, size = moment.copy(), len(moment)
    free = size * (size + 1) // 2
    constant = shape.constant
    if constant is not None:
        known[-1, -1] = rows * constant**2
        free -= 1
    for first, after in shape.groups:
        inside, count = slice(first, after), after - first
        diagonal, top = np.diag(known)[inside].copy(), shape.high[inside]
        free -= count * (count - 1) // 2
        if not shape.clipped:  # z ∈ {0, h}: Σz² = h Σz, and the levels' counts add up to n
            counts = diagonal / top**2
            if constant is not None:
                weight = 2 * constant**2 / (2 * constant**2 + top**2)  # by the noise of the two estimates of a level's count
                counts = weight * known[inside, -1] / (constant * top) + (1 - weight) * counts
            counts = np.maximum(counts + (rows - counts.sum()) / count, FLOOR * rows / count)
            counts *= rows / counts.sum()
            diagonal = counts * top**2
            if constant is not None:
                known[inside, -1] = known[-1, inside] = counts * constant * top
                free -= count
            free -= 1
        known[inside, inside] = np.diag(diagonal)
    return known, free


def pseudo_rows(moment: Floats, shape: RowShape, rows: float, normal: Floats) -> Floats:
    """Return as many rows as ``normal`` has, with the second moment ``moment``/``rows`` and the declared shape."""
    features, constant = shape.features, shape.constant
    if features == 0:
        return np.full((len(normal), 1), constant)
    second = moment[:features, :features] / rows
    mean = np.zeros(features) if constant is None else moment[:features, -1] / (rows * constant)
    if constant is None:
        for first, after in shape.groups:  # z ∈ {0, h}: Σz = Σz²/h
            mean[first:after] = np.diag(second)[first:after] / shape.high[first:after]
    values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
    covariance = (vectors * np.maximum(values, 1e-9 * max(float(values[-1]), 1e-12))) @ vectors.T
    made = _copula(mean, covariance, shape, normal)
    made *= np.minimum(1, shape.norm / np.maximum(np.linalg.norm(made, axis=1), 1e-300))[:, None]
    made = _recoloured(made, mean, covariance)
    return made if constant is None else np.column_stack([made, np.full(len(made), constant)])


def _copula(mean: Floats, covariance: Floats, shape: RowShape, normal: Floats) -> Floats:
    """Return rows with these margins, correlations matched in a few rounds."""
    deviation = np.sqrt(np.diag(covariance))
    target = covariance / np.outer(deviation, deviation)
    place, slope = _margins(mean, deviation**2, shape)
    latent, made = target.copy(), np.empty_like(normal)
    inside = np.zeros_like(target, dtype=bool)
    for first, after in shape.groups:
        inside[first:after, first:after] = True
    for remaining in reversed(range(ROUNDS)):
        drawn = normal @ np.linalg.cholesky(_correlation(latent)).T
        made = shape.low + (shape.high - shape.low) * ndtr(place + slope * drawn)
        for first, after in shape.groups:
            made[:, first:after] = _levels(drawn[:, first:after], np.maximum(mean[first:after], 0), shape.high[first:after])
        if remaining == 0:
            break
        off = made - made.mean(axis=0)
        size = np.maximum(off.std(axis=0), 1e-12)
        missing = target - off.T @ off / len(off) / np.outer(size, size)
        missing[inside] = 0
        latent = np.clip(latent + missing, -0.99, 0.99)
        np.fill_diagonal(latent, 1)
    return made


def _margins(mean: Floats, variance: Floats, shape: RowShape) -> tuple[Floats, Floats]:
    """Return a and b for which low + (high − low)Φ(a + bg) has this mean and variance.

    E Φ = Φ(h), h = a/√(1 + b²), and E Φ² is the bivariate normal probability of (h, h) at correlation ρ = b²/(1 + b²), which is
    Φ(h) − 2T(h, √((1 − ρ)/(1 + ρ))) with Owen's T.
    """
    width = shape.high - shape.low
    middle = np.clip((mean - shape.low) / width, 1e-3, 1 - 1e-3)
    wanted = np.clip(variance / width**2, 1e-9, middle * (1 - middle)) + middle**2
    h = ndtri(middle)
    low, high = np.zeros_like(h), np.ones_like(h)
    for _ in range(40):
        rho = (low + high) / 2
        above = ndtr(h) - 2 * owens_t(h, np.sqrt((1 - rho) / (1 + rho))) > wanted
        low, high = np.where(above, low, rho), np.where(above, rho, high)
    rho = np.clip(low, 0, 1 - 1e-6)
    slope = np.sqrt(rho / (1 - rho))
    return h * np.sqrt(1 + slope**2), slope


def _levels(drawn: Floats, weights: Floats, top: Floats) -> Floats:
    """Return one-hot columns: the level with the largest latent value, offsets tuned until levels come as often as they must."""
    shares = (weights / top + 1e-4) / (weights / top + 1e-4).sum()
    offset = np.log(shares)
    for _ in range(6):
        level = np.argmax(drawn + offset, axis=1)
        found = np.bincount(level, minlength=len(shares)) / len(drawn)
        offset = offset + 0.5 * np.log((shares + 1e-3) / (found + 1e-3))
    made = np.zeros_like(drawn)
    made[np.arange(len(drawn)), level] = top[level]
    return made


def _correlation(matrix: Floats) -> Floats:
    """Return the nearest by eigenvalues that is one, and can be factored."""
    values, vectors = np.linalg.eigh(matrix)
    positive = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    deviation = np.sqrt(np.diag(positive))
    return np.asarray(positive / np.outer(deviation, deviation) + 1e-9 * np.eye(len(matrix)))


def _recoloured(made: Floats, mean: Floats, covariance: Floats) -> Floats:
    """Return the rows under the least linear map that gives them this mean and covariance (optimal transport of Gaussians)."""
    centre = made.mean(axis=0)
    found = (made - centre).T @ (made - centre) / len(made)
    found += np.eye(len(mean)) * max(1e-9 * float(np.trace(found)), 1e-300)
    root, inverse = root_of(found, 0.5), root_of(found, -0.5)
    return np.asarray(mean + (made - centre) @ (inverse @ root_of(root @ covariance @ root, 0.5) @ inverse))


def root_of(matrix: Floats, power: float) -> Floats:
    """Return a power of a symmetric matrix that has no eigenvalue below 0, or nearly so."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 1e-14 * max(float(values[-1]), 1e-300)) ** power) @ vectors.T)
