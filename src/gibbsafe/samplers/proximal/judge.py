"""Acceptance of the proximal sampler's proposals: with probability exp(−Σ D_i), by a pass or by a few records.

D_i = β·(Bregman difference of record i's loss between z_iᵀx̂ and z_iᵀx̂ + z_iᵀd) ≥ 0 for the step d from the tangent point x̂.

**Rounding.** Every decision is that of the precise differences (`models.bregman`): a quick sum decides only where it is further
from the threshold than its error, `QUICK_ROUNDING`·βN·max|z|·|d|. The precise sum has non-negative terms, each within ROUNDING·u
(u = 2⁻⁵³) of ½βs(z_iᵀd)² besides the error p·u·|z||d| of z_iᵀd; docs/samplers.md, *Proximal sampler*, adds them up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe.data.blocks import targets_of, weights_of
from gibbsafe.losses.base import Loss
from gibbsafe.losses.bregman import QUICK_ROUNDING, bregman, quick_bregman
from gibbsafe.losses.weighted import WeightedLoss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.proximal.thinning import RandomAccess, random_access

__all__ = ["Judge"]

Decisions: TypeAlias = npt.NDArray[np.bool_]
Difference: TypeAlias = Callable[[Loss, Floats, Floats, Floats | None], Floats]

#: Looking up one record costs about as much as reading this many in a row.
LOOK_UP = 6
#: Predictors of a block that stay in cache, and the fewest rows worth a block.
CELLS = 1 << 14
FEWEST_ROWS = 64


class Judge:
    """Decides proposals; ``metric`` is the diagonal of M, ``largest`` the largest |z|² = Σ_j z_j²/M_j of a row."""

    def __init__(self, posterior: GibbsPosterior, metric: Floats, largest: float, typical_square: float) -> None:
        self.posterior = posterior
        self.metric = metric
        loss = posterior.loss
        self.loss: Loss = loss.loss if isinstance(loss, WeightedLoss) else loss
        self.beta = posterior.inverse_temperature
        #: D_i ≤ bound·|d|² for every record.
        self.bound = 0.5 * self.beta * self.loss.smoothness * largest * (1 + 1e-9)
        self.margin = QUICK_ROUNDING * self.beta * max(1.0, self.loss.lipschitz) * np.sqrt(largest)
        looked_up = self.bound * posterior.data.n_rows * typical_square
        self.records: RandomAccess | None = None
        if LOOK_UP * looked_up + FEWEST_ROWS < posterior.rows_per_pass:
            self.records = random_access(posterior.data)

    def accept(self, tangents: Floats, steps: Floats, patience: Floats, generator: np.random.Generator) -> Decisions:
        """Which steps (k, p) are accepted: those with Σ D_i ≤ patience; ``tangents`` (k, p), or (1, p) for all of them.

        ``patience`` is exponential, less what else is to be paid; where records are looked up only its sign counts.
        """
        lengths = np.square(steps) @ self.metric
        if self.records is None:
            return self._by_pass(tangents, steps, lengths, patience)
        accepted = patience >= 0
        if not accepted.all():
            tangents = tangents if len(tangents) == 1 else tangents[accepted]
            steps, lengths = steps[accepted], lengths[accepted]
        accepted[accepted] = self._by_records(self.records, tangents, steps, lengths, generator)
        return accepted

    def _by_pass(self, tangents: Floats, steps: Floats, lengths: Floats, patience: Floats) -> Decisions:
        total = self._sum(quick_bregman, tangents, steps)
        unsure = self.margin * self.posterior.data.n_rows * np.sqrt(lengths)
        accepted = total <= patience
        close = _close(total, patience, unsure)
        if close.any():
            which = np.flatnonzero(close)
            precise = self._sum(bregman, np.broadcast_to(tangents, steps.shape)[which], steps[which])
            accepted[which] = precise <= patience[which]
        return np.asarray(accepted)

    def _sum(self, difference: Difference, tangents: Floats, steps: Floats) -> Floats:
        """Σ D_i of each step."""
        at, along = np.ascontiguousarray(tangents.T), np.ascontiguousarray(steps.T)
        differences = partial(_differences, difference, self.loss, at, along)
        (total,) = self.posterior.data.reduce(differences, max(FEWEST_ROWS, min(4096, CELLS // len(steps))))
        return np.asarray(self.beta * total)

    def _by_records(
        self, records: RandomAccess, tangents: Floats, steps: Floats, lengths: Floats, generator: np.random.Generator
    ) -> Decisions:
        """Thinning: see `samplers.thinning`."""
        accepted = np.ones(len(steps), dtype=bool)
        bounds = self.bound * lengths
        counts = generator.poisson(bounds * records.n_rows)
        owner = np.repeat(np.arange(len(steps)), counts)
        if not owner.size:
            return accepted
        rows, targets = records.take(generator.integers(0, records.n_rows, owner.size))
        if len(tangents) == 1:
            at, along = rows @ tangents[0], (rows * steps[owner]).sum(axis=1) if len(steps) > 1 else rows @ steps[0]
        else:
            at, along = (np.einsum("ij,ij->i", rows, points[owner]) for points in (tangents, steps))
        thresholds = generator.random(owner.size)
        thresholds *= bounds[owner]
        with np.errstate(over="ignore", invalid="ignore"):
            differences = self.beta * quick_bregman(self.loss, at, along, targets)
            close = _close(differences, thresholds, self.margin * np.sqrt(lengths)[owner])
        if close.any():
            kept = None if targets is None else targets[close]
            differences[close] = self.beta * bregman(self.loss, at[close], along[close], kept)
        accepted[owner[thresholds < differences]] = False
        return accepted


def _differences(  # noqa: PLR0917 - what a block needs, then the block
    difference: Difference, loss: Loss, at: Floats, along: Floats, rows: Floats, y: Floats | None
) -> tuple[Floats]:
    with np.errstate(over="ignore", invalid="ignore"):
        each = difference(loss, rows @ at, rows @ along, targets_of(y))
    weights = weights_of(y)
    return (each.sum(axis=0) if isinstance(weights, float) else weights @ each,)


def _close(quick: Floats, threshold: Floats, margin: Floats) -> Decisions:
    """Where a quick value does not decide: within its error of the threshold, or overflowed (then it says nothing at all)."""
    return np.asarray(~(np.isfinite(quick) & (np.abs(quick - threshold) > margin)))
