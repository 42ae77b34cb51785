"""What runs is what was priced: the law of a draw, from records in the user's units, against the oracle's own encoding.

Records lie inside and outside the declared domain. The library clips rows to R(1 − 2⁻²⁰), which the tolerance of 1e-3 covers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gibbsafe as gs

from .adaptive import Curve, curve
from .calculus_cases import epsilons_for
from .densities import Gibbs, Rows
from .draw import Generator, either, magnitude
from .exact import finite_curve
from .family_cases import beta_pair, gamma_pair, logit
from .linear_cases import ONE_PARAMETER, labels
from .suite import Case, case

CLIPPED = 1e-3


def same(made: Case, plan: Any, data: tuple[Any, Any], shown: Curve, epsilons: list[float]) -> None:
    """Demand that the exact curve of the mechanism on these records is the oracle's."""
    ran = gs.audit.exact_curve(plan, *data)
    made.setting |= {"data": data}
    for epsilon, value, error in zip(epsilons, shown.worst, shown.error, strict=True):
        found, room = ran.delta(epsilon), CLIPPED * float(value) + float(error) + ran.error + 1e-9
        made.at_most(f"oracle's δ({epsilon:g}) against what runs", float(value), found, room)
        made.at_most(f"what runs against the oracle's δ({epsilon:g})", found, float(value), room)


@case("what runs: linear predictors", 0.4)
def linear(rng: Generator, made: Case) -> None:
    """Rows in the user's units, clipped and scaled here once more."""
    name = str(either(rng, *ONE_PARAMETER))
    radius = magnitude(rng, 1e-3, 1e3)
    shape = {"dimension": 1, "radius": radius, "intercept": False}
    drawn = ONE_PARAMETER[name](np.random.default_rng(int(rng.integers(5))), **shape)
    model = drawn.model
    n = int(rng.integers(2, 6))
    budget = gs.Budget(magnitude(rng, 0.1, 10.0), magnitude(rng, 1e-6, 1e-2))
    made.setting = {"model": model.to_dict(), "budget": budget, "n": n}
    plan = gs.plan(model, budget, n=n, adjacency="replace-one")
    features = radius * rng.uniform(-1.5, 1.5, n + 1)
    reach = float(either(rng, 1.0, 30.0))
    scaled = np.clip(features / radius, -1, 1) if drawn.features else np.ones(n + 1)
    records = [(float(z), drawn.response(rng, 0.0, drawn.unit, reach), 1.0) for z in scaled]
    signs = np.array([y for _, y, _ in records])
    response = (signs + 1) / 2 if drawn.response is labels else signs
    stage = plan.stages[-1]
    gibbs = Gibbs(drawn.loss, stage.inverse_temperature, stage.prior_precision[0], kinks=drawn.kinks)
    first, second = Rows(records[:n]), Rows([*records[: n - 1], records[n]])
    keep = [[*range(n)], [*range(n - 1), n]]
    data = tuple((features[k][:, None], response[k]) if drawn.features else response[k] for k in keep)
    epsilons = [0.0, *epsilons_for(rng, budget.epsilon)[1:3]]
    same(made, plan, data, curve(gibbs.log(first), gibbs.log(second), gibbs.line(first, second), epsilons), epsilons)


