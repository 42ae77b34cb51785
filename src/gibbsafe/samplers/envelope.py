"""Provable lower bounds of the potential on shells s ∈ (lo, hi], as Gaussian upper bounds of the density.

A shell's bound is log density ratio −(U(θ) − U(t)) ≤ a + ℓᵀv − ½ vᵀQv with Q positive definite. Notation of `moments`;
ψ(r) = ½ − (e^{−r} + r − 1)/r² is increasing and concave with ψ(0) = 0.

1. **Taylor bound** (κ₄). f(u+a) − f − f′a ≥ ½wa² − |f‴||a|³/6 − κ₄wa⁴/24 and |a_i| ≤ |y_i| hi on the shell, so the potential
   lies above its quadratic less vᵀBv, B = (hi/6) Σ β|f‴_i||y_i| y_i y_iᵀ + (κ₄hi²/24) Σ β w_i |y_i|² y_i y_iᵀ: a = 0, ℓ = −g,
   Q = I − 2B. **Gram bound**: the same with B(r), the sharpest such matrix, summed at a few radii r ≥ hi. **Prior**: Q = P.
2. **Fourth-moment bound** (any κ, q from `fourth`). With σ = vᵀ(I−P)v, Jensen (weights β w_i a_i²) and Cauchy–Schwarz bound the
   loss of curvature by h(σ) = σψ(κ√q hi²/√σ), which is concave in σ: a = h(σ₀) − h'(σ₀)σ₀, Q = I − 2h'(σ₀)(I − P), h' ≤ ½.
3. **Cubic bound** (κ₄). The Taylor polynomial of degree three, C(v) = s²cᵀv + C₀(v), is kept; only its remainder, at most
   (κ₄/24) Σ β w_i a_i⁴, is bounded. On the shell s² = m ± Δ with m, Δ = (hi² ± lo²)/2, so
   s²cᵀv ≥ m cᵀv − Δ|cᵀv| and |cᵀv| ≤ ½(|c| + (cᵀv)²/|c|); |C₀(v)| ≤ |Fᵀv| |svec(vvᵀ)| ≤ ½(η vᵀFFᵀv + hi⁴/η) for any η > 0;
   Σ β w_i a_i⁴ ≤ hi² vᵀGv, and ≤ q hi⁴ once q is known.

Every bound holds; which one a shell uses decides only how often proposals are accepted, so the choice may look at the data.

Beyond the last shell, at radius R, convexity along rays makes (U(θ) − U(t))/s nondecreasing in s, so U(θ) − U(t) ≥ c s with
c R the least value of the last shell's bound on |v| = R.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe.models.losses import psi, psi_slope
from gibbsafe.samplers.moments import Cubic, Frame, Grams, Taylor

__all__ = ["Bound", "Certificates", "bounds_on_shell"]

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Certificates:
    """What has been summed about the posterior so far: the dearer sums are ``None`` until they pay."""

    kappa: float
    quartic_deficit: float
    frame: Frame
    taylor: Taylor
    grams: Grams | None = None
    cubic: Cubic | None = None
    fourth: float | None = None


@dataclass(frozen=True, eq=False)
class Bound:
    """−(U(θ) − U(t)) ≤ constant + linearᵀv − ½ vᵀ precision v for lo < |v| ≤ hi."""

    lo: float
    hi: float
    constant: float
    linear: Floats
    precision: Floats

    def least_rise(self) -> float:
        """Lower bound of U(θ) − U(t) on |v| = hi."""
        smallest = float(np.linalg.eigvalsh(self.precision)[0])
        return 0.5 * smallest * self.hi**2 - float(np.linalg.norm(self.linear)) * self.hi - self.constant


def _matrix_losses(certificates: Certificates, hi: float) -> Iterator[Floats]:
    """Matrices B with U(θ) − U(t) ≥ gᵀv + ½s² − vᵀBv for |v| ≤ hi."""
    taylor, grams = certificates.taylor, certificates.grams
    yield hi / 6 * taylor.cubic + certificates.quartic_deficit / 24 * hi**2 * taylor.quartic
    if grams is not None and hi <= grams.radii[-1]:
        yield grams.at_radii[np.searchsorted(grams.radii, hi)]


def _fourth_loss(certificates: Certificates, hi: float) -> tuple[float, Floats] | None:
    """Tangent of h(σ) = σψ(κ√q hi²/√σ) at the σ of a typical direction."""
    if certificates.fourth is None:
        return None
    data_share = 1 - certificates.frame.prior_share
    typical = hi**2 * float(data_share.mean())
    if typical <= 0:
        return None
    reach = certificates.kappa * math.sqrt(certificates.fourth) * hi**2
    ratio = reach / math.sqrt(typical)
    height = float(psi(ratio))
    slope = height - 0.5 * ratio * float(psi_slope(ratio))
    lift = 1e-12 * hi**2  # a tangent lies above a concave function only up to rounding in its slope
    return typical * (height - slope) + lift, slope * np.diag(data_share)


def _cubic_loss(certificates: Certificates, lo: float, hi: float) -> Iterator[tuple[float, Floats, Floats]]:
    """Constant, linear term and matrix of the cubic bound, with the fourth moment bounded in either way."""
    cubic = certificates.cubic
    if cubic is None:
        return
    p = len(cubic.linear)
    middle, half = 0.5 * (hi**2 + lo**2), 0.5 * (hi**2 - lo**2)
    size = float(np.linalg.norm(cubic.linear))
    matrix = np.zeros((p, p))
    constant = 0.5 * half * size
    if size > 0:
        matrix += 0.5 * half / size * np.outer(cubic.linear, cubic.linear)
    spread = float(np.trace(cubic.spread))
    if spread > 0:
        eta = hi * math.sqrt(p / spread)
        matrix = matrix + 0.5 * eta * cubic.spread
        constant += 0.5 * hi**4 / eta
    quartic = certificates.quartic_deficit / 24
    yield constant, -middle * cubic.linear, matrix + quartic * hi**2 * certificates.taylor.quartic
    if certificates.fourth is not None:
        yield constant + quartic * certificates.fourth * hi**4, -middle * cubic.linear, matrix


def bounds_on_shell(certificates: Certificates, lo: float, hi: float) -> Iterator[Bound]:
    """Every bound of the module that holds on the shell (positive definiteness is the caller's to check)."""
    frame = certificates.frame
    # Rounding in WᵀAW = I takes a fraction of the data's share of the unit curvature, never of the prior's, which is exact.
    unit = np.diag(frame.prior_share + (1 - frame.rounding) * (1 - frame.prior_share))
    none = -frame.gradient
    yield Bound(lo, hi, 0.0, none, np.diag(frame.prior_share))
    for matrix in _matrix_losses(certificates, hi):
        yield Bound(lo, hi, 0.0, none, unit - 2 * matrix)
    fourth = _fourth_loss(certificates, hi)
    if fourth is not None:
        yield Bound(lo, hi, fourth[0], none, unit - 2 * fourth[1])
    for constant, linear, matrix in _cubic_loss(certificates, lo, hi):
        yield Bound(lo, hi, constant, none + linear, unit - 2 * matrix)
