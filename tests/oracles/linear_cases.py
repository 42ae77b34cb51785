"""Plans of losses of a linear predictor against quadrature in one parameter, and against Gaussian shifts in several."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

import gibbsafe as gs
from gibbsafe.models import GaussianPrior

from . import densities
from .adaptive import curve
from .calculus_cases import epsilons_for
from .densities import Gibbs, Rows
from .draw import Generator, either, fraction, magnitude, size
from .exact import gaussian_delta
from .suite import Case, case
from .theorem_cases import ADJACENCIES, budget_of

#: How far responses are put out, in units of the model's own: beyond it slopes are at their limits.
FAR = 1e9


@dataclass(frozen=True)
class Drawn:
    """A model with random declared numbers, its loss written down again, and what its hostile records are.

    ``response`` is one of `labels`, `far`; ``kink`` is where the loss bends, for a record (z, y); ``slopes`` are those that
    it approaches, of either sign where the response alone decides (two of them), of one where the predictor has to be far (one).
    """

    model: Any
    loss: densities.Loss
    response: Callable[[Generator, float, float, float], float]
    slopes: tuple[float, ...]
    kink: Callable[[float, float], float] | None = None
    unit: float = 1.0

    def kinks(self, z: float, y: float) -> tuple[float, ...]:
        """Parameters at which a record's loss bends."""
        return (self.kink(z, y) / z,) if self.kink is not None and z else ()

    @property
    def features(self) -> bool:
        """Whether a record has a row of its own, or 1."""
        return hasattr(self.model, "dimension")

    def record(self, rng: Generator, theta: float) -> tuple[float, float]:
        """Return a record (z, y) in scaled units: at an end of the domain, or inside; responses near, far and at the kink."""
        z = float(either(rng, 1.0, -1.0, float(rng.uniform(-1, 1)))) if self.features else 1.0
        return z, self.response(rng, z * theta, self.unit, FAR)


def labels(rng: Generator, predictor: float, unit: float, reach: float) -> float:
    """A label."""
    return float(either(rng, 1.0, -1.0))


def far(rng: Generator, predictor: float, unit: float, reach: float) -> float:
    """A number as far out as is asked for, near the predictor, or on it."""
    return float(either(rng, reach * unit, -reach * unit, predictor, predictor + unit * float(rng.normal())))


def _response_itself(z: float, y: float) -> float:
    return y


def logistic(rng: Generator, **shape: Any) -> Drawn:
    """Logistic regression."""
    return Drawn(gs.models.LogisticRegression(**shape), densities.logistic, labels, (1.0,))


def logit(rng: Generator, **shape: Any) -> Drawn:
    """A proportion on the logit scale, whatever shape is asked for."""
    return Drawn(gs.models.BernoulliLogit(), densities.logistic, labels, (1.0,))


def soft_hinge(rng: Generator, **shape: Any) -> Drawn:
    """Soft hinges of any width."""
    width = magnitude(rng, 1e-6, 1e6)
    model = gs.models.SoftHinge(**shape, width=width)
    return Drawn(model, densities.soft_hinge(width), labels, (1.0,), _response_itself)


def hinge(rng: Generator, **shape: Any) -> Drawn:
    """The hinge."""
    return Drawn(gs.models.Hinge(**shape), densities.hinge, labels, (1.0,), _response_itself)


def pseudo_huber(rng: Generator, **shape: Any) -> Drawn:
    """Pseudo-Huber losses of any width."""
    width = magnitude(rng)
    model = gs.models.PseudoHuberRegression(**shape, width=width)
    return Drawn(model, densities.pseudo_huber(width), far, (-width, width), _response_itself, width)


def pinball(rng: Generator, **shape: Any) -> Drawn:
    """Quantiles at any level and scale."""
    unit, quantile = magnitude(rng), fraction(rng)
    model = gs.models.QuantileRegression(**shape, quantile=quantile, scale=unit)
    return Drawn(model, densities.pinball(quantile), far, (-quantile, 1 - quantile), _response_itself, unit)


def soft_pinball(rng: Generator, **shape: Any) -> Drawn:
    """Soft quantiles of any width."""
    unit, quantile = magnitude(rng), fraction(rng)
    width = unit * magnitude(rng, 1e-6, 1e3)
    model = gs.models.SoftQuantileRegression(**shape, quantile=quantile, scale=unit, width=width)
    slopes = (-quantile, 1 - quantile)
    return Drawn(model, densities.soft_pinball(quantile, width), far, slopes, _response_itself, unit)


