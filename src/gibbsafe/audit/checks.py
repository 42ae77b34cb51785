"""The attacks on declared constants: each turns records and parameters into a share of what is declared, above 1 if violated."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.audit.record_losses import RecordLosses, numerical_gradient
from gibbsafe.data.blocks import Blocks
from gibbsafe.losses.base import Loss
from gibbsafe.losses.own import OwnLoss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.protocols import Posterior
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants
from gibbsafe.theorems.bounded_range import loss_difference_range

__all__ = ["Attack", "attacks"]


@dataclass(frozen=True, eq=False)
class Attack(ABC):
    """An attack on one declared number with ``arity`` records at a time."""

    losses: RecordLosses
    constant: str
    declared: float
    statement: str
    arity: ClassVar[int] = 2

    @abstractmethod
    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        """Return, per parameter, found / declared."""

    def share(self, posteriors: list[Posterior], theta: Floats) -> float:
        """Return the share at one parameter; what cannot be evaluated is no evidence."""
        return self.best(posteriors, theta[None])[0]

    def best(self, posteriors: list[Posterior], thetas: Floats) -> tuple[float, Floats]:
        """Return the largest share and where."""
        with np.errstate(over="ignore", invalid="ignore"):  # rows that were not clipped overflow, and that is evidence enough
            shares = np.nan_to_num(self.shares(posteriors, thetas), nan=-math.inf)
        k = int(np.argmax(shares))
        return float(shares[k]), thetas[k]


@dataclass(frozen=True, eq=False)
class GradientSize(Attack):
    """Gradients of loss differences, weighted by prior precisions: √Σ g_k²/m_k."""

    precision: Floats

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        gradient = self.losses.difference_gradient(posteriors[0], posteriors[1], thetas)
        return np.asarray(np.sqrt(np.square(gradient) @ (1 / self.precision)) / self.declared)


class SingleGradient(GradientSize):
    """The same for the loss of one record (against no record)."""

    arity = 1

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        return super().shares([posteriors[0], self.losses.no_records], thetas)


class Range(Attack):
    """How far a difference of losses varies over the parameters: between each parameter and the lowest one seen."""

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        pool = np.concatenate([thetas, self.losses.thetas])
        values = self.losses.difference(posteriors[0], posteriors[1], pool)
        lowest = values[np.isfinite(values)].min(initial=math.inf)
        return np.asarray((values[: len(thetas)] - lowest) / self.declared)


class SingleRange(Range):
    """The same for the loss of one record."""

    arity = 1

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        return super().shares([posteriors[0], self.losses.no_records], thetas)


@dataclass(frozen=True, eq=False)
class Curvature(Attack):
    """Change of the gradient of one loss over a step, per unit of the step; ``least`` bounds it from below (strong convexity)."""

    least: bool
    arity = 1

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        direction = np.random.default_rng(2).standard_normal(thetas.shape)
        size = 1e-2 * np.maximum(1e-2, np.linalg.norm(thetas, axis=1, keepdims=True))
        step = size * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        moved = thetas + step
        first, second = (
            self.losses.difference_gradient(posteriors[0], self.losses.no_records, points) for points in (thetas, moved)
        )
        change, length = second - first, np.linalg.norm(step, axis=1)
        if not self.least:
            return np.asarray(np.linalg.norm(change, axis=1) / length / self.declared)
        curvature = np.einsum("ij,ij->i", change, step) / length**2
        # A share above 1 where the curvature is below the declared least; rounding of the gradients is no evidence.
        noise = 1e-9 * (1 + np.linalg.norm(first, axis=1)) / length
        return np.asarray(1 + (self.declared - curvature - noise) / max(self.declared, 1.0))


class Gradient(Attack):
    """The declared gradient of a posterior against central differences of its values, at two steps that agree."""

    arity = 1

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        thetas = thetas + 1.2345e-3  # off the round numbers where losses like to have kinks
        posterior = _gibbs(posteriors[0])
        stated = posterior.gradients(thetas)
        coarse, fine = (numerical_gradient(posterior.values, thetas, relative) for relative in (1e-5, 3e-6))
        scale = 1 + np.abs(stated).max(axis=1) + 1e-4 * np.abs(posterior.values(thetas)) / np.abs(thetas).max(axis=1, initial=1)
        smooth = np.abs(coarse - fine).max(axis=1) < 1e-3 * scale
        wrong = np.abs(stated - fine).max(axis=1) / scale
        return np.where(smooth, wrong / self.declared, 0.0)


class SelfConcordance(Attack):
    """|f‴| against κf″ of the scalar loss, at the linear predictors that records and parameters give."""

    arity = 1

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        u, y, loss = _predictors(posteriors[0], thetas)
        third, curvature = np.abs(loss.third(u, y)), loss.curvature(u, y)
        # Derivatives of the user's own, by JAX say, round where curvature is all but gone: that is no evidence.
        floor = 1e-9 * self.declared * loss.smoothness if isinstance(loss, OwnLoss) else 1e-290
        return np.asarray(np.where(third > floor, third / np.maximum(self.declared * curvature, 1e-300), 0.0)[0])


class Derivatives(Attack):
    """The scalar loss's stated derivatives against numerical ones, each of the one before."""

    arity = 1

    def shares(self, posteriors: list[Posterior], thetas: Floats) -> Floats:
        u, y, loss = _predictors(posteriors[0], thetas)
        worst = np.zeros(u.shape)
        step = 1e-5 * np.maximum(1.0, np.abs(u))
        for function, derivative in ((loss.value, loss.slope), (loss.slope, loss.curvature), (loss.curvature, loss.third)):
            up, down = function(u + step, y), function(u - step, y)
            stated = derivative(u, y)
            far = 0.0 if y is None else np.abs(y)[:, None]
            # Far targets round the residual, and the quotient magnifies that.
            noise = 2.0**-48 * (np.abs(up) + np.abs(down) + far * np.abs(stated) + far * loss.smoothness) / step
            error = np.maximum(np.abs((up - down) / (2 * step) - stated) - noise, 0.0)
            worst = np.maximum(worst, error / (1 + np.abs(stated)))
        return np.asarray(worst[0] / self.declared)


