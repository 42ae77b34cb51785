"""Two-sided bounds of the potential that touch no data: most proposals are accepted or rejected by them alone.

Notation of `sums`; Y = max|y_i|, E_m(r) = 1 + (e^r − 1)/(m+1). With the third derivative C(v) = (β/6) Σ f‴_i a_i³ kept exactly,
Q₄(v) = Σ β w_i a_i⁴ and S(v) = Σ β f⁗_i a_i⁴ (lemma S7 of `docs/samplers.md`),

    U(θ) − U(t) = gᵀv + ½s² + C(v) + R(v),    −(κ₄/24) Q₄ ≤ R ≤ (K₄⁺/24) E₄(κYs) Q₄,    |R − S/24| ≤ (K₅/120) E₅(κYs) Y s Q₄.

All hold; the sharper is used at each point and on each side. Q₄ and S are quadratic forms in svec(vvᵀ), p⁴/4 operations instead
of n·p. Where their sums do not pay, Q₄ is at most s² vᵀGv, G = Σ β w_i |y_i|² y_i y_iᵀ. Rounding (`rounding`; rounding lemma, §4)
is added on both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.shell.fourth_moment import FourthMoment
from gibbsafe.samplers.shell.sums import (
    LARGEST_CUBIC_DIMENSION,
    LARGEST_FOURTH_DIMENSION,
    Cubic,
    Frame,
    Taylor,
    pairs_of,
    svec_scale,
)

__all__ = ["Choice", "Squeeze", "build_squeeze", "choose"]


#: Above this the measured curvature is too inaccurate for two-sided bounds to decide anything.
LARGEST_ROUNDING = 1e-3
#: Entries of svec(vvᵀ) held at once: they stay in cache.
CELLS = 1 << 17


def _growth(order: int, reach: Floats) -> Floats:
    """E_m(r) = 1 + (e^r − 1)/(m+1); infinite where e^r overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(1 + np.expm1(reach) / (order + 1))


def _typical_width(loss: Loss, taylor: Taylor, sharp: bool) -> float:
    """Typical distance between the bounds at s = √p, before anything is summed: a guide, not a bound.

    Over directions Q₄ averages 3s⁴ Σ β w_i |y_i|⁴/(p(p+2)) = 3s⁴ tr G/(p(p+2)), and s² vᵀGv averages s⁴ tr G/p.
    """
    p = len(taylor.quartic)
    trace = float(np.trace(taylor.quartic))
    reach = np.asarray(np.sqrt(p) * taylor.largest_norm)
    quartic = p * trace * (3 / (p + 2) if sharp else 1)
    with np.errstate(over="ignore"):
        once = (loss.quartic_deficit + loss.quartic_excess * float(_growth(4, loss.self_concordance * reach))) / 24
        twice = loss.quintic_ratio / 60 * float(_growth(5, loss.self_concordance * reach) * reach)
    return quartic * (min(once, twice) if sharp else once) if quartic > 0 else 0.0


@dataclass(frozen=True)
class Choice:
    """Which squeeze to build, and the seconds it is expected to leave per proposal."""

    sharp: bool
    seconds: float


def choose(
    loss: Loss, frame: Frame, taylor: Taylor, *, proposals: float, evaluation: float, prices: tuple[float, float]
) -> Choice | None:
    """The squeeze that takes least time, its sums at ``prices`` (cubic, fourth moments) included, or ``None`` if none pays.

    ``proposals`` is how many will be judged and ``evaluation`` the seconds each would take on the data.
    """
    p = len(frame.gradient)
    pairs = p * (p + 1) / 2
    if taylor.rounding.curvature > LARGEST_ROUNDING or p > LARGEST_CUBIC_DIMENSION or not math.isfinite(loss.quintic_ratio):
        return None
    best, found = 0.9 * proposals * evaluation, None
    for sharp in (False, True)[: 1 + (p <= LARGEST_FOURTH_DIMENSION)]:
        own = 1e-10 * pairs * (20 + p + (2 * pairs if sharp else 0))
        seconds = own + evaluation * min(1.0, _typical_width(loss, taylor, sharp))
        whole = prices[0] + sharp * prices[1] + proposals * seconds
        if whole < best:
            best, found = whole, Choice(sharp, seconds)
    return found


