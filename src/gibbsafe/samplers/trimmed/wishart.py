"""Exact draws of precision matrices of up to three columns, density ∝ |A|^k e^{−tr(WA)/2} between two multiples of the identity.

With W diagonal (else rotate by its eigenvectors: the set c₁I ≤ A ≤ c₂I does not change) and k ≥ 0, let a_i be the diagonal of A.
Given the diagonal, the mass of the other entries is at most each of

    Π a_i^h · C(k),   Π (c₂−a_i)^h · C(0),   Π (a_i−c₁)^h · C(0),       h = (d−1)/2, C(k) = ∫ |R|^k dR over correlation matrices.

Each is a product of log-concave functions: propose the diagonal from Π a_i^k e^{−w_i a_i/2} times it, then R by its partial
correlations, which are independent betas (Lewandowski, Kurowicka and Joe 2009), and accept if A is in the set and, for the last
two, with probability (|A|/Πa_i)^k. The envelope of least mass is used. Proof, and the number of tries for every data set: lemma
S9 of `docs/samplers.md`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from gibbsafe._types import Floats, Indices
from gibbsafe.errors import ParameterError
from gibbsafe.posteriors.log_concave import LogConcave
from gibbsafe.posteriors.precision import PrecisionPosterior, packed
from gibbsafe.posteriors.trimmed import TrimmedGamma
from gibbsafe.samplers.closed_form import draw_exactly
from gibbsafe.samplers.trimmed.log_concave import draw
from gibbsafe.samplers.trimmed.values import draw_values

__all__ = ["LARGEST_MATRIX", "draw_precisions"]


#: Most columns of a matrix that is drawn whole.
LARGEST_MATRIX = 3
#: Matrices proposed together at the most.
LARGEST_BATCH = 65_536


class _Sided(LogConcave):
    """Densities ∝ a^k s^h e^{−wa/2} of a on the trim, s the distance from ``end``, its upper (sign 1) or lower (sign −1) point.

    The mode is known by its value and by its distances from both trim points, each with all its digits.
    """

    def __init__(self, powers: tuple[float, float], weights: Floats, trim: tuple[float, float], sign: float) -> None:
        power, h = powers
        end, other_end = trim[::-1] if sign > 0 else trim
        width = trim[1] - trim[0]
        # The mode has k/a − sign·h/s = w/2: w·s² + b·s − 2h·end = 0, and w·a² − (2k + 2h + w·end)a + 2k·end = 0.
        linear = sign * (2 * power + 2 * h - weights * end)
        root = np.sqrt(linear**2 + 8 * h * weights * end)
        total = 2 * power + 2 * h + weights * end
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            side = np.where(linear >= 0, 4 * h * end / (linear + root), (root - linear) / (2 * weights))
            place = 4 * power * end / (total + root) if sign > 0 else (total + root) / (2 * weights)
        clipped = ~((place - other_end) * sign > 0)  # beyond the other trim point, or nowhere
        self.side = np.where(clipped, width, np.minimum(side, width))
        self.mode = np.where(clipped, other_end, np.clip(place, *trim))
        self.other = np.abs(self.mode - other_end)
        self._powers, self._weights, self._sign = powers, weights, sign
        slope = power / self.mode - sign * h / self.side - weights / 2
        curve = power / self.mode**2 + h / self.side**2
        low, high = (-self.other, self.side) if sign > 0 else (-self.side, self.other)
        super().__init__(self._heights, low, high, 1 / np.maximum(np.sqrt(curve), np.abs(slope)))

    def _heights(self, x: Floats, index: Indices) -> Floats:
        power, h = self._powers
        with np.errstate(divide="ignore"):
            side = h * np.log1p(np.maximum(-self._sign * x / self.side[index], -1.0))
        return np.asarray(power * np.log1p(x / self.mode[index]) + side - 0.5 * self._weights[index] * x)

    def draw_distances(self, index: Indices, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return draws of a's distances from ``end`` and from the other trim point."""
        moved = self._sign * draw(self, index, generator)
        return np.maximum(self.side[index] - moved, 0.0), np.maximum(self.other[index] + moved, 0.0)

    @property
    def log_mass(self) -> Floats:
        power, h = self._powers
        top = power * np.log(self.mode) + h * np.log(self.side) - 0.5 * self._weights * self.mode
        return np.asarray(top + np.log(self.masses()))


def _log_volume(size: int, power: float) -> float:
    """Return log C(power), the integral of |R|^power over correlation matrices."""
    steps = np.arange(1, size)
    terms = 0.5 * steps * np.log(np.pi) + gammaln(power + 1 + 0.5 * (size - 1 - steps)) - gammaln(power + 1 + 0.5 * (size - 1))
    return float(terms.sum())


def _correlations(size: int, power: float, count: int, generator: np.random.Generator) -> Floats:
    """Return (count, pairs) correlations of matrices with density ∝ |R|^power; pairs (0, 1), (0, 2), (1, 2)."""
    first = 2 * generator.beta(power + size / 2, power + size / 2, (count, size - 1)) - 1
    if size < LARGEST_MATRIX:
        return first
    partial = 2 * generator.beta(power + 1, power + 1, count) - 1
    last = partial * np.sqrt((1 - first[:, 0] ** 2) * (1 - first[:, 1] ** 2)) + first[:, 0] * first[:, 1]
    return np.column_stack([first, last])


def _less_than_one(correlations: Floats) -> Floats:
    """Return |R| − 1; R is non-negative definite if no correlation exceeds 1 and this is −1 or more."""
    cross = 2 * correlations.prod(axis=1) if correlations.shape[1] == 3 else 0.0
    return np.asarray(cross - np.square(correlations).sum(axis=1))


