"""What `gibbsafe.plan` was asked, and the public numbers that its rules go by.

Units: scaled parameters, rows of norm at most 1. L is the loss's Lipschitz constant, G/β the bound on the gradient of a loss
difference of neighbours (2L under replace-one, L under add-remove, more with several rows per person), Λ = m/β the prior's
precision per unit of β, D a public guess of |θ|.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np

from gibbsafe._numerics import down, up
from gibbsafe._types import Floats
from gibbsafe._validate import choice, count, fail, positive
from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.models.base import Model
from gibbsafe.planning.conditions import coarse
from gibbsafe.planning.facts import GibbsFacts, default_radius
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.samplers.work import PublicPosterior
from gibbsafe.theorems import Constants, Theorem, compare, get, priced_by

__all__ = ["DEFAULT", "LANGEVIN", "PROXIMAL", "WITHIN_SLACK", "Request", "requested"]

LANGEVIN = "langevin-last-iterate"
PROXIMAL = "proximal-last-iterate"
WITHIN_SLACK = "approximate-sampling"
#: The theorem by which a sampler that is not exact is priced unless another is named.
DEFAULT = {"langevin": LANGEVIN, "proximal": PROXIMAL}


@dataclass(frozen=True)
class Request:
    """What `gibbsafe.plan` was asked."""

    model: Model
    budget: Budget
    adjacency: Adjacency
    draws: int
    _: KW_ONLY
    n: int | None
    rows_per_person: int
    radius: float | None
    purpose: str

    def constants(self, precision: Floats) -> Constants:
        """Return the model's constants under a prior."""
        return self.model.constants(precision, adjacency=self.adjacency, n=self.n, rows_per_person=self.rows_per_person)

    def theorem(self, name: str, sampler: str) -> Theorem:
        """Return the theorem asked for, or the one that allows the coldest posterior with this sampler."""
        if name != "auto":
            self._require_priced(get(name), sampler)
            return get(name)
        if sampler in DEFAULT:
            return get(DEFAULT[sampler])
        usable = priced_by(self.model.kind, sampler)
        rows = [row for row in compare(self.unit_constants, self.budget, self.adjacency, self.draws) if row.theorem in usable]
        if rows[0].inverse_temperature is None:
            reasons = "; ".join(f"{row.theorem.name}: {row.failure}" for row in rows)
            raise BudgetError(f"budget {self.budget}: no theorem prices {self.model.name} ({reasons})")
        return rows[0].theorem

    def _require_priced(self, theorem: Theorem, sampler: str) -> None:
        """Refuse a theorem that is about other models or other draws; what its premises need, they say themselves."""
        model, usable = self.model, priced_by(self.model.kind, sampler)
        if theorem in usable:
            return
        use = " or ".join(each.name for each in usable if each.sampler or each.covers(self.unit_constants, self.adjacency))
        if model.kind not in theorem.kinds:
            priced = " or ".join(str(kind) for kind in theorem.kinds)
            raise PremiseError(f"theorem = {theorem.name!r}: prices {priced}, and {model.name} is {model.kind}; use {use}")
        drawn = "exact draws" if theorem.sampler is None else f"draws by {theorem.sampler}"
        why = f" ({theorem.instead})" if theorem.instead else ""
        raise PremiseError(f"theorem = {theorem.name!r}: prices {drawn}, not those by {sampler}{why}; use {use}")

    def declared(self, theorem: Theorem, prior: object, asked: float | None) -> Stage:
        """Return the one stage of a model whose prior is part of its declaration."""
        name = self.model.name
        if prior is not None:
            fail("prior", prior, f"left out: the prior of {name} is part of its declaration")
        if self.purpose != "posterior":
            fail("purpose", self.purpose, f"'posterior' for {name}: stages need a prior that can be moved")
        return Stage(self.temperature(theorem, self.constants(np.empty(0)), asked), (), (), self.draws)

    @cached_property
    def gibbs(self) -> GibbsFacts:
        """What the model, one with a prior that the plan chooses, states of loss and rows."""
        return GibbsFacts.of(self.model)

    @cached_property
    def samplers(self) -> tuple[str, ...]:
        """The samplers that draw from the model's posterior."""
        return self.model.samplers

    @cached_property
    def parameters(self) -> int:
        """Number of parameters."""
        return self.model.parameters

    @cached_property
    def unit_constants(self) -> Constants:
        """The model's constants under a prior of precision 1."""
        return self.constants(self.ones())

    @property
    def prior_radius(self) -> float:
        """D, where the model has one."""
        assert self.radius is not None
        return self.radius

    def ones(self) -> Floats:
        """Return unit precisions, one per parameter."""
        return np.ones(self.parameters)

    def at_least_declared(self, precision: Floats) -> Floats:
        """Return the precisions, those of parameters with a prior of their own raised to it.

        Never lowered: a draw is as private as the smallest precision allows.
        """
        own = self.gibbs.own_precisions
        return precision if own is None else np.maximum(precision, own)

    def origin(self) -> tuple[float, ...]:
        """Return the public centre of the default prior."""
        return (0.0,) * self.parameters

    def require_default(self, prior: object, asked: object) -> None:
        """Refuse a prior or a temperature of the user's where the schedule sets both."""
        if prior is not None or asked is not None:
            name = "prior" if prior is not None else "inverse_temperature"
            fail(name, prior if prior is not None else asked, "left out here: the schedule sets prior and temperature together")

    def mu(self, draws: int) -> float:
        """Return μ of each of ``draws`` draws that together spend the budget under Gaussian DP."""
        gaussian = get("gaussian-dp")
        constants = self.unit_constants
        return gaussian.calibrate(constants, self.budget, adjacency=self.adjacency, draws=draws) * constants.gap(self.adjacency)

    def per_beta(self, mu: float, radius: float) -> tuple[float, float]:
        """Return (Λ, G/β)."""
        gap = self.unit_constants.gap(self.adjacency)
        return 1.5 * math.sqrt(self.parameters) * gap / (mu * radius), gap

    def temperature(self, theorem: Theorem, constants: Constants, wanted: float | None, *, headroom: bool = False) -> float:
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

    def shrinkage_rule(self, theorem: Theorem) -> Floats:
        """Return the default prior precision βΛ of a linear model, β = μ²Λ/(G/β)²."""
        constants = self.unit_constants
        largest = theorem.calibrate(constants, self.budget, adjacency=self.adjacency, draws=self.draws)
        mu = largest * constants.gap(self.adjacency)
        per_beta, gap = self.per_beta(mu, self.prior_radius)
        return self.ones() * (mu * per_beta / gap) ** 2

    @property
    def public_rows(self) -> int | None:
        """The most rows that the data can have, where their number is public."""
        return None if self.n is None or self.adjacency == Adjacency.ADD_REMOVE else self.n * self.rows_per_person

    def public_posterior(self, stage: Stage) -> PublicPosterior:
        """Return what is public of a stage's posterior, for the work of drawing from it."""
        facts, rows = self.gibbs, self.public_rows
        loss, beta, reach = facts.loss, stage.inverse_temperature, facts.row_reach(np.array(stage.prior_precision))
        constrained = facts.ball is not None
        return PublicPosterior(self.parameters, beta, reach, loss.smoothness, loss.self_concordance, rows, constrained)


