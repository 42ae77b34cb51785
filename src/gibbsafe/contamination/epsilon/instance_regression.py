"""One data set, several parameters: Algorithm 1 literally, its sound version, the coupled bound and the Gaussian shortcut."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e

from gibbsafe._types import Floats
from gibbsafe.contamination.epsilon.radius import CAUTION, normal_radius, solve_radius
from gibbsafe.contamination.epsilon.search import maximise
from gibbsafe.contamination.epsilon.suprema import Setting, rise, setting, spread
from gibbsafe.contamination.model.likelihoods import log_mixture
from gibbsafe.contamination.model.models import ContaminatedModel, Records
from gibbsafe.contamination.posterior.halfspaces import Outside, box_directions, cloud_of, diamond_directions
from gibbsafe.contamination.posterior.posterior import Laplace
from gibbsafe.errors import PremiseError
from gibbsafe.privacy.profiles import gaussian_epsilon

__all__ = ["RegressionInstance", "literal_epsilon"]


def _scales(at: Setting, phi: float) -> tuple[float, float] | None:
    """Return the interval of scales within φ of the reference, on the log scale."""
    if not at.model.unknown_scale:
        return None
    return at.reference_scale * math.exp(-phi), at.reference_scale * math.exp(phi)


@dataclass(frozen=True, eq=False)
class _Moments:
    """Largest |E(θ − c)ᵀw| and E((θ − c)ᵀw)² over covariates, with errors added."""

    first: float
    second: float


@dataclass(frozen=True, eq=False)
class RegressionInstance:
    """The posterior given D around its mode, which is the reference point."""

    posterior: Laplace
    at: Setting
    generator: np.random.Generator

    @property
    def model(self) -> ContaminatedModel:
        """The model."""
        return self.at.model

    def gaussian(self, delta: float, adjacency: str) -> float:
        """Return ε of the normal approximation: μ = 2S max_w sd(θᵀw), S the largest score. An approximation, not a bound."""
        width = math.sqrt(self._widest(self.posterior.covariance))
        steepest = self.largest_score()
        return gaussian_epsilon((1 if adjacency == "add-remove" else 2) * steepest * width, delta)

    def largest_score(self) -> float:
        """Return S, the largest |∂ log k_p/∂u| over all records."""
        step = 1e-4 * self.at.reference_scale
        up, down = spread(self.at, step)
        return max(up, -down) / step

    def _widest(self, matrix: Floats) -> float:
        """Return the largest wᵀMw over covariates: at a corner, since it is convex."""
        d = self.model.dimension
        corners = diamond_directions(d) if d <= 14 else np.sign(np.linalg.eigh(matrix)[1].T)
        return float((corners @ matrix[:d, :d] * corners).sum(axis=1).max())

    def moments(self, outside: Outside, radius: float) -> _Moments:
        """Return bounds on the first two moments of (θ − c)ᵀw within A, by weighted antithetic draws plus standard errors.

        |E a 1_A| ≤ |E a| + E |a| 1_{A^c}: the second term comes from the points outside the smallest A considered.
        """
        cloud = cloud_of(self.posterior, self.generator, 1000)
        log_weight = self.posterior.correction(cloud)
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        h = (cloud - self.posterior.mode)[:, : self.model.dimension]
        first = weight @ h
        pairs = weight[:, None] * (h - first)
        half = len(cloud) // 2
        error = np.sqrt(((pairs[:half] + pairs[half:]) ** 2).sum(axis=0))
        second = (h * weight[:, None]).T @ h
        effective = 1 / float((weight**2).sum())
        points, share = outside.draw(radius)
        beyond = 1.5 * float(share @ np.abs(points - self.posterior.mode).sum(axis=1))
        return _Moments(
            float((np.abs(first) + CAUTION * error).sum()) + beyond,
            self._widest(second) * (1 + CAUTION * math.sqrt(2 / effective)),
        )

    def bound(self, delta: float, adjacency: str, *, coupled: bool) -> float:
        """Return a bound on ε: box and separate suprema, or (``coupled``) L1 ball and both at the same record."""
        if coupled and self.model.unknown_scale:
            raise PremiseError("method = 'tight': the coupled bound is for a known scale; use method='sound'")
        d = self.model.dimension
        directions = diamond_directions(d) if coupled else box_directions(self.model.parameters)
        factor = 1.0 if coupled else float(d)
        outside = Outside.of(self.posterior, self.posterior.mode, directions, self.generator)
        widest = math.sqrt(float((self.posterior.covariance @ directions.T * directions.T).sum(axis=0).max()))
        first = solve_radius(
            lambda r: float(outside.draw(r)[1].sum()), delta, normal_radius(widest, len(directions), delta), widest
        )
        error = self._boundary_error(outside, first)
        sizes = first * np.array([0.9, 0.97, 1.0, 1.03, 1.07, 1.12, 1.2, 1.35, 1.6, 2.2, 4.0, 9.0])
        rises = np.full(len(sizes) + 1, math.nan)  # found where a draw asks for them
        rises[-1] = math.inf  # beyond the largest size, which no draw reaches
        smooth = self.model.likelihood.smooth and not self.model.unknown_scale
        moments = self.moments(outside, first) if smooth else _Moments(math.inf, math.inf)  # where Taylor's formula is used
        bottom = self._mean_bounds(factor * first * 1.1, moments, 2 * delta, _scales(self.at, first * 1.1))[1]

        def tail(radius: float) -> float:
            points, weight = outside.draw(radius)
            size = ((points - self.posterior.mode) @ directions.T).max(axis=1)
            place = np.searchsorted(sizes, size)
            for k in np.unique(place[np.isnan(rises[place])]):
                rises[k] = rise(self.at, factor * sizes[k], _scales(self.at, sizes[k]))
            lifted = np.where(weight > 0, weight * np.exp(rises[place] - bottom + error), 0.0)
            scatter = math.sqrt(float(np.maximum((lifted**2).sum() - lifted.sum() ** 2 / len(lifted), 0)))
            return float(lifted.sum()) + CAUTION * scatter

        radius = solve_radius(tail, delta, first, widest)
        scales = _scales(self.at, radius)
        if coupled:
            return self._coupled(radius, moments, delta, adjacency)
        up, down = spread(self.at, factor * radius, scales)
        top, bottom = self._mean_bounds(factor * radius, moments, delta, scales)
        return max(up - bottom, top - down) if adjacency == "add-remove" else up - down + top - bottom

    def _boundary_error(self, outside: Outside, radius: float) -> float:
        """Return the surrogate's largest error at twenty points on the boundary, by direct evaluation."""
        if not self.posterior.surrogate:
            return 0.0
        points, weight = outside.draw(radius)
        heaviest = np.argsort(weight)[::-1][:20]
        return self.posterior.error_at(points[heaviest])

    def _curvatures(self, r: Floats, v: Floats, reach: float) -> tuple[Floats, Floats, Floats]:
        """Return |score|, and the least and largest second derivative of d(x; θ) over |a| ≤ R, all relative to k_p."""
        at, kernel = self.at, self.model.likelihood
        if kernel.labels:
            x, u = np.ones(np.shape(r)), r
            log_k = log_mixture(kernel.log_f(x, u), np.full(np.shape(r), -math.log(2)), at.p)
            roots = [np.clip(root, u - reach, u + reach) for root in (-math.log(2 + math.sqrt(3)), math.log(2 + math.sqrt(3)))]
            points = np.stack([kernel.ratios(x, a)[1] * np.exp(kernel.log_f(x, a)) for a in (u - reach, u + reach, *roots)])
            low, high = points.min(axis=0), points.max(axis=0)
        else:
            x, u, zero = r, np.zeros(np.shape(r)), np.zeros(np.shape(r))
            log_k = at.log_k(r, v)
            low, high = kernel.curvature_range(r, zero - reach, zero + reach, at.reference_scale)
        share = (1 - at.p) * np.exp(-log_k)
        score = np.abs(kernel.ratios(x, u, at.reference_scale)[0]) * np.exp(kernel.log_f(x, u, at.reference_scale)) * share
        return score, low * share, high * share

    def _axes(self, reach: float) -> list[Floats]:
        if self.model.likelihood.labels:
            low, high = self.at.locations
            widest = max(abs(low), abs(high))
            return [np.linspace(-widest, widest, 401)]  # label 0 is label 1 mirrored
        return self.at.axes(reach, self.at.reference_scale)

    def _log_means(self, r: Floats, v: Floats, reach: float, moments: _Moments, tail: float) -> tuple[Floats, Floats]:
        """Return an upper and a lower bound on log E d at a record: Taylor's formula on A, and the share of its complement.

        E d 1_{A^c} = P(A^c|D ∪ x) E d ≤ tail·E d, so that E d ≤ E[d 1_A]/(1 − tail); and E d ≥ E[d 1_A].
        """
        score, low, high = self._curvatures(r, v, reach)
        upper = 1 + moments.first * score + 0.5 * moments.second * np.maximum(high, 0)
        lower = 1 - moments.first * score + 0.5 * moments.second * np.minimum(low, 0) - tail
        return np.log(upper) - math.log1p(-tail), np.where(lower > 0, np.log(np.maximum(lower, 1e-300)), -np.inf)

    def _crude(self, reach: float, tail: float, scales: tuple[float, float] | None) -> tuple[float, float]:
        """Return bounds on log E d from the range of d on A alone (Proposition 1, (5))."""
        up, down = spread(self.at, reach, scales)
        return up - math.log1p(-tail), down + math.log1p(-tail)

    def _mean_bounds(
        self, reach: float, moments: _Moments, delta: float, scales: tuple[float, float] | None
    ) -> tuple[float, float]:
        """Return bounds on log sup E d and log inf E d."""
        tail = min(delta, 0.5)
        top, bottom = self._crude(reach, tail, scales)
        if self.model.likelihood.smooth and scales is None:
            axes = self._axes(reach)

            def bounds(r: Floats, *rest: Floats) -> tuple[Floats, Floats]:
                return self._log_means(r, self.at.shift_of(rest), reach, moments, tail)

            top = min(top, maximise(lambda *z: bounds(*z)[0], axes)[0])
            bottom = max(bottom, -maximise(lambda *z: -bounds(*z)[1], axes)[0])
        return top, bottom

    def _coupled(self, reach: float, moments: _Moments, delta: float, adjacency: str) -> float:
        """Return sup_x log d/E d − inf_z log d/E d with |(θ − c)ᵀw| ≤ R in both."""
        at, kernel = self.at, self.model.likelihood
        tail = min(delta, 0.5)
        crude_top, crude_bottom = self._crude(reach, tail, None)
        if not kernel.smooth:
            up, down = spread(at, reach)
            return max(up - crude_bottom, crude_top - down) if adjacency == "add-remove" else up - down + crude_top - crude_bottom

        def log_d(r: Floats, v: Floats, sign: int) -> tuple[Floats, Floats]:
            if kernel.labels:
                x, half = np.ones(np.shape(r)), np.full(np.shape(r), -math.log(2))
                moved = log_mixture(kernel.log_f(x, r + sign * reach), half, at.p)
                return moved, log_mixture(kernel.log_f(x, r), half, at.p)
            ends = np.array(-reach), np.array(reach)
            a = (kernel.nearest if sign > 0 else kernel.farthest)(r, *ends)
            return log_mixture(at.log_f(r, a), at.log_g(r, v), at.p), at.log_k(r, v)

        def side(sign: int) -> Callable[..., Floats]:
            def value(r: Floats, *rest: Floats) -> Floats:
                v = at.shift_of(rest)
                moved, still = log_d(r, v, sign)
                upper, lower = self._log_means(r, v, reach, moments, tail)
                mean = np.maximum(lower, crude_bottom) if sign > 0 else np.minimum(upper, crude_top)
                return sign * (moved - still - mean)

            return value

        rise, fall = (maximise(side(sign), self._axes(reach))[0] for sign in (1, -1))
        return max(rise, fall) if adjacency == "add-remove" else rise + fall