@case("what runs: families", 0.4)
def families(rng: Generator, made: Case) -> None:
    """Proportions, rates and finite families from their records."""
    name = str(either(rng, "BetaBernoulli", "ExponentialRate", "LaplaceScale", "NormalPrecision", "FiniteFamily"))
    n, budget = int(rng.integers(2, 7)), gs.Budget(magnitude(rng, 0.1, 10.0), 0.0)
    epsilons = [0.0, *epsilons_for(rng, budget.epsilon)[1:3]]
    a, b = (magnitude(rng, 0.1, 10.0) for _ in range(2))
    made.setting = {"family": name, "n": n, "budget": budget}
    if name in ("BetaBernoulli", "Categorical"):
        low = magnitude(rng, 1e-3, 0.3)
        binary = name == "BetaBernoulli"
        model: Any = gs.models.BetaBernoulli(alpha=a, beta=b, trim=(low, 0.8)) if binary else gs.models.Categorical(
            states=2, smallest_probability=low, concentration=a)  # fmt: skip
        ends = (logit(low), logit(0.8) if binary else -logit(low))
        records = rng.integers(0, 2, n + 1)
        plan = gs.plan(model, budget, n=n, adjacency="replace-one")
        data = records[:n], np.append(records[: n - 1], records[n])
        counts = [(float(each.sum()), float(n - each.sum())) for each in data]
        tempered = [tuple(plan.inverse_temperature * c for c in each) for each in counts]
        pair = beta_pair(a, b if binary else a, tempered[0], tempered[1], ends)
        return same(made, plan, data, pair.curve(epsilons), epsilons)
    if name == "FiniteFamily":
        table = rng.dirichlet(np.ones(3), size=4)
        model = gs.models.FiniteFamily(points=(0.0, 1.0, 2.0, 3.0), likelihood=tuple(map(tuple, table.tolist())), outcomes=3)
        plan = gs.plan(model, budget, n=n, adjacency="replace-one")
        records = rng.integers(0, 3, n + 1)
        data = records[:n], np.append(records[: n - 1], records[n])
        logs = [plan.inverse_temperature * np.log(table)[:, each].sum(axis=1) for each in data]
        forward, backward = finite_curve(logs[0], logs[1], epsilons)
        return same(made, plan, data, Curve(forward, backward, np.full(len(epsilons), 1e-9)), epsilons)
    trim, bound = (a, a * 3.0), magnitude(rng, 0.1, 10.0)
    place = {} if name == "ExponentialRate" else {"location": 0.3 * bound}
    model = getattr(gs.models, name)(trim=trim, bound=bound, shape=b, rate=1.0, **place)
    plan = gs.plan(model, budget, n=n, adjacency="replace-one")
    records = bound * rng.uniform(0, 1.5, n + 1) * (1 if name == "ExponentialRate" else rng.choice([-1, 1], n + 1))
    clipped = np.clip(records, -bound, bound) - place.get("location", 0.0)
    statistic = np.square(clipped) / 2 if name == "NormalPrecision" else np.abs(clipped)
    power, beta = 0.5 if name == "NormalPrecision" else 1.0, plan.inverse_temperature
    keep = [[*range(n)], [*range(n - 1), n]]
    posteriors = [(b + beta * power * n, 1.0 + beta * float(statistic[k].sum())) for k in keep]
    pair = gamma_pair(posteriors[0], posteriors[1], trim)
    return same(made, plan, (records[keep[0]], records[keep[1]]), pair.curve(epsilons), epsilons)


@case("what runs: the mean", 0.2)
def mean(rng: Generator, made: Case) -> None:
    """Normal posteriors of vectors clipped to the ball."""
    radius, n = magnitude(rng, 1e-3, 1e3), int(rng.integers(2, 7))
    plan = gs.plan(gs.models.GaussianMean(dimension=2, radius=radius), gs.Budget(1.0, 1e-3), n=n, adjacency="replace-one")
    rows = radius * rng.normal(size=(n + 1, 2)) * 2
    data = rows[:n], np.vstack([rows[: n - 1], rows[n:]])
    inside = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1) / radius)[:, None]
    beta = plan.inverse_temperature
    gap = float(np.linalg.norm(inside[n] - inside[n - 1]))
    mu = beta * gap / math.sqrt(n * beta + 1 / radius**2)
    made.setting = {"radius": radius, "n": n, "mu": mu}
    made.at_most("what runs", gs.audit.exact_curve(plan, *data).mu, mu, CLIPPED * mu + 1e-12)
    made.at_most("the oracle", mu, gs.audit.exact_curve(plan, *data).mu, CLIPPED * mu + 1e-12)
