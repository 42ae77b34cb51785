"""Provable lower bounds of the potential on shells s ∈ (lo, hi], as Gaussian upper bounds of the density.

A shell's bound is −(U(θ) − U(t)) ≤ a + ℓᵀv − ½ vᵀQv with Q positive definite. Notation of `sums`; ψ(r) = ½ − (e^{−r} + r − 1)/r².
The bounds and their proofs are lemmas of `docs/samplers.md`:

- S1, *Taylor* and *Gram* (κ₄): the quadratic less what third and fourth derivatives can take from it; *prior*: Q = P.
- S2, *fourth moment* (any κ, q from `fourth_moment`): curvature lost is at most h(σ) = σψ(κ√q hi²/√σ), concave in σ = vᵀ(I−P)v.
- S3, *cubic* (κ₄): the third derivative C(v) = s²cᵀv + C₀(v) is kept, on the shell s² = m ± Δ.
- S4, *ray* (κ₄, q): beyond a radius r the data's part lies above its tangent along the ray; K is what is left of the curvature.
- S5, *assured* (κ alone): never bad; what it costs at worst is known before any data (`work`).
- S6: beyond the last shell U(θ) − U(t) ≥ c s.

Every bound holds; which one a shell uses decides only how often proposals are accepted, so the choice may look at the data.

**Rounding** (rounding lemma, §2 and §3). D is what was summed, less its error: every formula holds with D − eI in place of
I − P and Q = P + D − … in place of I − …. Errors of the other sums are added to what they bound, and a bound's constant holds the
headroom of its shell. Each shell's mass counts its headroom, so that proposals follow the envelope that they are judged by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.losses.base import psi, psi_slope
from gibbsafe.samplers.shell.rounding import UNIT, Rounding
from gibbsafe.samplers.shell.sums import Cubic, Frame, Grams, Taylor

__all__ = ["Bound", "KnownSums", "assured_bound", "bounds_on_shell", "forms_on_shell", "is_diagonal", "raised"]


#: A computed radius is right to within this share of it.
EDGE = 2.0**-44
#: Below this the cubic's spread is not divided by: its root is below 1e-60.
SMALLEST_SPREAD = 1e-120


@dataclass(frozen=True, eq=False)
class KnownSums:
    """What has been summed about the posterior so far: the dearer sums are ``None`` until they pay."""

    kappa: float
    quartic_deficit: float
    frame: Frame
    taylor: Taylor
    grams: Grams | None = None
    cubic: Cubic | None = None
    fourth: float | None = None

    @property
    def rounding(self) -> Rounding:
        """Errors of all these sums."""
        return self.taylor.rounding

    @cached_property
    def prior_share(self) -> Floats:
        """P less what rounding takes of it, in a computed rise too."""
        return np.asarray((1 - self.rounding.prior) * self.frame.prior_share)

    @cached_property
    def data_share(self) -> Floats:
        """D less its error: a matrix below the data's curvature at the mode."""
        return _lifted(self.taylor.curvature.copy(), -self.rounding.curvature)

    @cached_property
    def unit(self) -> Floats:
        """A matrix below the whole curvature at the mode: the identity, but for rounding."""
        return np.diag(self.prior_share) + self.data_share

    @cached_property
    def least_data_share(self) -> float:
        """Lower bound of the least eigenvalue of D."""
        return least_eigenvalue(self.data_share) if np.isfinite(self.data_share).all() else 0.0

    @cached_property
    def typical_data_share(self) -> float:
        """Mean eigenvalue of D."""
        return float(np.trace(self.data_share)) / len(self.frame.gradient)


def is_diagonal(matrix: Floats) -> bool:
    """Whether nothing but zeros stands off the diagonal."""
    if len(matrix) > 1 and (matrix[0, 1] or matrix[-1, 0]):
        return False  # the usual case, seen at once
    return bool(np.count_nonzero(matrix) == np.count_nonzero(np.diagonal(matrix)))


def least_eigenvalue(matrix: Floats) -> float:
    """Lower bound of the least eigenvalue of a symmetric matrix: its own entry if it is diagonal."""
    if is_diagonal(matrix):
        return float(np.diagonal(matrix).min())
    return float(np.linalg.eigvalsh(matrix)[0]) - 16 * len(matrix) * UNIT * float(np.linalg.norm(matrix))


