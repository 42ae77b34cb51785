"""The cells of the audit of coverage, drawn by a seed, and their populations: rows, responses, the true parameter, the oracle.

A population is a finite pool of rows, from which data sets are drawn with replacement, and a law of the response given the row.
So the true parameter, the minimiser of the expected loss *of the model itself*, is a sum and not an approximation, whether or not
the law belongs to the model; and so are curvature H and score covariance J per record.

Nothing here knows how intervals are made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

import gibbsafe as gs
from gibbsafe._types import Floats
from gibbsafe.models.base import GibbsModel
from gibbsafe.privacy.profiles import gaussian_mu

DELTA = 1e-6
#: The rows of a pool, the noise of a response in units of the loss's width, and the quantile that is asked for.
POOL, NOISE, QUANTILE = 20_000, 0.5, 0.75
#: Condition number of the second moment of ill-conditioned rows; levels per group of one-hot rows, the reference one left out.
CONDITION, LEVELS = 1e3, 5
#: Label noise of misspecified labels, and the logit that a large intercept is (regressions: widths).
FLIPS, LARGE = 0.05, {"labels": -4.0, "responses": -10.0}

#: Levels of every factor with their weights.
FACTORS: dict[str, dict[Any, float]] = {
    "model": {"logistic": 0.38, "soft hinge": 0.16, "Huber": 0.19, "quantile": 0.17, "Bernoulli logit": 0.1},
    "n": {1000: 0.3, 3000: 0.27, 10_000: 0.3, 30_000: 0.08, 100_000: 0.05},
    "d": {3: 0.2, 5: 0.25, 10: 0.2, 20: 0.25, 50: 0.1},
    "epsilon": {0.3: 0.25, 1.0: 0.3, 3.0: 0.25, 10.0: 0.2},
    "place": {"0": 0.15, "D/3": 0.25, "D": 0.2, "3D": 0.25, "intercept": 0.15},
    "draws": {0: 0.6, 1: 0.12, 5: 0.12, 30: 0.16},
    "law": {"the model's": 0.5, "other": 0.5},
    "design": {"isotropic": 0.45, "ill-conditioned": 0.3, "one-hot": 0.25},
}
#: Cells of so many records at most: what they cost. Elsewhere there is no limit.
AT_MOST = {30_000: 6, 100_000: 4}
CLASSIFIERS = ("logistic", "soft hinge")


@dataclass(frozen=True)
class Cell:
    """One setting; ``draws`` 0 is the estimate."""

    model: str
    n: int
    d: int
    epsilon: float
    place: str
    draws: int
    law: str
    design: str

    @property
    def affordable(self) -> bool:
        """Posterior draws cost most: few records and columns, and fewer records at large ε."""
        most = 10_000 if self.epsilon <= 1 else 3000 if self.epsilon <= 3 else 1000
        return self.draws == 0 or (self.n <= most and self.d <= 10)

    def __str__(self) -> str:
        what = "estimate" if self.draws == 0 else f"{self.draws} draw{'s' * (self.draws > 1)}"
        words = [f"n = {self.n:,}", f"d = {self.d}", f"ε = {self.epsilon:g}", f"θ* at {self.place}", what, self.law, self.design]
        return ", ".join([self.model, *words])


def cells(seed: int, number: int) -> list[Cell]:
    """Return so many different cells, drawn one factor after another; those that cost too much are drawn again."""
    rng, found = np.random.default_rng([seed, 0]), list[Cell]()
    while len(found) < number:
        drawn = {name: list(levels)[rng.choice(len(levels), p=list(levels.values()))] for name, levels in FACTORS.items()}
        cell = settled(Cell(**drawn), len(found))
        room = sum(each.n == cell.n for each in found) < AT_MOST.get(cell.n, number)
        if cell.affordable and room and cell not in found:
            found.append(cell)
    return found


def settled(cell: Cell, place: int) -> Cell:
    """Return the cell with a law that its model has: labels of another link or with flips, noise that depends on the row."""
    if cell.model == "Bernoulli logit":
        return replace(cell, d=1, law="the model's", design="none")
    if cell.law == "the model's":
        return cell
    return replace(cell, law=("flips", "other link")[place % 2] if cell.model in CLASSIFIERS else "heteroscedastic")


# -- populations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels 0 and 1; the second has this probability, row by row."""

    chance: Floats

    def sample(self, rows: Any, rng: np.random.Generator) -> Any:
        """Return labels of these rows."""
        return (rng.random(len(rows)) < self.chance[rows]).astype(int)

    def nodes(self) -> list[tuple[Floats, Floats | None, float]]:
        """Return weights, responses and signs of rows: what expectations are sums over."""
        return [(self.chance, None, 1.0), (1 - self.chance, None, -1.0)]