def _gibbs(posterior: Posterior) -> GibbsPosterior:
    """Return the posterior, which `attacks` found to be a Gibbs posterior."""
    assert isinstance(posterior, GibbsPosterior)
    return posterior


def _predictors(posterior: Posterior, thetas: Floats) -> tuple[Floats, Floats | None, Loss]:
    gibbs = _gibbs(posterior)
    assert isinstance(gibbs.data, Blocks)
    targets = gibbs.data.targets
    return np.asarray(gibbs.data.rows[:1].astype(np.float64) @ thetas.T), None if targets is None else targets[:1], gibbs.loss


# -- which attacks a model's declaration calls for ---------------------------------------------------------------------


def attacks(losses: RecordLosses) -> Iterator[Attack]:
    """Yield the attacks on everything that the model declares."""
    for precision, constants in losses.constants(Adjacency.REPLACE_ONE):
        yield from _on_gaps(losses, constants, precision, Adjacency.REPLACE_ONE)
        yield from _on_ranges(losses, constants, Adjacency.REPLACE_ONE)
        yield from _on_means(losses, constants)
    alone = losses.constants(Adjacency.ADD_REMOVE)
    if losses.nothing is not None:
        for precision, constants in alone:
            yield from _on_gaps(losses, constants, precision, Adjacency.ADD_REMOVE)
            yield from _on_ranges(losses, constants, Adjacency.ADD_REMOVE)
        for _, constants in (alone or losses.constants(Adjacency.REPLACE_ONE))[:1]:
            yield from _on_curvature(losses, constants)
    if isinstance(losses.posteriors[0], GibbsPosterior):
        yield Gradient(losses, "gradient", 1e-3, "the gradient is not the derivative of the potential")
        yield from _on_loss(losses, losses.posteriors[0].loss)


def _on_gaps(losses: RecordLosses, constants: Constants, precision: Floats, adjacency: Adjacency) -> Iterator[Attack]:
    if constants.lipschitz is None and constants.difference_lipschitz is None:
        return
    gaps = constants.gap_blocks(adjacency)
    curvature = constants.curvature_blocks(1.0, 0)
    curvature = curvature * len(gaps) if len(curvature) == 1 else curvature
    limit = math.sqrt(sum(gap**2 / m for gap, m in zip(gaps, curvature, strict=True)))
    if adjacency == Adjacency.REPLACE_ONE:
        statement = "gradient of the difference of two records' losses"
        yield GradientSize(losses, "difference_lipschitz", limit, statement, precision)
    else:
        yield SingleGradient(losses, "lipschitz", limit, "gradient of one record's loss", precision)


def _on_ranges(losses: RecordLosses, constants: Constants, adjacency: Adjacency) -> Iterator[Attack]:
    names = ("difference_range", "difference_bound", "loss_range", "loss_interval", "loss_bound", "sensitivity")
    if all(getattr(constants, name) is None for name in names):
        return
    width = loss_difference_range(constants, adjacency)
    if adjacency == Adjacency.REPLACE_ONE:
        yield Range(losses, "difference_range", width, "range over the parameters of a difference of losses")
    else:
        yield SingleRange(losses, "loss_range", width, "range over the parameters of one record's loss")


def _on_means(losses: RecordLosses, constants: Constants) -> Iterator[Attack]:
    """Means of bounded records: the gradient of a loss difference is the difference of two records, in the user's units."""
    if constants.record_radius is None:
        return
    width = losses.model.parameters
    unit = np.diagonal(losses.model.to_original(np.eye(width)) - losses.model.to_original(np.zeros((width, width))))
    yield GradientSize(
        losses, "record_radius", 2 * constants.record_radius, "distance of two records", np.asarray(unit, dtype=np.float64) ** 2
    )


def _on_curvature(losses: RecordLosses, constants: Constants) -> Iterator[Attack]:
    if constants.record_radius is not None:
        return  # in the user's units, and the same for every record
    if constants.smoothness is not None:
        yield Curvature(losses, "smoothness", constants.smoothness, "change of the gradient of one record's loss", False)
    if constants.convex:
        least = constants.loss_strong_convexity
        yield Curvature(losses, "strong convexity", least, "curvature of one record's loss", True)


def _on_loss(losses: RecordLosses, loss: Loss) -> Iterator[Attack]:
    if math.isfinite(loss.smoothness) and loss.predictors == 1:  # of several, the attacks above see all that is declared
        yield Derivatives(losses, "derivatives", 1e-4, "a derivative of the scalar loss is not the derivative")
        if 0 < loss.self_concordance < math.inf:
            yield SelfConcordance(losses, "self_concordance", loss.self_concordance, "third over second derivative of the loss")
