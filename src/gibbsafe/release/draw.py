"""Carrying out a plan: the only step that reads records. Encode, charge, sample, round, certify."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gibbsafe._types import Document, Floats
from gibbsafe._validate import count, fail
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.data.census import Unit
from gibbsafe.data.cluster.crews import ClusterError
from gibbsafe.data.cluster.encoding import encode_on_cluster
from gibbsafe.data.cluster.tables import ClusterTable, on_cluster
from gibbsafe.data.compression import merge_identical
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import as_table, require_readable
from gibbsafe.data.stream import check_count, encode_records, expected_rows
from gibbsafe.data.sums import working
from gibbsafe.errors import DomainError, PremiseError, guarded, showing_values
from gibbsafe.models.capabilities import HoldsCode
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning import Plan
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.own import OwnPosterior
from gibbsafe.posteriors.protocols import Posterior, SmoothPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.progress import Progress, counting_bar, sampling_bar
from gibbsafe.randomness import use
from gibbsafe.release.certificate import certify
from gibbsafe.release.releases import CuratorDiagnostics, Release
from gibbsafe.samplers import SAMPLERS, Diagnostics
from gibbsafe.samplers.noisy_scores import Answers, ask
from gibbsafe.samplers.score_path import ScorePath
from gibbsafe.samplers.trajectory import TRAJECTORY, Walk, walk
from gibbsafe.samplers.transcript_fit import fitted

__all__ = ["Ledger", "asked", "blocks_of", "draw_stage", "posterior_of", "release", "storage_of", "walked"]


FAILED = "sampling: failed, a charge stands"
#: Numbers of all encoded rows from which on an estimate keeps them in float32: a pass is then as long as memory takes to read.
MANY_NUMBERS = 2**22


class Ledger(Protocol):
    """Whoever keeps the budget: charged before anything is sampled."""

    def charge(self, plan: Plan) -> object:
        """Record the plan's price, or raise `BudgetError`; what it returns may be `Receipted` and `Settled`."""


@runtime_checkable
class Guarded(Ledger, Protocol):
    """A ledger that says whether it admits randomness that somebody knows."""

    def refuse_seeded(self) -> None:
        """Raise `BudgetError` unless it does."""


@runtime_checkable
class Receipted(Protocol):
    """A charge that goes into the release's file."""

    @property
    def receipt(self) -> Document | None:
        """Which entry of which ledger paid."""


@runtime_checkable
class Settled(Protocol):
    """A charge that is told of what it paid for."""

    def settle(self, release: Release) -> None:
        """Note what was released."""


def release(
    plan: Plan,
    data: object,
    *,
    ledger: Ledger | None = None,
    persons: object = None,
    on_invalid: str = "error",
    storage: str | None = None,
    generator: np.random.Generator | None = None,
    progress: bool | Progress | None = None,
    memory: int | None = None,
    workers: int | None = None,
    cluster: object = None,
    insecure_cluster: bool = False,
    show_values: bool = False,
    untrusted: bool = False,
    weights: None = None,
) -> Release:
    """Carry out a plan on data.

    Args:
        plan: made by `gibbsafe.plan`.
        data: a pair (X, y), or a table with named columns: what speaks the Arrow C stream, a dict of columns; or Dask's.
        ledger: the account to charge before sampling, or None.
        persons: one identifier per row (or the name of a table's column), needed if the plan caps rows per person.
        on_invalid: ``"error"`` refuses NaN, infinities and unknown labels; ``"replace"`` puts public values in their place.
        storage: ``"float64"`` or ``"float32"``, how rows are kept, by default by `storage_of`; products are taken in float64.
        generator: a seeded generator for tests, which marks the certificate; None for secure randomness.
        progress: True, False, or a function to call while sampling; by default bars at a terminal.
        memory: how many bytes encoded rows of a table may take; beyond it they are kept in a file without a name.
        workers: how many threads share every pass, by default all cores of this process; the release is the same for any number.
        cluster: address of a Dask scheduler, or a client, whose workers read and keep the records (docs/scale.md).
        insecure_cluster: also take a cluster on whose connections somebody could listen.
        show_values: let refusals name values, rows and counts of the data: for the curator's eyes only.
        untrusted: whoever wrote the plan is not trusted with refusals (docs/trust.md): invalid entries are always replaced, and
            the ledger is charged before a record is decoded; by counting alone a wrong number of them is refused before that.
        weights: refused: a row of weight w would reveal w times as much. Repeat rows and cap them per person, or stratify.

    Guarantees:
        Refusals depend on the plan, the form of the input and values outside the declared domain only, and no message shows
        anything of the records. Whatever lies inside is released: the sampler runs until it accepts. The charge comes before the
        first random number; missing packages and options that fit nothing are found before it.
    """
    _refuse_weights(weights)
    _require_account(ledger, show_values, untrusted)
    _require_options(plan, persons, memory)
    storage = storage_of(plan) if storage is None else storage
    options = EncodingOptions("replace" if untrusted else on_invalid, storage)
    data = as_table(data)
    require_readable(data)
    random, randomness = use(generator)
    if randomness == "seeded" and isinstance(ledger, Guarded):
        ledger.refuse_seeded()
    joined = on_cluster(data, cluster, insecure=insecure_cluster, shown=show_values)
    with showing_values(show_values), working(workers), joined as data:
        read = _Reading(plan, data, options, persons, memory, False if callable(progress) else progress)
        blocks, charge = read.after_charging(ledger) if untrusted else read.before_charging(ledger)
        with sampling_bar(progress, sum(stage.draws for stage in plan.stages)) as report:
            made = guarded(lambda: carried_out(plan, blocks, random, report), FAILED, trusted=(ClusterError,))
    return _certified(plan, made, charge, randomness, storage)