@dataclass(frozen=True, eq=False)
class Responses:
    """Normal responses with this mean and standard deviation, row by row."""

    mean: Floats
    scale: Floats

    def sample(self, rows: Any, rng: np.random.Generator) -> Any:
        """Return responses of these rows."""
        return self.mean[rows] + self.scale[rows] * rng.standard_normal(len(rows))

    def nodes(self) -> list[tuple[Floats, Floats | None, float]]:
        """As above, by Gauss–Hermite quadrature."""
        places, weights = hermegauss(48)
        weights = weights / weights.sum()
        return [(np.full(len(self.mean), w), self.mean + x * self.scale, 1.0) for x, w in zip(places, weights, strict=True)]


@dataclass(frozen=True, eq=False)
class Population:
    """A pool of rows with the law of the response; the true parameter in scaled units, H and J per record at it."""

    model: GibbsModel
    features: Floats | None
    law: Labels | Responses
    truth: Floats
    curvature: Floats
    scores: Floats

    @property
    def original(self) -> Floats:
        """The true parameter in the user's units."""
        return np.asarray(self.model.to_original(self.truth[None])[0])

    @property
    def distance(self) -> float:
        """|θ*| in units of D = 3√p."""
        return float(np.linalg.norm(self.truth)) / (3 * math.sqrt(self.model.parameters) * self.model.parameter_scale)

    def sample(self, n: int, rng: np.random.Generator) -> Any:
        """Return a data set of n records."""
        pool = 1 if self.features is None else len(self.features)
        rows = rng.integers(pool, size=n)
        response = self.law.sample(rows, rng)
        return response if self.features is None else (self.features[rows], response)

    def deviations(self, n: int, epsilon: float) -> tuple[Floats, Floats]:
        """Return standard deviations, in the user's units, of the oracle and of the fit without privacy.

        The oracle knows H and J and spends all of the budget on one perturbed objective: H⁻¹(J + σ²I)H⁻¹, σ = G/μ. Of a parameter
        that no number of rows tells (H is singular along it) nobody knows anything: nan.
        """
        p = self.model.parameters
        factor = 1.0 if isinstance(self.model, gs.models.BernoulliLogit) else 2.0  # two outcomes differ by exactly θ
        noise = factor * self.model.loss.lipschitz / gaussian_mu(epsilon, DELTA)
        directions = (self.model.to_original(np.eye(p)) - self.model.to_original(np.zeros((1, p)))).T
        solved = directions @ np.linalg.pinv(n * self.curvature, rcond=1e-12, hermitian=True)
        lost = np.linalg.norm(directions - n * solved @ self.curvature, axis=1) > 1e-6 * np.linalg.norm(directions, axis=1)
        inside = (n * self.scores + noise**2 * np.eye(p), n * self.scores)
        oracle, plain = (np.sqrt(np.einsum("ij,jk,ik->i", solved, middle, solved)) for middle in inside)
        return np.where(lost, np.nan, oracle), np.where(lost, np.nan, plain)


def population_of(cell: Cell, seed: int) -> Population:
    """Return the cell's population."""
    rng = np.random.default_rng([seed, 1])
    features, model = _features(cell, rng)
    rows = np.ones((1, 1)) if features is None else model.encode_features(features)  # type: ignore[attr-defined]
    placed = _placed(cell, model, rng)
    return settle(model, features, rows, _law(cell, model, rows, placed, rng), placed)


def settle(model: GibbsModel, features: Floats | None, rows: Floats, law: Labels | Responses, start: Floats) -> Population:
    """Return the population of these rows and this law: its true parameter by Newton steps, H and J there."""
    truth, value = start.copy(), math.inf
    for _ in range(200):
        now, gradient, curvature, scores = _moments(model, rows, law, truth)
        step = np.linalg.lstsq(curvature, gradient, rcond=1e-12)[0]
        if float(gradient @ step) < 1e-18 * max(1.0, now):
            return Population(model, features, law, truth, curvature, scores)
        while _moments(model, rows, law, truth - step)[0] > now and np.linalg.norm(step) > 1e-12:
            step /= 2
        if now >= value:  # no more digits
            return Population(model, features, law, truth, curvature, scores)
        truth, value = truth - step, now
    raise RuntimeError("no minimiser of the expected loss after 200 steps")


