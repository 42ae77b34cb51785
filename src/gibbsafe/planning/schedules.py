"""Which posteriors a plan draws from: temperature, prior and steps of every stage, from public numbers only.

Units: scaled parameters, rows of norm at most 1. L is the loss's Lipschitz constant, G/β the bound on the gradient of a loss
difference of neighbours (2L under replace-one, L under add-remove, more with several rows per person), Λ = m/β the prior's
precision per unit of β, D a public guess of |θ|.

- **Exact draw**: μ = G/√m, so β = μ²Λ/(G/β)². Λ = 1.5 √d (G/β)/(μD) balances shrinkage at radius D against noise.
- **Proximal rounds** (sampler ``proximal``): the prior and centre of the exact draw, a step η and a number of rounds k by
  `samplers.work`. By ``proximal-last-iterate`` k rounds make `E_FOLDS` e-folds of (1 + η)⁻¹ from the public centre, cost
  μ_k < μ, and β grows until μ_k is spent. By ``approximate-sampling`` rounds from the mode run until the law is within
  `SLACK` of the posterior, for every data set.
- **Langevin** with T steps, step h = η/β, η = 1.9/(n·smoothness + 2Λ/3), prior Λ/3, T = ⌈1/(ηΛ)⌉: the contraction
  c = 1 − ηΛ/3 does not depend on β, so μ² = ½ηβ(G/β)² Φ_T, Φ_T = (1−c^T)(1+c)/((1+c^T)(1−c)), is solved for β.
- **Estimate in stages**: each stage draws once from a posterior whose prior is centred at the previous draw, with a radius that
  shrinks; Gaussian DP composes adaptively, so fractions f_i of μ² that add up to 1 cost μ in all. With n final draws the last
  stage's fraction is shared between them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gibbsafe._numerics import FLOOR, exp
from gibbsafe.errors import PremiseError
from gibbsafe.models.prior import GaussianPrior
from gibbsafe.planning.prices import price, stage_constants
from gibbsafe.planning.requests import LANGEVIN, PROXIMAL, WITHIN_SLACK, Request
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers.work import proximal_schedule
from gibbsafe.theorems import Kind, Theorem, get

__all__ = ["estimate_schedule", "exact_stage", "stages"]

#: How far from 0, in its own deviations, a prior may be centred: rounding of a parameter there is 1e-9 of them.
FARTHEST = 1e7
#: Rounds that nobody lives to see.
MOST_ROUNDS = 10**9
#: How many e-folds proximal rounds make: the start's share in the slowest direction is e⁻³ after them.
E_FOLDS = 3.0
#: Total variation of a draw by rounds from the mode, and the largest share of δ that it may cost.
SLACK, SHARE_OF_DELTA = 1e-9, 1e-2
#: An estimate's stages; the signal nμ/d below which even the first prior is narrower than D. (docs/schedules.md)
STAGES = 16
FULL_SIGNAL = 100.0
#: The last radius where nobody says how many records there are.
LAST_RADIUS = 0.25


def estimate_schedule(
    signal: float | None, *, stages: int = STAGES, full: float = FULL_SIGNAL, fall: float = 3 / 4, growth: float = 1 / 3
) -> tuple[list[float], list[float]]:
    """Return the shares of μ² and the prior radii (in units of D) of an estimate's stages, from the signal s = nμ/d alone.

    Shares grow like k^growth: later stages, drawn closer to the data's own fit, deserve more. Radii shrink geometrically from
    min(1, √(s/full)), since a prior as wide as D lets through noise that weak data cannot overcome, to s^(−fall), about the
    error that is left where curvature is spread unevenly over directions (evenly spread rows would allow 1/s). The defaults
    come from a model of quadratic losses without data: docs/schedules.md.

    >>> shares, radii = estimate_schedule(100.0)
    >>> round(sum(shares), 9), round(radii[0], 3), round(radii[-1], 3)
    (1.0, 1.0, 0.032)
    """
    weights = [k**growth for k in range(1, stages + 1)]
    first = 1.0 if signal is None else min(1.0, math.sqrt(signal / full))
    last = LAST_RADIUS if signal is None else min(first, signal**-fall)
    total = math.fsum(weights)
    return [w / total for w in weights], [first * (last / first) ** (k / (stages - 1)) for k in range(stages)]


def stages(request: Request, theorem: Theorem, prior: GaussianPrior | float | None, asked: float | None) -> tuple[Stage, ...]:
    """Return the stages: one, or several for an estimate with enough signal."""
    if request.model.kind is Kind.FAMILY:
        return (request.declared(theorem, prior, asked),)
    if request.gibbs.own_precisions is not None and (request.purpose != "posterior" or theorem.name == LANGEVIN):
        raise PremiseError(
            "groups: priors of their own are for estimates by noisy scores and draws by 'shell' or 'proximal', not for stages or "
            "langevin, which set the prior; leave out mechanism and sampler"
        )
    if request.purpose == "posterior":
        if theorem.name == LANGEVIN:
            request.require_default(prior, asked)
            return (_langevin(request, request.mu(request.draws), request.prior_radius, request.origin(), request.draws),)
        if theorem.name in (PROXIMAL, WITHIN_SLACK):
            return (_proximal(request, theorem, _posterior(request, get("gaussian-dp"), prior, None), asked, prior is not None),)
        return (_posterior(request, theorem, prior, asked),)
    request.require_default(prior, asked)
    if theorem.name not in ("gaussian-dp", LANGEVIN, PROXIMAL, WITHIN_SLACK):
        lipschitz = math.isfinite(request.gibbs.loss.lipschitz)
        remedy = "use gaussian-dp" if lipschitz else f"draw {request.model.name} as a posterior"
        raise PremiseError(f"theorem = {theorem.name!r}: an estimate composes by Gaussian DP; {remedy}")
    return _estimate(request, theorem)


def _posterior(request: Request, theorem: Theorem, prior: GaussianPrior | float | None, asked: float | None) -> Stage:
    d = request.parameters
    if prior is None:
        lipschitz = math.isfinite(request.gibbs.loss.lipschitz)  # the rule's gap; without it the prior is as wide as the records
        precision = request.shrinkage_rule(theorem) if lipschitz else request.ones()
        centre = np.array(request.origin())
    else:
        given = prior if isinstance(prior, GaussianPrior) else GaussianPrior(prior)
        precision = request.gibbs.units.precision_from_original(given.precisions(d))
        centre = request.model.from_original(given.centres(d))[0]
    precision = request.at_least_declared(precision)
    beta = request.temperature(theorem, request.constants(precision), asked, headroom=prior is not None)
    return Stage(beta, tuple(precision.tolist()), tuple(centre.tolist()), request.draws)


def exact_stage(request: Request, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
    """Return an exact draw's stage that costs μ each, its prior set by the radius."""
    per_beta, gap = request.per_beta(mu, radius)
    beta = mu**2 * per_beta / gap**2
    return Stage(beta, (beta * per_beta,) * request.parameters, centre, draws)


