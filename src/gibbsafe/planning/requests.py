"""What `gibbsafe.plan` was asked, and the public numbers that its rules go by.

Units: scaled parameters, rows of norm at most 1. L is the loss's Lipschitz constant, G/β the bound on the gradient of a loss
difference of neighbours (2L under replace-one, L under add-remove, more with several rows per person), Λ = m/β the prior's
precision per unit of β, D a public guess of |θ|.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from gibbsafe._numerics import down, up
from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive
from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.samplers.work import PublicPosterior
from gibbsafe.theorems import Constants, Theorem, compare, get

__all__ = ["LANGEVIN", "OF_SAMPLER", "PROXIMAL", "WITHIN_SLACK", "Request"]

LANGEVIN = "langevin-last-iterate"
PROXIMAL = "proximal-last-iterate"
WITHIN_SLACK = "approximate-sampling"
#: Theorems that price a sampler which is not exact.
OF_SAMPLER = {"langevin": (LANGEVIN,), "proximal": (PROXIMAL, WITHIN_SLACK)}


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
        usable = OF_SAMPLER.get(sampler, self.model.theorems)
        if name != "auto":
            if get(name).name not in usable:
                raise PremiseError(f"theorem = {name!r}: does not price draws by {sampler}; use {' or '.join(usable)}")
            return get(name)
        if len(usable) == 1 or sampler in OF_SAMPLER:
            return get(usable[0])
        table = compare(self.constants(self.ones()), self.budget, self.adjacency, self.draws)
        priced = [row for row in table if row.theorem.name in usable and row.inverse_temperature is not None]
        if not priced:
            reasons = "; ".join(f"{row.theorem.name}: {row.failure}" for row in table if row.theorem.name in usable)
            raise BudgetError(f"budget {self.budget}: no theorem prices this model ({reasons})")
        return priced[0].theorem

    def declared(self, theorem: Theorem, prior: object, asked: float | None) -> Stage:
        """Return the one stage of a model whose prior is part of its declaration."""
        name = self.model.name
        if prior is not None:
            fail("prior", prior, f"left out: the prior of {name} is part of its declaration")
        if self.purpose != "posterior":
            fail("purpose", self.purpose, f"'posterior' for {name}: stages need a prior that can be moved")
        return Stage(self.temperature(theorem, self.constants(np.empty(0)), asked), (), (), self.draws)

    @property
    def gibbs(self) -> GibbsModel:
        """The model, one of a loss with a Gaussian prior."""
        assert isinstance(self.model, GibbsModel)
        return self.model

    @property
    def prior_radius(self) -> float:
        """D, where the model has one."""
        assert self.radius is not None
        return self.radius

    def ones(self) -> Floats:
        """Return unit precisions, one per parameter."""
        return np.ones(self.model.parameters)

    def origin(self) -> tuple[float, ...]:
        """Return the public centre of the default prior."""
        return (0.0,) * self.model.parameters

    def require_default(self, prior: object, asked: object) -> None:
        """Refuse a prior or a temperature of the user's where the schedule sets both."""
        if prior is not None or asked is not None:
            name = "prior" if prior is not None else "inverse_temperature"
            fail(name, prior if prior is not None else asked, "left out here: the schedule sets prior and temperature together")

    def mu(self, draws: int) -> float:
        """Return μ of each of ``draws`` draws that together spend the budget under Gaussian DP."""
        gaussian = get("gaussian-dp")
        constants = self.constants(self.ones())
        return gaussian.calibrate(constants, self.budget, adjacency=self.adjacency, draws=draws) * constants.gap(self.adjacency)

    def per_beta(self, mu: float, radius: float) -> tuple[float, float]:
        """Return (Λ, G/β)."""
        gap = self.constants(self.ones()).gap(self.adjacency)
        return 1.5 * math.sqrt(self.model.parameters) * gap / (mu * radius), gap

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
        ones = self.ones()
        constants = self.constants(ones)
        largest = theorem.calibrate(constants, self.budget, adjacency=self.adjacency, draws=self.draws)
        mu = largest * constants.gap(self.adjacency)
        per_beta, gap = self.per_beta(mu, self.prior_radius)
        return ones * (mu * per_beta / gap) ** 2

    @property
    def public_rows(self) -> int | None:
        """The most rows that the data can have, where their number is public."""
        return None if self.n is None or self.adjacency == Adjacency.ADD_REMOVE else self.n * self.rows_per_person

    def public_posterior(self, stage: Stage) -> PublicPosterior:
        """Return what is public of a stage's posterior, for the work of drawing from it."""
        model, rows = self.gibbs, self.public_rows
        loss, beta, reach = model.loss, stage.inverse_temperature, model.row_reach(np.array(stage.prior_precision))
        constrained = model.ball is not None
        return PublicPosterior(model.parameters, beta, reach, loss.smoothness, loss.self_concordance, rows, constrained)