def counts(rng: Generator, **shape: Any) -> Drawn:
    """Negative binomial counts with caps and dispersions of any size."""
    cap, dispersion = size(rng, 1e4), magnitude(rng, 1e-4, 1e4)

    def response(rng: Generator, predictor: float, unit: float, reach: float) -> float:
        return float(either(rng, 0.0, float(cap), float(rng.integers(0, cap + 1))))

    model = gs.models.CountRegression(**shape, cap=cap, dispersion=dispersion)
    slopes = (float(max(cap, dispersion)),)
    return Drawn(model, densities.negative_binomial(dispersion), response, slopes, lambda z, y: math.log(dispersion))


def survival(rng: Generator, **shape: Any) -> Drawn:
    """Log-logistic times of any scale, all of them events or all of them censored."""
    scale, event = magnitude(rng, 1e-4, 1e4), bool(rng.random() < 0.7)
    model = gs.models.SurvivalRegression(**shape, scale=scale)
    slopes = (-1 / scale, 1 / scale if event else 0.0)
    return Drawn(model, densities.log_logistic(scale, event), near, slopes, _response_itself, scale)


def near(rng: Generator, predictor: float, unit: float, reach: float) -> float:
    """A log time a hundred scales away on either side, near the predictor, or on it."""
    return far(rng, predictor, unit, min(reach, 100.0))


#: Models of a linear predictor that are drawn with one parameter alone, and those that are drawn with several as well.
SINGLE = {"BernoulliLogit": logit, "Hinge": hinge, "QuantileRegression": pinball}
SEVERAL = {
    "LogisticRegression": logistic,
    "SoftHinge": soft_hinge,
    "PseudoHuberRegression": pseudo_huber,
    "SoftQuantileRegression": soft_pinball,
    "CountRegression": counts,
    "SurvivalRegression": survival,
}
ONE_PARAMETER = SINGLE | SEVERAL


@case("one-parameter Gibbs posteriors", 5)
def one_parameter(rng: Generator, made: Case) -> None:
    """Every loss of a linear predictor, its declared numbers over 24 decades, random priors, people with several rows."""
    name, adjacency = str(either(rng, *ONE_PARAMETER)), str(either(rng, *ADJACENCIES))
    drawn = ONE_PARAMETER[name](rng, dimension=1, radius=magnitude(rng), intercept=False)
    model = drawn.model
    budget, rows = budget_of(rng), int(either(rng, 1, 1, 2, 5))
    n = rows + (0 if rng.random() < 0.5 else size(rng, 1e6))
    given = None
    scale = drawn.unit * magnitude(rng, 1e-6, 1e6)  # of the prior, in scaled units
    if rng.random() < 0.7:
        precision = model.units.precision_to_original(np.array([1 / scale**2]))
        centre = model.to_original(np.array([[scale * float(rng.normal()) * 3]]))[0]
        given = GaussianPrior((float(precision[0]),), (float(centre[0]),))
    theorem = str(either(rng, "auto", "auto", "gaussian-dp", "log-sobolev"))
    made.setting = {"model": model.to_dict(), "budget": budget, "n": n, "adjacency": adjacency, "rows": rows, "prior": given}
    plan = gs.plan(
        model, budget, n=n, adjacency=adjacency, prior=given, rows_per_person=rows, theorem=theorem, sampler="inverse-cdf"
    )
    stage = plan.stages[-1]
    assert stage.prior_centre is not None
    gibbs = Gibbs(drawn.loss, stage.inverse_temperature, stage.prior_precision[0], stage.prior_centre[0], kinks=drawn.kinks)
    x, y = (drawn.record(rng, gibbs.centre) for _ in range(2))
    common = Rows() if rng.random() < 0.4 else Rows([(*drawn.record(rng, gibbs.centre), float(n - rows))])
    first = common.with_((*x, float(rows)))
    fewer = int(rng.integers(0, rows + 1)) if rows > 1 else 1  # a person may have fewer rows, or other ones
    second = common if adjacency == "add-remove" else common.with_((*y, float(max(fewer, 1))))
    made.setting |= {"beta": gibbs.beta, "precision": gibbs.precision, "first": first.rows, "second": second.rows}
    epsilons = [budget.epsilon, *epsilons_for(rng, budget.epsilon)]
    shown = curve(gibbs.log(first), gibbs.log(second), gibbs.line(first, second), epsilons)
    made.profile(plan.guarantee, shown, epsilons)
    made.at_most("the budget's δ", float(shown.worst[0]), budget.delta, float(shown.error[0]))