def requested(  # noqa: PLR0917 - what `plan` was asked
    model: object,
    budget: object,
    n: int | None,
    adjacency: Adjacency | str,
    draws: int,
    purpose: str,
    prior_radius: float | None,
    rows_per_person: int,
) -> Request:
    """Return the request, every part of it checked."""
    if not isinstance(model, Model):
        remedy = "a contaminated one has no proved price: plan it with gs.EstimatedBudget"
        fail("model", type(model).__name__, "a model of gibbsafe.models", remedy)
    if not isinstance(budget, Budget):
        fail("budget", budget, "a gibbsafe.Budget")
    relation, draws, cap = Adjacency.of(adjacency), count("draws", draws), count("rows_per_person", rows_per_person)
    purpose = choice("purpose", purpose, ("posterior", "estimate"))
    if n is not None or relation == Adjacency.REPLACE_ONE:
        n = count("n", n)
    if n is not None and relation == Adjacency.ADD_REMOVE:
        n = coarse(n)
    radius = default_radius(model)
    if prior_radius is not None:
        radius, default = positive("prior_radius", prior_radius), radius
        if default is None:
            fail("prior_radius", prior_radius, f"left out: the prior of {model.name} is part of its declaration")
    return Request(model, budget, relation, draws, n=n, rows_per_person=cap, radius=radius, purpose=purpose)