@dataclass(frozen=True, eq=False)
class Bound:
    """−(U(θ) − U(t)) ≤ constant + linearᵀv − ½ vᵀ precision v for lo < |v| ≤ hi."""

    lo: float
    hi: float
    constant: float
    linear: Floats
    precision: Floats
    headroom: float = 0.0  # what of the constant is there for rounding

    def log_heights(self, v: Floats) -> Floats:
        """Log of the bound at each row of v."""
        return np.asarray(self.constant + v @ self.linear - 0.5 * np.einsum("ij,ij->i", v @ self.precision, v))

    def least_rise(self) -> float:
        """Lower bound of U(θ) − U(t) on |v| = hi."""
        return 0.5 * least_eigenvalue(self.precision) * self.hi**2 - float(np.linalg.norm(self.linear)) * self.hi - self.constant


def _matrix_losses(known: KnownSums, hi: float) -> Iterator[Floats]:
    """Matrices B with U(θ) − U(t) ≥ gᵀv + ½vᵀ(P + D)v − vᵀBv for |v| ≤ hi."""
    taylor, grams, rounding = known.taylor, known.grams, known.rounding
    if math.isfinite(known.quartic_deficit):
        quartic = known.quartic_deficit / 24 * hi**2
        matrix = hi / 6 * taylor.cubic + quartic * taylor.quartic
        yield _lifted(matrix, hi / 6 * rounding.cubic + quartic * rounding.quartic)
    if grams is not None and hi <= grams.radii[-1]:
        yield _lifted(grams.at_radii[np.searchsorted(grams.radii, hi)].copy(), rounding.curvature)


def _lifted(matrix: Floats, lift: float) -> Floats:
    """The matrix, which is changed, with ``lift`` added along its diagonal."""
    matrix[np.diag_indices_from(matrix)] += lift
    return matrix


def _fourth_loss(known: KnownSums, hi: float) -> tuple[float, Floats] | None:
    """Tangent of h(σ) = σψ(κ√q hi²/√σ) at the σ of a typical direction."""
    if known.fourth is None:
        return None
    typical = hi**2 * known.typical_data_share
    if not typical > 0:
        return None
    reach = known.kappa * math.sqrt(known.fourth + known.rounding.quartic) * hi**2
    ratio = reach / math.sqrt(typical)
    height = float(psi(ratio))
    slope = height - 0.5 * ratio * float(psi_slope(ratio))
    lift = 1e-12 * hi**2  # a tangent lies above a concave function only up to rounding in its slope
    return typical * (height - slope) + lift, slope * known.data_share


@dataclass(frozen=True)
class _Reach:
    """Factors of the Taylor polynomial on a shell: of ½vᵀDv; of cᵀv, least and most, the latter of |Fᵀv| too; of q; and K."""

    quadratic: float
    least: float
    most: float
    quartic: float
    gain: float

    @classmethod
    def within(cls, lo: float, hi: float) -> _Reach:
        """The polynomial itself, at every radius up to hi."""
        return cls(1.0, lo**2, hi**2, hi**4, 0.0)

    @classmethod
    def beyond(cls, radius: float, lo: float, hi: float, gain: float) -> _Reach:
        """Its tangents along the rays, at a radius of at most lo."""
        near, far, square = lo / radius, hi / radius, radius**2
        return cls((2 * far - 1) / far**2, square * (3 - 2 / near), square * (3 - 2 / far), square**2 * (4 * far - 3), gain)


def _cubic_loss(known: KnownSums, cubic: Cubic, reach: _Reach, hi: float) -> tuple[float, Floats, Floats]:
    """Constant, linear term and matrix by which the data's part falls short of its quadratic, the fourth moment apart."""
    p = len(cubic.linear)
    middle, half = 0.5 * (reach.most + reach.least), 0.5 * (reach.most - reach.least)
    size = float(np.linalg.norm(cubic.linear))
    matrix = 0.5 * (1 - reach.quadratic) * known.data_share
    constant = 0.5 * half * size - reach.gain + reach.most * hi * known.rounding.cubic
    if size > 0:
        matrix += 0.5 * half / size * np.outer(cubic.linear, cubic.linear)
    spread = float(np.trace(cubic.spread))
    if spread < SMALLEST_SPREAD:  # |C₀(v)| ≤ |F||v||v|², with nothing to divide by
        constant += math.sqrt(spread) * reach.most * hi
    else:
        eta = math.sqrt(reach.most * p / spread)
        matrix += 0.5 * eta * cubic.spread
        constant += 0.5 * reach.most**2 / eta
    return constant, -middle * cubic.linear, matrix


