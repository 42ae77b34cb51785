"""A likelihood of the user's own: any differentiable function of parameters and one record, its gradients clipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gibbsafe._extras import require_extra
from gibbsafe._types import JSON, Floats
from gibbsafe._validate import count, fail, positive
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import PremiseError
from gibbsafe.models.base import Model, register
from gibbsafe.models.capabilities import HasCorners, HoldsCode
from gibbsafe.models.own.priors import OwnPrior, own_prior
from gibbsafe.models.own.records import RecordColumns, parameter_form
from gibbsafe.models.own.trial import POINTS, RECORDS, Code, information_of, measured, require_pure, told, told_of
from gibbsafe.models.searched import SearchRecord, as_record, declaration_digest, search_statement
from gibbsafe.posteriors.coordinates import Coordinates, InCoordinates
from gibbsafe.posteriors.own import GaussianPull, OwnPosterior, PriorFunction
from gibbsafe.posteriors.record_gradients import Form, GivenGradients, JaxGradients
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers.registry import Shape
from gibbsafe.theorems import Constants, Kind

if TYPE_CHECKING:
    from gibbsafe.study.own_rehearsal import OwnRehearsal

__all__ = ["Custom"]

#: Most chains of a release; most parameters of which the true ones are told, for there is a matrix of them.
MOST_CHAINS, MOST_TOLD = 64, 2000
#: Points at which records are simulated, and how many at each, to measure what they tell; with how many records beside a
#: prior coordinates are even, one that is a function, whose curvature makes steps short, and a normal one.
SIMULATED, EACH, ROWS = 32, 64, (1e3, 1e5)


@register
@dataclass(frozen=True, kw_only=True)
class Custom(Model, HasCorners, HoldsCode):
    """A likelihood of your own, released as the whole trajectory of private Langevin chains.

    Args:
        log_likelihood: f(parameters, record), both mappings by name, of *one* record: a JAX function (``gibbsafe[jax]``), or one
            of NumPy with its ``gradient``. It must be pure and look at nothing but its arguments.
        parameters: name → how many, or a shape; () for one number.
        prior: a `GaussianPrior`, a precision, or a JAX function of the parameters, their log density.
        columns: what a record holds, with its public domain: name → (low, high), a list of such pairs for a vector, levels of a
            category (a record then has its code), a number of levels, or a `gibbsafe.domains.Column`.
        clip: C, to which the gradient of every record is shortened; by default what nine in ten of synthetic ones keep to.
        coordinates: in which gradients are clipped and chains move; by default those in which a synthetic record tells as much of
            every direction, gradients being as long as in yours on average. ``"own"``: the parameters' own.
        chains: how many; they share the budget.
        steps: of each chain; by default from public numbers.
        power: on the likelihood; by default 1 where the budget buys enough steps of it, less where not.
        gradient: of NumPy functions, f's gradient in the parameters by name.
        batched: whether ``gradient`` takes a block of records, fields with an axis of rows, and returns one gradient per row.
        start: where chains begin, with a prior that is a function; a normal prior's centre otherwise.
        convex, smoothness: declare −f convex in the parameters with gradients of norm at most ``clip`` and Lipschitz constant
            ``smoothness``: with a normal prior the last iterate alone is released, by `langevin-last-iterate`.
        information: (typical, largest) information of one record, a public guess that sets steps; by default measured on
            synthetic records.
        simulator: (parameters, columns, generator) → records' columns by name, for `rehearse` and better defaults.
        label: what plans call it.
        record: what `gibbsafe.audit.refute` found; see `with_record`.

    The privacy of the release is proved whatever f is. The law of the draws is that of a chain, not proved to be the posterior.
    """

    name = "Custom"
    kind = Kind.OWN
    parameters: InitVar[Any]
    prior: Any
    columns: Any
    log_likelihood: Any = field(default=None, compare=False, repr=False)
    clip: float | None = None
    coordinates: Any = None
    chains: int = 2
    steps: int | None = None
    power: float | None = None
    gradient: Any = field(default=None, compare=False, repr=False)
    batched: bool = field(default=False, compare=False)
    start: InitVar[Any] = None
    convex: bool = False
    smoothness: float | None = None
    information: Any = None
    simulator: Any = field(default=None, compare=False, repr=False)
    constrain: Any = field(default=None, compare=False, repr=False)
    label: str | None = None
    record: Any = None
    form: Form = field(init=False, repr=False)

    def __post_init__(self, parameters: Any, start: Any) -> None:
        form = parameters if isinstance(parameters, Form) else parameter_form(parameters)
        self._set(form=form, columns=RecordColumns.declared(self.columns), label=self._called())
        for name in ("log_likelihood", "gradient", "simulator", "constrain"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                fail(name, type(getattr(self, name)).__name__, "a function")
        if self.log_likelihood is None and (self.gradient is not None or self.clip is None or self.information is None):
            fail("log_likelihood", None, "a function of the parameters and one record")
        if self.log_likelihood is not None and self.gradient is None:
            require_extra("jax", "a log-likelihood without its gradient")
        self._set(prior=own_prior(self.prior, form, start), clip=None if self.clip is None else positive("clip", self.clip))
        if self.clip is not None and not 1e-100 <= self.clip <= 1e100:
            fail("clip", self.clip, "between 1e-100 and 1e100")
        self._check_numbers()
        self._set(coordinates=self._declared_coordinates())
        if self.log_likelihood is not None:
            self._try()
        self._check_convex()
        record = as_record(self.record)
        if record is not None and record.declaration != declaration_digest(self.to_dict()):
            raise PremiseError("record: of another declaration than this one; search this model")
        self._set(record=record)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _called(self) -> str:
        label = self.label if self.label is not None else getattr(self.log_likelihood, "__name__", "likelihood").strip("<>")
        if not isinstance(label, str) or not label.strip() or not label.isprintable() or len(label) > 80:
            fail("label", label, "a text of 1 to 80 printable characters")
        return label

    def _check_numbers(self) -> None:
        if count("chains", self.chains) > MOST_CHAINS:
            fail("chains", self.chains, f"at most {MOST_CHAINS}")
        if self.steps is not None:
            count("steps", self.steps, least=2)
        if self.power is not None and positive("power", self.power) > 1:
            fail("power", self.power, "above 0 and at most 1")
        for name in ("batched", "convex"):
            if not isinstance(getattr(self, name), bool):
                fail(name, getattr(self, name), "True or False")
        if self.information is not None:
            if not isinstance(self.information, tuple | list) or len(self.information) != 2:
                fail("information", self.information, "a pair (typical, largest)")
            typical, largest = (positive("information", each) for each in self.information)
            if typical > largest:
                fail("information", self.information, "a pair (typical, largest), the first not above the second")
            self._set(information=(typical, largest))

    def _declared_coordinates(self) -> Coordinates | None:
        """Return those that are declared, or of a file; None for those that synthetic records will tell."""
        given, own = self.coordinates, Coordinates.own(self.prior.start)
        if isinstance(given, Coordinates) and len(given.scales) == self.form.size:
            return replace(given, centre=self.prior.start)
        if isinstance(given, Mapping):
            return Coordinates.from_dict(given, self.prior.start)
        if given is not None and given != "own":
            fail("coordinates", given, "'own', or left out")
        return own if given == "own" or self.convex or self.log_likelihood is None else None

    def _check_convex(self) -> None:
        """Refuse a declaration that the last-iterate theorem has no use for."""
        if self.convex != (self.smoothness is not None):
            fail("smoothness", self.smoothness, "declared with convex=True, and only then")
        if self.smoothness is not None:
            self._set(smoothness=positive("smoothness", self.smoothness))
            if self.prior.precision is None:
                fail("prior", self.prior.name, "normal with convex=True: a strong convexity has to be known")

    def _try(self) -> None:
        """Try the code on synthetic records, and settle what they settle."""
        rng = np.random.default_rng(0)
        thetas = self.prior.points(POINTS, rng)
        found = require_pure(self.code, self.columns.synthetic(RECORDS, rng), thetas)
        if self.simulator is not None:
            drawn = self.prior.drawn(SIMULATED, rng)
            found = np.stack([self.code(self.simulated(theta, EACH, rng), theta[None])[0] for theta in drawn])
        elif self.coordinates is None:
            found = self.code(self.columns.synthetic(4 * EACH, rng), thetas)
        found = told_of(found)
        if self.coordinates is None:
            floor = self.prior.precisions(self.form) / ROWS[self.prior.precision is not None]
            self._set(coordinates=Coordinates.evening(self.prior.start, information_of(found), floor))
        self._set(prior=self.prior.in_coordinates(self.coordinates, self.form))
        says = measured(self.coordinates.against(found), self.clip)
        self._set(clip=says.clip, information=self.information or (says.typical, says.largest))

    # -- code ----------------------------------------------------------------------------------------------------

    @property
    def code(self) -> Code:
        """The gradients of single records."""
        self.require_code()
        if self.gradient is None:
            return JaxGradients(self.log_likelihood, self.form, self.columns.form)
        return GivenGradients(self.log_likelihood, self.gradient, self.form, self.columns.form, self.batched)

    @property
    def pull(self) -> GaussianPull | PriorFunction:
        """The prior, as a chain feels it."""
        prior: OwnPrior = self.prior
        return prior.pull(self.form, self.coordinates)

    def require_code(self) -> None:
        """Refuse a declaration whose function is not there."""
        if self.log_likelihood is None:
            raise PremiseError(f"{self.label}: a file holds its declaration, not its code; make the plan anew with the function")

    def simulated(self, theta: Floats, rows: int, generator: np.random.Generator) -> Floats:
        """Return synthetic rows from one point, clipped to the columns' ends; refuse a model that cannot simulate."""
        return np.asarray(self.columns.clipped(self.simulated_as_they_are(theta, rows, generator)))

    def simulated_as_they_are(self, theta: Floats, rows: int, generator: np.random.Generator) -> Floats:
        """Return synthetic rows from one point, outcomes wherever they fall."""
        if self.simulator is None:
            raise PremiseError(f"{self.label}: cannot simulate records; declare simulator=, or use from_numpyro")
        form, even = self.columns.form, self.columns.synthetic(rows, generator)
        drawn = told(lambda: dict(self.simulator(self.form.named(theta), form.named(even, np.int64), generator)), "simulator")
        if not set(drawn) <= set(form.named(even)):
            fail("simulator", sorted(map(str, drawn)), "of declared columns")
        made = np.asarray(told(lambda: form.flat({**form.named(even), **drawn}, (rows,)), "simulator"))
        if not np.isfinite(made).all(axis=1).any():
            raise PremiseError("simulator: draws no record of finite numbers")
        return made

    def blocks_of_rows(self, rows: Floats) -> Blocks:
        """Return synthetic rows as blocks."""
        return Blocks(rows)

    def constrained(self, draws: Floats) -> dict[str, Floats]:
        """Return draws (…, parameters) by name in the model's own units: those of a NumPyro model's sites."""
        flat = np.asarray(draws, dtype=np.float64).reshape(-1, self.form.size)
        named = self.form.named(flat)
        found = named if self.constrain is None else self.constrain(named)
        leading = np.shape(draws)[:-1]
        return {name: np.asarray(each).reshape((*leading, *np.shape(each)[1:])) for name, each in found.items()}

    @property
    def declared_by_user(self) -> tuple[str, ...]:
        """What nobody can check about the code, and what was searched."""
        searched_for = search_statement(self.record)
        closed = (
            f"the log-likelihood {self.label!r} is a pure function of parameters and one record, and closed over nothing private"
        )
        searched = f"{closed}: {searched_for}"
        if not self.convex:
            return (searched,)
        constants = f"−{self.label} is convex, {self.smoothness:g}-smooth, and its gradients have norm at most {self.clip:g}"
        return (searched, f"{constants}: {searched_for}")

    def with_record(self, record: object) -> Self:
        """Return the model with what `gibbsafe.audit.refute` found: a plan says it, and the certificate."""
        return replace(self, parameters=self.form, start=None, record=as_record(record))

    def with_code_of(self, model: Custom) -> Custom:
        """Return this declaration, read from a file, with the functions of a model; refused unless it is the same model."""
        mine = {name: getattr(self, name) for name in ("clip", "coordinates", "information", "label", "record")}
        mine |= {name: getattr(self, name) for name in ("chains", "steps", "power")}
        found = replace(model, parameters=model.form, start=None, **mine)
        if found.to_dict() != self.to_dict():
            raise PremiseError(f"model: declares parameters, columns or a prior other than those of {self.label!r}")
        return found

    def rehearse(self, budget: Any, *, n: int, adjacency: str = "replace-one", seed: int = 0, runs: int = 1) -> OwnRehearsal:
        """Make releases from synthetic records, their parameters drawn from the prior, and compare: never from your records."""
        from gibbsafe.study.own_rehearsal import rehearse_own

        return rehearse_own(self, budget, n=n, adjacency=adjacency, seed=seed, runs=runs)

    # -- what a model states ---------------------------------------------------------------------------------------

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names, with indices where there are several: w[0], w[1], …"""
        return tuple(
            each.name + (f"[{','.join(map(str, place))}]" if each.shape else "")
            for each in self.form.fields
            for place in np.ndindex(each.shape)
        )

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return the clip as Lipschitz constant, and what is declared of a convex likelihood."""
        public = adjacency == Adjacency.REPLACE_ONE and n is not None
        assert self.clip is not None
        precision = self.prior.precision
        return Constants(
            clip=self.clip * rows_per_person,
            lipschitz=self.clip * rows_per_person,
            convex=True if self.convex else None,
            smoothness=self.smoothness,
            prior_precision=None if precision is None else min(precision),
            prior_smoothness=None if precision is None else max(precision),
            n=n if public else None,
            maximum_n=n * rows_per_person if public and n is not None and rows_per_person > 1 else None,
            dimension=self.form.size,
        )

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the declared columns as rows of numbers."""
        return Blocks(self.columns.rows(data, options))

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> OwnPosterior:
        """Return its clipped scores, and the prior's centre and precision where it is normal."""
        precision = np.zeros(self.form.size) if self.prior.precision is None else np.array(self.prior.precision)
        assert self.clip is not None
        code = self.code if stage.chain is None else InCoordinates(self.code, self.coordinates, self.clip)
        return OwnPosterior(data, code, self.clip, stage.inverse_temperature, precision, np.array(self.prior.start))

    def corners(self) -> list[object]:
        """Return records at the ends of the declared columns."""
        return list(self.columns.corners())

    def _shape(self) -> Shape:
        return Shape(OwnPosterior, self.form.size, False, self.smoothness if self.smoothness is not None else float("inf"))

    def to_dict(self) -> JSON:
        """Return the declaration as plain data; of functions their names."""
        record = self.record.to_dict() if isinstance(self.record, SearchRecord) else None
        return {
            "name": self.name,
            "label": self.label,
            "parameters": {each.name: list(each.shape) for each in self.form.fields},
            "columns": self.columns.to_dict(),
            "prior": self.prior.to_dict(),
            "clip": self.clip,
            "coordinates": self.coordinates.to_dict(),
            "chains": self.chains,
            "steps": self.steps,
            "power": self.power,
            "convex": self.convex,
            "smoothness": self.smoothness,
            "information": list(self.information),
        } | ({} if record is None else {"record": record})