class _Envelope:
    """For W = diag(weights), the bound of least mass: which of A, c₂I − A and A − c₁I has its correlations proposed."""

    #: What an entry of A is multiplied by in each of the three matrices.
    SIGNS = 1.0, -1.0, 1.0

    def __init__(self, power: float, weights: Floats, trim: tuple[float, float]) -> None:
        self.size, self.power, self.trim = len(weights), power, trim
        self.pairs = np.triu_indices(self.size, 1)
        h = (self.size - 1) / 2
        self.gamma = TrimmedGamma(power + 1 + h, weights / 2, *trim)
        self.sided = [_Sided((power, h), weights, trim, sign) for sign in (1.0, -1.0)]
        self.controls = power, 0.0, 0.0
        masses = [self.gamma.log_mass, *(law.log_mass for law in self.sided)]
        log_masses = [float(mass.sum()) + _log_volume(self.size, k) for mass, k in zip(masses, self.controls, strict=True)]
        self.best = int(np.argmin(log_masses))

    def _distances(self, batch: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return how far proposed diagonals are from the upper and from the lower trim point, (batch, d) each."""
        index = np.tile(np.arange(self.size), batch)
        if self.best == 0:
            above = draw_values(self.gamma, index, generator).reshape(-1, self.size) - self.trim[0]
            return self.trim[1] - self.trim[0] - above, above
        near, far = (each.reshape(-1, self.size) for each in self.sided[self.best - 1].draw_distances(index, generator))
        return (near, far) if self.best == 1 else (far, near)

    def propose(self, batch: int, generator: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Return diagonals (batch, d), other entries (batch, pairs) and log acceptances (batch,), −∞ outside the set."""
        below, above = self._distances(batch, generator)
        diagonal = self.trim[0] + above
        scales = [np.sqrt(each[:, self.pairs[0]] * each[:, self.pairs[1]]) for each in (diagonal, below, above)]
        proposed = _correlations(self.size, self.controls[self.best], batch, generator)
        entries = self.SIGNS[self.best] * scales[self.best] * proposed
        with np.errstate(divide="ignore", invalid="ignore"):
            all_three = [
                sign * np.where(entries == 0, 0.0, entries / scale) for sign, scale in zip(self.SIGNS, scales, strict=True)
            ]
        spare = [_less_than_one(correlations) for correlations in all_three]
        inside = np.ones(batch, dtype=bool)
        for correlations, determinant in zip(all_three[1:], spare[1:], strict=True):
            inside &= (np.abs(correlations) <= 1).all(axis=1) & (determinant >= -1)
        log_acceptance = np.zeros(batch)
        if self.best > 0 and self.power > 0:
            with np.errstate(divide="ignore"):
                log_acceptance = self.power * np.log1p(np.maximum(spare[0], -1.0))
        return diagonal, entries, np.where(inside, log_acceptance, -np.inf)


def _draw_diagonal_scale(envelope: _Envelope, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the diagonals (count, d) and other entries (count, pairs): the first proposals that are accepted, in their order."""
    diagonals, others = np.empty((count, envelope.size)), np.empty((count, len(envelope.pairs[0])))
    have, batch = 0, min(count, LARGEST_BATCH)
    while have < count:
        diagonal, entries, log_acceptance = envelope.propose(batch, generator)
        accepted = np.flatnonzero(-generator.standard_exponential(batch) <= log_acceptance)[: count - have]
        places = slice(have, have + accepted.size)
        diagonals[places], others[places] = diagonal[accepted], entries[accepted]
        have += accepted.size
        # A batch without one says that few are accepted: try more at a time, up to a limit.
        batch = min(count - have if accepted.size else 4 * batch, LARGEST_BATCH)
    return diagonals, others


def draw_precisions(power: float, scale: Floats, trim: tuple[float, float], count: int, generator: np.random.Generator) -> Floats:
    """Return (count, d, d) exact draws of A, d ≤ 3, with density ∝ |A|^power e^{−tr(scale·A)/2} on trim[0]·I ≤ A ≤ trim[1]·I.

    >>> drawn = draw_precisions(50.0, np.diag([40.0, 90.0]), (0.5, 2.0), 1000, np.random.default_rng(0))
    >>> bool((np.linalg.eigvalsh(drawn) >= 0.5).all() and (np.linalg.eigvalsh(drawn) <= 2.0).all())
    True
    """
    size = len(scale)
    if size > LARGEST_MATRIX:
        raise ParameterError(f"scale: {size} columns, but whole matrices are drawn for up to {LARGEST_MATRIX}")
    weights, axes = np.linalg.eigh(scale)
    envelope = _Envelope(power, np.maximum(weights, 0.0), trim)
    diagonal, entries = _draw_diagonal_scale(envelope, count, generator)
    matrices = np.zeros((count, size, size))
    rows, columns = np.triu_indices(size, 1)
    matrices[:, rows, columns] = entries
    matrices[:, columns, rows] = entries
    matrices[:, np.arange(size), np.arange(size)] = diagonal
    return np.asarray(axes @ matrices @ axes.T)


@draw_exactly.register
def _(posterior: PrecisionPosterior, count: int, generator: np.random.Generator) -> Floats:
    size = len(posterior.scale)
    if posterior.diagonal or size == 1:
        gammas = TrimmedGamma(posterior.power + 1, np.diag(posterior.scale) / 2, *posterior.trim)
        return draw_values(gammas, np.tile(np.arange(size), count), generator).reshape(count, size)
    return packed(draw_precisions(posterior.power, posterior.scale, posterior.trim, count, generator), False)
