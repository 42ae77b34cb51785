"""The plan: everything that can change the guarantee, fixed before any record is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gibbsafe._json import agrees, parse_json
from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import choice, count, positive
from gibbsafe.errors import CertificateError, PremiseError
from gibbsafe.losses.narrow import loss_of_scores
from gibbsafe.models import GaussianPrior, Model, model_from_dict
from gibbsafe.models.base import require_size
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning.conditions import MOST_RECORDS, require_conditioning
from gibbsafe.planning.describe import describe_plan
from gibbsafe.planning.estimated import admits_estimates
from gibbsafe.planning.facts import grid_of
from gibbsafe.planning.files import FORMATS, format_of, stage_from_dict, stage_to_dict
from gibbsafe.planning.first_edition import by_first_edition, priced_anew, readable
from gibbsafe.planning.prices import price, stage_constants
from gibbsafe.planning.requests import Request, requested
from gibbsafe.planning.rules import choose, work_of
from gibbsafe.planning.scores import SCORES, by_scores, kept_by, left_for_draws, loss_asked, scores_beside, uses_scores
from gibbsafe.planning.trajectories import own_stages
from gibbsafe.planning.utility import Utility, predict_utility
from gibbsafe.posteriors.stage import ScoreRule, Stage
from gibbsafe.privacy import Adjacency, Budget, Guarantee
from gibbsafe.samplers import SAMPLERS
from gibbsafe.samplers.trajectory import TRAJECTORY
from gibbsafe.samplers.transcript_fit import Public
from gibbsafe.samplers.work import Work
from gibbsafe.theorems import Constants, Kind, Row, Theorem, compare, get
from gibbsafe.theorems.noisy_scores import moment_gap, score_gap

if TYPE_CHECKING:
    from gibbsafe.release import Release

__all__ = ["Plan", "plan"]

#: Most parameters of a plan that is read from a file: what they take is then some 100 MB.
MOST_PARAMETERS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """A frozen plan. Made by `plan`; carried out by `release`; written and read as JSON without loss.

    `inverse_temperature` is the power β on the likelihood: larger is colder. `prior_precision` is in the user's units.
    """

    model: Model
    budget: Budget
    n: int | None
    adjacency: Adjacency
    draws: int
    purpose: str
    theorem: Theorem
    sampler: str
    prior_radius: float | None
    prior_given: bool
    rows_per_person: int
    stages: tuple[Stage, ...]
    grid: float

    # -- what the plan says --------------------------------------------------------------------------------------

    @property
    def inverse_temperature(self) -> float:
        """β of the released posterior."""
        return self.stages[-1].inverse_temperature

    @property
    def mechanism(self) -> str:
        """How the release is made: ``"noisy-scores"``, ``"langevin-trajectory"``, ``"stages"`` of an estimate, or ``"draws"``."""
        last = self.stages[-1]
        return TRAJECTORY if last.chain else SCORES if last.scores else "stages" if self.purpose == "estimate" else "draws"

    @property
    def scores(self) -> ScoreRule:
        """How noisy scores are asked, in a plan that asks them."""
        rule = None if self.score_stage is None else self.score_stage.scores
        if rule is None:
            raise PremiseError("scores: this plan only draws from a posterior; plan an estimate, or draws with uncertainty=...")
        return rule

    @property
    def score_stage(self) -> Stage | None:
        """The stage that asks noisy scores: the estimate's, or the one before posterior draws; None where there is none."""
        return next((stage for stage in self.stages if stage.scores is not None), None)

    @property
    def moment_ratio(self) -> float:
        """The noise of the second moment in units of a score's, at equal shares."""
        return moment_gap(self.constants, self.adjacency) / score_gap(self.constants, self.adjacency)

    def public_of_scores(self) -> Public:
        """Return what is public behind a transcript of this plan: all that a fit of answers may know."""
        model, stage, rule = self.request().gibbs, self.score_stage, self.scores
        assert stage is not None
        return Public(
            rule=rule,
            beta=stage.inverse_temperature,
            loss=loss_of_scores(model.loss, rule.width),
            shape=model.row_shape,
            moment_ratio=self.moment_ratio,
            unit=model.parameter_scale,
            own=model.own_precisions,
            private_rows=self.adjacency == Adjacency.ADD_REMOVE or self.rows_per_person > 1,
        )

    @property
    def prior_precision(self) -> float | Floats:
        """Precision of the Gaussian prior in the user's units: one number, or one per parameter."""
        if self.model.kind is not Kind.GIBBS:
            raise PremiseError(f"prior_precision: the prior of {self.model.name} is part of its declaration")
        values = self.model.units.precision_to_original(np.array(self.stages[-1].prior_precision))
        return float(values[0]) if np.allclose(values, values[0], rtol=1e-12) else values

    @property
    def slack(self) -> float:
        """Total-variation slack of all draws together, for every data set: 0 where the sampler is exact or priced as it runs."""
        return math.fsum(stage.draws * (stage.slack or 0.0) for stage in self.stages)

    @cached_property
    def work(self) -> Work:
        """What drawing costs at most, in expectation, for every data set of the declared form: rounds, passes, seconds."""
        return work_of(self.request(), self.sampler, self.stages)

    def request(self) -> Request:
        """Return what this plan answers."""
        relation, cap = self.adjacency, self.rows_per_person
        return Request(
            self.model,
            self.budget,
            relation,
            self.draws,
            n=self.n,
            rows_per_person=cap,
            radius=self.prior_radius,
            purpose=self.purpose,
        )

    @cached_property
    def constants(self) -> Constants:
        """The model's declared constants under this plan's prior."""
        return stage_constants(self.stages[-1], self.model, self.adjacency, self.n, self.rows_per_person)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the whole release guarantees, all stages together, recomputed from constants and theorem."""
        return self._price(self.stages)

    def _price(self, stages: tuple[Stage, ...]) -> Guarantee:
        return price(
            stages,
            self.theorem,
            model=self.model,
            adjacency=self.adjacency,
            n=self.n,
            rows_per_person=self.rows_per_person,
        )

    @cached_property
    def stage_guarantees(self) -> tuple[Guarantee, ...]:
        """What each stage costs."""
        return tuple(self._price((stage,)) for stage in self.stages)

    @cached_property
    def alternatives(self) -> tuple[Row, ...]:
        """Every theorem with the β it would allow under the same prior, or the premise it fails; not those of other samplers."""
        table = compare(self.constants, self.budget, self.adjacency, 1 if self.mechanism == TRAJECTORY else self.draws)
        if self.mechanism in (SCORES, TRAJECTORY):
            return tuple(row for row in table.rows if row.theorem is self.theorem)
        others = {*SAMPLERS, SCORES, TRAJECTORY} - {self.sampler}
        return tuple(row for row in table.rows if row.theorem.sampler not in others)

    @cached_property
    def utility(self) -> Utility:
        """What the budget buys, from public knowledge alone."""
        return predict_utility(self)

    # -- carrying it out -----------------------------------------------------------------------------------------

    def release(self, data: Any, **options: Any) -> Release:
        """Read the data, charge the ledger, sample, certify. See `gibbsafe.release.release` for the options."""
        from gibbsafe.release import release

        return release(self, data, **options)

    # -- files ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> JSON:
        """Return the plan as plain data."""
        return {
            "format": format_of(self.stages),
            "model": self.model.to_dict(),
            "budget": asdict(self.budget),
            "n": self.n,
            "adjacency": self.adjacency.value,
            "draws": self.draws,
            "purpose": self.purpose,
            "theorem": self.theorem.name,
            "sampler": self.sampler,
            "prior_radius": self.prior_radius,
            "prior_given": self.prior_given,
            "rows_per_person": self.rows_per_person,
            "stages": [stage_to_dict(stage) for stage in self.stages],
            "grid": self.grid,
            "guarantee": self.guarantee.to_dict(),
        }

    def to_json(self) -> str:
        """Return the plan as JSON; floats keep every digit."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Document) -> Plan:
        """Rebuild a plan and recompute its claim; one that does not hold is refused."""
        if not isinstance(data, Mapping) or data.get("format") not in FORMATS:
            found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
            raise CertificateError(f"format = {found!r}: not a plan of this version ({', '.join(FORMATS)})")
        known = set(cls.__dataclass_fields__) | {"format", "guarantee"}
        if set(data) != known:
            odd = ", ".join(sorted(set(data) ^ known))
            raise CertificateError(f"plan fields {odd}: missing or unknown")
        try:
            require_size(data["model"], MOST_PARAMETERS)
            older = by_first_edition(data)
            data = readable(data) if older else data
            planned = cls(
                model=model_from_dict(data["model"]),
                budget=Budget(**data["budget"]),
                n=data["n"],
                adjacency=Adjacency.of(data["adjacency"]),
                draws=count("draws", data["draws"]),
                purpose=data["purpose"],
                theorem=get(data["theorem"]),
                sampler=choice("sampler", data["sampler"], (*SAMPLERS, SCORES, TRAJECTORY)),
                prior_radius=None if data["prior_radius"] is None else positive("prior_radius", data["prior_radius"]),
                prior_given=data["prior_given"] is True,
                rows_per_person=count("rows_per_person", data["rows_per_person"]),
                stages=tuple(stage_from_dict(entry) for entry in data["stages"]),
                grid=positive("grid", data["grid"]),
            )
            if older:
                planned = priced_anew(planned, data["guarantee"])
                data = {**data, "budget": asdict(planned.budget), "guarantee": planned.guarantee.to_dict()}
            planned._check(data["guarantee"])
            written = planned.to_dict()
        except (TypeError, KeyError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
            raise CertificateError(f"plan: {' '.join(str(error).split())[:300]}") from error
        for name in data:  # a text or a truth value for a number, a whole number for a real one
            if not agrees(data[name], written[name]):
                raise CertificateError(f"plan: {name} is not written as a plan of this version writes it")
        return planned

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Rebuild a plan from `to_json`'s text."""
        return cls.from_dict(parse_json(text, "plan"))

    def _check(self, stated: Document) -> None:
        """Raise unless the plan is one that `plan` could have made and its stated guarantee is the recomputed one."""
        scheduled = self.purpose == "estimate" or self.sampler == "langevin" or self.mechanism == TRAJECTORY
        asks = self.mechanism == SCORES
        again = plan(
            self.model,
            self.budget,
            n=self.n,
            adjacency=self.adjacency,
            draws=self.draws,
            purpose=self.purpose,
            theorem="auto" if asks else self.theorem.name,
            sampler="auto" if asks else self.sampler,
            prior_radius=None if asks else self.prior_radius,
            mechanism=SCORES if asks else "stages" if self.purpose == "estimate" else "auto",
            uncertainty="auto" if self.score_stage is None else kept_by(self.scores) if asks else self.scores.of_budget,
            loss="auto" if self.score_stage is None else loss_asked(self.model, self.scores),
            prior=self._prior() if self.prior_given else None,
            inverse_temperature=None if scheduled else self.inverse_temperature,
            rows_per_person=self.rows_per_person,
        )
        if self.n != again.n:
            raise CertificateError("n: under add-remove a plan keeps no number but a power of four; make the plan anew")
        stages = [[stage_to_dict(stage) for stage in planned.stages] for planned in (self, again)]
        if not agrees(*stages):
            raise CertificateError("stages: not the priors, temperatures and draws that the rule gives")
        if not math.isclose(self.grid, again.grid, rel_tol=1e-9):
            raise CertificateError(f"grid = {self.grid!r}: the rule gives {again.grid!r}")
        claimed = Guarantee.from_dict(stated)
        recomputed = again.guarantee
        for guarantee in (claimed, self.guarantee):
            self.budget.claim(guarantee)
        if claimed.adjacency != recomputed.adjacency or not agrees(claimed.to_dict(), recomputed.to_dict()):
            raise CertificateError(f"guarantee: the plan states {claimed}, its constants give {recomputed}")

    def _prior(self) -> GaussianPrior:
        """Return the stage's prior in the user's units."""
        stage = self.stages[-1]
        if self.model.kind is not Kind.GIBBS or stage.prior_centre is None:
            raise CertificateError("prior_given: a prior is given for models with a Gaussian one, and has a centre")
        precision = self.model.units.precision_to_original(np.array(stage.prior_precision))
        centre = self.model.to_original(np.array(stage.prior_centre))[0]
        return GaussianPrior(tuple(precision.tolist()), tuple(centre.tolist()))

    def __str__(self) -> str:
        return describe_plan(self)


@admits_estimates
def plan(
    model: Model,
    budget: Budget,
    *,
    n: int | None,
    adjacency: Adjacency | str,
    draws: int = 1,
    purpose: str = "posterior",
    theorem: str = "auto",
    sampler: str = "auto",
    prior_radius: float | None = None,
    prior: GaussianPrior | float | None = None,
    inverse_temperature: float | None = None,
    rows_per_person: int = 1,
    mechanism: str = "auto",
    uncertainty: float | str = "auto",
    loss: str = "auto",
) -> Plan:
    """Work out the coldest posterior that a budget allows, from public knowledge only.

    Args:
        model: what is public about records.
        budget: (ε, δ) of the whole release. An `EstimatedBudget` goes to `gibbsafe.contamination.plan_estimated`.
        n: number of records, public under replace-one and compared with the data; with several rows per person the number of
            persons, each with a row at least. Under add-remove a guess (or None), snapped to a power of four, never compared.
        adjacency: ``"replace-one"`` or ``"add-remove"``.
        draws: how many posterior draws are released; they compose.
        purpose: ``"posterior"`` releases draws of one posterior; ``"estimate"`` one point and what is known of its error.
        theorem, sampler: what prices and makes the draws; ``"auto"`` takes those of the coldest posterior, from public numbers.
        prior_radius: D, a public guess of |θ| in scaled units, by which the default prior is set (default 3√d).
        prior: a Gaussian prior in the user's units instead of the default one.
        inverse_temperature: price this β instead of solving for the largest (over budget: `BudgetError`).
        rows_per_person: a public cap; the unit of privacy is then a person with at most this many rows.
        mechanism: of an estimate: ``"noisy-scores"`` (default where scores are bounded), or ``"stages"`` of draws.
        uncertainty: the share of the budget (of μ²) that an estimate keeps for saying how far off it is (0: all for the point),
            or that posterior draws leave for a transcript of noisy scores, which gives their intervals (default: none).
        loss: of a model with two labels: ``"calibrated"`` by a public rule (default) or ``"logistic"``; ``"pseudo-huber"`` for a
            score of the declared width, not of one by a public rule.

    >>> import gibbsafe as gs
    >>> made = gs.plan(gs.models.LogisticRegression(dimension=20), gs.Budget(1.0, 1e-6), n=10_000, adjacency="replace-one")
    >>> made.theorem.name, made.sampler, round(made.guarantee.mu, 6)
    ('proximal-last-iterate', 'proximal', 0.236704)
    """
    request = requested(model, budget, n, adjacency, draws, purpose, prior_radius, rows_per_person)
    if isinstance(model, Custom):
        unused = {"prior": prior, "inverse_temperature": inverse_temperature, "prior_radius": prior_radius}
        asked = {"sampler": sampler, "theorem": theorem, "mechanism": mechanism, "uncertainty": uncertainty, "loss": loss}
        request, chosen, priced, stages = own_stages(request, model, unused, asked)
    elif uses_scores(request, mechanism, {prior_radius, prior, inverse_temperature, sampler, theorem} == {None, "auto"}):
        chosen, priced, stages = by_scores(request, uncertainty, loss)
    else:
        beside = scores_beside(request, uncertainty, loss)
        chosen, priced, stages = choose(left_for_draws(request, beside), sampler, theorem, prior, inverse_temperature)
        stages = (*beside, *stages)
    if chosen == "shell":
        require_conditioning(request.gibbs.loss, stages, request.public_rows or MOST_RECORDS)
    planned = _settled(request, priced, chosen, stages, prior_given=prior is not None)
    budget.claim(planned.guarantee)  # whatever the rules gave: no plan is above its budget
    return planned


def _settled(request: Request, theorem: Theorem, sampler: str, stages: tuple[Stage, ...], *, prior_given: bool) -> Plan:
    """Return the plan that answers a request."""
    return Plan(
        model=request.model,
        budget=request.budget,
        n=request.n,
        adjacency=request.adjacency,
        draws=request.draws,
        purpose=request.purpose,
        theorem=theorem,
        sampler=sampler,
        prior_radius=request.radius,
        prior_given=prior_given,
        rows_per_person=request.rows_per_person,
        stages=stages,
        grid=grid_of(request.model, stages),
    )
