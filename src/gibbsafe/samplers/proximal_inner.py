"""One round of the proximal sampler: y = x + √η M^{−1/2} ξ, then x ~ exp(−U(x) − ½(x − y)ᵀM(x − y)/η), exactly.

M is the prior's precision, or on a ball its least one times the identity. Whatever point x̂ is chosen (its choice may depend on
the data, and on the past), convexity puts the target below the Gaussian that the tangent of the losses at x̂ defines; a proposal
from it is accepted with exp(−Σ D_i), D_i = β·w_i·Bregman difference of the loss between z_iᵀx̂ and z_iᵀx (`models.bregman`), so an
accepted one follows the inner law. x̂ is where a quadratic model of the losses (the Hessian at the mode) puts the minimum of the
inner potential, starting from the last x̂, whose gradient is known: one pass a round, as a rule. Where ½βsΣw(zᵀd)², d the way from
x̂ to the proposal's mean, could cost more than `EXTRA` nats, a further pass moves x̂: that bound is a proof, by the Gram matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe.data.blocks import weights_of
from gibbsafe.models.bregman import bregman
from gibbsafe.models.losses import Loss
from gibbsafe.models.weighted_loss import WeightedLoss
from gibbsafe.samplers.ball_gaussian import draw_in_ball
from gibbsafe.samplers.posterior import GibbsPosterior
from gibbsafe.samplers.proximal_schedule import EXTRA
from gibbsafe.samplers.thinning import RandomAccess, random_access

__all__ = ["Chains", "Geometry", "Rounds"]

Floats: TypeAlias = npt.NDArray[np.float64]

#: Beyond this many parameters x̂ moves by plain gradient steps, and its cost is bounded by the trace.
LARGEST_NEWTON = 600
#: Looking up one record costs about as much as reading this many in a row.
LOOK_UP = 6
#: Quasi-Newton moves of x̂ before damped gradient steps, which are sure to converge, take over.
QUICK_MOVES = 2


@dataclass(frozen=True, eq=False)
class Geometry:
    """Sums over the records that do not change: one or two passes.

    ``metric`` q is the diagonal of M, ``squares`` the column sums Σ w z_j², ``gram`` is βsΣ w z zᵀ (None in high dimensions), and
    ``largest`` the largest Σ_j z_j²/q_j of a row.
    """

    metric: Floats
    squares: Floats
    gram: Floats | None
    largest: float
    curvature: float

    @classmethod
    def of(cls, posterior: GibbsPosterior) -> Geometry:
        """Return the sums for this posterior."""
        precision = posterior.prior_precision
        metric = np.array(precision) if posterior.ball is None else np.full_like(precision, precision.min())
        with_gram = posterior.dimension <= LARGEST_NEWTON
        largest = np.zeros(1)

        def block(rows: Floats, y: Floats | None) -> tuple[Floats, Floats]:
            squares = np.square(rows)
            np.maximum(largest, (squares @ (1 / metric)).max(initial=0.0), out=largest)
            weights = weights_of(y) * np.ones(len(rows))
            scaled = rows * np.sqrt(weights)[:, None]
            return weights @ squares, scaled.T @ scaled if with_gram else np.zeros(0)

        squares, gram = posterior.data.reduce(block, 4096)
        factor = posterior.inverse_temperature * posterior.loss.smoothness
        curvature = factor * float((squares / metric).sum())
        return cls(metric, squares, factor * gram if with_gram else None, float(largest[0]), curvature)


@dataclass(eq=False)
class Chains:
    """Positions of all chains, the tangent points of the last round, the gradients of U there, and what was counted."""

    points: Floats
    tangents: Floats
    gradients: Floats
    proposals: int = 0
    passes: int = 0


@dataclass(eq=False)
class Rounds:
    """Rounds of one step size; ``hessian`` is that of U at a typical point (it only decides where x̂ lies)."""

    posterior: GibbsPosterior
    geometry: Geometry
    step: float
    hessian: Floats | None
    noise: Floats = field(init=False)
    pull: Floats = field(init=False)
    precision: Floats = field(init=False)
    spread: Floats = field(init=False)
    extra: Floats = field(init=False)
    move: Floats | None = field(init=False)
    damping: Floats = field(init=False)
    loss: Loss = field(init=False)
    records: RandomAccess | None = field(init=False)

    def __post_init__(self) -> None:
        posterior, metric = self.posterior, self.geometry.metric
        self.pull = metric / self.step
        self.noise = 1 / np.sqrt(self.pull)
        self.precision = metric + self.pull
        self.spread = 1 / np.sqrt(self.precision)
        self.extra = posterior.prior_precision - metric
        # βs Σ w (zᵀd)² ≤ S |d|²_M: the inner potential's curvature lies between `precision` and this much more.
        self.damping = 1 / (self.precision + 0.5 * self.geometry.curvature * metric + 0.5 * self.extra)
        self.move = None if self.hessian is None else np.linalg.inv(self.hessian + np.diag(self.pull))
        self.loss = posterior.loss.loss if isinstance(posterior.loss, WeightedLoss) else posterior.loss
        records = random_access(posterior.data)
        rate = 0.5 * self._rate * posterior.dimension * self.step / (1 + self.step)
        self.records = records if LOOK_UP * rate + 64 < posterior.rows_per_pass else None

    @property
    def way(self) -> str:
        """How proposals are judged."""
        return "whole" if self.records is None else "thinned"

    @property
    def _rate(self) -> float:
        """N·βs·max|z|², so that half of it times |dx|² bounds Σ D_i through each of its terms."""
        posterior = self.posterior
        return posterior.inverse_temperature * posterior.loss.smoothness * posterior.data.n_rows * self.geometry.largest

    def start(self, points: Floats) -> Chains:
        """Chains at these points (k, p), after one gradient pass."""
        points = np.array(points)
        return Chains(points, points.copy(), self.posterior.gradients(points), passes=1)

    def advance(self, chains: Chains, generator: np.random.Generator) -> None:
        """One round of every chain, in place."""
        y = chains.points + self.noise * generator.standard_normal(chains.points.shape)
        way = self._find_tangents(chains, y)
        self._draw(chains, way, generator)

    # -- the tangent point -----------------------------------------------------------------------------------------

    def _find_tangents(self, chains: Chains, y: Floats) -> Floats:
        """Move the tangent points to where inner draws from there are cheap; return the way from them to the proposals' means."""
        active: npt.NDArray[np.intp] | slice = slice(None)
        way = -self._slope(chains, y, active)
        moves = 0
        while True:
            moved = chains.tangents[active] + self._move(way[active], moves)
            chains.tangents[active] = self._inside(moved)
            chains.gradients[active] = self.posterior.gradients(chains.tangents[active])
            chains.passes += 1
            moves += 1
            way[active] = -self._slope(chains, y, active)
            dear = self._cost(self._reach(chains.tangents, way / self.precision)) > EXTRA
            if not dear.any() or moves > 200:
                return np.asarray(way / self.precision)
            active = np.flatnonzero(dear)

    def _slope(self, chains: Chains, y: Floats, active: npt.NDArray[np.intp] | slice) -> Floats:
        """Gradient of the inner potential at the tangent points."""
        return np.asarray(chains.gradients[active] + self.pull * (chains.tangents[active] - y[active]))

    def _move(self, downhill: Floats, moves: int) -> Floats:
        if moves < QUICK_MOVES:
            return np.asarray(downhill / self.precision if self.move is None else downhill @ self.move)
        return np.asarray(downhill * self.damping)

    def _cost(self, way: Floats) -> Floats:
        """Bound of the nats that the distance of the proposal's mean from the tangent point costs an inner draw."""
        prior = np.square(way) @ self.extra
        if self.geometry.gram is None:
            return np.asarray(0.5 * (self.geometry.curvature * (np.square(way) @ self.geometry.metric) + prior))
        return np.asarray(0.5 * (((way @ self.geometry.gram) * way).sum(axis=1) + prior))

    def _inside(self, points: Floats) -> Floats:
        ball = self.posterior.ball
        if ball is None:
            return points
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        return np.asarray(points * np.minimum(1.0, ball / np.maximum(norms, ball)))

    def _reach(self, tangents: Floats, way: Floats) -> Floats:
        """The way to the proposal's mode within the parameter set."""
        return way if self.posterior.ball is None else self._inside(tangents + way) - tangents

    # -- proposals -------------------------------------------------------------------------------------------------

    def _draw(self, chains: Chains, way: Floats, generator: np.random.Generator) -> None:
        pending = np.arange(len(way))
        while pending.size:
            together = max(1, 4 // len(pending))
            owners = np.repeat(pending, together) if together > 1 else pending
            steps = self._propose(chains.tangents[owners], way[owners], generator)
            accepted = self._judge(chains.tangents, owners, steps, generator)
            chains.proposals += len(owners)
            first = np.flatnonzero(accepted)
            if together > 1 and len(first) > 1:  # the first accepted proposal of each chain
                first = first[np.unique(owners[first], return_index=True)[1]]
            winners = owners[first]
            chains.points[winners] = chains.tangents[winners] + steps[first]
            pending = pending[~np.isin(pending, winners)] if len(winners) < len(pending) else pending[:0]

    def _propose(self, tangents: Floats, way: Floats, generator: np.random.Generator) -> Floats:
        """Steps from the tangent points to proposals from the Gaussian that the tangents define."""
        if self.posterior.ball is None:
            return np.asarray(way + self.spread * generator.standard_normal(way.shape))
        deviation = float(self.spread[0])
        return draw_in_ball(tangents + way, deviation, self.posterior.ball, generator) - tangents

    def _judge(
        self, tangents: Floats, owners: npt.NDArray[np.intp], steps: Floats, generator: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        """Accept each step with probability exp(−Σ D_i − ½ Σ extra·step²)."""
        patience = generator.standard_exponential(len(steps))
        patience -= 0.5 * np.square(steps) @ self.extra
        if self.records is None:
            return np.asarray(self._differences(tangents, owners, steps) <= patience)
        accepted = patience >= 0
        accepted[accepted] = self._thinned(tangents[owners[accepted]], steps[accepted], self.records, generator)
        return accepted

    def _differences(self, tangents: Floats, owners: npt.NDArray[np.intp], steps: Floats) -> Floats:
        """Σ D_i by a pass over all records."""
        posterior = self.posterior
        chains, which = np.unique(owners, return_inverse=True)
        at, along = np.ascontiguousarray(tangents[chains].T), np.ascontiguousarray(steps.T)

        def block(rows: Floats, y: Floats | None) -> tuple[Floats]:
            return (bregman(posterior.loss, (rows @ at)[:, which], rows @ along, y).sum(axis=0),)

        (total,) = posterior.data.reduce(block, max(64, min(4096, (1 << 14) // len(steps))))
        return np.asarray(posterior.inverse_temperature * total)

    def _thinned(
        self, tangents: Floats, steps: Floats, records: RandomAccess, generator: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        """Decide by thinning: D_i ≤ ½βs max|z|²|step|² for every record."""
        bounds = 0.5 * (1 + 1e-9) * self._rate / records.n_rows * (np.square(steps) @ self.geometry.metric)
        counts = generator.poisson(bounds * records.n_rows)
        owner = np.repeat(np.arange(len(steps)), counts)
        accepted = np.ones(len(steps), dtype=bool)
        if not len(owner):
            return accepted
        rows, targets = records.take(generator.integers(0, records.n_rows, len(owner)))
        if len(steps) == 1:
            at, along = rows @ tangents[0], rows @ steps[0]
        else:
            at, along = np.einsum("ij,ij->i", rows, tangents[owner]), np.einsum("ij,ij->i", rows, steps[owner])
        differences = self.posterior.inverse_temperature * bregman(self.loss, at, along, targets)
        rejected = generator.random(len(owner)) * bounds[owner] < differences
        accepted[owner[rejected]] = False
        return accepted


def typical_nats(rounds_step: float, hessian: Floats | None, geometry: Geometry) -> float:
    """½ tr(M⁻¹∇²F) η/(1+η): about what an inner draw costs near the point of the Hessian (nothing is decided for privacy)."""
    share = rounds_step / (1 + rounds_step)
    if hessian is None:
        return 0.5 * geometry.curvature * share
    return 0.5 * share * max(0.0, float((np.diagonal(hessian) / geometry.metric - 1).sum())) if math.isfinite(share) else 0.0