@case("several parameters far out", 1.5)
def far_out(rng: Generator, made: Case) -> None:
    """Where slopes are at their limits a record shifts the prior: μ = β‖Λ^{−1/2}(s z − s′z′)‖, whole rows with intercept."""
    name = str(either(rng, *SEVERAL))
    adjacency, intercept = str(either(rng, *ADJACENCIES)), bool(rng.random() < 0.6)
    d = int(rng.integers(1, 4))
    radius = magnitude(rng, 1e-6, 1e6)
    drawn = SEVERAL[name](rng, dimension=d, radius=radius, intercept=intercept)
    model, one_sided = drawn.model, len(drawn.slopes) == 1
    budget, rows, n = budget_of(rng), int(either(rng, 1, 1, 3)), size(rng, 1e4) + 3
    scaled = drawn.unit**-2 * np.array([magnitude(rng, 1e-6, 1e6) for _ in range(d + intercept)])
    if rng.random() < 0.4:
        scaled[:] = scaled[0]
    prior = GaussianPrior(tuple(model.units.precision_to_original(scaled).tolist()), (0.0,) * (d + intercept))
    made.setting = {
        "model": model.to_dict(),
        "budget": budget,
        "n": n,
        "adjacency": adjacency,
        "rows": rows,
        "prior": scaled.tolist(),
    }
    plan = gs.plan(model, budget, n=n, adjacency=adjacency, prior=prior, rows_per_person=rows)
    if plan.theorem.name != "gaussian-dp":
        return
    precision, beta = np.array(plan.stages[-1].prior_precision), plan.inverse_temperature
    length = math.hypot(radius, 1.0) if intercept else radius
    features = np.linalg.qr(rng.normal(size=(d, d)))[0][0] if rng.random() < 0.5 else np.eye(d)[int(np.argmin(precision[:d]))]
    row = np.append(features * radius, [1.0] * intercept) / length
    mirrored = np.append(-features * radius, [1.0] * intercept) / length
    # One-sided: both predictors far on the wrong side along a direction that costs nothing; only rows apart in two directions
    # allow 2L.
    apart = (row,) if one_sided and d + intercept == 1 else (row, mirrored)
    vectors = [slope * each for slope in drawn.slopes for each in apart]
    shifts = vectors if adjacency == "add-remove" else [a - b for a in vectors for b in vectors]
    if one_sided and adjacency == "replace-one":
        shifts = [vectors[0] - vectors[-1]]
    mu = max(beta * rows * math.sqrt(float((shift**2 / precision).sum())) for shift in shifts)
    made.setting |= {"beta": beta}
    made.at_most("μ", mu, plan.guarantee.mu, 1e-12 * mu)
    made.at_most("the budget's δ", float(gaussian_delta(budget.epsilon, mp.mpf(mu) * (1 - mp.mpf(10) ** -11))), budget.delta)


@case("the mean of bounded vectors", 0.7)
def bounded_mean(rng: Generator, made: Case) -> None:
    """Plans of `GaussianMean`: the two posteriors are normals, 2rβ/√(nβ + λ) standard deviations apart."""
    radius, n = magnitude(rng), size(rng, 1e6)
    model = gs.models.GaussianMean(dimension=int(rng.integers(1, 4)), radius=radius)
    budget, draws = budget_of(rng), int(either(rng, 1, 1, 7))
    prior = magnitude(rng) / radius**2 if rng.random() < 0.5 else None
    made.setting = {"model": model.to_dict(), "budget": budget, "n": n, "draws": draws, "prior": prior}
    plan = gs.plan(model, budget, n=n, adjacency="replace-one", draws=draws, prior=prior)
    made.setting["beta"] = plan.inverse_temperature
    with mp.workdps(40):
        precision = mp.mpf(float(np.max(plan.prior_precision))) * (1 + mp.mpf(10) ** -14)
        mu = (
            2
            * mp.mpf(radius)
            * plan.inverse_temperature
            / mp.sqrt(mp.mpf(n) * plan.inverse_temperature + precision)
            * mp.sqrt(draws)
        )
        made.at_most("the budget's δ", gaussian_delta(budget.epsilon, mu * (1 - mp.mpf(10) ** -13)), budget.delta)
        for epsilon in epsilons_for(rng, budget.epsilon):
            if epsilon / float(mu) < 1e5:
                made.at_most(
                    f"δ({epsilon!r})", gaussian_delta(epsilon, mu * (1 - mp.mpf(10) ** -13)), plan.guarantee.delta(epsilon)
                )
