"""Proposals from the envelope: a mixture of tilted Gaussians, one per shell, and an exponential tail.

On shell k the envelope is e_k(v) = exp(a + ℓᵀv − ½vᵀQv) (`envelope`). Component k draws from the *whole-space* Gaussian

    e_k(v)·exp(½λ(s² − edge²)),    edge = lo for λ ≥ 0 and hi for λ < 0, so the factor is at least 1 on the shell,

whose integral w_k is known in closed form, and keeps v if it lies in its shell, with probability exp(−½λ(s² − edge²)). Choosing
k ∝ w_k therefore leaves survivors with density ∝ Σ_k e_k 1_{shell k}: no Gaussian probability of a shell is ever needed. The
tilt λ minimises w_k (E s² is then on the shell's nearest edge: Chernoff's bound), so few normals are wasted.

The tail s > R has envelope e^{−cs}. In polar coordinates its radial density s^{p−1}e^{−cs} lies below
R^{p−1} exp((p−1)(s−R)/R − cs), an exponential of rate c − (p−1)/R > 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from gibbsafe._types import Floats
from gibbsafe.errors import GibbsafeError
from gibbsafe.samplers.shell.envelope import Bound, KnownSums, assured_bound, forms_on_shell, is_diagonal, raised

__all__ = ["Component", "Mixture", "Proposals", "build_mixture"]


#: The tail begins where its mass is below e^{−NEGLIGIBLE} of the envelope: it is sampled all the same, only rarely.
NEGLIGIBLE = 14.0
#: Smallest share of the largest eigenvalue that the smallest may have: a component's mass then keeps nine digits.
NEARLY_SINGULAR = 1e-6


@dataclass(frozen=True, eq=False)
class Component:
    """A tilted Gaussian for one shell: v = mean + x @ spread for standard normal x; the bound is the envelope there."""

    lo: float
    hi: float
    mean: Floats
    spread: Floats
    tilt: float
    log_weight: float
    bound: Bound


def _best_tilt(eigenvalues: Floats, linear: Floats, square: float) -> float:
    """The tilt λ < min eigenvalue at which E s² = Σ 1/(e_j − λ) + ℓ_j²/(e_j − λ)² equals ``square``, nearly.

    Newton on E s²/square − 1 in the log of the gap below the smallest eigenvalue, where the function is nearly linear; any λ
    below the smallest eigenvalue is valid, and a poor one only wastes proposals.
    """
    smallest = float(eigenvalues[0])
    gap = smallest + len(eigenvalues) / square
    for _ in range(12):
        inverse = 1 / (eigenvalues - smallest + gap)
        once, twice = float(inverse.sum()), np.square(linear * inverse)
        mean_square = once + float(twice.sum())
        slope = gap * float(np.square(inverse).sum() + 2 * (twice * inverse).sum())
        step = math.log(mean_square / square) * mean_square / slope
        gap *= math.exp(min(max(step, -3.0), 3.0))
        if abs(step) < 1e-3:
            break
    return smallest - gap


def _eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Rising eigenvalues and their vectors; those of a diagonal matrix to the last digit."""
    if not is_diagonal(matrix):
        eigenvalues, vectors = np.linalg.eigh(matrix)
        return eigenvalues, vectors
    order = np.argsort(np.diagonal(matrix))
    return np.diagonal(matrix)[order], np.eye(len(matrix))[:, order]


