"""The field on which declared constants are attacked: records of the declared domain, parameters, losses of single records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.audit.records import blend, corners_of, hostile_copies, join
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import DomainError, GibbsafeError, PremiseError
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.protocols import Posterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers import can_draw, draw_exactly
from gibbsafe.theorems import Constants, Kind

__all__ = ["RecordLosses"]


class RecordLosses:
    """Losses ℓ(θ, x) = U of one record − U of none, at β = 1, in the scaled parameters that constants refer to.

    ``broken`` collects records inside the machine's numbers on which the model fails with anything but a refusal.
    """

    def __init__(self, model: Model, records: Sequence[object] | None, generator: np.random.Generator) -> None:
        self.model, self.generator = model, generator
        corners = corners_of(model) if records is None else list(records)
        precision = (1.0,) * model.parameters if model.kind is Kind.GIBBS else ()
        self.stage = Stage(1.0, precision, (0.0,) * model.parameters, 1)
        self.broken: list[tuple[object, str]] = []
        self.evaluations = 0
        self.records: list[object] = []
        self.posteriors: list[Posterior] = []
        for record in [*corners, *self._blends(corners), *self._hostile(corners)]:
            self._admit(record, "error")
        for record in (copy for corner in corners[:2] for copy in hostile_copies(corner, invalid=True)):
            self._admit(record, "replace")
        if len(self.records) < 2:
            raise GibbsafeError("records: at least two that the model can read are needed")
        self.nothing = self._nothing(corners[0])
        self.thetas = self._parameters()

    # -- records -------------------------------------------------------------------------------------------------

    def _blends(self, corners: list[object]) -> list[object]:
        """Random records between corners."""
        pairs = self.generator.integers(0, len(corners), (40, 2))
        return [blend(corners[i], corners[j], float(self.generator.random())) for i, j in pairs]

    def _hostile(self, corners: list[object]) -> list[object]:
        return [copy for corner in corners for copy in hostile_copies(corner)]

    def _admit(self, record: object, on_invalid: str) -> None:
        try:
            with np.errstate(over="raise", invalid="raise"):
                posterior = self._posterior(record, on_invalid)
        except DomainError:
            return  # outside the declared domain, and refused
        except (GibbsafeError, ArithmeticError, ValueError) as error:
            self.broken.append((record, f"{type(error).__name__}: {error}"))
            return
        self.records.append(record)
        self.posteriors.append(posterior)

    def _posterior(self, data: object, on_invalid: str) -> Posterior:
        blocks = self.model.encode(data, EncodingOptions(on_invalid))
        return self.model.posterior(blocks, self.stage, np.zeros(self.model.parameters))

    def _nothing(self, record: object) -> Posterior | None:
        """Return the posterior of no records, or None for a model that cannot say."""
        try:
            return self._posterior(join([(record, 0)]), "error")
        except (GibbsafeError, ArithmeticError, ValueError, IndexError):
            return None

    @property
    def no_records(self) -> Posterior:
        """The posterior of no records, for attacks that are only made where there is one."""
        assert self.nothing is not None
        return self.nothing

    # -- parameters ----------------------------------------------------------------------------------------------

    def _parameters(self, size: int = 240) -> Floats:
        """Random parameters over many scales, inside the support or the parameter ball."""
        rng, width = self.generator, self.model.parameters
        ball, scale = self.ball, self.model.parameter_scale if isinstance(self.model, GibbsModel) else 1.0
        if ball is not None:
            points = rng.standard_normal((size, width))
            points *= ball * np.minimum(1.0, rng.random((size, 1)) * 2) / np.linalg.norm(points, axis=1, keepdims=True)
            return np.asarray(points)
        low, high = self.posteriors[0].support
        finite_low, finite_high = np.isfinite(low), np.isfinite(high)
        free = scale * 10 ** rng.uniform(-1, 3, (size, 1)) * rng.standard_normal((size, width))
        free[0] = 0.0
        inside = np.where(finite_low & finite_high, 0.0, free)
        with np.errstate(invalid="ignore", over="ignore"):
            share = rng.beta(0.3, 0.3, (size, width))
            inside = np.where(finite_low & finite_high, low + share * (high - low), inside)
            inside = np.where(finite_low & ~finite_high, low + np.abs(free), inside)
            inside = np.where(~finite_low & finite_high, high - np.abs(free), inside)
        if can_draw(self.posteriors[0]):
            inside = np.concatenate([inside, draw_exactly(self.posteriors[0], size // 2, rng)])
        return np.asarray(inside[np.isfinite(self.posteriors[0].values(inside))])

    @property
    def ball(self) -> float | None:
        """The parameter ball, of a model that has one."""
        return self.model.ball if isinstance(self.model, GibbsModel) else None

    def admitted(self, theta: Floats) -> Floats:
        """Return the parameter brought back into the ball; others are judged by their value."""
        ball = self.ball
        if ball is None:
            return theta
        return np.asarray(theta * min(1.0, ball / max(float(np.linalg.norm(theta)), 1e-300)))

    # -- losses --------------------------------------------------------------------------------------------------

    def difference(self, first: Posterior, second: Posterior, thetas: Floats) -> Floats:
        """Return U₁ − U₂: the prior cancels, what is left is a difference of losses (up to a constant)."""
        self.evaluations += 2 * len(thetas)
        with np.errstate(invalid="ignore"):
            return np.asarray(first.values(thetas) - second.values(thetas))

    def difference_gradient(self, first: Posterior, second: Posterior, thetas: Floats) -> Floats:
        """Return ∇(U₁ − U₂), from the posteriors' own gradients or by central differences."""
        if isinstance(first, GibbsPosterior) and isinstance(second, GibbsPosterior):
            self.evaluations += 2 * len(thetas)
            return np.asarray(first.gradients(thetas) - second.gradients(thetas))
        return numerical_gradient(lambda points: self.difference(first, second, points), thetas)

    # -- constants -----------------------------------------------------------------------------------------------

    def constants(self, adjacency: Adjacency) -> list[tuple[Floats, Constants]]:
        """Return declared constants under equal and unequal prior precisions, none where the adjacency is not covered."""
        width = self.model.parameters
        precisions = [np.empty(0)]
        if self.model.kind is Kind.GIBBS:
            unequal = [np.append(np.ones(width - 1), last) for last in (10.0, 0.1)] if width > 1 else []
            precisions = [np.ones(width), *unequal]
        declared = []
        for precision in precisions:
            try:
                stated = self.model.constants(precision, adjacency=adjacency, n=1, rows_per_person=1)
            except PremiseError:
                continue
            declared.append((precision, replace(stated, step=None, steps=None)))
        return declared


def numerical_gradient(function: Any, thetas: Floats, relative: float = 1e-5) -> Floats:
    """Return central differences of a function of rows."""
    columns = []
    step = relative * np.maximum(np.abs(thetas).max(axis=1), math.sqrt(relative))  # large against the rounding of large values
    for k in range(thetas.shape[1]):
        up, down = np.array(thetas), np.array(thetas)
        up[:, k] += step
        down[:, k] -= step
        with np.errstate(invalid="ignore"):
            columns.append((function(up) - function(down)) / (up[:, k] - down[:, k]))
    return np.stack(columns, axis=1)
