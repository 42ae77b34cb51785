"""The trimmed contaminated likelihood: a worst-case guarantee from contamination alone, for comparison with the Welsch loss.

With θ in a public interval A and k_p in the likelihood, log k_p(x; θ) varies by at most ln(1 + (1−p)/p·sup f/g) over A, for every
record of the real line: theorem ``contaminated-uniform``. No data distribution is assumed and the data need no contamination.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import count, open_probability, positive
from gibbsafe.contamination.epsilon.search import maximise
from gibbsafe.contamination.model.densities import Density, Envelope
from gibbsafe.contamination.model.likelihoods import NormalNoise
from gibbsafe.domains.numbers import require_finite
from gibbsafe.models.families.family import check_trim
from gibbsafe.privacy import Budget, Guarantee
from gibbsafe.randomness import use
from gibbsafe.theorems import Constants, get

__all__ = ["TrimmedMean"]


@dataclass(frozen=True, kw_only=True)
class TrimmedMean:
    """The mean of N(θ, s²) with θ uniform on public ``bounds``, contaminated likelihood, tempered by β.

    The default g, the envelope of the normal densities over A, makes sup f/g the same for every record.

    >>> mean = TrimmedMean(scale=8.0, bounds=(0.0, 100.0), rate=0.4)
    >>> round(mean.guarantee(1.0).range, 2)  # replace-one, β = 1
    4.6
    """

    bounds: tuple[float, float]
    scale: float = 1.0
    rate: float = 0.1
    density: Density | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", check_trim("bounds", self.bounds, -math.inf, math.inf))
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "rate", open_probability("rate", self.rate))
        if self.density is None:
            object.__setattr__(self, "density", Envelope(*self.bounds, self.scale))

    @property
    def density_ratio(self) -> float:
        """sup over records of sup_θ f(x; θ)/g(x): closed for the envelope, by search for other densities."""
        g = self.density
        assert g is not None
        if isinstance(g, Envelope):
            return g.ratio
        low, high = self.bounds
        NormalNoise().check_tails(g, scale=self.scale)

        def log_ratio(x: Floats) -> Floats:
            return NormalNoise().log_f(x, np.clip(x, low, high), self.scale) - g.log_density(x)

        grid = np.linspace(low - 40 * self.scale, high + 40 * self.scale, 4001)
        return math.exp(maximise(log_ratio, [grid])[0]) * (1 + 1e-9)

    def _constants(self) -> Constants:
        return Constants(contamination=self.rate, density_ratio=self.density_ratio)

    def guarantee(self, inverse_temperature: float, adjacency: str = "replace-one") -> Guarantee:
        """Return the bounded-range guarantee of one draw at β, for every data set."""
        theorem = get("contaminated-uniform")
        return theorem.guarantee(self._constants(), inverse_temperature=inverse_temperature, adjacency=adjacency)

    def calibrate(self, epsilon: float, adjacency: str = "replace-one") -> float:
        """Return the largest β with pure ε."""
        return get("contaminated-uniform").calibrate(self._constants(), Budget(epsilon), adjacency=adjacency)

    def sample(
        self,
        x: Floats,
        inverse_temperature: float,
        draws: int = 1,
        generator: np.random.Generator | None = None,
        points: int = 4001,
    ) -> Floats:
        """Draw from the tempered posterior by inverting its distribution function on a grid; for comparisons, not for release.

        The grid is refined once around its mass; how close the draws are to the posterior is not proved.
        """
        rng, _ = use(generator)
        data = np.ravel(require_finite(np.asarray(x, dtype=np.float64).reshape(-1, 1), None))
        low, high = self.bounds
        for _ in range(2):
            theta = np.linspace(low, high, points)
            log_density = inverse_temperature * self._log_likelihood(data, theta)
            heavy = np.flatnonzero(log_density > log_density.max() - 40)
            low, high = float(theta[max(heavy[0] - 1, 0)]), float(theta[min(heavy[-1] + 1, points - 1)])
        density = np.exp(log_density - log_density.max())
        cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        return np.interp(rng.random(count("draws", draws)), cumulative / cumulative[-1], theta)

    def _log_likelihood(self, x: Floats, theta: Floats) -> Floats:
        """Return Σ log(1 + (1−p)f/(p g)): log k_p up to a constant."""
        assert self.density is not None
        base = math.log((1 - self.rate) / self.rate) - self.density.log_density(x)
        kernel, total = NormalNoise(), np.zeros(len(theta))
        for k in range(0, len(x), 64):
            block = kernel.log_f(x[k : k + 64, None], theta[None, :], self.scale) + base[k : k + 64, None]
            total += np.logaddexp(0, block).sum(axis=0)
        return total