def _component(bound: Bound) -> Component | None:
    """The component of a bound with its best tilt, or None if the bound's precision is not positive definite."""
    eigenvalues, vectors = _eigen(bound.precision)
    if eigenvalues[0] <= 0 or (eigenvalues[0] < NEARLY_SINGULAR * eigenvalues[-1] and not is_diagonal(bound.precision)):
        return None
    linear = vectors.T @ bound.linear
    natural = float((1 / eigenvalues).sum() + np.square(linear / eigenvalues).sum())
    tilt, edge = 0.0, bound.hi
    if natural < bound.lo**2:
        tilt, edge = max(_best_tilt(eigenvalues, linear, bound.lo**2), 0.0), bound.lo
    elif natural > bound.hi**2:
        tilt = min(_best_tilt(eigenvalues, linear, bound.hi**2), 0.0)
    precision = eigenvalues - tilt
    mean = vectors @ (linear / precision)
    peak = bound.constant + 0.5 * float(np.square(linear) @ (1 / precision))
    log_normaliser = 0.5 * len(mean) * math.log(2 * math.pi) - 0.5 * float(np.log(precision).sum())
    spread = (vectors / np.sqrt(precision)).T
    log_weight = peak + log_normaliser - 0.5 * tilt * edge**2
    return Component(bound.lo, bound.hi, mean, spread, tilt, log_weight, bound)


def _typical_height(bound: Bound) -> float:
    """Log mean of the bound over the sphere |v| = hi, to second order: ranks bounds without factorising them, others last."""
    p = len(bound.linear)
    square = bound.hi * bound.hi
    mean = float(np.trace(bound.precision)) / p
    spread = float(np.square(bound.precision).sum()) - p * mean**2
    along = float(bound.linear @ bound.linear)
    height = bound.constant - 0.5 * square * mean + 0.5 * square * along / p + 0.25 * square * square * spread / (p * (p + 2))
    return height if math.isfinite(height) else math.inf


def _best_component(known: KnownSums, lo: float, hi: float) -> Component:
    """The component of the bound that is lowest in a typical direction, or the assured one if it weighs less.

    The prior's bound always qualifies.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        forms = sorted(forms_on_shell(known, lo, hi), key=_typical_height)
        assured = assured_bound(known, lo, hi)
    other = None if assured is None else _component(assured)
    for form in forms:
        bound = raised(known, form)
        component = None if bound is None else _component(bound)
        if component is not None:
            return component if other is None or component.log_weight <= other.log_weight else other
    raise GibbsafeError("shell sampler: no bound is positive definite, not even the prior's")


@dataclass(frozen=True, eq=False)
class Proposals:
    """Survivors of the shell test in the order they were proposed, out of ``proposed``: points v and log envelopes."""

    proposed: int
    points: Floats
    log_envelope: Floats
    index: npt.NDArray[np.intp]  # which component: the last is the tail

    def take(self, which: slice | npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Proposals:
        """Some of the survivors."""
        return Proposals(self.proposed, self.points[which], self.log_envelope[which], self.index[which])

    def parts(self, size: int) -> Iterator[Proposals]:
        """The survivors in order, in parts of at most ``size`` (one empty part if there are none)."""
        for start in range(0, max(len(self.index), 1), size):
            yield self.take(slice(start, start + size))


@dataclass(frozen=True, eq=False)
class Mixture:
    """The whole envelope: components on consecutive shells from 0 to R, and a tail e^{tail_headroom − slope·s} beyond R."""

    components: tuple[Component, ...]
    slope: float
    tail_headroom: float
    radius: float
    log_weights: Floats

    @property
    def edges(self) -> Floats:
        """Outer radii of the shells."""
        return np.array([component.hi for component in self.components])

    def propose(self, size: int, generator: np.random.Generator) -> Proposals:
        """Draw ``size`` independent proposals and keep those that fall in their shell."""
        probabilities = np.exp(self.log_weights - self.log_weights.max())
        cumulative = np.cumsum(probabilities)
        chosen = np.searchsorted(cumulative, generator.random(size) * cumulative[-1], side="right")
        chosen = np.minimum(chosen, len(self.components))
        normals = generator.standard_normal((size, self.components[0].mean.size))
        log_uniform = -generator.standard_exponential(size)
        points = np.empty_like(normals)
        log_envelope = np.full(size, -math.inf)
        order = np.argsort(chosen, kind="stable")
        starts = np.searchsorted(chosen[order], np.arange(len(self.components) + 2))
        for k, component in enumerate(self.components):
            which = order[starts[k] : starts[k + 1]]
            if which.size:
                x = normals[which]
                v = x @ component.spread + component.mean
                square = np.einsum("ij,ij->i", v, v)
                edge = component.lo if component.tilt >= 0 else component.hi
                keep = (square > component.lo**2) & (square <= component.hi**2)
                keep &= log_uniform[which] <= -0.5 * component.tilt * (square - edge**2)
                which, v = which[keep], v[keep]
                points[which] = v
                log_envelope[which] = component.bound.log_heights(v)
        which = order[starts[len(self.components)] :]
        if which.size:
            kept, radius = self._tail_radii(log_uniform[which], normals.shape[1], generator)
            which = which[kept]
            direction = normals[which] / np.linalg.norm(normals[which], axis=1, keepdims=True)
            points[which] = direction * radius[:, None]
            log_envelope[which] = self.tail_headroom - self.slope * radius
        survivors = np.flatnonzero(log_envelope > -math.inf)
        return Proposals(size, points[survivors], log_envelope[survivors], chosen[survivors])

    def _tail_radii(self, log_uniform: Floats, p: int, generator: np.random.Generator) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Radii R + exponential, each kept with probability (s/R)^{p−1} e^{−(p−1)(s−R)/R}."""
        rate = self.slope - (p - 1) / self.radius
        excess = generator.standard_exponential(log_uniform.size) / rate
        relative = excess / self.radius
        keep = log_uniform <= (p - 1) * (np.log1p(relative) - relative)
        return keep, self.radius + excess[keep]

    def log_mass(self, generator: np.random.Generator, size: int = 4096) -> float:
        """Estimate of the log integral of the envelope (no data are touched): only decides what is worth computing."""
        kept = len(self.propose(size, generator).index)
        top = float(self.log_weights.max())
        return top + math.log(float(np.exp(self.log_weights - top).sum()) * max(kept, 0.5) / size)