@dataclass(frozen=True, eq=False)
class Squeeze:
    """The sums behind the bounds, ready to be evaluated at many points."""

    frame: Frame
    taylor: Taylor
    loss: Loss
    curvature: Floats  # P + D
    cubic: Floats  # (p, p(p+1)/2): C(v) = vᵀ cubic svec(vvᵀ)
    sums: tuple[FourthMoment, FourthMoment] | None  # with weights w and f⁗

    def rises(self, points: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bounds of U(θ) − U(t) at each point v; not a number where there is none."""
        size = max(256, CELLS // self.cubic.shape[1])
        parts = [self._rises(points[start : start + size]) for start in range(0, max(len(points), 1), size)]
        low, high = zip(*parts, strict=True)
        return np.concatenate(low), np.concatenate(high)

    def _rises(self, points: Floats) -> tuple[Floats, Floats]:
        loss = self.loss
        columns = np.ascontiguousarray(points.T)
        squares = np.einsum("ji,ji->i", columns, columns)
        radius = np.sqrt(squares)
        products = pairs_of(columns)
        products *= svec_scale(len(columns))[:, None]
        rounding = self.taylor.rounding
        middle = self.frame.gradient @ columns + 0.5 * np.einsum("ji,ji->i", columns, self.curvature @ columns)
        middle += np.einsum("ji,ji->i", columns, self.cubic @ products)
        largest = self.taylor.largest_norm + rounding.product
        reach = largest * radius
        kappa = loss.self_concordance
        bend = max(loss.quartic_deficit, loss.quartic_excess)
        slack = 0.5 * (rounding.curvature + rounding.prior + 2.0**-40) * squares + rounding.gradient * radius
        slack += (kappa + bend * reach) * squares * radius * (rounding.product + 2.0**-30 * largest)
        slack += (bend + loss.quintic_ratio * reach) * reach * squares * rounding.predictor
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite or undefined bound decides nothing
            ceiling = loss.quartic_excess / 24 * _growth(4, kappa * reach)
            if self.sums is None:
                quartic = squares * np.einsum("ji,ji->i", columns, self.taylor.quartic @ columns)
                quartic += rounding.quartic * squares**2
                return middle - slack - loss.quartic_deficit / 24 * quartic, middle + slack + ceiling * quartic
            (plain, plain_error), (signed, signed_error) = (self._form(moment, products, squares) for moment in self.sums)
            quartic = np.maximum(plain, 0) + plain_error + rounding.quartic * squares**2
            remainder = loss.quintic_ratio / 120 * _growth(5, kappa * reach) * reach * quartic
            remainder += signed_error / 24
            low = np.fmax(-loss.quartic_deficit / 24 * quartic, signed / 24 - remainder)
            high = np.fmin(ceiling * quartic, signed / 24 + remainder)
            return middle - slack + low, middle + slack + high

    @staticmethod
    def _form(moment: FourthMoment, products: Floats, squares: Floats) -> tuple[Floats, Floats]:
        """svec(vvᵀ)ᵀ M svec(vvᵀ) and a bound on its error."""
        return np.einsum("ji,ji->i", products, moment.matrix @ products), moment.error * squares**2


def build_squeeze(
    posterior: GibbsPosterior,
    frame: Frame,
    taylor: Taylor,
    cubic: Cubic,
    sums: tuple[FourthMoment, FourthMoment] | None = None,
) -> Squeeze | None:
    """The squeeze from sums already made; ``None`` where rounding in the whitening leaves nothing to prove."""
    parts = [cubic.flat, taylor.quartic, *(moment.matrix for moment in sums or ())]
    if not taylor.rounding.curvature <= LARGEST_ROUNDING or not all(np.isfinite(part).all() for part in parts):
        return None
    return Squeeze(
        frame=frame,
        taylor=taylor,
        loss=posterior.loss,
        curvature=taylor.curvature + np.diag(frame.prior_share),
        cubic=cubic.flat * svec_scale(posterior.dimension),
        sums=sums,
    )
