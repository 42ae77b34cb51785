"""Privacy curves δ(ε) of one pair of neighbouring data sets: what an attacker who knows all but one record can really tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from gibbsafe._numerics import least
from gibbsafe._types import Floats
from gibbsafe._validate import count, non_negative, probability
from gibbsafe.audit.quadrature import Quadrature
from gibbsafe.errors import ParameterError
from gibbsafe.privacy import Guarantee
from gibbsafe.privacy.profiles import gaussian_delta, gaussian_mu

__all__ = ["PrivacyCurve", "Violation"]

#: One direction of a curve: ε ≥ 0 in, δ and a bound on its error out.
Direction: TypeAlias = Callable[[float], tuple[float, float]]

#: Grid of privacy losses for several draws; the coarser half of it gives the error.
LOSSES = 1024
#: δ below which the loss grid ends: that much is counted as certain loss.
NEGLIGIBLE = 1e-15


@dataclass(frozen=True)
class Violation:
    """Where an exact curve is above a claim: (ε, δ claimed, δ exact, bound on the error of the exact one)."""

    epsilon: float
    claimed: float
    exact: float
    error: float

    def __str__(self) -> str:
        return f"at epsilon = {self.epsilon:.4g} the claim is delta = {self.claimed:.4g}, the pair has {self.exact:.4g}"


@dataclass(frozen=True, eq=False)
class PrivacyCurve:
    """Exact δ(ε) = max of ∫(p − e^ε q)₊ and ∫(q − e^ε p)₊ for the output laws p, q of two neighbouring data sets.

    A *lower* bound on what a mechanism leaks (one pair), exact for that pair up to `error`. ``route`` says how it was computed.
    """

    forward: Direction
    backward: Direction
    route: str
    shift: float | None = None

    # -- how curves are made -------------------------------------------------------------------------------------

    @classmethod
    def gaussian(cls, mu: float) -> PrivacyCurve:
        """Return the curve of two normals μ standard deviations apart."""

        def side(epsilon: float) -> tuple[float, float]:
            delta = gaussian_delta(epsilon, mu)
            return delta, 4e-12 * delta

        return cls(side, side, f"closed form (Gaussian shift, mu = {mu:.6g})", mu)

    @classmethod
    def closed_form(cls, first: object, second: object) -> PrivacyCurve:
        """Return the curve of two posteriors that know their own hockey-stick divergence."""

        def side(a: Any, b: Any) -> Direction:
            return lambda epsilon: (float(a.hockey_stick(b, epsilon)), 1e-12)

        return cls(side(first, second), side(second, first), "closed form")

    @classmethod
    def by_quadrature(cls, first: object, second: object) -> PrivacyCurve:
        """Return the curve of two posteriors with one or two parameters."""
        quadrature = Quadrature.of(first, second)
        return cls(quadrature.delta, quadrature.reversed().delta, "quadrature")

    def compose(self, draws: int) -> PrivacyCurve:
        """Return the curve of ``draws`` independent outputs of the same mechanism.

        Gaussian shifts: μ√N. Otherwise the distribution of the privacy loss is discretised so that its curve joins the exact δ at
        1024 losses by lines in e^ε (above the curve, which is convex there) and convolved N times; half the grid gives the error.
        """
        if count("draws", draws) == 1:
            return self
        if self.shift is not None:
            return PrivacyCurve.gaussian(self.shift * math.sqrt(draws))
        sides = _composed(self, draws)
        return PrivacyCurve(*sides, f"{self.route}, {draws} draws by convolution of the privacy loss")

    # -- what they say -------------------------------------------------------------------------------------------

    def bound(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and a bound on its error."""
        epsilon = non_negative("epsilon", epsilon)
        return max(self.forward(epsilon), self.backward(epsilon))

    def delta(self, epsilon: float) -> float:
        """Return δ(ε), the larger of both directions."""
        return self.bound(epsilon)[0]

    def epsilon(self, delta: float) -> float:
        """Return the least ε ≥ 0 with δ(ε) ≤ ``delta``; a ``delta`` below the curve's error bound is refused."""
        if probability("delta", delta) < self.resolution:
            raise ParameterError(
                f"delta = {delta:g}: below what the curve resolves ({self.resolution:.3g}); ask for a larger delta"
            )
        return least(lambda epsilon: self.delta(epsilon) <= delta)

    @cached_property
    def _losses(self) -> Floats:
        """Values of ε that cover the curve: from 0 to where δ is negligible."""
        top = 1e-3
        while self.delta(top) > 1e-12 and top < 700:
            top *= 2
        return np.concatenate([[0.0], top * np.linspace(1 / 16, 1, 16)])

    @cached_property
    def resolution(self) -> float:
        """The least δ whose ε can be asked for: the error bound in the tail of the curve, 0 for a closed form."""
        return 0.0 if self.route.startswith("closed form") else min(self.bound(float(e))[1] for e in self._losses)

    @cached_property
    def error(self) -> float:
        """The largest error bound over the curve."""
        return max(self.bound(float(epsilon))[1] for epsilon in self._losses)

    @cached_property
    def mu(self) -> float:
        """The least μ (to the resolution of 17 values of ε) whose Gaussian-DP curve lies above: the pair's μ."""
        if self.shift is not None:
            return self.shift
        reached = [(float(epsilon), *self.bound(float(epsilon))) for epsilon in self._losses]
        return max((gaussian_mu(e, delta - error) for e, delta, error in reached if delta > 2 * error), default=0.0)

    def violation(self, claim: Guarantee) -> Violation | None:
        """Return the ε at which this curve exceeds a claim by the largest factor, error subtracted, or None."""
        worst, found = 1 + 1e-9, None
        stated = [claim.epsilon(10.0**-k) for k in range(1, 10)]  # where a claim of one (ε, δ) has its corner
        for epsilon in [*self._losses.tolist(), *(value for value in stated if value < 700)]:
            delta, error = self.bound(epsilon)
            claimed = claim.delta(epsilon)
            if delta - error > claimed * worst:
                worst, found = (delta - error) / max(claimed, 1e-300), Violation(epsilon, claimed, delta, error)
        return found

    def __repr__(self) -> str:
        return f"<PrivacyCurve by {self.route}: delta(0) = {self.delta(0.0):.4g}>"