def _tail_log_weight(known: KnownSums, last: Component, p: int) -> tuple[float, float, float] | None:
    """Slope and headroom of the tail beyond the last shell, and the log integral of its exponential envelope.

    Where U(θ) − U(t) ≥ c s its computed value, which errs by η·½vᵀPv and a linear term, is at least (1 − η)c s − η|g|s less that
    term, since the data's part is at least −|g|s: rounding costs the tail a share of its slope, and the same headroom everywhere.
    """
    radius, rounding = last.hi, known.rounding
    lost = rounding.linear + rounding.prior * (float(np.linalg.norm(known.frame.gradient)) + rounding.gradient)
    slope = (1 - rounding.prior - 2.0**-40) * last.bound.least_rise() / radius - lost
    rate = slope - (p - 1) / radius
    if not rate > 0:
        return None
    log_sphere = math.log(2) + 0.5 * p * math.log(math.pi) - float(gammaln(0.5 * p))
    headroom = rounding.constant
    return slope, headroom, headroom + log_sphere + (p - 1) * math.log(radius) - slope * radius - math.log(rate)


def build_mixture(known: KnownSums, width: float) -> Mixture:
    """Shells of the given width through the bulk of a standard normal radius, then growing, until the tail is negligible."""
    p = len(known.frame.gradient)
    root = math.sqrt(p)
    components = []
    lo = 0.0
    hi = max(root - 3.5, width)
    while True:
        components.append(_best_component(known, lo, hi))
        tail = _tail_log_weight(known, components[-1], p) if hi >= root + 1 else None
        if tail is not None and tail[2] < max(component.log_weight for component in components) - NEGLIGIBLE:
            break
        lo, hi = hi, hi + max(width, 0.1 * (hi - root), 0.3 * (hi - 3 * root))
    weights = [component.log_weight for component in components]
    return Mixture(tuple(components), tail[0], tail[1], hi, np.array([*weights, tail[2]]))
