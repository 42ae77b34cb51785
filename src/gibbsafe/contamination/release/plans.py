"""An estimated plan: model, rate, simulated data sets and their ε̂, all fixed before any record is read."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import choice, count
from gibbsafe.contamination.epsilon.estimate import Simulated, simulate, summarise
from gibbsafe.contamination.epsilon.quantiles import upper_order
from gibbsafe.contamination.epsilon.repeats import Task
from gibbsafe.contamination.epsilon.tuning import TRIES, confirmed_rate
from gibbsafe.contamination.model.declare import table_of
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.release.tables import Table
from gibbsafe.errors import PremiseError
from gibbsafe.planning.describe import table_of as in_columns
from gibbsafe.planning.estimated import EstimatedClaim
from gibbsafe.privacy import Adjacency, EstimatedBudget, EstimatedPrivacy

if TYPE_CHECKING:
    from gibbsafe.contamination.release.releases import EstimatedRelease

__all__ = ["FORMAT", "METHODS", "EstimatedPlan", "plan_estimated", "usual_repeats"]

FORMAT = "gibbsafe/estimated-plan/1"
#: Methods on which a plan may rest: not the printed algorithm, which is unsound, and not an approximation.
METHODS = ("sound", "tight", "exact")


@dataclass(frozen=True, eq=False)
class EstimatedPlan(EstimatedClaim):
    """A frozen plan whose ε̂ was simulated. Made by `gibbsafe.plan` with an `EstimatedBudget`; nothing in it is proved.

    ``model`` has its rate settled; ``values`` are the ε̂ of all repeats, in order, at the worst of the true parameters.
    """

    model: ContaminatedModel
    budget: EstimatedBudget
    n: int
    adjacency: Adjacency
    draws: int
    method: str
    chosen: bool
    truth: Floats | None
    data_model: str
    notes: tuple[str, ...]
    method_name: str
    seed: int
    values: tuple[float, ...]
    table: Table | None = None

    @property
    def estimate(self) -> EstimatedPrivacy:
        """What the simulation gave, recomputed from its values."""
        level = self.confidence
        order = upper_order(len(self.values), self.budget.quantile, level)
        return summarise(
            np.array(self.values), order, self.budget.quantile, level, delta=self.budget.delta, method=self.method_name,
            adjacency=self.adjacency.value, seed=self.seed, notes=self.notes, data_model=self.data_model,
        )  # fmt: skip

    @property
    def confidence(self) -> float:
        """The confidence of the order statistic: higher than the budget's where the rate was chosen, for every try."""
        return 1 - (1 - self.budget.confidence) / TRIES if self.chosen else self.budget.confidence

    @property
    def rate(self) -> float:
        """The contamination rate p."""
        return self.model.p(self.n)

    @property
    def sampler(self) -> str:
        """How a release draws."""
        return "inverse-cdf" if self.model.on_a_line else "metropolis"

    @property
    def grid(self) -> float:
        """Draws are rounded to multiples of this power of two: some millionth of the noise of n records."""
        return float(2.0 ** math.floor(math.log2(1e-6 * self.model.noise / math.sqrt(self.n))))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the columns of a release's draws."""
        return self.model.parameter_names if self.table is None else self.table.names(self.model)

    @property
    def task(self) -> Task:
        """One repeat of the simulation."""
        return Task(
            self.model, self.n, self.truth, self.budget.delta, self.method, self.adjacency.value, None, None, self.draws
        )  # fmt: skip

    def again(self, repeats: int) -> Floats:
        """Return the ε̂ of the first repeats, simulated once more."""
        seeds = np.random.SeedSequence(self.seed).spawn(repeats)
        return np.array([self.task.one(seed) for seed in seeds])

    # -- carrying it out ---------------------------------------------------------------------------------------------

    def release(self, data: Any, **options: Any) -> EstimatedRelease:
        """Read the data, note it in a journal, contaminate, draw. See `gibbsafe.contamination.release_estimated`."""
        from gibbsafe.contamination.release.releases import release_estimated

        return release_estimated(self, data, **options)

    # -- files -------------------------------------------------------------------------------------------------------

    def budget_to_dict(self) -> JSON:
        """Return the budget as plain data."""
        return asdict(self.budget)

    def to_dict(self) -> JSON:
        """Return the plan as plain data. A model of the user's own functions is described in words only."""
        table = table_of(self.model)
        own = {"own": self.model.describe(), "parameters": list(self.model.parameter_names), "rate": self.rate}
        return {
            "format": FORMAT,
            "model": own if table is None else table,
            "budget": self.budget_to_dict(),
            "n": self.n,
            "adjacency": self.adjacency.value,
            "draws": self.draws,
            "method": self.method,
            "chosen": self.chosen,
            "truth": None if self.truth is None else self.truth.tolist(),
            "data_model": self.data_model,
            "notes": list(self.notes),
            "method_name": self.method_name,
            "seed": self.seed,
            "values": list(self.values),
            "table": None if self.table is None else self.table.to_dict(),
            "grid": self.grid,
            "estimate": self.estimate.to_dict(),
        }

    def to_json(self) -> str:
        """Return the plan as JSON; floats keep every digit."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        estimate = self.estimate
        pairs = [
            ("budget", f"{self.budget}, {self.adjacency}, n = {self.n:,}"),
            ("estimate", f"ε̂ = {estimate.epsilon:.4g} at δ = {estimate.delta:.3g}, by method {estimate.method}"),
            ("data model", estimate.data_model),
            ("repeats", f"{estimate.repeats} simulated data sets at confidence {estimate.confidence:.4g}, seed {self.seed}"),
            ("contamination", f"rate {self.rate:.4g}, {'chosen by simulation' if self.chosen else 'declared'}"),
            ("sampler", f"{self.sampler}: heuristic; draws rounded to multiples of {self.grid:.3g}"),
        ]
        head = f"Estimated plan: {self.draws} draw{'s' * (self.draws != 1)} of {self.model.name}. Random DP, not proved"
        return "\n".join([head, in_columns(pairs), *(f"  note: {note}" for note in self.notes), "", estimate.promise])


def plan_estimated(
    model: Any,
    budget: EstimatedBudget,
    *,
    n: int | None,
    adjacency: Adjacency | str = "replace-one",
    draws: int = 1,
    truth: object = "prior",
    method: str = "sound",
    repeats: int | None = None,
    seed: int = 0,
    workers: int = 1,
    table: Table | None = None,
    progress: bool | None = None,
) -> EstimatedPlan:
    """Simulate ε̂ of a contaminated model, choosing the rate where it declares none; refuse what is above the budget.

    Args:
        model: a contaminated model; with ``rate=None`` the least rate that meets the budget is searched for, and then estimated
            anew from data sets that the search never saw.
        budget: ε̂ and δ, the failing fraction of data sets, and the confidence.
        n: public number of records.
        adjacency: ``"replace-one"``, or ``"add-remove"`` (the paper's strict adjacency), under which the table's number of
            records is not compared with n.
        draws: how many posterior draws are released; ε̂ is of all of them together.
        truth: true parameters of simulated data (several rows: the worst counts), or ``"prior"``.
        method: ``"sound"``, ``"tight"`` or ``"exact"``, as in `estimate_epsilon`.
        repeats: simulated data sets; by default twice as many as the budget needs at least.
        seed: of the simulation, which sees no private data.
        workers: processes; the numbers do not depend on how many.
        table: which columns of a table are response and covariates.
        progress: True, False, or by default a bar if stderr is a terminal.

    >>> import gibbsafe as gs
    >>> model = gs.contamination.ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0, rate=0.4)
    >>> plan = gs.plan(model, gs.EstimatedBudget(1.0, 1e-4, failure=0.1), n=1000, truth=30.0)
    >>> plan.estimate.epsilon < 1.0, type(plan.estimate).__name__
    (True, 'EstimatedPrivacy')
    """
    _require_plannable(model, table)
    size, relation = count("n", n, least=2), Adjacency.of(adjacency)
    name, many = choice("method", method, METHODS), count("draws", draws)
    chosen = model.contamination is not None and model.rate is None
    level = 1 - (1 - budget.confidence) / TRIES if chosen else budget.confidence
    wanted = usual_repeats(budget) if repeats is None else count("repeats", repeats)
    run: JSON = {"delta": budget.delta, "method": name, "adjacency": relation.value, "truth": truth, "draws": many}
    run |= {"workers": workers, "progress": progress, "repeats": wanted, "quantile": budget.quantile}
    if chosen:
        rate, found = confirmed_rate(model, size, budget.epsilon, confidence=budget.confidence, seed=seed, **run)
        model = replace(model, rate=rate)
    else:
        found = simulate(model, size, confidence=level, seed=seed, **run)
    return _settled(model, budget, size, relation, many, name, chosen, found, table)


def usual_repeats(budget: EstimatedBudget) -> int:
    """Return twice as many repeats as the budget needs at least, whether or not the rate is chosen.

    >>> usual_repeats(EstimatedBudget(1.0, 1e-4))
    816
    """
    return 2 * math.ceil(math.log((1 - budget.confidence) / TRIES) / math.log(budget.quantile))


def _require_plannable(model: object, table: Table | None) -> None:
    if not isinstance(model, ContaminatedModel):
        raise PremiseError(
            f"budget: an estimated one is for contaminated models, and {type(model).__name__} is none; use gs.Budget"
        )
    if model.contamination is not None and model.contamination.follows_truth:
        raise PremiseError("contamination: this density follows the unknown truth; it exists for reproduction only")
    if table is not None:
        table.require(model)


def _settled(  # noqa: PLR0917 - what a plan is made of, in its order
    model: ContaminatedModel,
    budget: EstimatedBudget,
    n: int,
    adjacency: Adjacency,
    draws: int,
    method: str,
    chosen: bool,
    found: Simulated,
    table: Table | None,
) -> EstimatedPlan:
    estimate = found.estimate
    if not np.isfinite(found.values).all():
        raise PremiseError("estimate: a simulated data set has no finite ε̂; contaminate more, or use another method")
    assert estimate.seed is not None
    settled = EstimatedPlan(
        model, budget, n, adjacency, draws, method, chosen, found.truth, estimate.data_model, estimate.notes, estimate.method,
        estimate.seed, tuple(float(value) for value in found.values), table,
    )  # fmt: skip
    budget.claim(settled.estimate)
    return settled