def storage_of(plan: Plan) -> str:
    """Return how encoded rows are kept if nobody says: float32 for an estimate by noisy scores of many, public numbers.

    n times the number of parameters decides, so that neighbouring data sets are kept alike. Rows are clipped after they were
    rounded, and sums are of float64: what is proved of a release is the same.
    """
    many = plan.n is not None and plan.n * plan.model.parameters >= MANY_NUMBERS
    return "float32" if many and plan.mechanism == "noisy-scores" else "float64"


@dataclass(frozen=True, eq=False)
class Made:
    """What carrying out a plan gave: draws or a point on the plan's grid (scaled), the answers to scores, and diagnostics."""

    on_grid: Floats
    diagnostics: CuratorDiagnostics
    answers: Answers | None = None
    walk: Floats | None = None


def carried_out(plan: Plan, blocks: RowBlocks, generator: np.random.Generator, report: Progress | None = None) -> Made:
    """Ask every score, draw from every other stage: for releases and audits alike."""
    answers, stage = None, plan.score_stage
    if stage is not None:
        answers, path = asked(plan, stage, blocks, generator, report)
        if plan.mechanism == "noisy-scores":
            point = fitted(plan.public_of_scores(), answers, path)
            return Made(np.round(point[None] / plan.grid) * plan.grid, CuratorDiagnostics(()), answers)
    if plan.mechanism == TRAJECTORY:
        made = walked(plan, blocks, generator, report)
        rule, model = plan.stages[0].chain, plan.model
        assert rule is not None
        assert isinstance(model, Custom)
        return Made(
            np.round(made.draws(rule, model.coordinates) / plan.grid) * plan.grid, CuratorDiagnostics(()), walk=made.scores
        )
    on_grid, diagnostics = _draw_stages(plan, blocks, generator, report)
    return Made(on_grid, CuratorDiagnostics(diagnostics), answers)


def asked(
    plan: Plan, stage: Stage, blocks: RowBlocks, generator: np.random.Generator, report: Progress | None = None
) -> tuple[Answers, ScorePath]:
    """Ask every score of a stage: for releases and audits alike."""
    posterior = posterior_of(plan, stage, blocks)
    if not isinstance(posterior, GibbsPosterior):
        raise PremiseError(f"mechanism: {plan.model.name} has no records of which scores are asked")
    return ask(posterior, stage, plan.public_of_scores(), generator, report)


def walked(plan: Plan, blocks: RowBlocks, generator: np.random.Generator, report: Progress | None = None) -> Walk:
    """Take every step of a trajectory: for releases and audits alike."""
    model, (stage,) = plan.model, plan.stages
    posterior = posterior_of(plan, stage, blocks)
    if not isinstance(posterior, OwnPosterior) or not isinstance(model, Custom):
        raise PremiseError(f"mechanism: {plan.model.name} has no trajectory to release")
    with warnings.catch_warnings():  # a function that warns at some record says nothing of it
        warnings.simplefilter("ignore")
        return walk(posterior, model.pull, stage, generator, report)


def _refuse_weights(weights: object) -> None:
    if weights is not None:
        remedy = "repeat rows and cap them by rows_per_person, or make one release per stratum"
        fail("weights", "given", "left out: rows have none", remedy)


def _require_account(ledger: Ledger | None, show_values: bool, untrusted: bool) -> None:
    """Refuse a release under an untrusted plan that charges nobody, or shows what it should not."""
    if untrusted and ledger is None:
        fail("ledger", ledger, "an account to charge with untrusted=True")
    if untrusted and show_values:
        fail("show_values", show_values, "False with untrusted=True")


