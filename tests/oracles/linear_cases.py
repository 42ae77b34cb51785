"""Plans of losses of a linear predictor against quadrature in one parameter, and against Gaussian shifts in several."""

from __future__ import annotations

import math
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


def _no_kinks(z: float, y: float) -> tuple[float, ...]:
    return ()


def _model(name: str, rng: Generator, **shape: Any) -> tuple[Any, Any, Any, float]:
    """Return a model with its loss, the kinks of a record, and the unit of its response."""
    if name in ("LogisticRegression", "BernoulliLogit"):
        model = gs.models.BernoulliLogit() if name == "BernoulliLogit" else gs.models.LogisticRegression(**shape)
        return model, densities.logistic, _no_kinks, 1.0
    if name == "SoftHinge":
        width = magnitude(rng, 1e-6, 1e6)
        return gs.models.SoftHinge(**shape, width=width), densities.soft_hinge(width), lambda z, y: (y / z,) if z else (), 1.0
    if name == "Hinge":
        return gs.models.Hinge(**shape), densities.hinge, lambda z, y: (y / z,) if z else (), 1.0
    unit = magnitude(rng)
    if name == "PseudoHuberRegression":
        model = gs.models.PseudoHuberRegression(**shape, width=unit)
        return model, densities.pseudo_huber(unit), lambda z, y: (y / z,) if z else (), unit
    quantile = fraction(rng)
    if name == "QuantileRegression":
        model = gs.models.QuantileRegression(**shape, quantile=quantile, scale=unit)
        return model, densities.pinball(quantile), lambda z, y: (y / z,) if z else (), unit
    width = unit * magnitude(rng, 1e-6, 1e3)
    model = gs.models.SoftQuantileRegression(**shape, quantile=quantile, scale=unit, width=width)
    return model, densities.soft_pinball(quantile, width), lambda z, y: (y / z,) if z else (), unit


ONE_PARAMETER = (
    "LogisticRegression", "BernoulliLogit", "SoftHinge", "Hinge",
    "PseudoHuberRegression", "QuantileRegression", "SoftQuantileRegression",
)  # fmt: skip


def _record(rng: Generator, name: str, unit: float, theta: float) -> tuple[float, float]:
    """Return a record (z, y) in scaled units: at an end of the domain, or inside; responses near, far and at the kink."""
    z = float(either(rng, 1.0, -1.0, float(rng.uniform(-1, 1))))
    if name == "BernoulliLogit":
        return 1.0, float(either(rng, 1.0, -1.0))
    if name in ("LogisticRegression", "SoftHinge", "Hinge"):
        return z, float(either(rng, 1.0, -1.0))
    return z, float(either(rng, FAR * unit, -FAR * unit, z * theta, z * theta + unit * float(rng.normal())))


@case("one-parameter Gibbs posteriors", 5)
def one_parameter(rng: Generator, made: Case) -> None:
    """Every loss of a linear predictor, its declared numbers over 24 decades, random priors, people with several rows."""
    name, adjacency = str(either(rng, *ONE_PARAMETER)), str(either(rng, *ADJACENCIES))
    model, loss, kinks, unit = _model(name, rng, dimension=1, radius=magnitude(rng), intercept=False)
    budget, rows = budget_of(rng), int(either(rng, 1, 1, 2, 5))
    n = rows + (0 if rng.random() < 0.5 else size(rng, 1e6))
    given = None
    scale = unit * magnitude(rng, 1e-6, 1e6)  # of the prior, in scaled units
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
    gibbs = Gibbs(loss, stage.inverse_temperature, stage.prior_precision[0], stage.prior_centre[0], kinks=kinks)
    x, y = (_record(rng, name, unit, gibbs.centre) for _ in range(2))
    common = Rows() if rng.random() < 0.4 else Rows([(*_record(rng, name, unit, gibbs.centre), float(n - rows))])
    first = common.with_((*x, float(rows)))
    fewer = int(rng.integers(0, rows + 1)) if rows > 1 else 1  # a person may have fewer rows, or other ones
    second = common if adjacency == "add-remove" else common.with_((*y, float(max(fewer, 1))))
    made.setting |= {"beta": gibbs.beta, "precision": gibbs.precision, "first": first.rows, "second": second.rows}
    epsilons = [budget.epsilon, *epsilons_for(rng, budget.epsilon)]
    shown = curve(gibbs.log(first), gibbs.log(second), gibbs.line(first, second), epsilons)
    made.profile(plan.guarantee, shown, epsilons)
    made.at_most("the budget's δ", float(shown.worst[0]), budget.delta, float(shown.error[0]))


SLOPES = {"LogisticRegression", "SoftHinge"}


@case("several parameters far out", 1.5)
def far_out(rng: Generator, made: Case) -> None:
    """Where slopes are at their limits a record shifts the prior: μ = β‖Λ^{−1/2}(s z − s′z′)‖, whole rows with intercept."""
    name = str(either(rng, "LogisticRegression", "SoftHinge", "PseudoHuberRegression", "SoftQuantileRegression"))
    adjacency, intercept = str(either(rng, *ADJACENCIES)), bool(rng.random() < 0.6)
    d = int(rng.integers(1, 4))
    radius = magnitude(rng, 1e-6, 1e6)
    model, _, _, unit = _model(name, rng, dimension=d, radius=radius, intercept=intercept)
    budget, rows, n = budget_of(rng), int(either(rng, 1, 1, 3)), size(rng, 1e4) + 3
    scaled = unit**-2 * np.array([magnitude(rng, 1e-6, 1e6) for _ in range(d + intercept)])
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
    if name in SLOPES:
        # both margins far on the wrong side along a direction that costs nothing; only rows apart in two directions allow 2L
        pull = (
            [(row, 1.0)] if d + intercept == 1 else [(row, 1.0), (np.append(-features * radius, [1.0] * intercept) / length, 1.0)]
        )
        vectors = [slope * each for each, slope in pull]
    else:
        slopes = (
            (-model.loss.lipschitz, model.loss.lipschitz)
            if name == "PseudoHuberRegression"
            else (-model.quantile, 1 - model.quantile)
        )
        mirrored = np.append(-features * radius, [1.0] * intercept) / length
        vectors = [slope * each for slope in slopes for each in (row, mirrored)]
    shifts = vectors if adjacency == "add-remove" else [a - b for a in vectors for b in vectors]
    if name in SLOPES and adjacency == "replace-one":
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