def _moments(model: GibbsModel, rows: Floats, law: Labels | Responses, theta: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Expected loss, gradient, curvature and second moment of scores, per record."""
    u, loss = rows @ theta, model.loss
    value, slope, bend, square = 0.0, np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    for weight, response, sign in law.nodes():
        at = sign * u
        steep = loss.slope(at, response)
        value += float(np.mean(weight * loss.value(at, response)))
        slope += weight * sign * steep
        bend += weight * loss.curvature(at, response)
        square += weight * steep**2
    n = len(rows)
    return value, slope @ rows / n, rows.T @ (rows * bend[:, None]) / n, rows.T @ (rows * square[:, None]) / n


def _features(cell: Cell, rng: np.random.Generator) -> tuple[Floats | None, GibbsModel]:
    if cell.model == "Bernoulli logit":
        return None, gs.models.BernoulliLogit()
    kind, options = {
        "logistic": (gs.models.LogisticRegression, {}),
        "soft hinge": (gs.models.SoftHinge, {}),
        "Huber": (gs.models.PseudoHuberRegression, {}),
        "quantile": (gs.models.SoftQuantileRegression, {"quantile": QUANTILE}),
    }[cell.model]
    d = cell.d
    if cell.design == "one-hot":
        return _one_hot(d, rng), kind(dimension=d, bounds=((0.0, 1.0),) * d, **options)
    rows = rng.standard_normal((POOL, d))
    if cell.design == "ill-conditioned":
        spread = np.geomspace(1, 1 / CONDITION, d)
        turned = np.linalg.qr(rng.standard_normal((d, d)))[0]
        rows = (rows * np.sqrt(spread * d / spread.sum())) @ turned.T
    rows *= np.minimum(1, math.sqrt(d) / np.linalg.norm(rows, axis=1))[:, None]
    return rows, kind(dimension=d, radius=math.sqrt(d), **options)


def _one_hot(d: int, rng: np.random.Generator) -> Floats:
    """Columns of 0 and 1 in groups; each level half as frequent as the one before, the first without a column."""
    groups = []
    for start in range(0, d, LEVELS):
        width = min(LEVELS, d - start)
        chances = 0.5 ** np.arange(width + 1)
        level = rng.choice(width + 1, size=POOL, p=chances / chances.sum())
        groups.append(level[:, None] == np.arange(1, width + 1))
    return np.hstack(groups).astype(float)


def _placed(cell: Cell, model: GibbsModel, rng: np.random.Generator) -> Floats:
    """Return where the law's own parameter lies, in scaled units."""
    p = model.parameters
    radius = 3 * math.sqrt(p) * model.parameter_scale
    direction = rng.standard_normal(p)
    if cell.place == "intercept":
        large = LARGE["labels"] if model.loss.margin else LARGE["responses"] * model.parameter_scale
        direction[-1] = 0.0
        original = model.to_original(radius / 3 * direction[None] / max(float(np.linalg.norm(direction)), 1e-12))
        original[0, -1] = large
        return np.asarray(model.from_original(original)[0])
    share = {"0": 0.0, "D/3": 1 / 3, "D": 1.0, "3D": 3.0}[cell.place]
    return np.asarray(share * radius * direction / np.linalg.norm(direction))


def _law(cell: Cell, model: GibbsModel, rows: Floats, placed: Floats, rng: np.random.Generator) -> Labels | Responses:
    """Return the law of responses. For labels, the model's is that whose scores have mean 0 at θ*, row by row."""
    u, loss = rows @ placed, model.loss
    if loss.margin:
        if cell.law == "other link":
            return Labels(np.clip(-np.expm1(-np.exp(np.minimum(u, 30.0))), 0.0, 1.0))  # complementary log-log
        here, there = np.abs(loss.slope(u)), np.abs(loss.slope(-u))
        chance = expit(u) if cell.model != "soft hinge" else there / (here + there)
        return Labels(FLIPS + (1 - 2 * FLIPS) * chance if cell.law == "flips" else chance)
    scale = np.full(len(rows), NOISE * model.parameter_scale)
    if cell.law == "heteroscedastic":
        tilt = rng.standard_normal(len(placed))
        scale *= np.exp(np.clip(0.5 * math.sqrt(len(placed)) * (rows @ tilt) / np.linalg.norm(tilt), -2.0, 2.0))
    return Responses(u, scale)