def _cubic_losses(known: KnownSums, lo: float, hi: float) -> Iterator[tuple[float, Floats, Floats]]:
    """The cubic bound, with the fourth moment bounded in either way, and the ray bound where it applies."""
    cubic, fourth, quartic = known.cubic, known.fourth, known.quartic_deficit / 24
    blur = known.rounding.quartic
    if cubic is None or not math.isfinite(quartic):
        return
    constant, linear, matrix = _cubic_loss(known, cubic, _Reach.within(lo, hi), hi)
    yield constant + quartic * hi**4 * blur, linear, matrix + quartic * hi**2 * known.taylor.quartic
    if fourth is None:
        return
    fourth += blur
    yield constant + quartic * fourth * hi**4, linear, matrix
    radius = _steepest_radius(known, cubic, fourth)
    if radius <= lo * (1 + 2 * EDGE):
        radius = min(radius, lo)
        reach = _Reach.beyond(radius, lo, hi, _curvature_gain(known, fourth, radius, lo))
        constant, linear, matrix = _cubic_loss(known, cubic, reach, hi)
        yield constant + quartic * fourth * reach.quartic, linear, matrix


def _steepest_radius(known: KnownSums, cubic: Cubic, fourth: float) -> float:
    """The radius at which the slope d̄ r − 3e r² − (κ₄/6) q r³ of the cubic bound in a typical direction is largest."""
    share = known.typical_data_share
    spread = math.sqrt(float(np.trace(cubic.spread)) / len(cubic.linear))
    root = 6 * spread + math.sqrt(36 * spread**2 + 2 * known.quartic_deficit * fourth * share)
    return 2 * share / root if share > 0 and root > 0 else math.inf


def _curvature_gain(known: KnownSums, fourth: float, radius: float, lo: float) -> float:
    """K of the ray bound."""
    share = known.least_data_share
    if share <= 0:
        return 0.0
    decay = known.kappa * math.sqrt(fourth / share)
    return share * math.exp(-decay * radius) * (lo - radius) ** 2 * (0.5 - float(psi(decay * (lo - radius))))


def bounds_on_shell(known: KnownSums, lo: float, hi: float) -> Iterator[Bound]:
    """Every bound of the module that holds on the shell and is finite (positive definiteness is the caller's to check)."""
    return filter(None, (raised(known, bound) for bound in forms_on_shell(known, lo, hi)))


def assured_bound(known: KnownSums, lo: float, hi: float) -> Bound | None:
    """The bound of which public numbers say how bad it can be."""
    reach = (known.taylor.largest_norm + known.rounding.product) * hi * (1 + EDGE)
    left = (1 - 1e-9) * (1 - 2 * float(psi(known.kappa * (1 + 1e-9) * reach)))
    precision = np.diag(known.prior_share) + left * known.data_share
    return raised(known, Bound(lo, hi, 0.0, -known.frame.gradient, precision))


def raised(known: KnownSums, bound: Bound) -> Bound | None:
    """The bound with its shell's headroom: what rounding can do to the log acceptance anywhere on it. None if not finite."""
    if not (np.isfinite(bound.constant) and np.isfinite(bound.linear).all() and np.isfinite(bound.precision).all()):
        return None
    rounding, p, hi = known.rounding, len(bound.linear), bound.hi * (1 + EDGE)
    rise = rounding.constant + (rounding.linear + rounding.gradient) * hi
    # A diagonal form is summed with a relative error, which the share taken of P covers; another errs by its size.
    size = 0.0 if is_diagonal(bound.precision) else float(np.linalg.norm(bound.precision)) * hi**2
    own = 4 * (p + 8) * UNIT * (abs(bound.constant) + float(np.linalg.norm(bound.linear)) * hi + size)
    return replace(bound, constant=bound.constant + rise + own, headroom=rise + own)


def forms_on_shell(known: KnownSums, lo: float, hi: float) -> list[Bound]:
    """Every bound in exact arithmetic on what was summed, headroom still to be added; some not finite where radii are huge."""
    with np.errstate(over="ignore", invalid="ignore"):
        return list(_forms_on_shell(known, np.float64(lo), np.float64(hi)))


def _forms_on_shell(known: KnownSums, lo: float, hi: float) -> Iterator[Bound]:
    none, unit = -known.frame.gradient, known.unit
    low, high = lo * (1 - EDGE), hi * (1 + EDGE)
    yield Bound(lo, hi, 0.0, none, np.diag(known.prior_share))
    for matrix in _matrix_losses(known, high):
        yield Bound(lo, hi, 0.0, none, unit - 2 * matrix)
    fourth = _fourth_loss(known, high)
    if fourth is not None:
        yield Bound(lo, hi, fourth[0], none, unit - 2 * fourth[1])
    for constant, linear, matrix in _cubic_losses(known, low, high):
        yield Bound(lo, hi, constant, none + linear, unit - 2 * matrix)