def literal_epsilon(
    model: ContaminatedModel,
    records: Records,
    posterior: Laplace,
    p: float,
    truth: Floats,
    *,
    delta: float,
    particles: int | None,
    generator: np.random.Generator,
    adjacency: str = "replace-one",
) -> float:
    """Return ε̂ of one data set by Algorithm 1 as printed: box at θ*, mass at the observed records.

    ``particles=None`` finds the box's size by half-spaces instead of particles. The expectations E d are those of the normal
    approximation, by Gauss–Hermite quadrature at the corners of the covariates' cube.
    """
    at = setting(model, p, truth, truth)
    if particles is None:
        outside = Outside.of(posterior, truth, box_directions(model.parameters), generator)
        widest = math.sqrt(float(np.diag(posterior.covariance).max()))
        phi = solve_radius(lambda r: float(outside.draw(r)[1].sum()), delta, 4 * widest, widest)
    else:
        cloud = (
            posterior.mode + generator.standard_normal((particles, model.parameters)) @ np.linalg.cholesky(posterior.covariance).T
        )
        log_weight = posterior.correction(cloud)
        weight = np.exp(log_weight - log_weight.max())
        distance = np.abs(cloud - truth).max(axis=1)
        order = np.argsort(distance)[::-1]
        index = int(np.searchsorted(np.cumsum(weight[order]) / weight.sum(), delta, side="left"))
        phi = float(distance[order][min(index, particles - 1)])
    up, down = spread(at, model.dimension * phi, _scales(at, phi))
    top, bottom = _corner_means(at, posterior, truth)
    return max(up - bottom, top - down) if adjacency == "add-remove" else up - down + top - bottom


