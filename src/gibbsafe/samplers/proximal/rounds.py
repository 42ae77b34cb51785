"""One round of the proximal sampler: y = x + √η M^{−1/2} ξ, then x ~ exp(−U(x) − ½(x − y)ᵀM(x − y)/η), exactly.

M is the prior's precision, or on a ball its least one times the identity. Whatever point x̂ is chosen (its choice may depend on
the data, and on the past), convexity puts the target below the Gaussian that the tangent of the losses at x̂ defines; a proposal
from it is accepted with exp(−Σ D_i) (`proximal_judge`), so an accepted one follows the inner law. x̂ is where a quadratic model of
the losses (the Hessian at the mode) puts the minimum of the inner potential, starting from the last x̂, whose gradient is known:
one pass a round, as a rule. Where ½βsΣw(zᵀd)², d the way from x̂ to the proposal's mean, could cost more than `EXTRA` nats, a
further pass moves x̂: that bound is a proof, by the Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import weights_of
from gibbsafe.data.sums import Largest
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.langevin import project
from gibbsafe.samplers.proximal.ball import draw_in_ball
from gibbsafe.samplers.proximal.judge import Judge
from gibbsafe.samplers.proximal.schedule import EXTRA

__all__ = ["LARGEST_NEWTON", "Chains", "Geometry", "Rounds"]


#: Beyond this many parameters x̂ moves by plain gradient steps, and its cost is bounded by the trace.
LARGEST_NEWTON = 600
#: Quasi-Newton moves of x̂ before damped gradient steps, which are sure to converge, take over; and the most of all.
QUICK_MOVES = 2
MOST_MOVES = 60
#: Proposals of a single chain that are judged together, at most.
MOST_TOGETHER = 8
ROWS = 4096


@dataclass(frozen=True, eq=False)
class Geometry:
    """Sums over the records that do not change, of one pass.

    ``metric`` is the diagonal of M, ``gram`` is βsΣ w z zᵀ (None in high dimensions), ``largest`` the largest |z|² = Σ_j z_j²/M_j
    of a row, and ``curvature`` is S = βsΣ w|z|².
    """

    metric: Floats
    gram: Floats | None
    largest: float
    curvature: float

    @classmethod
    def of(cls, posterior: GibbsPosterior) -> Geometry:
        """Return the sums for this posterior."""
        precision = posterior.prior_precision
        metric = np.array(precision) if posterior.ball is None else np.full_like(precision, precision.min())
        with_gram = posterior.dimension <= LARGEST_NEWTON
        squares, gram, largest = posterior.data.reduce(partial(_sizes, metric, with_gram), ROWS)
        factor = posterior.inverse_temperature * posterior.loss.smoothness
        curvature = factor * float((squares / metric).sum()) * (1 + 1e-9)
        return cls(metric, factor * gram if with_gram else None, float(largest.values) * (1 + 1e-9), curvature)


def _sizes(metric: Floats, with_gram: bool, rows: Floats, y: Floats | None) -> tuple[Floats, Floats, Largest]:
    squares = np.square(rows)
    weights = weights_of(y) * np.ones(len(rows))
    scaled = rows * np.sqrt(weights)[:, None]
    gram = np.dot(scaled.T, scaled) if with_gram else np.zeros(0)
    return weights @ squares, gram, Largest((squares @ (1 / metric)).max(initial=0.0))


@dataclass(eq=False)
class Chains:
    """Positions of all chains, the tangent points of the last round, the gradients of U there, and what was counted.

    ``proposals`` counts those of all chains up to the accepted one of each round; ``passes`` gradients, of however many chains.
    """

    points: Floats
    tangents: Floats
    gradients: Floats
    proposals: int = 0
    passes: int = 0


class Rounds:
    """Rounds of one step size; ``hessian`` is that of U at a typical point (it only decides where x̂ lies)."""

    def __init__(self, posterior: GibbsPosterior, geometry: Geometry, step: float, hessian: Floats | None) -> None:
        self.posterior, self.geometry = posterior, geometry
        metric = geometry.metric
        self.inner_precision = metric / step
        self.noise = 1 / np.sqrt(self.inner_precision)
        self.precision = metric + self.inner_precision
        self.spread = 1 / np.sqrt(self.precision)
        extra = posterior.prior_precision - metric
        self.extra = extra if extra.any() else None
        # βsΣ w(zᵀd)² ≤ S|d|²_M: the inner potential's curvature lies between `precision` and this much more.
        self.damping = 1 / (self.precision + 0.5 * geometry.curvature * metric + 0.5 * float(extra.max()))
        self.move = None if hessian is None else _inverse(hessian + np.diag(self.inner_precision))
        self.judge = Judge(posterior, metric, geometry.largest, posterior.dimension * step / (1 + step))
        self._together = 2.0

    @property
    def way(self) -> str:
        """How proposals are judged."""
        return "whole" if self.judge.records is None else "thinned"

    def start(self, points: Floats) -> Chains:
        """Chains at these points (k, p), after one gradient pass."""
        points = np.array(points)
        return Chains(points, points.copy(), self.posterior.gradients(points), passes=1)

    def advance(self, chains: Chains, generator: np.random.Generator) -> None:
        """One round of every chain, in place."""
        y = chains.points + self.noise * generator.standard_normal(chains.points.shape)
        way = self._find_tangents(chains, y)
        if len(way) == 1:
            self._draw_one(chains, way, generator)
        else:
            self._draw(chains, way, generator)

    # -- the tangent point -----------------------------------------------------------------------------------------

    def _find_tangents(self, chains: Chains, y: Floats) -> Floats:
        """Move the tangent points to where inner draws from there are cheap; return the way from them to the proposals' means."""
        chains.tangents, chains.gradients, way = self._moved(chains.tangents, chains.gradients, y, 0)
        chains.passes += 1
        costly = self._cost(chains.tangents, way) > EXTRA
        moves = 1
        while costly.any() and moves < MOST_MOVES:
            these = np.flatnonzero(costly)
            tangents, gradients, ways = self._moved(chains.tangents[these], chains.gradients[these], y[these], moves)
            chains.tangents[these], chains.gradients[these], way[these] = tangents, gradients, ways
            chains.passes += 1
            moves += 1
            costly[these] = self._cost(tangents, ways) > EXTRA
        return way

    def _moved(self, tangents: Floats, gradients: Floats, y: Floats, moves: int) -> tuple[Floats, Floats, Floats]:
        """Tangent points one move on, the gradients of U there, and the ways from there to the proposals' means."""
        downhill = self.inner_precision * (y - tangents) - gradients
        if moves >= QUICK_MOVES:
            tangents = tangents + downhill * self.damping
        else:
            tangents = tangents + (downhill / self.precision if self.move is None else downhill @ self.move)
        tangents = project(tangents, self.posterior.ball)
        gradients = self.posterior.gradients(tangents)
        return tangents, gradients, (self.inner_precision * (y - tangents) - gradients) / self.precision

    def _cost(self, tangents: Floats, way: Floats) -> Floats:
        """Bound of the nats that the distance of the proposal's mode from the tangent point costs an inner draw."""
        if self.posterior.ball is not None:
            way = project(tangents + way, self.posterior.ball) - tangents
        if self.geometry.gram is None:
            cost = self.geometry.curvature * (np.square(way) @ self.geometry.metric)
        else:
            cost = ((way @ self.geometry.gram) * way).sum(axis=1)
        return np.asarray(0.5 * cost if self.extra is None else 0.5 * (cost + np.square(way) @ self.extra))

    # -- proposals -------------------------------------------------------------------------------------------------

    def _draw(self, chains: Chains, way: Floats, generator: np.random.Generator) -> None:
        """One inner draw of every chain: proposals of all that still wait, until none does."""
        pending = np.arange(len(way))
        while pending.size:
            tangents = chains.tangents[pending]
            steps = self._propose(tangents, way[pending], generator)
            accepted = self.judge.accept(tangents, steps, self._patience(steps, generator), generator)
            chains.proposals += len(pending)
            chains.points[pending[accepted]] = tangents[accepted] + steps[accepted]
            pending = pending[~accepted]

    def _draw_one(self, chains: Chains, way: Floats, generator: np.random.Generator) -> None:
        """One inner draw of a single chain: a few proposals at a time, of which the first accepted counts."""
        while True:
            ways = np.repeat(way, min(MOST_TOGETHER, max(1, round(self._together))), axis=0)
            steps = self._propose(np.broadcast_to(chains.tangents, ways.shape), ways, generator)
            accepted = self.judge.accept(chains.tangents, steps, self._patience(steps, generator), generator)
            first = int(accepted.argmax())
            used = first + 1 if accepted[first] else len(steps)
            chains.proposals += used
            self._together += 0.02 * (1.5 * used - self._together)
            if accepted[first]:
                chains.points = chains.tangents + steps[first]
                return

    def _propose(self, tangents: Floats, way: Floats, generator: np.random.Generator) -> Floats:
        """Steps from the tangent points to proposals from the Gaussian that the tangents define."""
        if self.posterior.ball is None:
            return np.asarray(way + self.spread * generator.standard_normal(way.shape))
        return draw_in_ball(tangents + way, float(self.spread[0]), self.posterior.ball, generator) - tangents

    def _patience(self, steps: Floats, generator: np.random.Generator) -> Floats:
        """Exponentials less what the prior's anisotropy costs on a ball: the records' share must not exceed them."""
        patience = generator.standard_exponential(len(steps))
        return patience if self.extra is None else np.asarray(patience - 0.5 * np.square(steps) @ self.extra)


def _inverse(matrix: Floats) -> Floats | None:
    """The inverse, or None where rounding leaves none: plain gradient moves do as well, only slower."""
    try:
        inverse: Floats = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return inverse if np.isfinite(inverse).all() else None
