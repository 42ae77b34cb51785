"""One data set of a model of one's own: Algorithm 1 with declared bounds, or with suprema that are searched for.

Suprema run over records (a grid of values, reaching far out, at corners and inside of the covariates' cube) and over parameters
(corners, faces and inside of the box |θ − c|_∞ ≤ φ); the best records are looked at more closely. What is found is no bound.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.contamination.epsilon.radius import CAUTION, normal_radius, solve_radius
from gibbsafe.contamination.model.likelihoods import log_mixture
from gibbsafe.contamination.model.own import OwnModel
from gibbsafe.contamination.posterior.halfspaces import Outside, box_directions, cloud_of
from gibbsafe.contamination.posterior.posterior import Laplace

__all__ = ["OwnInstance"]

#: Corners of the covariates' cube and of the box that are looked at, at most, and points inside of each.
CORNERS, INSIDE = 64, 24


@dataclass(frozen=True, eq=False)
class OwnInstance:
    """The posterior given D around a reference point c: its mode, or the truth for the printed algorithm."""

    model: OwnModel
    posterior: Laplace
    p: float
    centre: Floats
    generator: np.random.Generator

    # -- records and parameters that are looked at -------------------------------------------------------------------

    @cached_property
    def records(self) -> tuple[Floats, Floats]:
        """Return records (x, w) of the search."""
        model, rng = self.model, self.generator
        corners = _signs(model.columns - 1, rng)
        w = np.ones((len(corners), model.columns))
        w[:, 1:] = corners
        if model.columns > 1:
            inside = rng.uniform(-1, 1, size=(INSIDE // 3, model.columns))
            inside[:, 0] = 1.0
            w = np.concatenate([w, inside])
        if model.values is not None:
            x = np.asarray(model.values, dtype=np.float64)
            return np.tile(x, len(w)), np.repeat(w, len(x), axis=0)
        rows = []
        for row in w:
            drawn = np.asarray(model.sample(self.centre, np.tile(row, (400, 1)), rng), dtype=np.float64)
            low, middle, high = np.quantile(drawn, [0.25, 0.5, 0.75])
            width = max(float(high - low), 1e-9 * max(1.0, abs(float(middle))))
            far = width * np.geomspace(12.0, 1e6, 30)
            rows.append(np.concatenate([middle - far, middle + width * np.linspace(-12, 12, 161), middle + far]))
        return np.concatenate(rows), np.repeat(w, len(rows[0]), axis=0)

    def box(self, phi: float) -> Floats:
        """Return parameters of the box that are looked at."""
        d = self.model.count
        inside = self.generator.uniform(-1, 1, size=(INSIDE, d))
        return np.asarray(self.centre + phi * np.concatenate([_signs(d, self.generator), box_directions(d), inside]))

    def log_k(self, x: Floats, w: Floats, thetas: Floats) -> Floats:
        """Return log k_p of records (rows) at parameters (columns)."""
        assert self.model.contamination is not None
        log_g = np.asarray(self.model.contamination.log_density(x))
        return log_mixture(self.model.log_f_at(x, w, thetas), log_g[:, None], self.p)

    def log_d(self, x: Floats, w: Floats, thetas: Floats) -> Floats:
        """Return log k_p(x; θ)/k_p(x; c)."""
        return self.log_k(x, w, thetas) - self.log_k(x, w, self.centre[None])

    def _closer(self, values: Floats) -> tuple[Floats, Floats]:
        """Return records between the best of the search and their neighbours (none where values are few)."""
        x, w = self.records
        if self.model.values is not None:
            return x[:1], w[:1]
        best = np.argsort(values)[::-1][:4]
        steps = np.abs(x[best] - x[np.clip(best + 1, 0, len(x) - 1)])
        steps = np.minimum(steps, np.abs(x[best] - x[np.clip(best - 1, 0, len(x) - 1)]) + 1e-300)
        finer = x[best][:, None] + steps[:, None] * np.linspace(-1, 1, 33)
        return finer.ravel(), np.repeat(w[best], 33, axis=0)

    def spread(self, phi: float) -> tuple[float, float]:
        """Return (sup, inf) of log d over the box: as declared, or the largest and smallest found."""
        if self.model.bounded:
            return self.model.spread(self.centre, phi, self.p)
        thetas = self.box(phi)
        values = self.log_d(*self.records, thetas)
        up, down = values.max(axis=1), values.min(axis=1)
        again = [self.log_d(*self._closer(side), thetas) for side in (up, -down)]
        return max(float(up.max()), float(again[0].max()), 0.0), min(float(down.min()), float(again[1].min()), 0.0)

    # -- expectations under the posterior ----------------------------------------------------------------------------

    @cached_property
    def cloud(self) -> tuple[Floats, Floats]:
        """Return points of the normal approximation and their normalised weights."""
        points = cloud_of(self.posterior, self.generator, 500)
        log_weight = self.posterior.correction(points)
        weight = np.exp(log_weight - log_weight.max())
        return points, weight / weight.sum()

    def _log_means(self, x: Floats, w: Floats) -> Floats:
        """Return log E d of records."""
        points, weight = self.cloud
        with np.errstate(under="ignore"):
            return np.asarray(np.log(np.exp(self.log_d(x, w, points)) @ weight))

    def mean_range(self, phi: float, delta: float) -> tuple[float, float]:
        """Return log sup and log inf of E d.

        Declared L: −L E|θ − c| ≤ log E d ≤ log E e^(L|θ − c|) (Jensen, and the definition of L), with standard errors added.
        Another declared bound: its range on A and the mass outside. Otherwise the largest and smallest found.
        """
        if not self.model.bounded:
            means = self._log_means(*self.records)
            finer = [self._log_means(*self._closer(side)) for side in (means, -means)]
            return max(float(means.max()), float(finer[0].max())), min(float(means.min()), float(finer[1].min()))
        up, down = self.model.spread(self.centre, phi, self.p)
        top, bottom = up - math.log1p(-min(delta, 0.5)), down + math.log1p(-min(delta, 0.5))
        if self.model.lipschitz is not None:
            points, weight = self.cloud
            distance = self.model.lipschitz * np.abs(points - self.centre).max(axis=1)
            lifted = [_upper(distance, weight), _upper(np.exp(np.minimum(distance, 700.0)), weight)]
            top, bottom = min(top, math.log(lifted[1])), max(bottom, -lifted[0])
        return top, bottom

    # -- ε -----------------------------------------------------------------------------------------------------------

    def radius(self, delta: float) -> float:
        """Return φ with sup_x P(A^c|D ∪ x) ≤ δ, by half-spaces; what a record can add there is bounded like the rest."""
        outside = Outside.of(self.posterior, self.centre, box_directions(self.model.count), self.generator, 500)
        widest = math.sqrt(float(np.diag(self.posterior.covariance).max()))
        guess = normal_radius(widest, 2 * self.model.count, delta)
        first = solve_radius(lambda r: float(outside.draw(r)[1].sum()), delta, guess, widest)
        sizes = first * np.array([1.05, 1.2, 1.5, 2.5, 9.0])
        rises = np.array([*(self.spread(size)[0] for size in sizes), math.inf])
        bottom = self.mean_range(1.1 * first, 2 * delta)[1]

        def tail(radius: float) -> float:
            points, weight = outside.draw(radius)
            place = np.searchsorted(sizes, np.abs(points - self.centre).max(axis=1))
            lifted = np.where(weight > 0, weight * np.exp(np.minimum(rises[place] - bottom, 700.0)), 0.0)
            scatter = math.sqrt(float(np.maximum((lifted**2).sum() - lifted.sum() ** 2 / len(lifted), 0)))
            return float(lifted.sum()) + CAUTION * scatter

        return solve_radius(tail, delta, first, widest)

    def separate(self, phi: float, delta: float, adjacency: str) -> float:
        """Return ln η + ln sup E d − ln inf E d."""
        up, down = self.spread(phi)
        top, bottom = self.mean_range(phi, delta)
        return max(up - bottom, top - down) if adjacency == "add-remove" else up - down + top - bottom

    def coupled(self, phi: float, adjacency: str) -> float:
        """Return sup over θ of sup_x log r − inf_z log r, r = k_p(x; θ)/E k_p(x): searched."""
        thetas, means = self.box(phi), self._log_means(*self.records)
        values = self.log_d(*self.records, thetas) - means[:, None]
        parts = [values]
        for side in (values.max(axis=1), -values.min(axis=1)):
            finer = self._closer(side)
            parts.append(self.log_d(*finer, thetas) - self._log_means(*finer)[:, None])
        every = np.concatenate(parts)
        rise, fall = np.maximum(every.max(axis=0), 0.0), np.maximum(-every.min(axis=0), 0.0)
        return float((np.maximum(rise, fall) if adjacency == "add-remove" else rise + fall).max())

    def literal(self, delta: float, particles: int, adjacency: str) -> float:
        """Return ε̂ of Algorithm 1 as printed: particles, box at the reference point, mass at the observed records."""
        root = np.linalg.cholesky(self.posterior.covariance)
        cloud = self.posterior.mode + self.generator.standard_normal((particles, self.model.count)) @ root.T
        log_weight = self.posterior.correction(cloud)
        weight = np.exp(log_weight - log_weight.max())
        distance = np.abs(cloud - self.centre).max(axis=1)
        order = np.argsort(distance)[::-1]
        index = int(np.searchsorted(np.cumsum(weight[order]) / weight.sum(), delta, side="left"))
        return self.separate(float(distance[order][min(index, particles - 1)]), delta, adjacency)


def _upper(values: Floats, weight: Floats) -> float:
    """Return a weighted mean of non-negative values, and three standard errors."""
    mean = float(weight @ values)
    return mean + CAUTION * math.sqrt(float((weight**2) @ (values - mean) ** 2))


def _signs(d: int, generator: np.random.Generator) -> Floats:
    """Return all sign vectors of length d, or as many of them at random as are looked at."""
    if d == 0:
        return np.zeros((1, 0))
    if 2**d <= CORNERS:
        return np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
    return generator.choice((-1.0, 1.0), size=(CORNERS, d))
