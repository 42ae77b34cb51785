"""Exact draws from Dirichlet distributions whose every probability is at least a public e, many at once, in bounded time.

The target has density ∝ Π_s θ_s^{a_s − 1} on θ_s ≥ e, Σθ_s = 1. For any rate λ it is the law of independent gammas of shapes a_s
and rate λ, each trimmed to θ_s ≥ e, given that they add up to 1. So: draw all but one of them, the *pivot* p, let θ_p be what is
left, and accept with probability h(θ_p)/max h, where h(θ) = θ^{a_p − 1}e^{−λθ} on θ ≥ e; λ is taken where the envelope's mass is
least. With S states, q of them with a_s < 1, the expected number of proposals is at most e√(12S), times 2e^{2√(2q)} if q > 0, for
every data set (lemma S8 of `docs/samplers.md`). Nothing is truncated and no table is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammaln

from gibbsafe._types import Floats, Indices
from gibbsafe.posteriors.tables import TablesPosterior
from gibbsafe.posteriors.trimmed import TrimmedGamma
from gibbsafe.samplers.closed_form import draw_exactly
from gibbsafe.samplers.trimmed.values import draw_values

__all__ = ["TrimmedDirichlet"]

#: Distributions that are drawn together, over several draws.
DRAWN_ROWS = 100_000

#: Halvings of a bracket of log λ; how well λ is found changes the time taken, never the law.
HALVINGS = 40


class TrimmedDirichlet:
    """Dirichlet distributions with ``concentrations`` (k, S), every probability at least ``smallest`` (k,), below 1/S.

    >>> rare = TrimmedDirichlet(np.array([[1e6, 0.5, 0.5]]), np.array([1e-3]))  # two states never seen
    >>> rare.draw(np.zeros(1, int), np.random.default_rng(0)).round(5)
    array([[0.998, 0.001, 0.001]])
    """

    def __init__(self, concentrations: Floats, smallest: Floats) -> None:
        distinct = np.unique(np.column_stack([concentrations, smallest]), axis=0, return_inverse=True)
        rows, self._row = distinct[0], distinct[1].ravel()
        shapes, floor = rows[:, :-1], rows[:, -1]
        largest = shapes.argmax(axis=1)
        single = shapes[np.arange(len(rows)), largest] >= 1
        states = shapes.shape[1]
        # One component per row, or one per state where no shape reaches 1.
        self._first = np.concatenate([[0], np.cumsum(np.where(single, 1, states))[:-1]])
        row = np.repeat(np.arange(len(rows)), np.where(single, 1, states))
        self._pivot = np.where(single[row], largest[row], np.arange(len(row)) - self._first[row])
        self._power = shapes[row, self._pivot] - np.where(single[row], 1.0, 0.0)
        self._floor = floor[row]
        self._others = np.ones((len(row), states), dtype=bool)
        self._others[np.arange(len(row)), self._pivot] = False
        self._rate = _balancing_rate(shapes[row], self._others, self._power, self._floor)
        self._top = np.maximum(self._power / self._rate, self._floor)
        width = (1 - (states - 1) * self._floor)[:, None]
        gammas = np.broadcast_arrays(shapes[row], self._rate[:, None], self._floor[:, None], width)
        self._gammas = TrimmedGamma(*(part[self._others] for part in gammas))
        self._shares = self._mixture(single, states)

    def _mixture(self, single: npt.NDArray[np.bool_], states: int) -> Floats:
        """Return, per distinct row, the cumulated shares of its components by the masses of their envelopes."""
        shares = np.ones((len(single), states))
        mixed = np.flatnonzero(~single)
        if mixed.size:
            component = (self._first[mixed][:, None] + np.arange(states)).ravel()
            place = (component[:, None] * (states - 1) + np.arange(states - 1)).ravel()
            log_mass = self._gammas.subset(place).log_mass.reshape(len(component), states - 1).sum(axis=1)
            log_mass += self._power[component] * np.log(self._top[component])
            log_mass += self._rate[component] * (1 - self._top[component])
            masses = log_mass.reshape(len(mixed), states)
            shares[mixed] = np.cumsum(np.exp(masses - masses.max(axis=1, keepdims=True)), axis=1)
            shares[mixed] /= shares[mixed, -1:]
        return shares

    def draw(self, index: Indices, generator: np.random.Generator) -> Floats:
        """Return one exact draw (len(index), S) from each of the distributions ``index``."""
        rows = self._row[index]
        states = self._shares.shape[1]
        drawn = np.empty((len(rows), states))
        pending = np.arange(len(rows))
        while pending.size:
            row = rows[pending]
            chosen = (generator.random(len(row))[:, None] >= self._shares[row]).sum(axis=1)
            component = self._first[row] + np.minimum(chosen, states - 1)
            place = component[:, None] * (states - 1) + np.arange(states - 1)
            others = draw_values(self._gammas, place.ravel(), generator).reshape(place.shape)
            left = 1 - others.sum(axis=1)
            top = self._top[component]
            step = (left - top) / top
            inside = left >= self._floor[component]
            with np.errstate(invalid="ignore", divide="ignore"):
                log_acceptance = self._power[component] * np.log1p(step) - self._rate[component] * (left - top)
            kept = inside & (-generator.standard_exponential(len(row)) <= log_acceptance)
            full = np.empty((len(row), states))
            full[self._others[component]] = others.ravel()
            full[np.arange(len(row)), self._pivot[component]] = left
            drawn[pending[kept]] = full[kept]
            pending = pending[~kept]
        return drawn


def _balancing_rate(shapes: Floats, others: npt.NDArray[np.bool_], power: Floats, floor: Floats) -> Floats:
    """Return λ per row at which the means of the others and the mode of the pivot add up to about 1.

    A mean is at most e + max(a, 1)/λ and at least a/λ, which brackets λ.
    """
    counted = np.where(others, shapes, 0.0).sum(axis=1) + power
    room = 1 - shapes.shape[1] * floor
    high = np.log(np.where(others, np.maximum(shapes, 1.0), 0.0).sum(axis=1) + power) - np.log(room)
    low = np.log(counted)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rate = np.exp(middle)
        means = np.where(others, _trimmed_mean(shapes, rate[:, None], floor[:, None]), 0.0).sum(axis=1)
        above = means + np.maximum(power / rate, floor) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.exp(high))


def _trimmed_mean(shape: Floats, rate: Floats, floor: Floats) -> Any:
    """Return the mean of a gamma beyond ``floor``: (a + xᵃe⁻ˣ/Γ(a, x))/λ with x = λ·floor, roughly where Γ(a, x) vanishes."""
    x = rate * floor
    tail = gammaincc(shape, x)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        excess = np.exp(shape * np.log(x) - x - gammaln(shape)) / tail
    return (shape + np.where(tail > 1e-280, excess, np.maximum(x - shape + 1, 0.0))) / rate


@draw_exactly.register
def _(posterior: TablesPosterior, count: int, generator: np.random.Generator) -> Floats:
    """Draw tables with the same number of states together."""
    drawn = np.empty((count, len(posterior.counts)))
    parts = posterior.parts()
    for states in sorted({table.states for table in posterior.tables}):
        same = [part for part in parts if part[0].states == states]
        shapes = np.concatenate([shape for _, _, shape in same])
        smallest = np.concatenate([np.full(table.contexts, table.smallest) for table, _, _ in same])
        cells = np.concatenate([np.arange(cells.start, cells.stop) for _, cells, _ in same])
        law, together = TrimmedDirichlet(shapes, smallest), max(1, DRAWN_ROWS // len(shapes))
        for first in range(0, count, together):
            some = min(together, count - first)
            rows = law.draw(np.tile(np.arange(len(shapes)), some), generator)
            drawn[first : first + some, cells] = rows.reshape(some, -1)
    return drawn
