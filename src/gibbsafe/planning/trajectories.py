"""How models of the user's own are released: steps, noise and power on the likelihood, from public numbers only.

Everything is in the model's coordinates, in which a synthetic record tells as much of every direction (`posteriors.coordinates`).
A Langevin step of size h on (likelihood)ᵖ × prior has noise √(2h), which the noise σ of a private score gives for h = 2/(pσ)².
Spending μ on T steps of K chains is σ² = KTG²/μ², so the time that the budget buys, τ = Th = 2μ²/(Kp²G²), does not depend on T.
With a the typical information of a record and n records a direction forgets its start at the rate pna + m (m the prior's
precision), so there are E = τ(pna + m) e-folds:

- **Steps**: h·(pna′ + m′) = `STEP` with a′ and m′ the largest, so E = T·`STEP`·(pna + m)/(pna′ + m′), whatever the budget. T is
  what makes E at least `E_FOLDS`, or what spends the budget with p = 1 if that is more, within `FEWEST` and `MOST`.
- **Power**: that which spends the budget in T steps, 1 at the most: less of the budget is then spent, and the posterior is
  reached all the same. A smaller p is a wider posterior, of (likelihood)ᵖ.
- **Draws**: the second half of every chain.

A model that declares itself convex and smooth, with a normal prior, is drawn by ``langevin``: last iterates alone, priced by
``langevin-last-iterate``, T = `E_FOLDS`·3 relaxation times of the prior at the most, within `MOST`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gibbsafe._numerics import down
from gibbsafe._validate import choice, fail
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning.requests import LANGEVIN, Request
from gibbsafe.posteriors.stage import ChainRule, Stage
from gibbsafe.samplers.trajectory import TRAJECTORY
from gibbsafe.theorems import Theorem, get

__all__ = ["own_stages"]

#: e-folds of a typical direction per chain; share of the stability limit that a step takes; fewest and most steps of a chain.
E_FOLDS, STEP, FEWEST, MOST = 8.0, 0.5, 60, 1000
#: Rows that rules go by where nobody guesses their number; most numbers of a released trajectory.
UNKNOWN_ROWS, MOST_NUMBERS = 4**7, 2_000_000


def own_stages(
    request: Request, model: Custom, unused: Mapping[str, object], asked: Mapping[str, object]
) -> tuple[Request, str, Theorem, tuple[Stage, ...]]:
    """Return the request with its number of draws, sampler, theorem and the one stage; refuse what has no use here."""
    for name, value in unused.items():
        if value is not None:
            fail(name, value, f"left out: {model.name} declares its prior, and the rule sets the power on the likelihood")
    for name, value in asked.items():
        if value != "auto" and name not in ("sampler", "theorem"):
            fail(name, value, f"left out for {model.name}")
    if request.purpose != "posterior":
        fail("purpose", request.purpose, f"'posterior' for {model.name}: the mean of its draws is the estimate")
    default = ("langevin", LANGEVIN) if model.convex else (TRAJECTORY, TRAJECTORY)
    sampler = choice("sampler", asked["sampler"], ("auto", TRAJECTORY, *(("langevin",) if model.convex else ())))
    theorem = choice("theorem", asked["theorem"], ("auto", TRAJECTORY, *((LANGEVIN,) if model.convex else ())))
    pairs = {TRAJECTORY: TRAJECTORY, "langevin": LANGEVIN}
    chosen = sampler if sampler != "auto" else {TRAJECTORY: TRAJECTORY, LANGEVIN: "langevin"}.get(theorem, default[0])
    if theorem not in ("auto", pairs[chosen]):
        fail("theorem", theorem, f"{pairs[chosen]} with sampler {chosen}")
    if chosen == "langevin":
        return request, chosen, get(LANGEVIN), (_last_iterate(request, model),)
    stage = _trajectory(request, model)
    assert stage.chain is not None
    draws = stage.chain.chains * stage.chain.kept
    if request.draws not in (1, draws):
        fail("draws", request.draws, f"left out: every iterate that is kept is a draw, {draws} in all; declare steps and chains")
    return replace(request, draws=draws), chosen, get(TRAJECTORY), (stage,)


def _trajectory(request: Request, model: Custom) -> Stage:
    theorem, constants, chains = get(TRAJECTORY), request.unit_constants, model.chains
    beta = theorem.calibrate(constants, request.budget, adjacency=request.adjacency)
    rows = (UNKNOWN_ROWS if request.n is None else request.n) * request.rows_per_person
    steepness = Steepness.of(rows, model)
    most = min(MOST, max(2, MOST_NUMBERS // (chains * model.form.size)))
    steps, power = model.steps, model.power
    if steps is None:
        steps = max(min(FEWEST, most), min(most, math.ceil(steepness.steps(beta / chains))))
    if chains * steps * model.form.size > MOST_NUMBERS:
        fail("steps", steps, f"few enough for {MOST_NUMBERS:,} numbers in all", "ask for fewer chains or steps")
    if power is None:
        power = steepness.power(beta / chains, steps)
    # h = 2/(pσ)²: the precision of every answer is hp²/2, and all of them together are within the budget.
    step = STEP / steepness.largest(power)
    spent = down(min(beta, chains * steps * step * power**2 / 2))
    step = 2 * spent / (chains * steps * power**2)
    rule = ChainRule(chains, max(1, steps // 2), power, model.prior.start)
    return Stage(spent, (), (), 1, step=step, steps=steps, chain=rule)


@dataclass(frozen=True)
class Steepness:
    """na and na′, the typical and the largest information of all records, m that of the prior and m′ that limits steps."""

    typical: float
    most: float
    slow: float
    stiff: float

    @classmethod
    def of(cls, rows: int, model: Custom) -> Steepness:
        """Return what a declaration says, for this many rows; the pull of a normal prior limits no step."""
        typical, most = (rows * each for each in model.information)
        prior, scales = model.prior.precision, np.square(model.coordinates.reach)
        return cls(typical, most, 0.0 if prior is None else float(np.median(prior * scales)), model.prior.stiffness)

    def largest(self, power: float) -> float:
        """Return pna′ + m′."""
        return power * self.most + self.stiff

    def steps(self, precision: float) -> float:
        """Return how many steps spend this precision with p = 1, or make `E_FOLDS` of a typical direction with less."""
        whole = 2 * precision * self.largest(1.0) / STEP
        return max(whole, E_FOLDS * self.largest(1.0) / ((self.typical + self.slow) * STEP))

    def power(self, precision: float, steps: int) -> float:
        """Return the p ≤ 1 at which so many steps spend this precision: ½p²·T·`STEP` = precision·(pna′ + m′)."""
        a, b, c = steps * STEP / 2, precision * self.most, precision * self.stiff
        return float(f"{min(1.0, max((b + math.sqrt(b * b + 4 * a * c)) / (2 * a), 1e-9)):.6g}")


def _last_iterate(request: Request, model: Custom) -> Stage:
    """Return a stage of last iterates: the coldest β ≤ 1 within the budget, at the largest admissible step."""
    theorem = get(LANGEVIN)
    rows = request.constants(np.empty(0)).row_bounds(request.adjacency)[1]
    precision = np.array(model.prior.precision)
    steps = model.steps if model.steps is not None else min(MOST, _relaxation(rows, model, precision))
    constants = replace(request.constants(np.empty(0)), steps=steps)
    beta = min(1.0, theorem.calibrate(constants, request.budget, adjacency=request.adjacency, draws=request.draws))
    largest = beta * rows * (model.smoothness or 0.0) + float(precision.max())
    step = 2 / (float(precision.min()) + max(largest, float(precision.min()))) * (1 - 2.0**-40)
    priced = theorem.guarantee(
        replace(constants, step=step), inverse_temperature=beta, adjacency=request.adjacency, draws=request.draws
    )
    if not request.budget.admits(priced):
        beta = down(beta * (1 - 1e-9))
    return Stage(beta, tuple(precision.tolist()), model.prior.start, request.draws, step=step, steps=steps)


def _relaxation(rows: int, model: Custom, precision: np.ndarray) -> int:
    """Return how many steps make `E_FOLDS` of a typical direction at β = 1, or three of the slowest, whichever is more."""
    largest = rows * (model.smoothness or 0.0) + float(precision.max())
    slow = rows * model.information[0] + float(precision.min())
    return max(FEWEST, math.ceil(E_FOLDS * largest / float(slow)))
