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
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from gibbsafe._numerics import FLOOR, down, exp, up
from gibbsafe._validate import fail, positive
from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.models.model import Array, GibbsModel, Model
from gibbsafe.models.prior import GaussianPrior
from gibbsafe.privacy import Adjacency, Budget, Guarantee, compose
from gibbsafe.samplers import choose_sampler
from gibbsafe.samplers.work import (
    QUICK_SECONDS,
    PublicPosterior,
    Work,
    proximal_schedule,
    proximal_work,
    shell_work,
    slack_work,
)
from gibbsafe.theorems import Constants, Theorem, compare, get

__all__ = ["Request", "Stage", "price"]

LANGEVIN = "langevin-last-iterate"
PROXIMAL = "proximal-last-iterate"
WITHIN_SLACK = "approximate-sampling"
#: Theorems that price a sampler which is not exact.
OF_SAMPLER = {"langevin": (LANGEVIN,), "proximal": (PROXIMAL, WITHIN_SLACK)}
#: What a draw by an exact sampler in closed form, or of one parameter, takes at most.
EXACT_PASSES = 50.0
#: Passes of a quick exact draw where nobody says how many records a pass visits; rounds from a public centre that are too many.
QUICK_PASSES, MANY_ROUNDS = 20_000.0, 5000
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