def _require_room(request: Request, exact: Stage) -> None:
    """Refuse, from public numbers, priors whose rounds would not be short, or lose their noise to rounding."""
    precision, centre = exact.prior_precision, math.hypot(*(exact.prior_centre or ()))
    if request.gibbs.ball is not None and max(precision) > min(precision) * (1 + 1e-9):
        raise PremiseError("prior: on a ball rounds need one precision in scaled units; leave it out or use langevin")
    far = centre * math.sqrt(max(precision))
    if far > FARTHEST:
        raise PremiseError(
            f"prior centre: {far:.3g} prior deviations from 0 (limit {FARTHEST:g}), where rounding eats noise; move it"
        )


def _rounds(request: Request, exact: Stage) -> Stage:
    """Return the exact stage drawn by rounds from the public centre: the same posterior, step and number of rounds added."""
    posterior = request.public_posterior(exact)
    _require_room(request, exact)
    if posterior.rows is None and not posterior.by_shell:
        raise PremiseError("n: proximal rounds need a public number of records here; use replace-one")
    step, rounds = proximal_schedule(posterior, exact.draws, E_FOLDS)
    if rounds > MOST_ROUNDS:
        raise PremiseError(f"prior precision: {rounds:.3g} rounds would be needed (limit {MOST_ROUNDS:g}); raise it")
    return replace(exact, step=step, steps=rounds)