# -- several draws -----------------------------------------------------------------------------------------------------


def _composed(curve: PrivacyCurve, draws: int) -> tuple[Direction, Direction]:
    losses = np.linspace(-_end(curve.backward), _end(curve.forward), LOSSES + 1)
    # ∫(p − e^ε q)₊ = 1 − e^ε + e^ε ∫(q − e^{−ε} p)₊ gives either direction at any real ε from both at ε ≥ 0.
    forward = np.array([curve.forward(x)[0] if x >= 0 else _flipped(x, curve.backward(-x)[0]) for x in losses.tolist()])
    backward = np.array([_flipped(-x, delta) for x, delta in zip(losses.tolist(), forward.tolist(), strict=True)])[::-1]
    error = draws * curve.bound(0.0)[1]
    return _side(losses, forward, draws, error), _side(-losses[::-1], backward, draws, error)


def _flipped(loss: float, opposite: float) -> float:
    return -math.expm1(loss) + math.exp(loss) * opposite


def _end(side: Direction) -> float:
    """Return an ε beyond which δ is negligible."""
    top = 1e-3
    while side(top)[0] > NEGLIGIBLE and top < 700:
        top *= 1.25
    return top


def _side(losses: Floats, deltas: Floats, draws: int, error: float) -> Direction:
    """Return one direction: both grids are above the curve by a multiple of their squared width, so four to one cancels it."""
    fine, coarse = (_convolved(losses[::step], deltas[::step], draws) for step in (1, 2))

    def delta(epsilon: float) -> tuple[float, float]:
        value, rough = _tail_sum(*fine, epsilon), _tail_sum(*coarse, epsilon)
        return max(0.0, value - (rough - value) / 3), abs(rough - value) / 3 + error + 1e-13

    return delta


def _convolved(losses: Floats, deltas: Floats, draws: int) -> tuple[Floats, Floats, float]:
    """Return (losses, masses, mass of certain loss) of the N-fold convolution.

    δ as a function of x = e^ε is −(mass under q above ε) in slope, so the steps of the slope are the masses under q.
    """
    x = np.exp(losses)
    slopes = np.concatenate([[(deltas[0] - 1) / x[0]], np.diff(deltas) / np.diff(x), [0.0]])
    mass = np.maximum(np.diff(slopes), 0.0) * x
    size = draws * (len(losses) - 1) + 1
    spectrum = np.fft.rfft(mass, 1 << (size - 1).bit_length())
    together = np.maximum(np.fft.irfft(spectrum**draws)[:size], 0.0)
    return np.linspace(draws * losses[0], draws * losses[-1], size), together, -math.expm1(draws * math.log1p(-deltas[-1]))


def _tail_sum(losses: Floats, masses: Floats, certain: float, epsilon: float) -> float:
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above])) + certain