@dataclass(frozen=True)
class Stage:
    """One posterior to draw from, in scaled units; ``prior_centre`` None means the draw of the stage before."""

    inverse_temperature: float
    prior_precision: tuple[float, ...]
    prior_centre: tuple[float, ...] | None
    draws: int
    step: float | None = None
    steps: int | None = None
    slack: float | None = None

    def constants(self, model: Model, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return the model's constants under this stage's prior, with those of its sampler."""
        precision = np.array(self.prior_precision)
        declared = model.constants(precision, adjacency=adjacency, n=n, rows_per_person=rows_per_person)
        return replace(declared, step=self.step, steps=self.steps, slack=self.slack)


def price(
    stages: tuple[Stage, ...], theorem: Theorem, *, model: Model, adjacency: Adjacency, n: int | None, rows_per_person: int
) -> Guarantee:
    """Return what drawing from all stages guarantees: each by the theorem, together by adaptive composition."""
    claims = []
    for stage in stages:
        constants = stage.constants(model, adjacency, n, rows_per_person)
        beta, draws = stage.inverse_temperature, stage.draws
        claims.append(theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency, draws=draws))
    return claims[0] if len(claims) == 1 else compose(claims)


@dataclass(frozen=True)
class Request:
    """What `gibbsafe.plan` was asked, and the rules it applies."""

    model: Model
    budget: Budget
    adjacency: Adjacency
    draws: int
    _: KW_ONLY
    n: int | None
    rows_per_person: int
    radius: float | None
    purpose: str

    def constants(self, precision: Array) -> Constants:
        """Return the model's constants under a prior."""
        return self.model.constants(precision, adjacency=self.adjacency, n=self.n, rows_per_person=self.rows_per_person)

    def choose(
        self, sampler: str, theorem: str, prior: GaussianPrior | float | None, asked: float | None
    ) -> tuple[str, Theorem, tuple[Stage, ...]]:
        """Return sampler, theorem and stages: those asked for, or the first that public numbers prove quick for every data set.

        An exact sampler is taken where its worst case is quick, or by name; otherwise proximal rounds from the public centre,
        and where no number of records is public and these would be too many, rounds from the mode within a stated slack.
        """
        named = next((name for name, priced in OF_SAMPLER.items() if theorem in priced), sampler)
        chosen = choose_sampler(named if sampler == "auto" else sampler, self.model)
        priced = self.theorem(theorem, chosen)
        stages = self.model.stages(self, priced, prior, asked)
        if sampler != "auto" or theorem != "auto" or (chosen == "shell" and self._quick(stages)):
            return chosen, priced, stages
        if chosen == "shell" and "proximal" in self.model.samplers:
            chosen, priced = "proximal", get(PROXIMAL)
            stages = self.model.stages(self, priced, prior, asked)
        if chosen == "proximal" and self.public_posterior(stages[-1]).rows is None and self._rounds_of(stages) > MANY_ROUNDS:
            priced = get(WITHIN_SLACK)
            stages = self.model.stages(self, priced, prior, asked)
        return chosen, priced, stages

    def _quick(self, stages: tuple[Stage, ...]) -> bool:
        """Whether the shell sampler is proved quick for every data set."""
        works = [shell_work(self.public_posterior(stage), stage.draws) for stage in stages]
        seconds = [work.seconds for work in works if work.seconds is not None]
        if len(seconds) == len(works):
            return math.fsum(seconds) <= QUICK_SECONDS
        return all(work.passes <= QUICK_PASSES * stage.draws for work, stage in zip(works, stages, strict=True))

    @staticmethod
    def _rounds_of(stages: tuple[Stage, ...]) -> int:
        return sum(stage.steps or 0 for stage in stages)

    def work(self, sampler: str, stages: tuple[Stage, ...]) -> Work:
        """Return what drawing from the stages costs at most, in expectation, for every data set of the declared form."""
        total = Work(0, 0.0, 0.0)
        if sampler in ("shell", "proximal", "langevin"):
            total += Work(0, 0.0, self.public_posterior(stages[0]).encoding_seconds())
        for stage in stages:
            total += self._work_of(sampler, stage)
        return total

    def _work_of(self, sampler: str, stage: Stage) -> Work:
        if sampler not in ("shell", "proximal", "langevin"):
            known = self.n is not None and self.adjacency == Adjacency.REPLACE_ONE
            return Work(0, EXACT_PASSES, 1e-3 + EXACT_PASSES * 1e-8 * self.n * self.rows_per_person if known and self.n else None)
        posterior = self.public_posterior(stage)
        if stage.slack is not None:
            return slack_work(posterior, stage.draws, stage.slack)
        if sampler == "shell":
            return shell_work(posterior, stage.draws)
        assert stage.step is not None
        assert stage.steps is not None
        if sampler == "langevin":
            passes = float(stage.steps * stage.draws)
            return Work(stage.steps, passes, passes * (posterior.gradient_seconds() + 1e-5))
        return proximal_work(posterior, stage.draws, stage.step, stage.steps)

    def theorem(self, name: str, sampler: str) -> Theorem:
        """Return the theorem asked for, or the one that allows the coldest posterior with this sampler."""
        usable = OF_SAMPLER.get(sampler, self.model.theorems)
        if name != "auto":
            if get(name).name not in usable:
                raise PremiseError(f"theorem = {name!r}: does not price draws by {sampler}; use {' or '.join(usable)}")
            return get(name)
        if len(usable) == 1 or sampler in OF_SAMPLER:
            return get(usable[0])
        table = compare(self.constants(self._ones()), self.budget, self.adjacency, self.draws)
        priced = [row for row in table if row.theorem.name in usable and row.inverse_temperature is not None]
        if not priced:
            reasons = "; ".join(f"{row.theorem.name}: {row.failure}" for row in table if row.theorem.name in usable)
            raise BudgetError(f"budget {self.budget}: no theorem prices this model ({reasons})")
        return priced[0].theorem

    def stages(self, theorem: Theorem, prior: GaussianPrior | float | None, asked: float | None) -> tuple[Stage, ...]:
        """Return the stages: one, or several for an estimate with enough signal."""
        if self.purpose == "posterior":
            if theorem.name == LANGEVIN:
                self._only_default(prior, asked)
                return (self._langevin(self._mu(self.draws), self._radius, self._origin(), self.draws),)
            if theorem.name in (PROXIMAL, WITHIN_SLACK):
                return (self._proximal(theorem, self._posterior(get("gaussian-dp"), prior, None), asked, prior is not None),)
            return (self._posterior(theorem, prior, asked),)
        self._only_default(prior, asked)
        if theorem.name not in ("gaussian-dp", LANGEVIN, PROXIMAL, WITHIN_SLACK):
            remedy = "use gaussian-dp" if "gaussian-dp" in self.model.theorems else f"draw {self.model.name} as a posterior"
            raise PremiseError(f"theorem = {theorem.name!r}: an estimate composes by Gaussian DP; {remedy}")
        return self._estimate(theorem)

    def declared(self, theorem: Theorem, prior: object, asked: float | None) -> Stage:
        """Return the one stage of a model whose prior is part of its declaration."""
        name = self.model.name
        if prior is not None:
            fail("prior", prior, f"left out: the prior of {name} is part of its declaration")
        if self.purpose != "posterior":
            fail("purpose", self.purpose, f"'posterior' for {name}: stages need a prior that can be moved")
        return Stage(self._temperature(theorem, self.constants(np.empty(0)), asked), (), (), self.draws)

    # -- one stage -----------------------------------------------------------------------------------------------

    @property
    def _gibbs(self) -> GibbsModel:
        assert isinstance(self.model, GibbsModel)
        return self.model

    @property
    def _radius(self) -> float:
        assert self.radius is not None
        return self.radius

    def _ones(self) -> Array:
        return np.ones(self.model.parameters)

    def _origin(self) -> tuple[float, ...]:
        return (0.0,) * self.model.parameters

    def _only_default(self, prior: object, asked: object) -> None:
        if prior is not None or asked is not None:
            name = "prior" if prior is not None else "inverse_temperature"
            fail(name, prior if prior is not None else asked, "left out here: the schedule sets prior and temperature together")

    def _mu(self, draws: int) -> float:
        """Return μ of each of ``draws`` draws that together spend the budget under Gaussian DP."""
        gaussian = get("gaussian-dp")
        constants = self.constants(self._ones())
        return gaussian.calibrate(constants, self.budget, adjacency=self.adjacency, draws=draws) * constants.gap(self.adjacency)

    def _per_beta(self, mu: float, radius: float) -> tuple[float, float]:
        """Return (Λ, G/β)."""
        gap = self.constants(self._ones()).gap(self.adjacency)
        return 1.5 * math.sqrt(self.model.parameters) * gap / (mu * radius), gap

    def _posterior(self, theorem: Theorem, prior: GaussianPrior | float | None, asked: float | None) -> Stage:
        d = self.model.parameters
        if prior is None:
            precision, centre = self._gibbs.default_precision(self, theorem), np.array(self._origin())
        else:
            given = prior if isinstance(prior, GaussianPrior) else GaussianPrior(prior)
            precision = self._gibbs.precision_from_original(given.precisions(d))
            centre = self.model.from_original(given.centres(d))[0]
        beta = self._temperature(theorem, self.constants(precision), asked, headroom=prior is not None)
        return Stage(beta, tuple(precision.tolist()), tuple(centre.tolist()), self.draws)

    def _temperature(self, theorem: Theorem, constants: Constants, wanted: float | None, *, headroom: bool = False) -> float:
        """Return the largest β within budget, or the one asked for if it is within budget.

        ``headroom`` leaves the last digits free: a prior in the user's units comes back from a file up to their rounding, and the
        budget has to admit the plan then as well.
        """
        largest = theorem.calibrate(constants, self.budget, adjacency=self.adjacency, draws=self.draws)
        largest = down(down(largest)) if headroom else largest
        if wanted is None:
            return largest
        asked = positive("inverse_temperature", wanted)
        checked = up(asked) if headroom else asked
        claim = theorem.guarantee(constants, inverse_temperature=checked, adjacency=self.adjacency, draws=self.draws)
        if not self.budget.admits(claim):
            raise BudgetError(
                f"inverse_temperature = {asked:g}: costs {claim}, more than the budget {self.budget} allows (at most {largest:g})"
            )
        return asked

    def shrinkage_rule(self, theorem: Theorem) -> Array:
        """Return the default prior precision βΛ of a linear model, β = μ²Λ/(G/β)²."""
        ones = self._ones()
        constants = self.constants(ones)
        largest = theorem.calibrate(constants, self.budget, adjacency=self.adjacency, draws=self.draws)
        mu = largest * constants.gap(self.adjacency)
        per_beta, gap = self._per_beta(mu, self._radius)
        return ones * (mu * per_beta / gap) ** 2

    def _exact(self, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
        per_beta, gap = self._per_beta(mu, radius)
        beta = mu**2 * per_beta / gap**2
        return Stage(beta, (beta * per_beta,) * self.model.parameters, centre, draws)

    # -- proximal rounds -----------------------------------------------------------------------------------------

    def public_posterior(self, stage: Stage) -> PublicPosterior:
        """Return what is public of a stage's posterior, for the work of drawing from it."""
        model = self._gibbs
        rows = None if self.n is None or self.adjacency == Adjacency.ADD_REMOVE else self.n * self.rows_per_person
        loss, beta, reach = model.loss, stage.inverse_temperature, model.row_reach(np.array(stage.prior_precision))
        constrained = model.ball is not None
        return PublicPosterior(model.parameters, beta, reach, loss.smoothness, loss.self_concordance, rows, constrained)

    def _require_room(self, exact: Stage) -> None:
        """Refuse, from public numbers, priors whose rounds would not be short, or lose their noise to rounding."""
        precision, centre = exact.prior_precision, math.hypot(*(exact.prior_centre or ()))
        if self._gibbs.ball is not None and max(precision) > min(precision) * (1 + 1e-9):
            raise PremiseError("prior: on a ball rounds need one precision in scaled units; leave it out or use langevin")
        far = centre * math.sqrt(max(precision))
        if far > FARTHEST:
            raise PremiseError(
                f"prior centre: {far:.3g} prior deviations from 0 (limit {FARTHEST:g}), where rounding eats noise; move it"
            )

    def _rounds(self, exact: Stage) -> Stage:
        """Return the exact stage drawn by rounds from the public centre: the same posterior, step and number of rounds added."""
        posterior = self.public_posterior(exact)
        self._require_room(exact)
        if posterior.rows is None and not posterior.by_shell:
            raise PremiseError("n: proximal rounds need a public number of records here; use replace-one")
        step, rounds = proximal_schedule(posterior, exact.draws, E_FOLDS)
        if rounds > MOST_ROUNDS:
            raise PremiseError(f"prior precision: {rounds:.3g} rounds would be needed (limit {MOST_ROUNDS:g}); raise it")
        return replace(exact, step=step, steps=rounds)

    def _proximal(self, theorem: Theorem, exact: Stage, asked: float | None, headroom: bool) -> Stage:
        """Return the exact draw's stage with the rounds, or the slack, that the theorem prices, and the β this allows."""
        self._require_room(exact)
        stage = self._rounds(exact) if theorem.name == PROXIMAL else replace(exact, slack=self._slack(self.draws))
        constants = stage.constants(self.model, self.adjacency, self.n, self.rows_per_person)
        return replace(stage, inverse_temperature=self._temperature(theorem, constants, asked, headroom=headroom))

    def _slack(self, draws: int) -> float:
        """Return γ of each of this many draws: small beside the budget's δ."""
        return max(FLOOR, min(SLACK, SHARE_OF_DELTA * self.budget.delta / (1 + exp(self.budget.epsilon)) / draws))

    def _within_slack(self, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
        return replace(self._exact(mu, radius, centre, draws), slack=self._slack(STAGES + self.draws))

    def _last_iterate(self, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
        """Return the stage of an estimate by rounds: the exact one, with β raised until its rounds cost μ."""
        stage = self._rounds(self._exact(mu, radius, centre, draws))
        claim = price(
            (replace(stage, draws=1),),
            get(PROXIMAL),
            model=self.model,
            adjacency=self.adjacency,
            n=self.n,
            rows_per_person=self.rows_per_person,
        )
        gain = mu / claim.gaussian().mu * (1 - 2.0**-36)
        return replace(stage, inverse_temperature=stage.inverse_temperature * gain)

    def _langevin(self, mu: float, radius: float, centre: tuple[float, ...] | None, draws: int) -> Stage:
        if self.n is None or self.adjacency == Adjacency.ADD_REMOVE:
            raise PremiseError("n: the Langevin step needs a public number of records; use replace-one")
        per_beta, gap = self._per_beta(mu, radius)
        most_rows = self.n * self.rows_per_person  # n persons; with one row each, n records
        rate = 1.9 / (most_rows * self._gibbs.loss.smoothness + 2 * per_beta / 3)
        steps = max(1, math.ceil(1 / (rate * per_beta)))
        keep = 1 - rate * per_beta / 3
        last = keep**steps
        growth = (1 - last) * (1 + keep) / ((1 + last) * (1 - keep))
        beta = 2 * mu**2 / (rate * gap**2 * growth) * (1 - 2.0**-36)
        precision = (beta * per_beta / 3,) * self.model.parameters
        return Stage(beta, precision, centre, draws, rate / beta, steps)

    # -- several stages ------------------------------------------------------------------------------------------

    def _estimate(self, theorem: Theorem) -> tuple[Stage, ...]:
        asked = self
        if theorem.name == WITHIN_SLACK:
            spent = (STAGES + self.draws) * self._slack(STAGES + self.draws) * (1 + exp(self.budget.epsilon))
            asked = replace(self, budget=replace(self.budget, delta=self.budget.delta - spent))
        mu = asked._mu(1) * (1 - 2.0**-36)
        shares, radii = estimate_schedule(None if self.n is None else self.n * mu / self.model.parameters)
        built = {LANGEVIN: self._langevin, PROXIMAL: self._last_iterate, WITHIN_SLACK: self._within_slack}
        build = built.get(theorem.name, self._exact)
        stages = []
        for k, (share, shrink) in enumerate(zip(shares, radii, strict=True)):
            draws = self.draws if k == STAGES - 1 else 1
            centre = self._origin() if k == 0 else None
            stages.append(build(mu * math.sqrt(share / draws), self._radius * shrink, centre, draws))
        return tuple(stages)