def _corner_means(at: Setting, posterior: Laplace, truth: Floats) -> tuple[float, float]:
    """Return log sup and log inf of E d under the normal approximation, at the corners of the covariates' cube."""
    model = at.model
    d = model.dimension
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=min(d, 12) - 1)))
    w = np.ones((len(corners), d))
    w[:, 1 : 1 + corners.shape[1]] = corners
    shift, variance = w @ (posterior.mode - truth)[:d], (w @ posterior.covariance[:d, :d] * w).sum(axis=1)
    chosen = np.unique(np.concatenate([np.argsort(np.abs(shift))[-12:], np.argsort(variance)[-6:]]))
    node, weight = hermite_e.hermegauss(15)
    weight = weight / weight.sum()
    a = shift[chosen][:, None] + np.sqrt(variance[chosen])[:, None] * node  # corners × nodes
    locations = (w @ truth[:d])[chosen]
    if model.likelihood.labels:
        x, u = np.array([0.0, 1.0])[:, None, None], locations[:, None]
        half = np.array(-math.log(2))
        ratio = log_mixture(model.log_f(x, u + a), half, at.p) - log_mixture(model.log_f(x, u), half, at.p)
    else:
        reach = float(np.abs(a).max())
        r = at.axes(reach, at.reference_scale, 241)[0][:, None, None]
        v = locations[:, None] if at.shifts[0] != at.shifts[1] else np.zeros((len(chosen), 1))
        log_g = at.log_g(r + 0 * v, v + 0 * r)
        still = log_mixture(at.log_f(r + 0 * v, 0.0), log_g, at.p)
        ratio = log_mixture(at.log_f(r, a), log_g, at.p) - still
    mean = np.exp(ratio) @ weight
    return math.log(float(mean.max())), math.log(float(mean.min()))