def _proximal(request: Request, theorem: Theorem, exact: Stage, asked: float | None, headroom: bool) -> Stage:
    """Return the exact draw's stage with the rounds, or the slack, that the theorem prices, and the β this allows."""
    _require_room(request, exact)
    stage = _rounds(request, exact) if theorem.name == PROXIMAL else replace(exact, slack=_slack(request, request.draws))
    constants = stage_constants(stage, request.model, request.adjacency, request.n, request.rows_per_person)
    return replace(stage, inverse_temperature=request.temperature(theorem, constants, asked, headroom=headroom))


def _slack(request: Request, draws: int) -> float:
    """Return γ of each of this many draws: small beside the budget's δ."""
    return max(FLOOR, min(SLACK, SHARE_OF_DELTA * request.budget.delta / (1 + exp(request.budget.epsilon)) / draws))


def _within_slack(request: Request, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
    return replace(exact_stage(request, mu, radius, centre, draws), slack=_slack(request, STAGES + request.draws))


def _last_iterate(request: Request, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
    """Return the stage of an estimate by rounds: the exact one, with β raised until its rounds cost μ."""
    stage = _rounds(request, exact_stage(request, mu, radius, centre, draws))
    claim = price(
        (replace(stage, draws=1),),
        get(PROXIMAL),
        model=request.model,
        adjacency=request.adjacency,
        n=request.n,
        rows_per_person=request.rows_per_person,
    )
    gain = mu / claim.gaussian().mu * (1 - 2.0**-36)
    return replace(stage, inverse_temperature=stage.inverse_temperature * gain)


def _langevin(request: Request, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
    if request.n is None or request.adjacency == Adjacency.ADD_REMOVE:
        raise PremiseError("n: the Langevin step needs a public number of records; use replace-one")
    per_beta, gap = request.per_beta(mu, radius)
    most_rows = request.n * request.rows_per_person  # n persons; with one row each, n records
    rate = 1.9 / (most_rows * request.gibbs.loss.smoothness + 2 * per_beta / 3)
    steps = max(1, math.ceil(1 / (rate * per_beta)))
    keep = 1 - rate * per_beta / 3
    last = keep**steps
    growth = (1 - last) * (1 + keep) / ((1 + last) * (1 - keep))
    beta = 2 * mu**2 / (rate * gap**2 * growth) * (1 - 2.0**-36)
    precision = (beta * per_beta / 3,) * request.parameters
    return Stage(beta, precision, centre, draws, rate / beta, steps)


def _estimate(request: Request, theorem: Theorem) -> tuple[Stage, ...]:
    asked = request
    if theorem.name == WITHIN_SLACK:
        spent = (STAGES + request.draws) * _slack(request, STAGES + request.draws) * (1 + exp(request.budget.epsilon))
        asked = replace(request, budget=replace(request.budget, delta=request.budget.delta - spent))
    mu = asked.mu(1) * (1 - 2.0**-36)
    shares, radii = estimate_schedule(None if request.n is None else request.n * mu / request.parameters)
    built = {LANGEVIN: _langevin, PROXIMAL: _last_iterate, WITHIN_SLACK: _within_slack}
    build = built.get(theorem.name, exact_stage)
    listed = []
    for k, (share, shrink) in enumerate(zip(shares, radii, strict=True)):
        draws = request.draws if k == STAGES - 1 else 1
        centre = request.origin() if k == 0 else None
        listed.append(build(request, mu * math.sqrt(share / draws), request.prior_radius * shrink, centre, draws))
    return tuple(listed)