def _require_options(plan: Plan, persons: object, memory: int | None) -> None:
    if isinstance(plan.model, HoldsCode):
        plan.model.require_code()
    if memory is not None:
        count("memory", memory)
    if plan.rows_per_person > 1 and persons is None:
        raise DomainError("persons: rows_per_person is declared, so pass an identifier per row (persons=...)")


@dataclass(frozen=True)
class _Reading:
    """Records on their way to row blocks, and the charge before or after they are decoded."""

    plan: Plan
    data: object
    options: EncodingOptions
    persons: object
    memory: int | None
    progress: bool | None = False

    @property
    def unit(self) -> Unit:
        """What the plan says of rows and persons."""
        return Unit(self.plan.rows_per_person, self.plan.n if self.plan.adjacency == Adjacency.REPLACE_ONE else None)

    def _encoded(self) -> RowBlocks:
        shown = self.progress if hasattr(self.data, "batches") else False  # arrays are encoded at once, clusters have bars
        with counting_bar(shown, expected_rows(self.data) if shown is not False else None, "reading rows") as advance:
            read = {"persons": self.persons, "memory": self.memory, "advance": advance}
            return blocks_of(self.plan, self.data, self.options, self.unit, **read)

    def before_charging(self, ledger: Ledger | None) -> tuple[RowBlocks, object]:
        """Read, then charge: what is refused costs nothing."""
        blocks = guarded(self._encoded, "data: cannot be read")
        return blocks, None if ledger is None else ledger.charge(self.plan)

    def after_charging(self, ledger: Ledger | None) -> tuple[RowBlocks, object]:
        """Count, charge, then decode: what is refused once a record was decoded keeps the charge."""
        guarded(lambda: check_count(self.data, self.unit), "data: cannot be counted")
        charge = None if ledger is None else ledger.charge(self.plan)
        return guarded(self._encoded, "data: cannot be read"), charge


def blocks_of(plan: Plan, data: object, options: EncodingOptions, unit: Unit, **read: Any) -> RowBlocks:
    """Return records as the samplers of this plan see them, read as `encode_records` is told: for releases and audits alike."""
    if isinstance(data, ClusterTable):
        blocks: RowBlocks = encode_on_cluster(plan.model, data, options, unit=unit, **read)
    else:
        blocks = encode_records(plan.model, data, options, unit=unit, **read)
    sampler = SAMPLERS.get(plan.sampler)
    merged = sampler is None or issubclass(sampler.posterior, SmoothPosterior)  # which counts weighted rows
    return merge_identical(blocks) if merged else blocks


def posterior_of(plan: Plan, stage: Stage, blocks: RowBlocks, last: Floats | None = None) -> Posterior:
    """Return the posterior of one stage, centred at the last draw, or at 0, where the stage names no centre."""
    origin = np.zeros(plan.model.parameters) if last is None else last
    return plan.model.posterior(blocks, stage, origin if stage.prior_centre is None else np.array(stage.prior_centre))


def _draw_stages(
    plan: Plan, blocks: Any, generator: np.random.Generator, report: Progress | None
) -> tuple[Floats, tuple[Diagnostics, ...]]:
    """Draw from every stage in turn, each centred at the draw before where the plan says so."""
    seen = []
    on_grid = np.zeros((1, plan.model.parameters))
    for stage in plan.stages:
        if stage.scores is not None:
            continue
        posterior = posterior_of(plan, stage, blocks, on_grid[-1])
        on_grid, diagnostics = draw_stage(plan, stage, posterior, stage.draws, generator, report)
        seen.append(diagnostics)
    return on_grid, tuple(seen)


def draw_stage(  # noqa: PLR0917 - what a sampler takes, and whose grid it is rounded to
    plan: Plan,
    stage: Stage,
    posterior: Posterior,
    draws: int,
    generator: np.random.Generator,
    report: Progress | None = None,
) -> tuple[Floats, Diagnostics]:
    """Return draws of one stage by the plan's sampler, scaled and rounded to the plan's grid: for releases and audits alike."""
    scaled, diagnostics = SAMPLERS[plan.sampler].draw(stage, posterior, draws, generator, report)
    return np.round(scaled / plan.grid) * plan.grid, diagnostics


def _certified(plan: Plan, made: Made, charge: object, randomness: str, storage: str) -> Release:
    """Return the release in the user's units, with its certificate, and tell the ledger."""
    draws = plan.model.to_original(made.on_grid)
    draws.flags.writeable = False
    certificate = certify(plan, randomness=randomness, storage=storage)
    receipt = charge.receipt if isinstance(charge, Receipted) else None
    released = Release(plan, certificate, draws, made.diagnostics, receipt, answers=made.answers, walk=made.walk)
    if isinstance(charge, Settled):
        charge.settle(released)
    return released
